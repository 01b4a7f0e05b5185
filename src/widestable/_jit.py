"""How everything that is compiled is compiled: the only place that configures numba.

Compiled functions stand beside the Python code of the same concept. They take plain arrays, or one pointer to a
structure of many (`by_reference`), and a `numpy.random.Generator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils, event, typing
from numba.core.extending import infer_getattr, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import lower_builtin, models, register_model, type_callable

from ._code_cache import CodeCache

# Called from other compiled functions only: the cache of the caller holds its code already. Such functions make no
# arrays, so numba need not count the owners of arrays in them (`_nrt`), which took a tenth of a sweep.
inner_kernel = njit(nogil=True, error_model="numpy", _nrt=False)

# The same for a function that makes arrays.
allocating_kernel = njit(nogil=True, error_model="numpy")

# For a function that is called in one place: its code becomes part of the caller and is not compiled twice. Worth it
# for large ones, which are few; inner loops are faster as functions of their own.
inline_kernel = njit(nogil=True, error_model="numpy", inline="always")

# For inner products only: the compiler may reorder a sum, which makes it five times faster. NaN and infinity
# keep their meaning, unlike under full fastmath.
summing_kernel = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}, _nrt=False)

# No fastmath, no parallel (chains are the parallel unit), no signatures (compile on demand).


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on demand, unless the code is in the wheel or on disk already, and keep it on disk."""
    compiled = allocating_kernel(function)
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


def by_reference(values: tuple[Any, ...]) -> Any:
    """Copy a NamedTuple into a structure passed by pointer: for entry points, in which alone the structure lives.

    A NamedTuple of sixty arrays is five hundred arguments to LLVM in every function of the call tree, and most of the
    compile time. Entry points therefore copy tuples, and the tuples in them, into structures. Arrays stay shared. The
    fields of a structure can be set to values of the same type; the tuple stays as it is.

    A loop that writes to an array reads every field of a structure anew at each step, since the field might have been
    written to, and is not vectorised. Loops over rows therefore use local names, or functions of plain arrays.
    """
    # What runs without the compiler; compiled entry points run `_copy_to_stack`.
    fields = zip(values._fields, values, strict=True)  # type: ignore[attr-defined]
    return SimpleNamespace(**{name: by_reference(v) if hasattr(v, "_fields") else v for name, v in fields})


class _Structure(types.Type):  # type: ignore[misc]
    """The type of a pointer to a structure with the fields of a NamedTuple."""

    def __init__(self, values: types.BaseNamedTuple) -> None:
        self.kinds = {
            name: _Structure(kind) if isinstance(kind, types.BaseNamedTuple) else kind
            for name, kind in zip(values.fields, values, strict=True)
        }
        super().__init__(name=f"structure of {values.name}")


@register_model(_Structure)
class _StructureModel(models.OpaqueModel):  # type: ignore[misc]
    """A pointer to anything: `_place` knows to what."""


@type_callable(by_reference)
def _type_of_reference(context):  # type: ignore[no-untyped-def]
    return lambda values: _Structure(values)


@lower_builtin(by_reference, types.BaseNamedTuple)
def _copy_to_stack(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
    """The compiled `by_reference`.

    The structure is on the stack of the entry point, and its arrays have no counts of owners: whoever called the entry
    point holds them. Numba would count owners, atomically, at every use of a field.
    """
    (kinds,), (values,) = signature.args, arguments
    place = cgutils.alloca_once(builder, _layout(context, signature.return_type))
    for i, (kind, field) in enumerate(zip(kinds, cgutils.unpack_tuple(builder, values), strict=True)):
        if isinstance(kind, types.BaseNamedTuple):
            field = _copy_to_stack(context, builder, typing.signature(_Structure(kind), kind), [field])
        elif isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, field)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            field = array._getvalue()
        builder.store(field, cgutils.gep_inbounds(builder, place, 0, i))
    return builder.bitcast(place, cgutils.voidptr_t)


def _layout(context: Any, structure: _Structure) -> Any:
    return ir.LiteralStructType([context.get_value_type(kind) for kind in structure.kinds.values()])


def _place(context: Any, builder: Any, structure: _Structure, pointer: Any, name: str) -> Any:
    """Where a field is."""
    typed = builder.bitcast(pointer, _layout(context, structure).as_pointer())
    return cgutils.gep_inbounds(builder, typed, 0, list(structure.kinds).index(name))


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = _Structure

    def generic_resolve(self, structure: _Structure, name: str) -> types.Type | None:
        return structure.kinds.get(name)


@lower_getattr_generic(_Structure)
def _get_field(context, builder, structure, pointer, name):  # type: ignore[no-untyped-def]
    return builder.load(_place(context, builder, structure, pointer, name))


@lower_setattr_generic(_Structure)
def _set_field(context, builder, signature, arguments, name):  # type: ignore[no-untyped-def]
    structure, kind = signature.args
    pointer, value = arguments
    value = context.cast(builder, value, kind, structure.kinds[name])
    builder.store(value, _place(context, builder, structure, pointer, name))


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
