"""Inputs on an even footing: drop the dimensions they do not span, spread the others evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Relative spread below which the rows do not leave an affine subspace.
_TOLERANCE = 1e-11


def drop_flat_dimensions(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inputs in as few dimensions as the rows span, with the same hyperplane probabilities.

    Rows on an affine subspace are `(1, x) = p + U t`, p the point of it nearest to zero, U orthonormal
    and orthogonal to p. A standard normal h gives independent standard normal `h.p/|p|` and `U'h`, so
    `sign(h.(1, x))` is that of a hyperplane in the inputs `t/|p|`.

    Parameters
    ----------
    X
        Rows, shape (n, d).

    Returns
    -------
    NDArray
        Rows, shape (n, k), k <= d; X itself when it spans all d dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> drop_flat_dimensions(np.array([[0.0, 1.0], [3.0, 1.0], [1.0, 1.0]])).shape
    (3, 1)
    """
    mean = X.mean(axis=0)
    _, spread, axes = np.linalg.svd(X - mean, full_matrices=False)
    scale = max(spread[0], np.abs(X).max() * np.finfo(float).eps / _TOLERANCE, np.finfo(float).tiny)
    U = axes[spread > _TOLERANCE * scale].T
    if U.shape[1] == X.shape[1]:
        return X
    nearest = mean - U @ (U.T @ mean)
    return np.asarray((X @ U) / np.sqrt(1.0 + nearest @ nearest))


def whiten(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows (1, u) with u centred and uncorrelated, and the matrix that takes hyperplanes back to those of X.

    Which cells exist does not change under affine maps of X, and even spread is where rounding hurts least.
    """
    n, d = X.shape
    mean = X.mean(axis=0)
    _, spread, axes = np.linalg.svd(X - mean, full_matrices=False)
    to_u = axes.T / spread * np.sqrt(n)
    # h_u . (1, u) = h . (1, x) for all x when h = back h_u.
    back = np.eye(d + 1)
    back[1:, 1:] = to_u
    back[0, 1:] = -mean @ to_u
    return np.column_stack([np.ones(n), (X - mean) @ to_u]), back
