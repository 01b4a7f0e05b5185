"""Preparation of inputs: drop the dimensions that the rows do not span, and spread the others evenly."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray

# Relative spread below which the rows do not leave an affine subspace.
_TOLERANCE = 1e-11


def drop_flat_dimensions(X: FloatArray) -> FloatArray:
    """Return the inputs in as few dimensions as the rows span, with the same hyperplane probabilities.

    Rows on an affine subspace are `(1, x) = p + U t`, where p is its point nearest to zero and U is orthonormal and
    orthogonal to p. For standard normal h, `h.p/|p|` and `U'h` are independent and standard normal. So
    `sign(h.(1, x))` is the side of a random hyperplane in the inputs `t/|p|`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.

    Returns
    -------
    ndarray of shape (n, k)
        Rows in k <= d dimensions; X itself when it spans all d dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> drop_flat_dimensions(np.array([[0.0, 1.0], [3.0, 1.0], [1.0, 1.0]])).shape
    (3, 1)
    """
    mean = X.mean(axis=0)
    _, spread, axes = np.linalg.svd(X - mean, full_matrices=False)
    # Far from zero the rows are rounded, so their spread counts only above the rounding error of X.
    scale = max(spread[0], np.abs(X).max() * np.finfo(float).eps / _TOLERANCE, np.finfo(float).tiny)
    U = axes[spread > _TOLERANCE * scale].T
    if U.shape[1] == X.shape[1]:
        return X
    nearest = mean - U @ (U.T @ mean)
    return np.asarray((X @ U) / np.sqrt(1.0 + nearest @ nearest))


def whiten(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows (1, u) with u centred and uncorrelated, and the matrix that takes hyperplanes back to those of X.

    Affine maps of X do not change which cells exist, and rounding hurts least when the rows spread evenly.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows that span d dimensions.

    Returns
    -------
    Z : ndarray of shape (n, d + 1)
        Rows (1, u).
    back : ndarray of shape (d + 1, d + 1)
        `h = back @ h_u` has `h.(1, x) = h_u.(1, u)` for every row.
    """
    n, d = X.shape
    mean = X.mean(axis=0)
    _, spread, axes = np.linalg.svd(X - mean, full_matrices=False)
    to_u = axes.T / spread * np.sqrt(n)
    back = np.eye(d + 1)
    back[1:, 1:] = to_u
    back[0, 1:] = -mean @ to_u
    return np.column_stack([np.ones(n), (X - mean) @ to_u]), back
