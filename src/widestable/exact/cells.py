"""The finite partition of the hyperplanes by the rows of X: sign patterns and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray
from ..random_state import RandomStateLike, make_rng
from .general import general_cells, n_bytes_of_corners
from .line import line_cells
from .plane import plane_cells
from .whiten import drop_flat_dimensions

_MAX_BYTES = 2**31


@dataclass(frozen=True)
class Partition:
    """Cells of hyperplanes that split the rows of X alike, one of each antipodal pair.

    The lexicographically smallest row of X is on the positive side of every cell. So the order of the rows changes
    the order of the columns and nothing else.

    Attributes
    ----------
    signs : ndarray of int8, shape (L, n)
        Sides of the rows, -1 or +1: one column per given row, repeats included.
    q : ndarray of shape (L,)
        Probability that a random hyperplane falls in the cell or its antipode; sums to one.
    standard_error : ndarray of shape (L,)
        Standard errors of q; zero where q is exact, which it is when the inputs span at most two dimensions.

    Examples
    --------
    >>> partition = build_partition([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> partition.signs.shape, round(float(partition.q.sum()), 12)
    ((4, 3), 1.0)
    """

    signs: NDArray[np.int8]
    q: FloatArray
    standard_error: FloatArray

    def save(self, path: str | PathLike[str]) -> None:
        """Write the partition to a compressed NumPy archive.

        Parameters
        ----------
        path : str or path-like
            Where to write; should end in ``.npz``.
        """
        np.savez_compressed(path, signs=self.signs, q=self.q, standard_error=self.standard_error)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Partition:
        """Read a partition that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The archive.

        Returns
        -------
        Partition
            The partition.
        """
        with np.load(path, allow_pickle=False) as archive:
            return cls(archive["signs"], archive["q"], archive["standard_error"])


def build_partition(
    X: ArrayLike,
    *,
    n_directions: int = 2000,
    random_state: RandomStateLike = 0,
    max_bytes: int = _MAX_BYTES,
) -> Partition:
    """Return the sign patterns of the rows of X under random hyperplanes, and their probabilities.

    A hyperplane is `h ~ N(0, I)` in d + 1 dimensions; the side of row i is `sign(h.(1, x_i))`. Probabilities are
    exact when the rows span at most two dimensions, whatever d is. Beyond that they are Monte Carlo estimates.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs; rows may repeat, lie on a line or come in any order.
    n_directions : int, default=2000
        Number of random directions per cell, when probabilities are estimated.
    random_state : int, RandomState, Generator or None, default=0
        Seed or source of those directions. With the default, the partition depends on X alone; None draws anew
        each time.
    max_bytes : int, default=2147483648
        A partition that needs more memory is refused before it is built.

    Returns
    -------
    Partition
        The cells and their probabilities.

    Raises
    ------
    ValueError
        If X is not a finite two-dimensional array, or has too many cells.

    Examples
    --------
    >>> partition = build_partition([[1.0], [-1.0], [1.0]])
    >>> partition.signs.tolist()
    [[1, 1, 1], [-1, 1, -1]]
    >>> partition.q.round(12).tolist()
    [0.5, 0.5]
    """
    rows, column = np.unique(_as_inputs(X), axis=0, return_inverse=True)
    flat = drop_flat_dimensions(rows)
    _refuse_too_many(len(column), len(flat), flat.shape[1], max_bytes)
    if flat.shape[1] == 0:
        signs, q = np.ones((1, 1), dtype=np.int8), np.ones(1)
    elif flat.shape[1] == 1:
        signs, q = line_cells(flat[:, 0])
    elif flat.shape[1] == 2:
        signs, q = plane_cells(flat)
    else:
        signs, q, error = general_cells(flat, n_directions, make_rng(random_state))
        return Partition(signs[:, column.ravel()], q, error)
    return Partition(signs[:, column.ravel()], q, np.zeros(len(q)))


def n_cells_bound(n_rows: int, n_dimensions: int) -> int:
    """Return the number of cells of rows in general position, `sum_k C(n - 1, k)` for k = 0..d.

    Rows in special position, such as three on a line, have fewer.

    Parameters
    ----------
    n_rows : int
        Number of distinct rows n.
    n_dimensions : int
        Number of dimensions d that they span.

    Returns
    -------
    int
        The number of cells.

    Examples
    --------
    >>> n_cells_bound(414, 2)
    85492
    """
    return sum(comb(n_rows - 1, k) for k in range(n_dimensions + 1))


def _as_inputs(X: ArrayLike) -> FloatArray:
    """Return X as finite float64, shape (n, d)."""
    X = np.array(X, dtype=np.float64)
    if X.ndim != 2 or X.size == 0:
        raise ValueError(
            f"Expected X with at least one row and one column, got shape {X.shape}. "
            "Reshape a single input column with X.reshape(-1, 1)."
        )
    for row, column in np.argwhere(~np.isfinite(X)):
        raise ValueError(
            f"X holds {X[row, column]} at row {row}, column {column} (counting from 0), expected finite numbers: "
            "drop or fill such rows first."
        )
    return X + 0.0  # -0.0 and 0.0 are the same input


def _refuse_too_many(n_given: int, n_rows: int, n_dimensions: int, max_bytes: int) -> None:
    """Raise when the cells would not fit into `max_bytes`."""
    n_cells = n_cells_bound(n_rows, n_dimensions)
    n_bytes = n_cells * n_given
    if n_dimensions > 2:
        n_bytes += n_bytes_of_corners(n_rows, n_dimensions)
    if n_bytes > max_bytes:
        raise ValueError(
            f"{n_rows} distinct rows in {n_dimensions} dimensions make up to {n_cells} cells, which need "
            f"{n_bytes / 2**30:.3g} GiB; the limit is {max_bytes / 2**30:.3g} GiB. Use fewer rows (training "
            "and new rows count together), raise max_bytes, or use StableRegressor, which has no such limit."
        )
