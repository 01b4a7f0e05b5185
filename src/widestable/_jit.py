"""How everything that is compiled is compiled: the only place that configures numba.

Compiled functions stand beside the Python code of the same concept. They take plain arrays, or one pointer to a
structure of many (`by_reference`), and a `numpy.random.Generator`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any, get_type_hints

from numba import config, njit, types
from numba.core import event
from numba.experimental import structref

# Called from other compiled functions only: the cache of the caller holds its code already.
inner_kernel = njit(nogil=True, error_model="numpy")

# For a function that is called in one place: its code becomes part of the caller and is not compiled twice. Worth it
# for large ones, which are few; inner loops are faster as functions of their own.
inline_kernel = njit(nogil=True, error_model="numpy", inline="always")

# For inner products only: the compiler may reorder a sum, which makes it five times faster. NaN and infinity
# keep their meaning, unlike under full fastmath.
summing_kernel = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})

# No fastmath, no parallel (chains are the parallel unit), no signatures (compile on demand).
_kept_kernel = njit(cache=True, nogil=True, error_model="numpy")

# Warn once per process, not once per function.
_said: list[str] = []


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on demand and keep the code on disk; where that fails, keep it in memory only and warn."""
    try:
        compiled = _kept_kernel(function)
    except RuntimeError as error:  # numba looks for a folder now, before anything is compiled
        if "cannot cache" not in str(error):
            raise
        _say_not_kept(error)
        return inner_kernel(function)
    # The folder may fill up or become read-only later: the code in memory is good all the same.
    if hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        compiled._cache.save_overload = _forgiving(compiled._cache.save_overload)
    return compiled


def _forgiving(save: Callable[..., None]) -> Callable[..., None]:
    def save_or_say(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except OSError as error:
            _say_not_kept(error)

    return save_or_say


def _say_not_kept(error: Exception) -> None:
    if _said:
        return
    _said.append(str(error))
    warnings.warn(
        f"Compiled code cannot be kept on disk, so each new process compiles again, which takes about a minute "
        f"({error}). Set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=3,
    )


def polynomial(*coefficients: float) -> Any:
    """Make a compiled polynomial, highest power first, written out so that loops over it can be vectorised."""
    terms = "0.0"
    for coefficient in coefficients:
        terms = f"({terms}) * x + {coefficient!r}"
    scope: dict[str, Any] = {}
    exec(f"def value(x):\n    return {terms}", scope)
    return inner_kernel(scope["value"])


def by_reference(kind: type[tuple[Any, ...]]) -> Callable[[Any], Any]:
    """Make a compiled function that copies a NamedTuple into a structure passed by pointer.

    A NamedTuple of sixty arrays is five hundred arguments to LLVM in every function of the call tree, and most of the
    compile time. Entry points therefore copy tuples, and the tuples in them, into structures. Arrays stay shared. The
    fields of a structure can be set to values of the same type; the tuple stays as it is.
    """
    hints = get_type_hints(kind)
    parts = {name: by_reference(hints[name]) for name in hints if hasattr(hints[name], "_fields")}
    if config.DISABLE_JIT:
        return lambda values: SimpleNamespace(
            **{name: parts[name](value) if name in parts else value for name, value in values._asdict().items()}
        )
    structure = _structure(kind.__name__, tuple(hints))
    # Written out field by field, because numba cannot loop over values of different types.
    copies = ", ".join(f"refer_{name}(values.{name})" if name in parts else f"values.{name}" for name in hints)
    scope = {f"refer_{name}": part for name, part in parts.items()} | {"structure": structure}
    exec(f"def refer(values):\n    return structure({copies})", scope)
    return inner_kernel(scope["refer"])  # type: ignore[no-any-return]


@cache
def _structure(name: str, fields: tuple[str, ...]) -> Any:
    """A numba structure with these fields, of any types."""
    kind = structref.register(type(f"{name}Type", (types.StructRef,), {}))
    structure = type(f"{name}Reference", (structref.StructRefProxy,), {})
    structref.define_constructor(structure, kind, fields)
    structref.define_attributes(kind)
    return structure


class _Once(event.Listener):  # type: ignore[misc]
    """Calls `tell` at the first compilation. Loading code from the cache on disk does not count."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        """Nothing to do."""


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if anything is compiled inside: a first fit takes a minute that later ones do not."""
    with event.install_listener("numba:compile", _Once(tell)):
        yield
