"""Jumps that may be outliers: up and down again, or down and up again, around one or two training rows.

The noise of the model is normal, so an outlying observation is explained by two jumps of opposite sign that have it
alone between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from .._types import IntArray
from ..inputs import TrainingData, spread_indices
from ..network import sign_patterns
from .result import Jump
from .steps import DrawnJumps

# More rows, or observations, than this that agree with each other are not outliers.
MAX_OBSERVATIONS = 2
# Look at no more than about this many of the draws that have both jumps.
MAX_DRAWS = 256


def mark_outliers(
    data: TrainingData, drawn: DrawnJumps, jumps: Sequence[Jump], members: Sequence[IntArray]
) -> list[Jump]:
    """Return the jumps, with the rows between two of them that may be outliers.

    Parameters
    ----------
    data : TrainingData
        What the model was fitted on.
    drawn : DrawnJumps
        The jumps of all draws.
    jumps : sequence of Jump
        Those that the draws agree on.
    members : sequence of ndarray of int
        For each of them the indices of its members in `drawn`, at most one per draw.

    Returns
    -------
    list of Jump
    """
    pairs = []
    for i, j in combinations(range(len(jumps)), 2):
        if _have_similar_sizes(jumps[i], jumps[j]):
            rows, share = _rows_between(data, drawn, members[i], members[j])
            if 0.0 < data.weight[rows].sum() <= MAX_OBSERVATIONS:
                pairs.append((rows.size, -share, i, j, rows))
    marked = list(jumps)
    # A jump belongs to one pair: the closest, then the one that most draws have.
    for *_, i, j, rows in sorted(pairs, key=lambda pair: pair[:4]):
        if not marked[i].possible_outliers and not marked[j].possible_outliers:
            given = _given_rows(data, rows)
            marked[i], marked[j] = (replace(marked[k], possible_outliers=given) for k in (i, j))
    return marked


def _have_similar_sizes(one: Jump, other: Jump) -> bool:
    """Whether the 90% intervals of the absolute sizes overlap."""
    (low, high), (other_low, other_high) = (sorted(map(abs, jump.size_interval)) for jump in (one, other))
    return low <= other_high and other_low <= high


def _rows_between(data: TrainingData, drawn: DrawnJumps, one: IntArray, other: IntArray) -> tuple[IntArray, float]:
    """Rows that most draws have between two jumps of opposite sign, at most two, and the share of draws with both.

    f is higher on the positive side of a hyperplane. So rows on the positive side of both, or on the negative side of
    both, are between jumps of opposite sign, and all others are outside.
    """
    nothing = np.empty(0, dtype=np.int64)
    draws, at_one, at_other = np.intersect1d(drawn.draw[one], drawn.draw[other], return_indices=True)
    # Jumps of which a draw usually has only one have nothing between them.
    if 2 * draws.size < max(one.size, other.size):
        return nothing, 0.0
    keep = spread_indices(draws.size, MAX_DRAWS)
    sides = [sign_patterns(drawn.h[k[keep]], data.X) for k in (one[at_one], other[at_other])]
    total = sides[0] + sides[1]
    total = total[np.count_nonzero(total, axis=1) <= MAX_OBSERVATIONS]
    above, below = (2 * (total > 0).sum(axis=0) > keep.size, 2 * (total < 0).sum(axis=0) > keep.size)
    # Two planes that cross have rows of both kinds.
    is_strip = above.any() != below.any()
    return np.flatnonzero(above | below).astype(np.int64) if is_strip else nothing, draws.size / drawn.n_draws


def _given_rows(data: TrainingData, rows: IntArray) -> tuple[int, ...]:
    """Numbers of these distinct rows in the given data, from 0."""
    return tuple(np.flatnonzero(data.kept)[np.isin(data.index, rows)].tolist())
