"""The shape of studies/ and tools/: the direction of imports, one door to the engine, examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "studies").rglob("*.py"))
WITH_EXAMPLES = [path for path in STUDIES if ">>> " in path.read_text(encoding="utf-8")]
# Optional libraries that take seconds to import.
HEAVY = {"jax", "numpyro", "stochtree", "bartz", "equinox", "pymc", "pymc_bart", "pooch", "openpyxl"}
HEAVY |= {"pyBayesPPR", "dgpsi", "ruptures", "Rbeast", "statsmodels"}


def imported(path: Path, *, in_functions: bool = True) -> set[str]:
    """Names of the modules that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree) if in_functions else tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_the_package_does_not_import_what_only_developers_have() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        assert not {name.split(".")[0] for name in imported(path)} & {"studies", "tools", "tests"}, path


def test_one_file_reaches_into_the_engine() -> None:
    behind = ("widestable.engine", "widestable.fitting", "widestable.predict", "widestable.posterior")
    found = {path.name for path in STUDIES if any(name.startswith(behind) for name in imported(path))}
    assert found == {"sampling.py"}


def test_heavy_libraries_are_imported_inside_functions_only() -> None:
    for path in STUDIES:
        assert not {name.split(".")[0] for name in imported(path, in_functions=False)} & HEAVY, path


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0
