"""How everything that is compiled is compiled: the only place that configures numba.

Compiled functions stand beside the Python code of the same concept. They take plain arrays, or one pointer to a
structure of many (`by_reference`), and a `numpy.random.Generator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any, get_type_hints

from numba import config, njit, types
from numba.core import event
from numba.experimental import structref

from ._code_cache import CodeCache

# Called from other compiled functions only: the cache of the caller holds its code already.
inner_kernel = njit(nogil=True, error_model="numpy")

# For a function that is called in one place: its code becomes part of the caller and is not compiled twice. Worth it
# for large ones, which are few; inner loops are faster as functions of their own.
inline_kernel = njit(nogil=True, error_model="numpy", inline="always")

# For inner products only: the compiler may reorder a sum, which makes it five times faster. NaN and infinity
# keep their meaning, unlike under full fastmath.
summing_kernel = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})

# No fastmath, no parallel (chains are the parallel unit), no signatures (compile on demand).


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on demand, unless the code is in the wheel or on disk already, and keep it on disk."""
    compiled = inner_kernel(function)
    if not config.DISABLE_JIT:
        compiled._cache = CodeCache(function)
    return compiled


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

    A loop that writes to an array reads every field of a structure anew at each step, since the field might have been
    written to, and is not vectorised. Loops over rows therefore use local names, or functions of plain arrays.
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


# --- How far the compiler is -----------------------------------------------------------------------------


class _Counter(event.Listener):  # type: ignore[misc]
    """Counts the functions that are compiled. Loading code from the wheel or from disk does not count."""

    def __init__(self, tell: Callable[[int, int], None]) -> None:
        self.tell = tell
        self.expected: set[Any] = set()
        self.done: set[Any] = set()

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"]
        if function not in self.expected:
            self.expected |= {each for entry in _entries_beside(function) for each in _call_tree(entry)}
        self._tell()

    def on_end(self, event: Any) -> None:
        self.done.add(event.data["dispatcher"])
        self._tell()

    def _tell(self) -> None:
        self.tell(len(self.done & self.expected), len(self.expected))


def _entries_beside(function: Any) -> list[Any]:
    """The entry points in the file of an entry point, itself included: most callers need all of them."""
    if not isinstance(function._cache, CodeCache):
        return []
    return [value for value in function.py_func.__globals__.values() if _is_compiled(value, CodeCache)]


def _call_tree(function: Any) -> set[Any]:
    """The compiled functions that one calls, directly or not, and itself; not those that become part of others."""
    found, ahead = set(), [function]
    while ahead:
        caller = ahead.pop()
        found.add(caller)
        scope = caller.py_func.__globals__
        called = {scope[name] for name in caller.py_func.__code__.co_names if _is_compiled(scope.get(name))}
        ahead += called - found
    return {each for each in found if each.targetoptions.get("inline") != "always"}


def _is_compiled(value: Any, cache: type = object) -> bool:
    return hasattr(value, "py_func") and isinstance(value._cache, cache)


@contextmanager
def when_compiling(tell: Callable[[int, int], None]) -> Iterator[None]:
    """Call `tell` with how many functions are compiled and how many there are, each time one begins or ends."""
    with event.install_listener("numba:compile", _Counter(tell)):
        yield
