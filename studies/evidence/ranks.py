"""Average ranks of methods over problems, and which of them differ by Nemenyi's test."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata, studentized_range

LEVEL = 0.05


class Ranked(NamedTuple):
    """Average ranks, their standard errors over problems, the number of problems and the critical difference."""

    mean: pd.Series  # by method, best first
    error: pd.Series
    n_problems: int
    critical: float

    @property
    def groups(self) -> list[list[str]]:
        """Maximal runs of neighbouring methods that do not differ.

        Examples
        --------
        >>> mean = pd.Series({"a": 1.0, "b": 1.8, "c": 2.6})
        >>> Ranked(mean, mean, 10, 1.0).groups
        [['a', 'b'], ['b', 'c']]
        """
        names, ranks = list(self.mean.index), self.mean.to_numpy()
        ends = [int(np.flatnonzero(ranks - ranks[i] <= self.critical)[-1]) for i in range(len(names))]
        return [names[i : end + 1] for i, end in enumerate(ends) if end > i and (i == 0 or end > ends[i - 1])]


def rank(scores: pd.DataFrame) -> Ranked:
    """Rank the columns in each row, the smallest first; ties share their ranks, and NaN comes last.

    Parameters
    ----------
    scores : DataFrame
        Problems by methods.

    Examples
    --------
    >>> scores = pd.DataFrame({"a": [1.0, 1.0, 3.0], "b": [2.0, 1.0, np.nan]})
    >>> rank(scores).mean.to_dict()
    {'a': 1.1666666666666667, 'b': 1.8333333333333333}
    """
    ranks = np.array([rankdata(row) for row in scores.fillna(np.inf).to_numpy()])
    n, k = ranks.shape
    mean = pd.Series(ranks.mean(axis=0), index=scores.columns).sort_values(kind="stable")
    error = ranks.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.zeros(k)
    return Ranked(mean, pd.Series(error, index=scores.columns)[mean.index], n, critical_difference(k, n))


def critical_difference(k: int, n: int, level: float = LEVEL) -> float:
    """Return how far average ranks of k methods over n problems must be apart to differ (Nemenyi; Demsar 2006).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)  # the example in Demsar (2006) has q = 2.569
    1.25
    """
    q = float(studentized_range.ppf(1.0 - level, k, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(k * (k + 1) / (6.0 * n))


def draw(ranked: Ranked, titles: dict[str, str], bold: set[str], path: Path) -> None:
    """Draw the ranks on a line, methods beside it, and a bar under those that do not differ.

    Parameters
    ----------
    ranked : Ranked
    titles : dict
        What to call each method.
    bold : set of str
        Methods to emphasise.
    path : Path
        The picture.
    """
    from matplotlib.figure import Figure

    names, ranks = list(ranked.mean.index), ranked.mean.to_numpy()
    half = (len(names) + 1) // 2
    low, high = math.floor(ranks.min()), math.ceil(ranks.max())
    depth = 0.5 + 0.28 * len(ranked.groups)
    figure = Figure(figsize=(8.0, 1.2 + 0.28 * half + 0.15 * len(ranked.groups)), layout="constrained")
    axes = figure.add_subplot()
    axes.axis("off")
    axes.hlines(0.0, low, high, color="black")
    for tick in range(low, high + 1):
        axes.vlines(tick, 0.0, 0.15, color="black")
        axes.text(tick, 0.3, str(tick), ha="center", va="bottom")
    for i, (name, value) in enumerate(zip(names, ranks, strict=True)):
        on_left = i < half
        y = -depth - 0.6 * (i if on_left else len(names) - 1 - i)
        edge = low - 0.1 if on_left else high + 0.1
        axes.plot([value, value, edge], [0.0, y, y], color="0.4", linewidth=0.8)
        words = f"{titles[name]} {value:.1f}"
        weight = "bold" if name in bold else "normal"
        axes.text(edge, y, words, ha="right" if on_left else "left", va="center", weight=weight, fontsize=9)
    for i, group in enumerate(ranked.groups):
        axes.hlines(-0.25 - 0.28 * i, ranked.mean[group[0]] - 0.05, ranked.mean[group[-1]] + 0.05, linewidth=4)
    axes.hlines(1.3, low, low + ranked.critical, color="black")
    axes.text(low, 1.45, f"critical difference {ranked.critical:.2f}", va="bottom", fontsize=9)
    margin = 0.35 * (high - low) + 1.0
    axes.set_xlim(low - margin, high + margin)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
