"""One input column: the cells are the gaps between sorted inputs, with closed-form probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray


def line_cells(x: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Return the cells of n points on a line.

    With the points sorted, `q_0 = 1 - (atan x_n - atan x_1)/pi` and `q_j = (atan x_j+1 - atan x_j)/pi`. Cell 0 has
    no sign change. Cell j changes sign between the j-th and the next point, and q_j counts both of its orientations.
    The paper prints `1 + ...` for q_0, and the authors' code has it too. Those probabilities sum to more than one,
    and simulated hyperplanes agree with the minus sign (tests/exact/test_line.py).

    Parameters
    ----------
    x : ndarray of shape (n,)
        Distinct inputs, in any order.

    Returns
    -------
    signs : ndarray of int8, shape (n, n)
        Sides of the points; the first given point is positive in every cell.
    q : ndarray of shape (n,)
        Probabilities of the cells.

    Examples
    --------
    >>> import numpy as np
    >>> signs, q = line_cells(np.array([-1.0, 0.0, 1.0]))
    >>> signs.tolist()
    [[1, 1, 1], [1, -1, -1], [1, 1, -1]]
    >>> q.round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    order = np.argsort(x)
    x = x[order]
    signs = np.where(np.arange(len(x)) < np.arange(len(x))[:, None], 1, -1)
    signs[0] = 1
    signs = signs[:, np.argsort(order)]
    q = np.empty(len(x))
    # Differences of arctangents, written so that close points and far ones lose no digits.
    q[0] = np.arctan2(1.0, x[-1]) + np.arctan2(1.0, -x[0])
    q[1:] = np.arctan2(np.diff(x), 1.0 + x[1:] * x[:-1])
    return (signs * signs[:, :1]).astype(np.int8), q / np.pi
