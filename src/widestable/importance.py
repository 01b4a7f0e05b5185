"""Which inputs matter: the share of the variance of f that each input explains, with its uncertainty.

Let x_j be drawn afresh from its own column, independently of the other inputs, which keep their joint law. Then

    share_j = E Var(f | all inputs but j) / Var f        alone_j = Var E(f | x_j) / Var f

are the total and the first-order index of Sobol for the two independent groups of inputs, j and the rest. Both are
between 0 and 1, and `alone` is at most `share`; the difference is what j does together with other inputs. They are
computed for each posterior draw of f over a finite set of rows, so they exist although f itself has no moments.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._types import FloatArray, IntArray
from .inputs import CATEGORY, TrainingData, spread_indices
from .predict.components import Source
from .predict.joint import draw_paths

# Rows of each of the two copies of the data in which one column is drawn afresh.
N_ROWS = 200
# Groups of similar values of x_j: the effect of x_j is a step function with this many steps.
N_GROUPS = 20
# Variances of f, relative to its largest square, that are rounding.
ROUNDING = 1e-24
# Each law of the hyperplanes among the draws costs its own covariances.
MAX_LAWS = 32
# Steps of the R2 sequence: with i / n they fill the unit cube evenly.
STEPS = (0.7548776662466927, 0.5698402909980532)


def input_shares(data: TrainingData, source: Source, n_draws: int, rng: np.random.Generator) -> Any:
    """See `Posterior.input_shares`."""
    import pandas  # type: ignore[import-untyped]

    share, alone = share_draws(data, source, n_draws, rng)
    columns: dict[str, FloatArray] = {}
    for label, draws in (("share", share), ("alone", alone)):
        low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95], axis=0)
        prefix = "" if label == "share" else "alone "
        columns |= {label: middle, f"{prefix}5%": low, f"{prefix}95%": high}
    return pandas.DataFrame(columns, index=list(data.columns.labels))


def share_draws(
    data: TrainingData, source: Source, n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Posterior draws of `share` and of `alone`, shapes (draws, inputs)."""
    which = choose_draws(source, n_draws)
    redrawn = [_redrawn(data, j) for j in range(len(data.columns))]
    paths = draw_paths(source, which, [copies for copies, _ in redrawn], rng)
    found = [_indices(f, groups) for f, (_, groups) in zip(paths, redrawn, strict=True)]
    return np.column_stack([share for share, _ in found]), np.column_stack([alone for _, alone in found])


def choose_draws(source: Source, n_draws: int) -> IntArray:
    """Stored draws, evenly spread, of at most `MAX_LAWS` laws."""
    laws = spread_indices(len(source.laws), MAX_LAWS)
    usable = np.flatnonzero(np.isin(np.concatenate(source.law_of), laws))
    return np.asarray(usable[spread_indices(usable.size, n_draws)], dtype=np.int64)


# --- Two copies of the data ------------------------------------------------------------------------------


def _redrawn(data: TrainingData, j: int) -> tuple[FloatArray, tuple[int, ...]]:
    """The data twice, with input j drawn afresh in each copy, shape (2 * N_ROWS, d), and the group of each rank.

    Groups are values that are next to each other, or the levels of a category.
    """
    rows, places = data.X[_systematic(data.weight)], data.columns.places(j)
    order = np.lexsort(data.X[:, places[::-1]].T)
    values = data.X[np.ix_(order, places)][_systematic(data.weight[order])]
    copies = np.concatenate([rows, rows])
    copies[:, places] = values[_new_ranks()]
    if data.columns.given[j].kind != CATEGORY:
        return copies, tuple(np.arange(N_ROWS) * N_GROUPS // N_ROWS)
    is_new = np.any(values[1:] != values[:-1], axis=1)
    return copies, (0, *np.cumsum(is_new).tolist())


def _systematic(weight: FloatArray) -> IntArray:
    """`N_ROWS` indices, each in proportion to its weight."""
    total = np.cumsum(weight)
    places = (np.arange(N_ROWS) + 0.5) / N_ROWS * total[-1]
    return np.asarray(np.searchsorted(total, places), dtype=np.int64)


def _new_ranks() -> IntArray:
    """Ranks of the values that are drawn afresh: a permutation of 0, ..., N_ROWS - 1 per copy, evenly paired."""
    fractions = np.outer(STEPS, np.arange(N_ROWS) + 0.5) % 1.0
    return np.argsort(np.argsort(fractions, axis=1), axis=1).ravel()


# --- Analysis of variance --------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Least squares for `f = effect of the other inputs + effect of x_j + interaction` over the rows of `_redrawn`."""

    rows: FloatArray  # (N_ROWS, 2 * N_ROWS) effects of the other inputs, centred
    groups: FloatArray  # (groups, 2 * N_ROWS) effects of x_j, centred
    residual: FloatArray  # (2 * N_ROWS, 2 * N_ROWS) what is left
    n_free: int  # its degrees of freedom


@lru_cache(maxsize=32)
def _layout(group_of_rank: tuple[int, ...]) -> Layout:
    n_groups = max(group_of_rank) + 1
    design = np.zeros((2 * N_ROWS, N_ROWS + n_groups))
    here = np.arange(2 * N_ROWS)
    design[here, here % N_ROWS] = 1.0
    design[here, N_ROWS + np.array(group_of_rank)[_new_ranks()]] = 1.0
    solve = np.linalg.pinv(design)
    rows, groups = solve[:N_ROWS], solve[N_ROWS:]
    return Layout(
        rows - rows.mean(axis=0),
        groups - groups.mean(axis=0),
        np.eye(2 * N_ROWS) - design @ solve,
        2 * N_ROWS - (N_ROWS + n_groups - 1),
    )


def _indices(f: FloatArray, group_of_rank: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """`share` and `alone` of one input for each draw, from f at the rows of `_redrawn`, shape (2 * N_ROWS, draws).

    Fitting both effects at once makes the result exact for additive functions, whatever the new values of x_j have to
    do, by chance, with the other inputs.
    """
    layout = _layout(group_of_rank)
    f = f / np.maximum(np.abs(f).max(axis=0), np.finfo(float).tiny)  # squares of large values would overflow
    interaction = np.sum((layout.residual @ f) ** 2, axis=0) / layout.n_free
    of_others, of_j = (_variance(effects, f, interaction) for effects in (layout.rows, layout.groups))
    total = of_others + of_j + interaction
    # What rounding leaves of a constant f has nothing to share.
    total = np.where(total > ROUNDING, total, np.inf)
    return (of_j + interaction) / total, of_j / total


def _variance(effects: FloatArray, f: FloatArray, interaction: FloatArray) -> FloatArray:
    """Variance of estimated effects, less what the interaction adds to it."""
    noise = interaction * np.sum(effects**2) / len(effects)
    return np.asarray(np.maximum(np.mean((effects @ f) ** 2, axis=0) - noise, 0.0))
