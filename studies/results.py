"""Kept results of one study, summaries of them, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from studies.runner import Piece, Result, read


class Summary(NamedTuple):
    """Mean over training sets or splits, its standard error (0 for a single one), and their number."""

    mean: float
    error: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.error:.3f})" if self.n > 1 else f"{self.mean:.3f}"


def summarise(values: list[float]) -> Summary:
    """Return the mean of the values with its standard error.

    Examples
    --------
    >>> str(summarise([1.0, 3.0]))
    '2.000 (1.000)'
    """
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return Summary(float(np.mean(values)), spread, len(values))


@dataclass(frozen=True)
class Kept:
    """Those pieces of a study that have a result.

    Attributes
    ----------
    found : tuple of (Piece, Result)
    n_planned : int
        Number of pieces with and without a result.
    """

    found: tuple[tuple[Piece, Result], ...]
    n_planned: int

    @classmethod
    def of(cls, cache: Path, plan: list[Piece]) -> Kept:
        """Read what the cache holds of a plan."""
        results = ((piece, read(cache, piece)) for piece in plan)
        return cls(tuple((piece, result) for piece, result in results if result is not None), len(plan))

    def select(self, method: str | None = None, data: str | None = None) -> Iterator[tuple[Piece, Result]]:
        """Yield the results of a method on a data set; None stands for any."""
        for piece, result in self.found:
            if method in (None, piece.method) and data in (None, piece.data):
                yield piece, result

    def first(self, method: str, data: str) -> Result | None:
        """Return the result of the first training set or split."""
        return next((result for piece, result in self.select(method, data) if piece.repeat == 0), None)

    def score(self, name: str, method: str, data: str) -> Summary | None:
        """Return the mean of a score over training sets or splits, or None without results."""
        values = [float(result["scores"][name]) for _, result in self.select(method, data)]
        return summarise(values) if values else None

    @property
    def results(self) -> list[Result]:
        """The results without their pieces."""
        return [result for _, result in self.found]

    @property
    def seconds(self) -> float:
        """Processor time of all pieces."""
        return sum(float(result["cpu_seconds"]) for result in self.results)


# --- Tables ----------------------------------------------------------------------------------------------


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    text[1] = text[1].replace(" ", "")
    return "\n".join(text)


def bold_smallest(cells: list[Summary | None], digits: int = 3) -> list[str]:
    """Return the means as text, with the smallest in bold and a dash for None."""
    smallest = min((round(cell.mean, digits) for cell in cells if cell is not None), default=None)
    return [_bold(cell, cell is not None and round(cell.mean, digits) == smallest) for cell in cells]


def _bold(cell: Summary | None, is_bold: bool) -> str:
    if cell is None:
        return "–"
    return f"**{cell}**" if is_bold else str(cell)


def number(value: Any, digits: int = 3) -> str:
    """Return a number as text, a dash for None, and text as it is."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{float(value):.{digits}f}"
