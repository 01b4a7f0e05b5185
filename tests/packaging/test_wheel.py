"""What the wheel and the sdist hold, and that the wheel works alone in an empty environment (`make test-wheel`)."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import widestable
from tests.cli.commands import write_line
from tools.compile_kernels import baseline, kernels_in
from widestable import __version__
from widestable.exact import gibbs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 300_000
# Pictures of the pages are the only larger files, and only the sdist has them.
PICTURES = {".png"}


def run(
    *command: object, where: Path, code: int = 0, settings: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command as a user would give it: in another folder, with nothing of the checkout on the path."""
    hidden = {"PYTHONPATH", "NUMBA_CACHE_DIR", "PYTEST_CURRENT_TEST", "SCIPY_ARRAY_API"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | (settings or {})
    done = subprocess.run(
        [str(part) for part in command], cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and two wheels, with compiled code and without: to be published, or new."""
    if "WIDESTABLE_DIST" in os.environ:
        return Path(os.environ["WIDESTABLE_DIST"])
    out = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--outdir", out)
    run(*build, ROOT, where=out)
    run(*build, "--wheel", ROOT, where=out, settings={"WIDESTABLE_COMPILE": "1"})
    return out


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel with compiled code and what it asks for, and mypy."""
    folder = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", folder / "venv", where=folder)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", *built.glob("*-cp*.whl"), "mypy", where=folder)
    return python


def names_in(wheel: Path) -> dict[str, int]:
    """What a wheel holds, with sizes."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.file_size for info in archive.infolist()}


def test_contents_of_the_wheel(built: Path) -> None:
    wheel = built / f"widestable-{__version__}-py3-none-any.whl"
    sizes = {PurePosixPath(name): size for name, size in names_in(wheel).items()}
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"widestable-{__version__}.dist-info/METADATA").decode()
    info = PurePosixPath(f"widestable-{__version__}.dist-info")
    assert PurePosixPath("widestable/py.typed") in sizes
    assert info / "licenses" / "LICENSE" in sizes
    assert {path.parts[0] for path in sizes} == {"widestable", info.name}
    # Every file of the package, the report's style and script and the examples too, and nothing else.
    files = (
        path for path in (ROOT / "src/widestable").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    sources = {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert sources == {str(path) for path in sizes if path.parts[0] == "widestable"}
    assert {PurePosixPath(name).suffix for name in sources} == {".py", ".typed", ".css", ".js", ".csv"}
    assert max(sizes.values()) < MAX_BYTES
    assert "License-Expression: BSD-3-Clause" in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_the_other_wheel_has_the_code_of_every_compiled_function_besides(built: Path) -> None:
    (wheel,) = built.glob("*-cp*.whl")
    assert f"-cp3{sys.version_info.minor}-" in wheel.name
    assert wheel.stat().st_size < 5_000_000
    plain = names_in(built / f"widestable-{__version__}-py3-none-any.whl")
    added = names_in(wheel).keys() - plain.keys()
    assert {PurePosixPath(name).parent.as_posix() for name in added} == {"widestable/_compiled"}
    codes = {name.rpartition("/")[2].rpartition("-")[0] for name in added if name.endswith(".nbc")}
    assert codes == {
        f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}".removeprefix("widestable.")
        for _, name, _ in pkgutil.walk_packages(widestable.__path__, "widestable.")
        if not name.endswith("__main__")
        for kernel in kernels_in(importlib.import_module(name))
    }


# Prints how many functions were compiled, a hash of draws and predictions, and why no shipped code was used.
FIT = """
import hashlib, warnings
import numpy as np
from widestable import StableRegressor
from widestable._code_cache import why_not_shipped
from widestable._jit import when_compiling
warnings.simplefilter("ignore", UserWarning)
told = []
x = np.linspace(-2.0, 2.0, 30)[:, None]
y = np.where(x[:, 0] > 0.25, 5.0, 0.0) + np.sin(9.0 * x[:, 0])
digest = hashlib.sha256()
with when_compiling(lambda *counts: told.append(counts)):
    for how in ({}, {"sharpness": 1.5, "noise": "outliers"}, {"sharpness": None, "relevance": None}):
        model = StableRegressor(n_chains=2, n_sweeps=100, random_state=0, progress=False, **how).fit(x, y)
        for part in (model.posterior_.f, model.predict_interval(x), model.sample_y(x, random_state=0)):
            digest.update(np.ascontiguousarray(part).tobytes())
print(len(told) // 2, digest.hexdigest(), why_not_shipped())
"""
# LLVM is told that this processor is ten years older than it is.
OLDER = """
import llvmlite.binding as llvm
features = llvm.get_host_cpu_features()
features.update(dict.fromkeys([name for name in features if name[:3] in ("avx", "bmi", "fma")], False))
llvm.get_host_cpu_features = lambda: features
llvm.get_host_cpu_name = lambda: "x86-64"
from widestable._code_cache import why_not_shipped
from widestable.exact.gibbs import log_noise
print(log_noise(0.5, 3.0, 2.0), log_noise.stats.cache_misses, sep="\\n")
print(why_not_shipped())
"""


def test_nothing_is_compiled_where_the_wheel_fits(python: Path, tmp_path: Path) -> None:
    """With empty folders, then with none that can be written, and the draws are those of code compiled here."""
    empty = {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    answer = run(python, "-W", "error::RuntimeWarning", "-c", FIT, where=tmp_path, settings=empty).stdout.split(
        maxsplit=2
    )
    assert (answer[0], answer[2].strip()) == ("0", "None")
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), str(Path(__file__) / "nowhere"))
    nowhere |= {"MPLCONFIGDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    again = run(python, "-W", "error::RuntimeWarning", "-c", FIT, where=tmp_path, settings=nowhere)
    assert again.stdout.split(maxsplit=2) == answer
    assert not list(tmp_path.rglob("*.nbi"))
    processor, features = baseline()
    same = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in features)}
    n_compiled, digest, reason = run(python, "-c", FIT, where=tmp_path, settings=empty | same).stdout.split(maxsplit=2)
    assert int(n_compiled) > 100
    assert "NUMBA_CPU_NAME" in reason
    assert digest == answer[1]


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="names of x86 extensions")
def test_an_older_processor_compiles_for_itself(python: Path, tmp_path: Path) -> None:
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    value, misses, reason = run(python, "-c", OLDER, where=tmp_path, settings=settings).stdout.splitlines()
    assert float(value) == pytest.approx(gibbs.log_noise(0.5, 3.0, 2.0))
    assert "1" in misses
    assert reason.startswith("this processor lacks avx, avx2")
    assert list(tmp_path.rglob("*.nbi"))


def test_contents_of_the_sdist(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        sizes = {PurePosixPath(*PurePosixPath(m.name).parts[1:]): m.size for m in archive.getmembers() if m.isfile()}
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "Makefile", "pyproject.toml", "PKG-INFO"):
        assert PurePosixPath(name) in sizes
    assert {"src", "tests", "docs", "studies", "tools"} <= {path.parts[0] for path in sizes}
    assert PurePosixPath("tests/golden/space.json") in sizes
    unwanted = {"__pycache__", ".numba_cache", ".venv", ".git", ".hypothesis", "_build"}
    assert not [path for path in sizes if unwanted & set(path.parts)]
    assert {path: size for path, size in sizes.items() if size >= MAX_BYTES and path.suffix not in PICTURES} == {}
    assert sum(sizes.values()) < 10_000_000


def test_python_works_from_the_wheel(python: Path, tmp_path: Path) -> None:
    code = (
        "import json, sys, warnings, widestable\n"
        "warnings.simplefilter('ignore')\n"
        "model = widestable.StableRegressor(n_chains=1, n_sweeps=60, random_state=0)\n"
        "model.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.1, 5.0, 5.1])\n"
        "print(json.dumps([widestable.__file__, sys.prefix, model.predict([[0.5], [2.5]]).tolist()]))\n"
    )
    where, prefix, (left, right) = json.loads(run(python, "-c", code, where=tmp_path).stdout)
    assert Path(where).is_relative_to(prefix)
    assert "site-packages" in Path(where).parts
    assert str(ROOT) not in where
    assert left < right


def test_the_command_line_works_from_the_wheel(python: Path, tmp_path: Path) -> None:
    program = python.with_name("widestable")
    assert "fit" in run(program, "--help", where=tmp_path).stdout
    info = json.loads(run(program, "info", "--json", where=tmp_path).stdout)
    assert info["widestable"] == __version__
    assert info["numpy"]
    assert info["plotly"] is None
    assert (info["compiled code"], info["shipped code"]) == ("shipped", "fits")
    assert str(ROOT) not in info["compile cache"]
    write_line(tmp_path / "data.csv")
    short = ("--sweeps", "60", "--chains", "2", "--jobs", "1", "--quiet")
    run(program, "fit", "data.csv", "--target", "level", "--out", "run", *short, where=tmp_path)
    run(program, "predict", "run", "data.csv", "--out", "p.csv", where=tmp_path)
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "time,level,site,prediction,lower,upper"
    assert len(lines) == 25
    # Without the extra, the report says what to install.
    done = run(program, "report", "run", where=tmp_path, code=1)
    assert "install widestable with its extra 'report'" in done.stderr


def test_a_client_type_checks_against_the_wheel(python: Path, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("client.py.txt"), tmp_path / "client.py")
    done = run(python, "-m", "mypy", "--strict", "client.py", where=tmp_path)
    assert "no issues found" in done.stdout
    (tmp_path / "wrong.py").write_text("from widestable import StableRegressor\nStableRegressor(alhpa=1.0)\n")
    assert "alhpa" in run(python, "-m", "mypy", "--strict", "wrong.py", where=tmp_path, code=1).stdout
