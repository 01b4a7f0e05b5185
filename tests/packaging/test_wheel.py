"""What the wheel and the sdist hold, and that the wheel works alone in an empty environment (`make test-wheel`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from tests.cli.commands import write_line
from widestable import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 300_000
# Pictures of the pages are the only larger files, and only the sdist has them.
PICTURES = {".png"}


def run(*command: object, where: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command as a user would give it: in another folder, with nothing of the checkout on the path."""
    hidden = {"PYTHONPATH", "NUMBA_CACHE_DIR", "PYTEST_CURRENT_TEST", "SCIPY_ARRAY_API"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command], cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and a wheel made from it: the one that will be published, or else a new one."""
    if "WIDESTABLE_DIST" in os.environ:
        return Path(os.environ["WIDESTABLE_DIST"])
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, where=out)
    return out


@pytest.fixture(scope="module")
def python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and what it asks for, and mypy."""
    folder = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", folder / "venv", where=folder)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", *built.glob("*.whl"), "mypy", where=folder)
    return python


def test_contents_of_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"widestable-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        sizes = {PurePosixPath(info.filename): info.file_size for info in archive.infolist()}
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
    widestable = python.with_name("widestable")
    assert "fit" in run(widestable, "--help", where=tmp_path).stdout
    info = json.loads(run(widestable, "info", "--json", where=tmp_path).stdout)
    assert info["widestable"] == __version__
    assert info["numpy"]
    assert info["plotly"] is None
    assert str(ROOT) not in info["compile cache"]
    write_line(tmp_path / "data.csv")
    short = ("--sweeps", "60", "--chains", "2", "--jobs", "1", "--quiet")
    run(widestable, "fit", "data.csv", "--target", "level", "--out", "run", *short, where=tmp_path)
    run(widestable, "predict", "run", "data.csv", "--out", "p.csv", where=tmp_path)
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "time,level,site,prediction,lower,upper"
    assert len(lines) == 25
    # Without the extra, the report says what to install.
    done = run(widestable, "report", "run", where=tmp_path, code=1)
    assert "install widestable with its extra 'report'" in done.stderr


def test_a_client_type_checks_against_the_wheel(python: Path, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("client.py.txt"), tmp_path / "client.py")
    done = run(python, "-m", "mypy", "--strict", "client.py", where=tmp_path)
    assert "no issues found" in done.stdout
    (tmp_path / "wrong.py").write_text("from widestable import StableRegressor\nStableRegressor(alhpa=1.0)\n")
    assert "alhpa" in run(python, "-m", "mypy", "--strict", "wrong.py", where=tmp_path, code=1).stdout
