"""Pass the many arrays of a chain to compiled functions as one pointer.

A NamedTuple of sixty arrays is five hundred arguments to LLVM in every function of the call tree, and most of
the compile time. The entry points therefore copy the tuples into structures passed by reference; the arrays
stay shared. Fields of a structure can be set (to other arrays of the same type); the tuple is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from numba import config, njit, types
from numba.experimental import structref


def by_reference(name: str, fields: tuple[str, ...]) -> Callable[[Any], Any]:
    """Make a compiled function that copies a NamedTuple into a structure passed by pointer."""
    if config.DISABLE_JIT:
        return lambda values: SimpleNamespace(**values._asdict())
    kind = structref.register(type(f"{name}Type", (types.StructRef,), {}))
    structure = type(name, (structref.StructRefProxy,), {})
    structref.define_constructor(structure, kind, fields)
    structref.define_attributes(kind)

    @njit(nogil=True)
    def refer(values: Any) -> Any:
        return structure(*values)

    return refer
