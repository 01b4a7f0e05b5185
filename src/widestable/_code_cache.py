"""Where compiled code comes from: the wheel, numba's folder on disk, or nowhere, so that it is compiled in memory.

A wheel for one platform and one version of Python carries code in `FOLDER` that was compiled for a baseline processor
(`tools/compile_kernels.py`), so that a first fit need not wait for the compiler. `why_not_shipped` decides whether that
code may run here; `label.json` says what it was made with.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import platform
import re
import sys
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import compiler, config, serialize, sigutils
from numba.core.caching import FunctionCache, NullCache

PACKAGE = Path(__file__).parent
FOLDER = PACKAGE / "_compiled"
LABEL = "label.json"

# Compiled code knows the fields of these tuples by position, so an edit there makes it stale too.
TUPLES = ("engine/chain.py", "engine/model.py")

# What else decides which code numba makes, besides the processor: its settings, as `numba.config` names them.
SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "ENABLE_AVX",
    "ENABLE_PROFILING",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)

# Warn once per process, not once per function.
_said: list[str] = []


# --- What code depends on --------------------------------------------------------------------------------


@cache
def hash_sources() -> str:
    """Hash of all sources that are compiled, because callers hold the code of what they call; "" without sources."""
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))}
    digest = hashlib.sha256()
    for name, text in texts.items():
        if re.search(rb"_jit import .*kernel", text) or name in ("_jit.py", *TUPLES):
            digest.update(name.encode() + b"\0" + text.replace(b"\r\n", b"\n"))
    return digest.hexdigest() if texts else ""


def settings() -> dict[str, str]:
    """Settings of numba that change the code it makes."""
    return {name: str(getattr(config, name)) for name in SETTINGS}


def surroundings() -> dict[str, str]:
    """What must be the same where code is compiled and where it runs, besides processor and settings."""
    return {
        "Python": sys.implementation.cache_tag,
        "platform": f"{sys.platform} {platform.machine()}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "sources with hash": hash_sources(),
    }


@cache
def why_not_shipped() -> str | None:
    """Why no code from the wheel is used, in words; None if it is used."""
    try:
        label = json.loads((FOLDER / LABEL).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "this installation has none"
    if not hash_sources():
        return "the sources are not there to compare with"
    for name, value in surroundings().items():
        if label["surroundings"].get(name) != value:
            return f"it is for {name} {label['surroundings'].get(name)}, and here is {value}"
    # With one of these missing, the code would end the process with an illegal instruction.
    has = _processor_features()
    if missing := [name for name in label["features"] if not has.get(name)]:
        return f"this processor lacks {', '.join(missing)}"
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for another processor"
    changed = [name for name, value in settings().items() if label["settings"].get(name) != value]
    return f"numba is set otherwise: {', '.join(changed)}" if changed else None


def _processor_features() -> dict[str, bool]:
    """Extensions of the instruction set that this processor and its operating system have."""
    try:
        return dict(llvmlite.binding.get_host_cpu_features())
    except RuntimeError:  # LLVM does not know this processor
        return {}


# --- Shipped code ----------------------------------------------------------------------------------------


def shipped_file(function: Callable[..., Any], signature: Any, folder: Path) -> Path:
    """Where a wheel has the code of a function for these types of arguments."""
    arguments, _ = sigutils.normalize_signature(signature)
    digest = hashlib.sha256(str(arguments).encode()).hexdigest()
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("widestable.")
    return folder / f"{name}-{digest[:12]}.nbc"


def write_shipped(function: Callable[..., Any], signature: Any, compiled: Any, folder: Path) -> None:
    """Write compiled code to be put into a wheel."""
    parts = list(compiled._reduce())
    parts[6] = ""  # the annotated source, which holds paths of the machine that built the wheel
    shipped_file(function, signature, folder).write_bytes(serialize.dumps(tuple(parts)))


def write_label(folder: Path, processor: str, features: list[str]) -> None:
    """Say what the code in a folder was compiled for."""
    label = {"processor": processor, "features": features, "surroundings": surroundings(), "settings": settings()}
    (folder / LABEL).write_text(json.dumps(label, indent=2) + "\n", encoding="utf-8")


def read_shipped(function: Callable[..., Any], signature: Any, target: Any) -> Any:
    """Code from the wheel, ready to run; None if there is none that fits."""
    if why_not_shipped() is not None:
        return None
    try:
        parts = pickle.loads(shipped_file(function, signature, FOLDER).read_bytes())
    except FileNotFoundError:
        return None
    return compiler.CompileResult._rebuild(target, *parts)


# --- The cache of one function ---------------------------------------------------------------------------


class _Kept(FunctionCache):  # type: ignore[misc]
    """Numba's own cache on disk, which also notices edits in other files and other settings."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = hash_sources() or self._cache_file._source_stamp

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return (*super()._index_key(signature, codegen), tuple(settings().values()))


class _Nowhere(NullCache):  # type: ignore[misc]
    """Stands in where no folder can be written."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def save_overload(self, sig: Any, data: Any) -> None:
        _say_not_kept(self.reason)


class CodeCache(NullCache):  # type: ignore[misc]
    """Gives a compiled function its code: from the wheel, else from disk, where it keeps what had to be compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _kept(self) -> Any:
        # Only now, because looking for a folder writes to it, and whoever runs code from the wheel needs none.
        try:
            return _Kept(self._function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            return _Nowhere(str(error))

    @property
    def cache_path(self) -> str | None:
        """Numba's folder on disk; None if none can be written."""
        return self._kept.cache_path  # type: ignore[no-any-return]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return code that was compiled before, or None."""
        target_context.refresh()  # make numba know its own library first
        found = read_shipped(self._function, sig, target_context)
        return self._kept.load_overload(sig, target_context) if found is None else found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code on disk. Without a folder that can be written, now or later, warn: it is good in memory."""
        try:
            self._kept.save_overload(sig, data)
        except OSError as error:
            _say_not_kept(str(error))

    def flush(self) -> None:
        """Forget what is on disk."""
        self._kept.flush()


def _say_not_kept(reason: str) -> None:
    if _said:
        return
    _said.append(reason)
    warnings.warn(
        f"Compiled code cannot be kept on disk, so each new process compiles again, which takes about a minute "
        f"({reason}). Set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=3,
    )
