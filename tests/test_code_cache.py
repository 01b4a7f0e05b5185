"""Where compiled code comes from: shipped code runs only where it fits, and an edit makes kept code stale."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import pytest
from numba import float64
from numba.core import config

from tests.test_layers import FILES, SRC, imported_names, module_name
from widestable import _code_cache
from widestable._code_cache import LABEL, TUPLES, hash_sources, why_not_shipped, write_label, write_shipped
from widestable._jit import inner_kernel, kernel, when_compiling


def triple(x: float) -> float:
    return 3.0 * x


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as in a wheel, made for this processor, with the code of one function."""
    monkeypatch.setattr(_code_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kept"))  # what an earlier run kept would be found
    monkeypatch.setattr(config, "CPU_NAME", None)
    monkeypatch.setattr(config, "CPU_FEATURES", None)
    write_label(tmp_path, "this one", [name for name, has in llvmlite.binding.get_host_cpu_features().items() if has])
    compiled = inner_kernel(triple)
    compiled.compile((float64,))
    write_shipped(triple, (float64,), compiled.overloads[(float64,)], tmp_path)
    why_not_shipped.cache_clear()
    yield tmp_path
    why_not_shipped.cache_clear()


def change_label(folder: Path, part: str, name: str | None, value: Any) -> None:
    label = json.loads((folder / LABEL).read_text())
    if name is None:
        label[part] = value
    else:
        label[part][name] = value
    (folder / LABEL).write_text(json.dumps(label))


# --- Shipped code ----------------------------------------------------------------------------------------


def n_compiled(function: Any, *arguments: Any) -> int:
    """How many times the compiler runs when a function is called."""
    told: list[tuple[int, int]] = []
    with when_compiling(lambda *counts: told.append(counts)):
        assert function(*arguments) == triple(*arguments)
    return len(told) // 2  # told at the beginning and at the end


def test_shipped_code_runs_without_the_compiler_and_without_a_folder(shipped: Path) -> None:
    function = kernel(triple)
    assert n_compiled(function, 2.0) == 0
    assert "_kept" not in vars(function._cache)  # looking for a folder would have written to it
    assert n_compiled(function, 2) == 1  # no code for whole numbers is there


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder, patch: (folder / LABEL).unlink(), "this installation has none"),
        (
            lambda folder, patch: change_label(folder, "surroundings", "numba", "0.1"),
            "it is for numba 0.1, and here is",
        ),
        (lambda folder, patch: change_label(folder, "surroundings", "Python", "cpython-38"), "for Python cpython-38"),
        (lambda folder, patch: change_label(folder, "surroundings", "platform", "vms VAX"), "for platform vms VAX"),
        (
            lambda folder, patch: change_label(folder, "surroundings", "sources with hash", "0"),
            "for sources with hash 0",
        ),
        (lambda folder, patch: change_label(folder, "features", None, ["avx9000"]), "this processor lacks avx9000"),
        (
            lambda folder, patch: patch.setattr(config, "CPU_NAME", "generic"),
            "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks",
        ),
        (lambda folder, patch: patch.setattr(config, "BOUNDSCHECK", 1), "numba is set otherwise: BOUNDSCHECK"),
        (lambda folder, patch: patch.setattr(_code_cache, "hash_sources", lambda: ""), "sources are not there"),
    ],
)
def test_code_that_does_not_fit_is_not_used(
    spoil: Callable[[Path, pytest.MonkeyPatch], None], reason: str, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why_not_shipped() is None
    why_not_shipped.cache_clear()
    spoil(shipped, monkeypatch)
    assert reason in (why_not_shipped() or "")
    monkeypatch.setattr(_code_cache, "_Kept", lambda function: _code_cache._Nowhere("a test"))
    monkeypatch.setattr(_code_cache, "_said", ["not kept"])
    assert n_compiled(kernel(triple), 2.0) == 1


@pytest.mark.parametrize("features", [RuntimeError, {"avx2": False, "neon": False}])
def test_an_older_or_unknown_processor_is_not_sent_code_it_lacks(
    features: Any, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def host() -> Any:
        if features is RuntimeError:
            raise RuntimeError("LLVM does not know")
        return dict(llvmlite.binding.FeatureMap()) | features

    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", host)
    change_label(shipped, "features", None, ["avx2"])
    assert why_not_shipped() == "this processor lacks avx2"


# --- Kept code -------------------------------------------------------------------------------------------


def compiled_sources() -> list[Path]:
    return [path for path in FILES if re.search(r"_jit import .*kernel", path.read_text(encoding="utf-8"))]


def test_an_edit_of_anything_that_is_compiled_makes_kept_code_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SRC, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_code_cache, "PACKAGE", tmp_path / "copy")

    def hash_after(name: str, line: bytes) -> str:
        path = tmp_path / "copy" / name
        path.write_bytes(path.read_bytes() + line)
        return hash_sources.__wrapped__()

    hashes = [hash_sources()]
    assert hash_after("cli/info.py", b"x = 1\n") == hashes[0]
    for name in ("engine/loose.py", "engine/model.py", "_jit.py", "stable.py"):
        hashes.append(hash_after(name, b"x = 1\n"))
    assert len(set(hashes)) == 5
    monkeypatch.setattr(_code_cache, "PACKAGE", tmp_path / "nothing")
    assert hash_sources.__wrapped__() == ""


def test_compiled_code_takes_constants_and_tuples_from_hashed_sources_only() -> None:
    hashed = {module_name(path) for path in compiled_sources()} | {module_name(SRC / name) for name in TUPLES}
    for path in compiled_sources():
        for name in imported_names(path, typing=False):
            module, _, what = name.rpartition(".")
            if not module.startswith("widestable") or module in {*hashed, "widestable._jit", "widestable._types"}:
                continue
            value = getattr(importlib.import_module(module), what)
            is_known = isinstance(value, bool | int | float | str | tuple | np.ndarray) or hasattr(value, "_fields")
            assert not is_known, f"{path.name} imports {name}: add its file to TUPLES in _code_cache.py"


def test_settings_of_numba_have_code_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, codegen = _code_cache._Kept(triple), inner_kernel(triple).targetctx.codegen()
    before = kept._index_key((float64,), codegen)
    assert kept._index_key((float64,), codegen) == before
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert kept._index_key((float64,), codegen) != before
