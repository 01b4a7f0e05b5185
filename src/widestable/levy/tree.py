"""A binary tree of balls over the rows, which are in such an order that near rows are together."""

from __future__ import annotations

import numpy as np

from .._kernels.tuples import FloatArray, IntArray

LEAF = 32


def node_ranges(n: int, leaf: int = LEAF) -> IntArray:
    """First row and end of each node, level by level; nodes are cut in halves until they have at most `leaf` rows.

    Examples
    --------
    >>> node_ranges(5, leaf=3).tolist()
    [[0, 5], [0, 2], [2, 5]]
    """
    levels = [np.array([[0, n]], dtype=np.int64)]
    while np.ptp(levels[-1], axis=1).max() > leaf:
        first, end = levels[-1].T
        middle = (first + end) // 2
        levels.append(np.stack([first, middle, middle, end], axis=1).reshape(-1, 2))
    return np.concatenate(levels)


def balls(Z: FloatArray, ranges: IntArray) -> tuple[FloatArray, FloatArray]:
    """Centre and radius of a ball around the rows of each node, shapes (nodes, d + 1) and (nodes,)."""
    centre = np.stack([Z[first:end].mean(axis=0) for first, end in ranges])
    radius = [
        np.sqrt(((Z[first:end] - c) ** 2).sum(axis=1).max()) for (first, end), c in zip(ranges, centre, strict=True)
    ]
    return centre, np.array(radius)


def sum_over_nodes(basis: FloatArray, ranges: IntArray, out: FloatArray) -> None:
    """Sum of the rows of each node: leaves from the rows, the others from the two nodes below."""
    n_leaves = (len(ranges) + 1) // 2
    for node in range(len(ranges) - 1, -1, -1):
        if node >= len(ranges) - n_leaves:
            out[node] = basis[slice(*ranges[node])].sum(axis=0)
        else:
            out[node] = out[2 * node + 1] + out[2 * node + 2]
