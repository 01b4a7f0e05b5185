"""Without a place for compiled code, it is compiled in memory: one warning says so, and the numbers are the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import widestable
from widestable.exact.gibbs import capped_exp, log_noise
from widestable.stable import log_kanter_of_one

# Small functions, which compile in a second; importing them decorates all compiled functions.
PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    from widestable.stable import log_kanter_of_one
    from widestable.exact.gibbs import capped_exp, log_noise
    values = capped_exp(1.0), log_noise(0.5, 3.0, 2.0), log_kanter_of_one(1.0, 1.1)
told = [str(w.message) for w in found if "cannot be kept on disk" in str(w.message)]
print(repr(values), len(told), all("NUMBA_CACHE_DIR" in text for text in told))
"""
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""


@pytest.fixture
def package() -> Iterator[Path]:
    """A copy of the package, without compiled code, that every user can read."""
    folder = Path(tempfile.mkdtemp())
    source = Path(widestable.__file__).parent
    shutil.copytree(source, folder / "widestable", ignore=shutil.ignore_patterns("__pycache__"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def run_in(package: Path, program: str = PROGRAM, cache: Path | None = None, **how: Any) -> list[str]:
    """Values, number of warnings, and whether they name the remedy, in a fresh process."""
    nowhere = package / "widestable" / "__init__.py" / "nowhere"  # below a file there is no folder
    environment = os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(nowhere)}
    environment |= {"XDG_CACHE_HOME": str(nowhere), "NUMBA_CACHE_DIR": str(cache or nowhere)}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd="/", check=False, **how
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.rsplit(maxsplit=2)


def sources_of(package: Path) -> list[Path]:
    """The folders of the package that hold Python files."""
    return sorted({path.parent for path in package.rglob("*.py")})


def block_pycache(package: Path) -> None:
    """A file where numba would make its folder beside the sources: not even root can write there."""
    for folder in sources_of(package):
        (folder / "__pycache__").write_text("")


def test_without_any_folder_code_is_compiled_in_memory(package: Path, tmp_path: Path) -> None:
    block_pycache(package)
    values, n_told, has_remedy = run_in(package)
    assert (n_told, has_remedy) == ("1", "True")
    missing = tmp_path / "not" / "there"
    assert run_in(package, cache=missing) == [values, "0", "True"]  # a missing folder is made, without a word
    assert any(missing.rglob("*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="limits on the size of files")
def test_a_full_folder_keeps_code_in_memory(package: Path, tmp_path: Path) -> None:
    values = capped_exp(1.0), log_noise(0.5, 3.0, 2.0), log_kanter_of_one(1.0, 1.1)  # with a cache, in this process
    assert run_in(package, FULL + PROGRAM, cache=tmp_path / "full") == [repr(values), "1", "True"]


def can_import_numba(**how: Any) -> bool:
    try:
        subprocess.run([sys.executable, "-c", "import numba"], cwd="/", check=True, capture_output=True, **how)
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="users and permissions as POSIX has them")
def test_a_read_only_installation_works(package: Path) -> None:
    """As in a container: package, cache and home belong to someone else."""
    cache = package / "cache"
    cache.mkdir()
    for path in (cache, package, *sources_of(package)):
        path.chmod(0o555)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        if not can_import_numba(**nobody):
            pytest.skip("another user cannot run this interpreter: use one that is not in somebody's home")
        assert run_in(package, cache=cache, **nobody)[1:] == ["1", "True"]
    finally:
        for path in (package, *sources_of(package)):
            path.chmod(0o755)
