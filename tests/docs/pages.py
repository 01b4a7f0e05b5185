"""What is written in docs/: pages, headings, links and code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\} python\n(---\n.*?^---\n|(?::\w[^\n]*\n)*)(.*?)^```$", re.DOTALL | re.MULTILINE)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def text_of(page: Path) -> str:
    """A page without its code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Targets of links to headings, spelled as GitHub and MyST do."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """Links to files of the repository: neither to other sites nor to the host's own pages about its workflows."""
    targets = re.findall(r"\]\(([^)]+)\)", text_of(page))
    return [target for target in targets if "://" not in target and not target.startswith("../../actions/")]


def broken_links(page: Path) -> list[str]:
    found = []
    for target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.is_file() or (anchor and anchor not in anchors(file)):
            found.append(target)
    return found


def in_toctree(page: Path) -> list[Path]:
    """Pages that a page lists in its tables of contents, with patterns expanded."""
    lines = "\n".join(TOCTREE.findall(page.read_text(encoding="utf-8"))).splitlines()
    names = [line for line in lines if line and not line.startswith(":")]
    return [file for name in names for file in sorted(page.parent.glob(f"{name}.md"))]


class Commands(NamedTuple):
    """Targets of make, and benchmarks."""

    targets: set[str]
    benchmarks: set[str]


def commands(text: str) -> Commands:
    """Commands that a text tells its reader to run, in backquotes or on an indented line."""
    targets = re.findall(r"(?:`|^    )make ([a-z][\w-]*)", text, re.MULTILINE)
    return Commands(set(targets), set(re.findall(r"python -m studies\.benchmarks[. ](\w+)", text)))


def run(page: Path) -> dict[str, Any]:
    """Run the cells of a page in one namespace, as a build does."""
    names: dict[str, Any] = {}
    for _, cell in CELL.findall(page.read_text(encoding="utf-8")):
        exec(compile(cell, str(page), "exec"), names)
    return names
