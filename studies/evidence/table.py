"""Results as one table, in a file of the repository: from it the page is written and the default chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from studies.evidence.plan import SCORES
from studies.results import Kept
from studies.runner import DIGITS, Piece, Result

RESULTS = Path(__file__).with_name("results.csv")


class Layout(NamedTuple):
    """How a result becomes a line of a table, and which of its columns are numbers and texts; `repeat` is an int."""

    row: Callable[[Piece, Result], dict[str, Any]]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]


def row(piece: Piece, result: Result) -> dict[str, Any]:
    """Return one line of the table; what a method does not have is missing."""
    found = {name: result.get("scores", {}).get(name) for name in (*SCORES, "mae_truth")}
    found |= {name: result.get("mixing", {}).get(name) for name in ("rhat", "ess")}
    found |= {"seconds": result["fit_seconds"], "cpu_seconds": result.get("cpu_seconds")}
    found |= {"iterations": result.get("n_iterations"), "converged": result.get("converged")}
    found |= {"failed": result.get("failed"), "versions": result["versions"], "piece": piece.file_name}
    return {"problem": piece.data, "method": piece.method, "repeat": piece.repeat} | found


# `converged` is 1, 0, or missing.
NUMBERS = (*SCORES, "mae_truth", "seconds", "cpu_seconds", "rhat", "ess", "iterations", "converged")
FITS = Layout(row, NUMBERS, ("problem", "method", "failed", "versions", "piece"))


def read(path: Path, layout: Layout = FITS) -> pd.DataFrame:
    """Return a table in the repository, empty if there is none."""
    if not path.is_file():
        return _typed(pd.DataFrame(columns=["repeat", *layout.numbers, *layout.texts]), layout)
    return _typed(pd.read_csv(path), layout)


def gather(cache: Path, plan: Sequence[Piece], path: Path, layout: Layout = FITS) -> pd.DataFrame:
    """Return the planned pieces that have a result, in the order of the plan, from the repository or from the cache.

    Parameters
    ----------
    cache : Path
        Folder where runs keep results.
    plan : sequence of Piece
    path : Path
        The table in the repository.
    layout : Layout
    """
    known = read(path, layout)
    there = set(known["piece"])
    rows = [layout.row(*kept) for kept in Kept.of(cache, [p for p in plan if p.file_name not in there]).found]
    new = [_typed(pd.DataFrame(rows), layout)] if rows else []
    found = pd.concat([*([known] if len(known) else []), *new]) if len(known) or new else known
    order = {piece.file_name: i for i, piece in enumerate(plan)}
    found = found[found["piece"].isin(order)]
    return found.sort_values("piece", key=lambda names: names.map(order)).reset_index(drop=True)


def export(cache: Path, plan: Sequence[Piece], path: Path, layout: Layout = FITS) -> pd.DataFrame:
    """Write all results into the repository, and return them. Results that are no longer planned are dropped."""
    found = gather(cache, plan, path, layout)
    found.to_csv(path, index=False, float_format=f"%.{DIGITS}g")
    return found


def _typed(frame: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    types = dict.fromkeys(layout.numbers, float) | dict.fromkeys(layout.texts, object)
    frame = frame.astype(types | {"repeat": int})
    # pandas reads empty cells as NaN.
    return frame.assign(**{name: frame[name].where(frame[name].notna(), None) for name in layout.texts})


# --- Means -----------------------------------------------------------------------------------------------


def complete(frame: pd.DataFrame, planned: Sequence[Piece]) -> pd.DataFrame:
    """Return the results on data sets where every method that was run at all, and is planned there, has one.

    Parameters
    ----------
    frame : DataFrame
        Results.
    planned : sequence of Piece
        What there would be.
    """
    methods = set(frame["method"])
    missing = {
        (piece.data, piece.repeat)
        for piece in planned
        if piece.method in methods and piece.file_name not in set(frame["piece"])
    }
    keys = pd.Series(list(zip(frame["problem"], frame["repeat"], strict=True)), index=frame.index, dtype=object)
    return frame[~keys.isin(missing)]


def means(frame: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return the mean of a score over data sets, problems by methods; NaN where a method failed or was not run."""
    values = frame[score].where(frame["failed"].isna())
    by = [frame["problem"], frame["method"]]
    # One failure makes the mean NaN.
    found = values.groupby(by, sort=False).agg(lambda group: np.mean(group.to_numpy()))
    return found.unstack("method").reindex(index=pd.unique(frame["problem"]), columns=pd.unique(frame["method"]))
