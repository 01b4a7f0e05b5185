"""One input column: the cells are the gaps between sorted inputs, with closed-form probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def line_cells(x: NDArray[np.float64]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Cells of n points on a line: `q_0 = 1 - (atan x_n - atan x_1)/pi`, `q_j = (atan x_j+1 - atan x_j)/pi`.

    Cell 0 has no sign change; cell j changes sign between the j-th and the next point, and both of its
    orientations are counted in q_j. The paper prints `1 + ...` for q_0, and so do the authors in their
    code; those probabilities sum to more than one, and simulated hyperplanes agree with the minus sign
    (tests/exact/test_line.py).

    Parameters
    ----------
    x
        Inputs, shape (n,), strictly increasing.

    Returns
    -------
    signs, q
        Shapes (n, n) and (n,); the first point is on the positive side of every cell.

    Examples
    --------
    >>> import numpy as np
    >>> signs, q = line_cells(np.array([-1.0, 0.0, 1.0]))
    >>> signs.tolist()
    [[1, 1, 1], [1, -1, -1], [1, 1, -1]]
    >>> q.round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    n = len(x)
    signs = np.ones((n, n), dtype=np.int8)
    rows, columns = np.tril_indices(n, -1)
    signs[columns + 1, rows] = -1
    q = np.empty(n)
    # Complements and differences of arctangents without cancellation.
    q[0] = np.arctan2(1.0, x[-1]) + np.arctan2(1.0, -x[0])
    q[1:] = np.arctan2(np.diff(x), 1.0 + x[1:] * x[:-1])
    return signs, q / np.pi
