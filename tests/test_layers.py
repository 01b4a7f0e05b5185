"""The shape of the source tree: one direction of imports, short files, numba in one folder."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src" / "widestable"
# Left never imports right (docs/design.md).
LAYERS = [
    ["_types"],
    ["_jit"],
    ["_algebra"],
    ["inputs", "stable", "network", "diagnostics", "parameters", "progress"],
    ["exact"],
    ["engine"],
    ["posterior", "predict", "jumps", "storage", "rounds"],
    ["regressor"],
    ["plots"],
    ["report"],
    ["demo"],
    ["cli"],
    ["__init__", "__main__"],
]
RANK = {name: rank for rank, group in enumerate(LAYERS) for name in group}
FILES = sorted(SRC.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    """Absolute names of everything a file imports, inside functions too."""
    names: set[str] = set()
    package = ("widestable", *path.relative_to(SRC).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


def violations(path: Path) -> list[str]:
    found = set()
    mine = layer_of(path)
    for name in imported_modules(path):
        parts = name.split(".")
        if parts[0] == "numba" and mine != "_jit":
            found.add(f"{path}: imports numba, which only _jit.py configures")
        if parts[0] == "arviz":
            found.add(f"{path}: imports the old arviz package")
        if parts[0] == "widestable" and len(parts) > 1 and RANK.get(parts[1], -1) > RANK[mine]:
            found.add(f"{path}: layer {mine!r} imports {parts[1]!r}, which comes after it")
    if path.read_text(encoding="utf-8").count("\n") > 400:
        found.add(f"{path}: more than 400 lines")
    return sorted(found)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_file_keeps_the_rules(path: Path) -> None:
    assert violations(path) == []


def test_the_check_sees_a_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "stable.py"
    bad.write_text("import numba\nfrom widestable.engine import run\nimport arviz\n" + "\n" * 400)
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    assert len(violations(bad)) == 4


def test_every_file_has_a_layer() -> None:
    assert {layer_of(path) for path in FILES} <= RANK.keys()
