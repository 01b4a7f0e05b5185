"""Which jumps of different draws are the same jump: clusters of jumps that split the training rows alike.

Clusters are built around leaders. A leader is a jump that many draws have a close relative of; leaders are chosen one
after another, and each takes its relatives with it. Then every jump joins the nearest leader that is close enough.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray, IntArray
from ..inputs import TrainingData, spread_indices
from ..network import sign_patterns
from .steps import BoolArray, DrawnJumps, KeyArray

# Jumps at a smaller distance than this may be the same; `split_distance` says what that means.
TOLERANCE = 0.3
# Report a jump when at least this fraction of the draws has it.
MIN_PROBABILITY = 0.2
MAX_CLUSTERS = 20
# Compare splits on at most this many training rows.
MAX_ROWS = 512
# Try at most this many jumps as leaders, and judge them by at most about this many others.
MAX_CANDIDATES = 256
MAX_POOL = 20_000


def match_jumps(data: TrainingData, drawn: DrawnJumps) -> list[IntArray]:
    """For each cluster the indices of its jumps, at most one per draw; the most probable cluster first."""
    if not drawn.size.size:
        return []
    rows = spread_indices(len(data.X), MAX_ROWS)
    is_high = sign_patterns(drawn.h, data.X[rows]) > 0
    weight = data.weight[rows] / data.weight[rows].sum()
    leaders = _choose_leaders(drawn, is_high, weight)
    clusters = _join_leaders(drawn, split_distance(is_high[leaders], is_high, weight))
    least = MIN_PROBABILITY * drawn.n_draws
    return sorted((c for c in clusters if c.size >= least), key=len, reverse=True)


def split_distance(a: BoolArray, b: BoolArray, weight: FloatArray) -> FloatArray:
    """Distance between ways of splitting the rows into a low and a high side, shape (len(a), len(b)).

    This is the weight of the rows on which two splits disagree. It is divided by the weight of the rows that either
    split puts on the high side, or on the low side, whichever is smaller. So two jumps that each cut off a different
    corner are far apart, although they agree on most rows.

    Examples
    --------
    >>> a = np.array([[False, False, True, True]])
    >>> b = np.array([[False, False, True, True], [False, False, False, True], [True, True, False, False]])
    >>> split_distance(a, b, np.full(4, 0.25))
    array([[0. , 0.5, 1. ]])
    """
    both_high = (a * weight) @ b.T.astype(float)
    high_a, high_b = a @ weight, b @ weight
    differ = high_a[:, None] + high_b - 2.0 * both_high
    either_high = high_a[:, None] + high_b - both_high
    either_low = weight.sum() - both_high
    return np.asarray(np.abs(differ) / np.maximum(np.minimum(either_high, either_low), np.finfo(float).tiny))


def _choose_leaders(drawn: DrawnJumps, is_high: BoolArray, weight: FloatArray) -> IntArray:
    """Choose the candidate that is closest to a jump of most draws, take those jumps away, and repeat."""
    stride = -(-drawn.draw.size // MAX_POOL)  # with very many jumps, look at every k-th draw only
    pool = np.flatnonzero(drawn.draw % stride == 0)
    candidates = pool[_candidates(drawn.key[pool])]
    closeness = np.maximum(1.0 - split_distance(is_high[candidates], is_high[pool], weight) / TOLERANCE, 0.0)
    draw = drawn.draw[pool]
    first = np.flatnonzero(np.append(True, draw[1:] != draw[:-1]))
    # Half of what is reported: a cluster may still grow when every jump has joined its nearest leader.
    least = 0.5 * MIN_PROBABILITY * drawn.n_draws / stride
    leaders: list[int] = []
    while len(leaders) < MAX_CLUSTERS:
        # A draw counts with its closest jump only, so two jumps in one draw never support the same leader.
        best = int(np.argmax(np.maximum.reduceat(closeness, first, axis=1).sum(axis=1)))
        taken = _closest_in_each_draw(closeness[best], draw)
        if taken.size < least:
            break
        leaders.append(int(candidates[best]))
        closeness[:, taken] = 0.0
    return np.array(leaders, dtype=np.int64)


def _candidates(key: KeyArray) -> IntArray:
    """Indices of the most common splits, and of others evenly spread over the draws."""
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    commonest = first[np.argsort(-count, kind="stable")[: MAX_CANDIDATES // 2]]
    others = spread_indices(key.size, MAX_CANDIDATES // 2)
    return np.unique(np.concatenate([commonest, others]))


def _closest_in_each_draw(closeness: FloatArray, draw: IntArray) -> IntArray:
    """Index of the closest jump of each draw, leaving out draws without one (closeness 0)."""
    order = np.lexsort((closeness, draw))
    last = np.flatnonzero(np.append(draw[order][1:] != draw[order][:-1], True))
    closest = order[last]
    return np.asarray(closest[closeness[closest] > 0.0])


def _join_leaders(drawn: DrawnJumps, from_leaders: FloatArray) -> list[IntArray]:
    """Let each jump join its nearest leader; where a draw has several for one leader, keep the nearest."""
    if not len(from_leaders):
        return []
    nearest = np.argmin(from_leaders, axis=0)
    clusters = []
    for leader, distance in enumerate(from_leaders):
        closeness = np.where((nearest == leader) & (distance < TOLERANCE), 1.0 - distance, 0.0)
        clusters.append(_closest_in_each_draw(closeness, drawn.draw))
    return clusters
