"""An order of rows in which near rows are together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def near_together(X: NDArray[np.float64], leaf: int = 32) -> NDArray[np.intp]:
    """Order of the rows of X by halving: each half of each part of the order is compact, down to `leaf` rows.

    Parts are cut at their middle row along the column in which they are widest, so with one column this sorts, up to
    the order within a leaf, which stays.

    Examples
    --------
    >>> near_together(np.array([[0.0], [9.0], [1.0], [8.0]]), leaf=2)
    array([0, 2, 3, 1])
    """
    order = np.arange(len(X))
    parts = [(0, len(X))]
    while parts:
        first, end = parts.pop()
        if end - first <= leaf:
            continue
        rows, middle = order[first:end], (first + end) // 2
        column = X[rows, int(np.argmax(np.ptp(X[rows], axis=0)))]
        order[first:end] = rows[np.argsort(column, kind="stable")]
        parts += [(first, middle), (middle, end)]
    return order
