"""The shape of the source tree: imports go one way and never round in a circle, files are short, _jit owns numba.

`python -m tests.test_layers` prints which package imports which.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src" / "widestable"
# An earlier layer never imports a later one (docs/design.md).
LAYERS = [
    ["_types", "_blas", "random_state", "files"],
    ["_code_cache"],
    ["_jit"],
    ["_algebra", "_arcsine"],
    ["inputs", "stable", "diagnostics", "progress"],
    ["network", "parameters"],
    ["exact"],
    ["engine"],
    ["predict", "jumps"],
    ["importance"],
    ["pointwise", "summaries", "posterior"],
    ["storage", "fitting", "outliers", "predictions", "effects"],
    ["regressor"],
    ["plots"],
    ["report"],
    ["cli"],
    ["__init__", "__main__"],
]
RANK = {name: rank for rank, group in enumerate(LAYERS) for name in group}
FILES = sorted(SRC.rglob("*.py"))

Graph = dict[str, set[str]]


# --- What a file imports ---------------------------------------------------------------------------------


def layer_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def module_name(path: Path) -> str:
    return ".".join(["widestable", *path.relative_to(SRC).with_suffix("").parts]).removesuffix(".__init__")


def nodes(tree: ast.AST, *, typing: bool) -> Iterator[ast.AST]:
    """All nodes below `tree`. Unless `typing`, leave out those that only a type checker reads."""
    for child in ast.iter_child_nodes(tree):
        if typing or not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from nodes(child, typing=typing)


def imported_names(path: Path, *, typing: bool = True) -> set[str]:
    """Absolute names of everything a file imports, inside functions too."""
    names: set[str] = set()
    package = ("widestable", *path.relative_to(SRC).parts[:-1])
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), typing=typing):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


# --- Rules for one file ----------------------------------------------------------------------------------


def violations(path: Path) -> list[str]:
    found = set()
    mine = layer_of(path)
    for name in imported_names(path):
        parts = name.split(".")
        if parts[0] == "numba" and mine not in ("_jit", "_code_cache"):
            found.add(f"{path}: imports numba, which only _jit.py configures")
        if parts[0] == "arviz":
            found.add(f"{path}: imports the old arviz package")
        if parts[0] == "widestable" and len(parts) > 1 and RANK.get(parts[1], -1) > RANK[mine]:
            found.add(f"{path}: layer {mine!r} imports {parts[1]!r}, which comes after it")
    if path.read_text(encoding="utf-8").count("\n") > 400:
        found.add(f"{path}: more than 400 lines")
    return sorted(found)


def test_files_keep_the_rules() -> None:
    assert [found for path in FILES for found in violations(path)] == []


def test_every_file_has_a_layer() -> None:
    assert {layer_of(path) for path in FILES} <= RANK.keys()


def test_the_design_page_lists_the_layers() -> None:
    page = (SRC.parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+(?:, \w+)*)$", page.split("## 6. Layers")[1], re.MULTILINE)
    # The two files that start the package import it whole, and are no layer to a reader.
    assert [line.split(", ") for line in listed] == LAYERS[:-1]


def test_a_violation_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "stable.py"
    bad.write_text("import numba\nfrom widestable.engine import run\nimport arviz\n" + "\n" * 400)
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    assert len(violations(bad)) == 4


# --- Cycles ----------------------------------------------------------------------------------------------


def import_graph(files: list[Path]) -> Graph:
    """The modules that each module imports while it runs."""
    modules = {module_name(path) for path in files}

    def module_of(name: str) -> str:
        """The module itself, or the one that a name such as a function comes from."""
        return name if name in modules else name.rpartition(".")[0]

    return {
        module_name(path): {module_of(name) for name in imported_names(path, typing=False)} & modules for path in files
    }


def find_cycle(graph: Graph) -> list[str]:
    """Modules that import each other in a circle, ending with the first one again; empty if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_round_a_circle() -> None:
    assert find_cycle(import_graph(FILES)) == []


@pytest.mark.parametrize(
    ("line", "is_cycle"),
    [
        ("from .a import f", True),
        ("from . import a", True),
        ("from widestable.pack import a", True),
        ("def g():\n    from .a import f", True),
        ("if TYPE_CHECKING:\n    from .a import f", False),
        ("from ..other import f", False),
        ("", False),
    ],
)
def test_a_cycle_inside_a_package_is_seen(
    line: str, is_cycle: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"a.py": "from .b import g", "b.py": "from .c import h", "c.py": line, "__init__.py": "from .a import f"}
    (tmp_path / "pack").mkdir()
    for name, text in texts.items():
        (tmp_path / "pack" / name).write_text(text)
    (tmp_path / "other.py").touch()
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    cycle = find_cycle(import_graph(sorted(tmp_path.rglob("*.py"))))
    assert {name.rpartition(".")[2] for name in cycle} == (set("abc") if is_cycle else set())


# --- The picture -----------------------------------------------------------------------------------------


def package_graph() -> Graph:
    """Which package or module at the top of the tree imports which others."""
    modules, graph = import_graph(FILES), {name: set[str]() for name in RANK}
    for path in FILES:
        graph[layer_of(path)] |= {[*name.split("."), "__init__"][1] for name in modules[module_name(path)]}
    return {name: found - {name} for name, found in graph.items()}


if __name__ == "__main__":
    for name, found in package_graph().items():
        print(f"{name:12} imports {', '.join(sorted(found, key=RANK.__getitem__)) or 'nothing of ours'}")
