"""Two input columns: the cells are convex spherical polygons, cut and measured exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widestable.exact.plane_cells import PolygonStack, split_cells
from widestable.exact.whiten import whiten

# Cells finished in one compiled call; a call stays far below 0.2 s.
_BATCH = 4096


def plane_cells(X: NDArray[np.float64]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Cells of n points in the plane: spherical polygons with `q = area / (2 pi)`.

    Every row (1, x) is the normal of a great circle on the sphere of hyperplanes. The half-sphere on
    which the first row is positive is cut by the other circles one by one, and a polygon is split when
    it has vertices strictly on both sides.

    This takes the place of the paper's Algorithm S.1, which as printed visits only later points (earlier
    ones always count as negative), omits the opposite ray, and keeps indices that do not exist: on six
    generic points it returns 46 vectors, 14 of them impossible. The algorithm also leaves the
    probabilities to a multivariate normal integral for each cell; areas need none.

    Parameters
    ----------
    X
        Distinct rows, shape (n, 2), not all on one line.

    Returns
    -------
    signs, q
        Shapes (L, n) and (L,), L = n (n - 1)/2 + 1 when no three points are collinear, else fewer.
        The first row is on the positive side of every cell.

    Examples
    --------
    >>> import numpy as np
    >>> signs, q = plane_cells(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> signs.tolist()
    [[1, -1, -1], [1, -1, 1], [1, 1, -1], [1, 1, 1]]
    >>> float(q.sum().round(12))
    1.0
    """
    order = _well_spread_first(X)
    Z, back = whiten(X[order])
    rows = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    stack = _four_triangles(rows)
    signs, areas, n_waiting = [], [], 4
    while n_waiting > 0:
        batch, area = np.empty((_BATCH, len(X)), dtype=np.int8), np.empty(_BATCH)
        n_done, n_waiting = split_cells(stack, n_waiting, rows, Z, back, batch, area)
        signs.append(batch[:n_done, np.argsort(order)])
        areas.append(area[:n_done])
    return np.concatenate(signs), np.concatenate(areas) / (2.0 * np.pi)


def _well_spread_first(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """Row order: the first row, the row farthest from it, the row farthest from their line, the rest."""
    Z, _ = whiten(X)
    offset = Z[:, 1:] - Z[0, 1:]
    second = int(np.argmax(np.linalg.norm(offset, axis=1)))
    from_line = np.abs(offset[:, 0] * offset[second, 1] - offset[:, 1] * offset[second, 0])
    first_three = [0, second, int(np.argmax(from_line))]
    return np.array(first_three + [i for i in range(len(X)) if i not in first_three])


def _four_triangles(rows: NDArray[np.float64]) -> PolygonStack:
    """The half-sphere of the first row, cut by the next two."""
    n = len(rows)
    # One polygon waits for each row at most, and one place is scratch; every row gives one edge at most.
    stack = PolygonStack(
        vertices=np.empty((n + 6, n + 2, 3)),
        edges=np.empty((n + 6, n + 2), dtype=np.int64),
        n_vertices=np.zeros(n + 6, dtype=np.int64),
        signs=np.empty((n + 6, n), dtype=np.int8),
        next_row=np.zeros(n + 6, dtype=np.int64),
    )
    # A cone {s_j z_j . h >= 0, j = 0, 1, 2} has the rays s_k d_k, where z_j . d_k = 1 when j = k, else 0.
    dual = np.linalg.inv(rows[:3])
    dual /= np.linalg.norm(dual, axis=0)
    for p, sides in enumerate([(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)]):
        stack.vertices[p, :3] = dual.T * np.array(sides)[:, None]
        stack.edges[p, :3] = [2, 0, 1]
        stack.n_vertices[p] = 3
        stack.signs[p, :3] = sides
        stack.next_row[p] = 3
    return stack
