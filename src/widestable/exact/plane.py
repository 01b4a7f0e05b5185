"""Two input columns: the cells are convex spherical polygons, cut and measured exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from .._types import FloatArray
from .whiten import whiten

# Cells finished per compiled call; a call stays far below 0.2 s.
_BATCH = 4096
# Sine of the angle below which a vertex lies on a circle: far above rounding, far below generic gaps.
_TOLERANCE = 1e-11


def plane_cells(X: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Return the cells of n points in the plane: spherical polygons with `q = area / (2 pi)`.

    Every row (1, x) is the normal of a great circle on the sphere of hyperplanes. The half-sphere on which the
    first row is positive is cut by the other circles one by one. A circle splits a polygon that has vertices
    strictly on both sides of it.

    This replaces the paper's Algorithm S.1. As printed, that algorithm visits only later points (earlier ones
    always count as negative), omits the opposite ray, and keeps indices that do not exist: on six generic points
    it returns 46 vectors, 14 of them impossible. It also leaves the probabilities to one multivariate normal
    integral per cell; areas need none.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Distinct rows, not all on one line.

    Returns
    -------
    signs : ndarray of int8, shape (L, n)
        Sides of the rows; the first row is positive in every cell. L = n (n - 1)/2 + 1 when no three points are
        collinear, otherwise less.
    q : ndarray of shape (L,)
        Probabilities of the cells.

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


def _well_spread_first(X: FloatArray) -> NDArray[np.int64]:
    """Order the rows: the first, the one farthest from it, the one farthest from their line, then the rest."""
    Z, _ = whiten(X)
    offset = Z[:, 1:] - Z[0, 1:]
    second = int(np.argmax(np.linalg.norm(offset, axis=1)))
    from_line = np.abs(offset[:, 0] * offset[second, 1] - offset[:, 1] * offset[second, 0])
    first_three = [0, second, int(np.argmax(from_line))]
    return np.array(first_three + [i for i in range(len(X)) if i not in first_three])


class PolygonStack(NamedTuple):
    """Polygons that wait to be cut; polygon p occupies entry p of every array."""

    vertices: FloatArray  # (depth, k, 3) unit vectors in order around the polygon
    edges: NDArray[np.int64]  # (depth, k) the circle that holds the edge from vertex j to j + 1
    n_vertices: NDArray[np.int64]  # (depth,)
    signs: NDArray[np.int8]  # (depth, n) sides known so far
    next_row: NDArray[np.int64]  # (depth,) first circle not tried yet


def _four_triangles(rows: FloatArray) -> PolygonStack:
    """Return the half-sphere of the first row, cut by the next two."""
    n = len(rows)
    # At most one polygon per row waits, and one place is scratch. Every row gives at most one edge.
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


# --- Compiled: cut the polygons, depth first -------------------------------------------------------------
#
# A polygon waits on the stack until every circle has been tried on it. Nothing else is stored, so the memory is that of
# the answer. A call stops when its output is full, and the next one goes on from there.


@kernel
def split_cells(stack, top, rows, Z, back, signs, area):
    """Cut the `top` polygons on the stack until it is empty or the output is full.

    `rows` are the unit normals of the circles, `Z` the same with first coordinate one. Finished cells go to `signs`,
    shape (cells, n), and `area`, shape (cells,). Returns the numbers of finished and of waiting cells.
    """
    n = rows.shape[0]
    height = np.empty(n + 2)
    n_done = 0
    while top > 0 and n_done < signs.shape[0]:
        p = top - 1
        i = stack.next_row[p]
        if i == n:
            for j in range(n):
                signs[n_done, j] = stack.signs[p, j]
            area[n_done] = solid_angle(stack.vertices[p], stack.n_vertices[p], back)
            n_done += 1
            top -= 1
            continue
        stack.next_row[p] = i + 1
        low, high = heights(stack.vertices[p], stack.n_vertices[p], rows[i], height)
        stack.signs[p, i] = 1 if high > -low else -1
        if low < 0.0 < high:
            # The last place of the stack is scratch.
            copy_polygon(stack, p, stack.next_row.shape[0] - 1)
            clip(stack, stack.next_row.shape[0] - 1, p, i, Z, height, 1.0)
            clip(stack, stack.next_row.shape[0] - 1, top, i, Z, height, -1.0)
            for j in range(i):
                stack.signs[top, j] = stack.signs[p, j]
            stack.signs[p, i] = 1
            stack.signs[top, i] = -1
            stack.next_row[top] = i + 1
            top += 1
    return n_done, top


@kernel
def heights(vertices, n_vertices, row, out):
    """Write the signed distances of the vertices from a circle, zero within the tolerance; return their extremes."""
    low, high = 0.0, 0.0
    for j in range(n_vertices):
        t = row[0] * vertices[j, 0] + row[1] * vertices[j, 1] + row[2] * vertices[j, 2]
        if abs(t) <= _TOLERANCE:
            t = 0.0
        out[j] = t
        low = min(low, t)
        high = max(high, t)
    return low, high


@kernel
def copy_polygon(stack, source, target):
    """Copy the shape of polygon `source` to place `target`."""
    k = stack.n_vertices[source]
    stack.n_vertices[target] = k
    stack.next_row[target] = stack.next_row[source]
    for j in range(k):
        stack.edges[target, j] = stack.edges[source, j]
        for c in range(3):
            stack.vertices[target, j, c] = stack.vertices[source, j, c]


@kernel
def clip(stack, source, target, row, Z, height, side):
    """Write the part of polygon `source` on one side of circle `row` to place `target`."""
    k = stack.n_vertices[source]
    stack.n_vertices[target] = 0
    point = np.empty(3)
    for j in range(k):
        after = j + 1 if j + 1 < k else 0
        h0, h1 = side * height[j], side * height[after]
        vertex, edge = stack.vertices[source, j], stack.edges[source, j]
        if h0 > 0.0 or (h0 == 0.0 and h1 > 0.0):
            put(stack, target, vertex, edge)
        elif h0 == 0.0 and side * height[j - 1 if j > 0 else k - 1] > 0.0:
            put(stack, target, vertex, row)
        if h0 * h1 < 0.0:
            crossing(Z[row], Z[edge], vertex, stack.vertices[source, after], h0, h1, point)
            put(stack, target, point, row if h1 < 0.0 else edge)


@kernel
def put(stack, p, vertex, edge):
    """Append a vertex to polygon p, with the circle of the edge that leaves it."""
    j = stack.n_vertices[p]
    stack.vertices[p, j, 0] = vertex[0]
    stack.vertices[p, j, 1] = vertex[1]
    stack.vertices[p, j, 2] = vertex[2]
    stack.edges[p, j] = edge
    stack.n_vertices[p] = j + 1


@kernel
def crossing(z, other, a, b, height_a, height_b, out):
    """Write the point of the edge a-b, part of circle `other`, that lies on circle z."""
    # z x (other - z) instead of z x other keeps all digits when two rows are close. Interpolation along the
    # edge would lose them; it only chooses between the two antipodal intersections.
    u0, u1, u2 = other[0] - z[0], other[1] - z[1], other[2] - z[2]
    x = z[1] * u2 - z[2] * u1
    y = z[2] * u0 - z[0] * u2
    w = z[0] * u1 - z[1] * u0
    wa, wb = abs(height_b), abs(height_a)
    towards = x * (wa * a[0] + wb * b[0]) + y * (wa * a[1] + wb * b[1]) + w * (wa * a[2] + wb * b[2])
    scale = math.copysign(1.0 / math.sqrt(x * x + y * y + w * w), towards)
    out[0], out[1], out[2] = x * scale, y * scale, w * scale


@kernel
def solid_angle(vertices, n_vertices, back):
    """Return the area of a convex spherical polygon whose vertices are mapped by `back`, as a fan of triangles."""
    v = np.empty((n_vertices, 3))
    for j in range(n_vertices):
        for c in range(3):
            v[j, c] = back[c, 0] * vertices[j, 0] + back[c, 1] * vertices[j, 1] + back[c, 2] * vertices[j, 2]
        length = math.sqrt(v[j, 0] ** 2 + v[j, 1] ** 2 + v[j, 2] ** 2)
        for c in range(3):
            v[j, c] /= length
    area = 0.0
    for j in range(1, n_vertices - 1):
        area += triangle(v[0], v[j], v[j + 1])
    return abs(area)


@kernel
def triangle(a, b, c):
    """Return the signed solid angle of the triangle of three unit vectors (Van Oosterom and Strackee 1983)."""
    # det(a, b, c) = det(a, b - a, c - a): small triangles keep their digits.
    p0, p1, p2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    r0, r1, r2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    det = a[0] * (p1 * r2 - p2 * r1) + a[1] * (p2 * r0 - p0 * r2) + a[2] * (p0 * r1 - p1 * r0)
    ab = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    bc = b[0] * c[0] + b[1] * c[1] + b[2] * c[2]
    ca = c[0] * a[0] + c[1] * a[1] + c[2] * a[2]
    return 2.0 * math.atan2(det, 1.0 + ab + bc + ca)
