"""Cut a half-sphere by great circles, depth first: one convex spherical polygon at a time.

A polygon waits on a stack until every circle has been tried on it. Nothing else is stored, so the memory
is that of the answer, and a call stops when its output is full and goes on where it was.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel

# Sine of the angle below which a vertex lies on a circle: far above rounding, far below generic gaps.
TOLERANCE = 1e-11


class PolygonStack(NamedTuple):
    """Polygons that wait to be cut; polygon p occupies the p-th entry of every array."""

    vertices: NDArray[np.float64]  # (depth, k, 3) unit vectors in order around the polygon
    edges: NDArray[np.int64]  # (depth, k) the circle that holds the edge from vertex j to j + 1
    n_vertices: NDArray[np.int64]  # (depth,)
    signs: NDArray[np.int8]  # (depth, n) sides known so far
    next_row: NDArray[np.int64]  # (depth,) first circle not tried yet


@kernel
def heights(vertices, n_vertices, row, out):
    """Signed distances of the vertices from a circle, zero within the tolerance; returns their extremes."""
    low, high = 0.0, 0.0
    for j in range(n_vertices):
        t = row[0] * vertices[j, 0] + row[1] * vertices[j, 1] + row[2] * vertices[j, 2]
        if abs(t) <= TOLERANCE:
            t = 0.0
        out[j] = t
        low = min(low, t)
        high = max(high, t)
    return low, high


@kernel
def crossing(z, other, a, b, height_a, height_b, out):
    """The point of the edge a-b, part of circle `other`, that lies on circle z."""
    # z x (other - z), not z x other: keeps all digits when two rows are close. Never by interpolation,
    # which serves only to choose between the two antipodal intersections.
    u0, u1, u2 = other[0] - z[0], other[1] - z[1], other[2] - z[2]
    x = z[1] * u2 - z[2] * u1
    y = z[2] * u0 - z[0] * u2
    w = z[0] * u1 - z[1] * u0
    wa, wb = abs(height_b), abs(height_a)
    towards = x * (wa * a[0] + wb * b[0]) + y * (wa * a[1] + wb * b[1]) + w * (wa * a[2] + wb * b[2])
    scale = math.copysign(1.0 / math.sqrt(x * x + y * y + w * w), towards)
    out[0], out[1], out[2] = x * scale, y * scale, w * scale


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
def copy_polygon(stack, source, target):
    k = stack.n_vertices[source]
    stack.n_vertices[target] = k
    stack.next_row[target] = stack.next_row[source]
    for j in range(k):
        stack.edges[target, j] = stack.edges[source, j]
        for c in range(3):
            stack.vertices[target, j, c] = stack.vertices[source, j, c]


@kernel
def solid_angle(vertices, n_vertices, back):
    """Area of a convex spherical polygon, vertices mapped by `back`: Van Oosterom-Strackee on a fan."""
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
    """Signed solid angle of the spherical triangle of three unit vectors."""
    # det(a, b, c) = det(a, b - a, c - a): small triangles keep their digits.
    p0, p1, p2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    r0, r1, r2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    det = a[0] * (p1 * r2 - p2 * r1) + a[1] * (p2 * r0 - p0 * r2) + a[2] * (p0 * r1 - p1 * r0)
    ab = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    bc = b[0] * c[0] + b[1] * c[1] + b[2] * c[2]
    ca = c[0] * a[0] + c[1] * a[1] + c[2] * a[2]
    return 2.0 * math.atan2(det, 1.0 + ab + bc + ca)


@kernel
def split_cells(stack, top, rows, Z, back, signs, area):
    """Cut the `top` polygons on the stack until it is empty or the output full.

    `rows` are the unit normals of the circles, `Z` the same with first coordinate one. Finished cells go
    to `signs` (cells, n) and `area` (cells,). Returns the number finished and the number left waiting.
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
