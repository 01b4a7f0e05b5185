"""Which jumps of different draws are the same jump: clusters by how they split the training rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._types import FloatArray, IntArray
from ..inputs import TrainingData
from ..network import sign_patterns
from .steps import Found

# Jumps are alike when the rows between them are less than this part of the rows on the smaller joint side.
TOLERANCE = 0.3
# A jump is reported from this probability on.
LEAST_PROBABILITY = 0.2
MAX_CLUSTERS = 20
# Splits are compared on at most this many rows, and leaders sought among this many jumps.
MAX_ROWS = 512
MAX_CANDIDATES = 256
MAX_POOL = 20_000


def cluster(data: TrainingData, found: Found) -> list[IntArray]:
    """For each cluster the indices of its jumps, at most one a draw; the surest cluster first."""
    if not found.size.size:
        return []
    rows = np.unique(np.linspace(0, len(data.X) - 1, min(len(data.X), MAX_ROWS)).round().astype(int))
    is_high = sign_patterns(found.h, data.X[rows]) > 0
    weight = data.weight[rows] / data.weight[rows].sum()
    leaders = _choose_leaders(found, is_high, weight)
    clusters = _assign(found, distance(is_high[leaders], is_high, weight))
    least = LEAST_PROBABILITY * found.n_draws
    return sorted((c for c in clusters if c.size >= least), key=len, reverse=True)


def distance(a: npt.NDArray[np.bool_], b: npt.NDArray[np.bool_], weight: FloatArray) -> FloatArray:
    """Between sides of rows: weight where they differ over the smaller of their unions, low and high, (len a, len b).

    Examples
    --------
    >>> a = np.array([[False, False, True, True]])
    >>> b = np.array([[False, False, True, True], [False, False, False, True], [True, True, False, False]])
    >>> distance(a, b, np.full(4, 0.25))
    array([[0. , 0.5, 1. ]])
    """
    both_high = (a * weight) @ b.T.astype(float)
    high_a, high_b = a @ weight, b @ weight
    differ = high_a[:, None] + high_b - 2.0 * both_high
    either_high = high_a[:, None] + high_b - both_high
    either_low = weight.sum() - both_high
    return np.asarray(np.abs(differ) / np.maximum(np.minimum(either_high, either_low), np.finfo(float).tiny))


def _choose_leaders(found: Found, is_high: npt.NDArray[np.bool_], weight: FloatArray) -> IntArray:
    """Greedily the jump that most draws have one close to; each draw's closest is then taken away."""
    stride = -(-found.draw.size // MAX_POOL)  # too many jumps: look at every k-th draw
    pool = np.flatnonzero(found.draw % stride == 0)
    candidates = pool[_spread(found.key[pool])]
    closeness = np.maximum(1.0 - distance(is_high[candidates], is_high[pool], weight) / TOLERANCE, 0.0)
    draw = found.draw[pool]
    first = np.flatnonzero(np.append(True, draw[1:] != draw[:-1]))
    least = 0.5 * LEAST_PROBABILITY * found.n_draws / stride
    leaders: list[int] = []
    while len(leaders) < MAX_CLUSTERS:
        best = int(np.argmax(np.maximum.reduceat(closeness, first, axis=1).sum(axis=1)))
        taken = _closest_in_each_draw(closeness[best], draw)
        if taken.size < least:
            break
        leaders.append(int(candidates[best]))
        closeness[:, taken] = 0.0
    return np.array(leaders, dtype=np.int64)


def _spread(key: npt.NDArray[np.uint64]) -> IntArray:
    """The commonest splits, and others evenly spread, each once."""
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    commonest = first[np.argsort(-count, kind="stable")[: MAX_CANDIDATES // 2]]
    others = np.linspace(0, key.size - 1, min(key.size, MAX_CANDIDATES // 2)).round().astype(int)
    return np.unique(np.concatenate([commonest, others]))


def _closest_in_each_draw(closeness: FloatArray, draw: IntArray) -> IntArray:
    order = np.lexsort((closeness, draw))
    last = np.flatnonzero(np.append(draw[order][1:] != draw[order][:-1], True))
    closest = order[last]
    return np.asarray(closest[closeness[closest] > 0.0])


def _assign(found: Found, from_leaders: FloatArray) -> list[IntArray]:
    """Each jump goes to its nearest leader, and each draw keeps the nearest of them."""
    if not len(from_leaders):
        return []
    nearest = np.argmin(from_leaders, axis=0)
    clusters = []
    for leader, dist in enumerate(from_leaders):
        closeness = np.where((nearest == leader) & (dist < TOLERANCE), 1.0 - dist, 0.0)
        clusters.append(_closest_in_each_draw(closeness, found.draw))
    return clusters
