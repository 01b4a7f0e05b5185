"""Read tables of other pages, so that a page quotes what the other one says on the day of the build."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
Table = dict[str, dict[str, str]]


def read_table(page: str, heading: str) -> Table:
    """Return the first table under a heading: the text of each cell, by row name and column name.

    Parameters
    ----------
    page : str
        Name of a file in this folder.
    heading : str
        Beginning of the heading, without the number signs.
    """
    lines = (HERE / page).read_text(encoding="utf-8").splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith("#") and line.lstrip("# ").startswith(heading)]
    first = next(i for i in range(start, len(lines)) if lines[i].startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    (_, *columns), _, *body = rows
    return {name: dict(zip(columns, cells, strict=True)) for name, *cells in body}


def number(text: str) -> float:
    """Return the number in a cell such as `**0.403 (0.010)**`, without emphasis and standard error."""
    return float(text.strip("*").split()[0])


def smallest(table: Table, column: str, rows: list[str]) -> tuple[str, float]:
    """Return the name of the row with the smallest number in a column, and that number."""
    found = {name: number(table[name][column]) for name in rows if table[name][column] not in {"", "–"}}
    best = min(found, key=lambda name: found[name])
    return best, found[best]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Format a table as Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows])
