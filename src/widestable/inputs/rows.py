"""Orders and subsets of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray


def near_together(X: FloatArray, leaf: int = 32) -> NDArray[np.intp]:
    """Return an order of the rows of X in which near rows are together.

    The rows are halved again and again, down to parts of `leaf` rows. Each part is cut at its middle row along the
    column in which it is widest. With one column this sorts the rows, except that rows within a leaf keep their order.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    leaf : int, default=32
        Parts of at most this many rows are left as they are.

    Returns
    -------
    ndarray of int, shape (n,)
        Indices of the rows in their new order.

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


def spread_indices(n: int, k: int) -> NDArray[np.intp]:
    """Return k of the indices 0, ..., n - 1, evenly spread, the first and the last among them; all n if k >= n.

    Parameters
    ----------
    n : int
        Number of things to choose from.
    k : int
        Number of indices wanted.

    Returns
    -------
    ndarray of int, shape (min(n, k),)
        Distinct indices in increasing order.

    Examples
    --------
    >>> spread_indices(10, 4), spread_indices(3, 5)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    return np.linspace(0, max(n - 1, 0), min(n, k)).round().astype(np.intp)
