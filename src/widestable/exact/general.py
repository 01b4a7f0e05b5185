"""Any number of input columns: cells through their vertices, probabilities by Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._jit import kernel
from .._types import FloatArray
from .whiten import whiten

Signs = NDArray[np.int8]

# Distance below which a unit row lies on a hyperplane, and singular value below which unit rows are dependent.
_TOLERANCE = 1e-9
# Hyperplanes, and cells, treated together; a compiled call stays below 0.2 s.
_FLATS = 2048
_CELLS = 128


class Corners(NamedTuple):
    """Pairs of a cell and one of its vertices."""

    signs: Signs  # (k, n) the cell
    ray: FloatArray  # (k, r) the vertex, a unit vector
    on: NDArray[np.bool_]  # (k, n) rows that meet at the vertex


class Cells(NamedTuple):
    """Cells, and what their vertices say about their shape."""

    signs: Signs  # (L, n), first row positive
    walls: NDArray[np.bool_]  # (L, n) rows that touch the cell
    centre: FloatArray  # (L, r) sum of the unit vertices
    spread: FloatArray  # (L, r, r) sum of their squares


def general_cells(X: FloatArray, n_directions: int, rng: np.random.Generator) -> tuple[Signs, FloatArray, FloatArray]:
    """Return the cells of n points in d dimensions, and Monte Carlo estimates of their probabilities.

    Every cell has a vertex, and every vertex is a hyperplane through d independent rows. The vertex fixes the signs
    of all other rows. Its own rows take all sign combinations if there are exactly d of them; if there are more,
    they take those of the cells of their own arrangement (three points on a line cannot be + - +).

    A probability is an integral over directions: how far is it from a point inside the cell to its walls? Every
    cell is measured separately, so even small ones have estimates that are good to a few per cent.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Distinct rows that span d dimensions.
    n_directions : int
        Number of random directions per cell.
    rng : np.random.Generator
        Source of the directions.

    Returns
    -------
    signs : ndarray of int8, shape (L, n)
        Sides of the rows; the first row is positive in every cell.
    q : ndarray of shape (L,)
        Estimates of the probabilities, adjusted to sum to one.
    standard_error : ndarray of shape (L,)
        Their standard errors.
    """
    Z, back = whiten(X)
    cells = _merge_corners(Z / np.linalg.norm(Z, axis=1, keepdims=True), back)
    try:
        q, standard_error = _sum_to_one(*_measure(cells, X, n_directions, rng))
    except np.linalg.LinAlgError:
        raise ValueError(
            "Rows of X lie so far apart, or so close together, that the cells between them cannot be measured in "
            "float64: rescale the columns of X to similar spreads, and drop rows that are all but equal."
        ) from None
    return cells.signs, q, standard_error


def n_bytes_of_corners(n: int, d: int) -> int:
    """Return the memory that `Corners` of n rows in general position take: signs, walls and vertices."""
    return (math.comb(n, d) << d) * (2 * -(-n // 8) + 3 * 8 * (d + 1))


def all_sign_vectors(rows: FloatArray) -> Signs:
    """Return all cells of a central arrangement, in both orientations.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
        Unit normals, of rank r.

    Returns
    -------
    ndarray of int8, shape (L, n)
        Distinct sign vectors.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> all_sign_vectors(rows).tolist()
    [[-1, -1, -1], [-1, -1, 1], [-1, 1, 1], [1, -1, -1], [1, 1, -1], [1, 1, 1]]
    """
    n, rank = rows.shape
    if n == rank:
        return np.array(list(product((-1, 1), repeat=n)), dtype=np.int8)
    if rank == 1:  # rows that the tolerance cannot tell apart: all on one side, or all on the other
        return np.asarray(np.sign(np.concatenate([-rows.T, rows.T])), dtype=np.int8)
    found = np.concatenate([corners.signs for corners in _corners(rows)])
    return np.unique(np.concatenate([found, -found]), axis=0)


def _corners(rows: FloatArray) -> Iterator[Corners]:
    """Yield the cells at every vertex of the arrangement, in batches; opposite vertices count once."""
    rank = rows.shape[1]
    free = np.array(list(product((-1, 1), repeat=rank - 1)), dtype=np.int8)
    crowded_seen = set()
    for ray, on in _flats(rows):
        signs = np.sign(ray @ rows.T).astype(np.int8)
        simple = on.sum(axis=1) == rank - 1
        yield _simple_corners(ray[simple], on[simple], signs[simple], free)
        for k in np.nonzero(~simple)[0]:
            key = on[k].tobytes()
            if key not in crowded_seen:
                crowded_seen.add(key)
                yield _crowded_corner(rows, ray[k], on[k], signs[k])


def _simple_corners(ray: FloatArray, on: NDArray[np.bool_], signs: Signs, free: Signs) -> Corners:
    """Return the cells at vertices with rank - 1 rows on them: all sign combinations of those rows."""
    on = np.repeat(on, len(free), axis=0)
    blown = np.repeat(signs, len(free), axis=0)
    blown[on] = np.tile(free, (len(signs), 1)).ravel()
    return Corners(blown, np.repeat(ray, len(free), axis=0), on)


def _crowded_corner(rows: FloatArray, ray: FloatArray, on: NDArray[np.bool_], signs: Signs) -> Corners:
    """Return the cells at a vertex with more than rank - 1 rows on it: the arrangement of those rows, by recursion."""
    basis = np.linalg.svd(ray[None, :])[2][1:]
    inside = rows[on] @ basis.T
    own = all_sign_vectors(inside / np.linalg.norm(inside, axis=1, keepdims=True))
    blown = np.tile(signs, (len(own), 1))
    blown[:, on] = own
    return Corners(blown, np.tile(ray, (len(own), 1)), np.tile(on, (len(own), 1)))


def _flats(rows: FloatArray) -> Iterator[tuple[FloatArray, NDArray[np.bool_]]]:
    """Yield unit vectors orthogonal to rank - 1 independent rows, and which rows each is orthogonal to."""
    n, rank = rows.shape
    subsets = combinations(range(n), rank - 1)
    while batch := list(islice(subsets, _FLATS)):
        _, size, axes = np.linalg.svd(rows[np.array(batch, dtype=np.int64)])
        ray = axes[size[:, -1] > _TOLERANCE, -1]
        yield ray, np.abs(ray @ rows.T) < _TOLERANCE


def _merge_corners(rows: FloatArray, back: FloatArray) -> Cells:
    """Return the distinct cells; sums over vertices are sums of unit vectors mapped by `back`."""
    keys, rays, walls = [], [], []
    for signs, ray, on in _corners(rows):
        first = signs[:, :1]
        keys.append(np.packbits(signs * first > 0, axis=1))
        rays.append(ray * first)
        walls.append(np.packbits(on, axis=1))
    packed, cell, n_corners = np.unique(np.concatenate(keys), axis=0, return_inverse=True, return_counts=True)
    together = np.argsort(cell.ravel(), kind="stable")
    starts = np.cumsum(n_corners) - n_corners
    ray = (np.concatenate(rays) @ back.T)[together]
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    touching = np.bitwise_or.reduceat(np.concatenate(walls)[together], starts, axis=0)
    return Cells(
        signs=2 * np.unpackbits(packed, axis=1, count=len(rows)).astype(np.int8) - 1,
        walls=np.unpackbits(touching, axis=1, count=len(rows)).astype(np.bool_),
        centre=np.add.reduceat(ray, starts, axis=0),
        spread=np.stack([np.add.reduceat(ray * column[:, None], starts, axis=0) for column in ray.T], axis=1),
    )


def _measure(cells: Cells, X: FloatArray, n_directions: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return estimates of q and their variances, in batches that keep a compiled call short."""
    Z = np.column_stack([np.ones(len(X)), X])
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    n_pairs = max(n_directions // 2, 2)
    q, variance = np.empty(len(cells.signs)), np.empty(len(cells.signs))
    for start in range(0, len(q), _CELLS):
        part = slice(start, start + _CELLS)
        seen = _seen_from_inside(Cells(cells.signs[part], cells.walls[part], cells.centre[part], cells.spread[part]), Z)
        measure_cones(*seen, n_pairs, rng, q[part], variance[part])
    return q, variance


def _sum_to_one(q: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return least-squares estimates given that the sum is one: the least certain cells absorb most of the gap."""
    share = variance / max(variance.sum(), np.finfo(float).tiny)
    return q + (1.0 - q.sum()) * share, np.sqrt(variance * (1.0 - share))


def _seen_from_inside(cells: Cells, Z: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_], FloatArray]:
    """Return heights and slopes of the walls at a point inside each cell, and a covariance for random directions."""
    centre = cells.centre / np.linalg.norm(cells.centre, axis=1, keepdims=True)
    # Columns of the Householder reflection that takes the first axis to -+ centre span its complement.
    mirror = centre.copy()
    mirror[:, 0] += np.copysign(1.0, mirror[:, 0])
    mirror /= np.linalg.norm(mirror, axis=1, keepdims=True)
    tangent = (np.eye(Z.shape[1]) - 2.0 * mirror[:, :, None] * mirror[:, None, :])[:, :, 1:]
    heights = cells.signs * (centre @ Z.T)
    slopes = cells.signs[:, :, None] * (Z @ tangent)
    shape = tangent.transpose(0, 2, 1) @ cells.spread @ tangent
    size = np.trace(shape, axis1=1, axis2=2)[:, None, None] / shape.shape[1]
    # Directions follow the shape of the cell; the small ridge keeps flat cells from a singular covariance.
    factors = np.linalg.cholesky(shape / size + 1e-6 * np.eye(shape.shape[1]))
    return heights, slopes, cells.walls, factors


# --- Compiled: integrate along great circles that leave a point inside the cone --------------------------


@kernel
def measure_cones(heights, slopes, is_wall, factors, n_pairs, rng, q, variance):
    """Fill `q` and `variance` for every cone, from `n_pairs` pairs of opposite random directions per cone.

    Take a unit vector c inside cone l. The great circle that leaves c in direction w meets wall i at the t where
    `heights[l, i] cos t + slopes[l, i].w sin t = 0`. Rows not marked as walls never stop it. `factors[l]` is the
    Cholesky factor of the covariance of the directions. Both orientations of a hyperplane are counted.
    """
    d = slopes.shape[2]
    g, direction = np.empty(d), np.empty(d)
    for cone in range(q.shape[0]):
        height, slope, factor = heights[cone], slopes[cone], factors[cone]
        walls = np.flatnonzero(is_wall[cone])
        log_det = 0.0
        for c in range(d):
            log_det += math.log(factor[c, c])
        total, total2 = 0.0, 0.0
        for _ in range(n_pairs):
            for c in range(d):
                g[c] = rng.standard_normal()
            pair = one_direction(height, slope, walls, factor, log_det, g, 1.0, direction)
            pair += one_direction(height, slope, walls, factor, log_det, g, -1.0, direction)
            total += pair
            total2 += pair * pair
        q[cone] = total / n_pairs
        variance[cone] = max(total2 / n_pairs - q[cone] ** 2, 0.0) / max(n_pairs - 1, 1)


@kernel
def one_direction(height, slope, walls, factor, log_det, g, sign, direction):
    """Return the importance-weighted share of the sphere inside the cone along the direction `sign * factor g`."""
    d = g.shape[0]
    length2, g2 = 0.0, 0.0
    for c in range(d):
        direction[c] = 0.0
        for e in range(c + 1):
            direction[c] += factor[c, e] * g[e]
        length2 += direction[c] * direction[c]
        g2 += g[c] * g[c]
    for c in range(d):
        direction[c] *= sign / math.sqrt(length2)
    reach = math.atan2(1.0, largest_cotangent(height, slope, walls, direction))
    # One over the angular central Gaussian density of the direction.
    weight = math.exp(log_det + 0.5 * d * math.log(g2 / length2))
    return weight * sine_power_integral(reach, d - 1) / sine_power_integral(math.pi, d - 1)


@kernel
def largest_cotangent(height, slope, walls, direction):
    """Return the cotangent of the distance at which a great circle leaves the cone: the largest over its walls."""
    largest = -math.inf
    for i in walls:
        rise = 0.0
        for c in range(direction.shape[0]):
            rise += slope[i, c] * direction[c]
        largest = max(largest, -rise / height[i])
    return largest


@kernel
def sine_power_integral(t, k):
    """Return the integral of sin(x)**k over (0, t), 0 <= t <= pi."""
    if t < 1e-2:  # the recursion below would cancel: use a series
        t2 = t * t
        second = k * (5.0 * k - 2.0) * t2 * t2 / (360.0 * (k + 5.0))
        return t ** (k + 1) * (1.0 / (k + 1.0) - k * t2 / (6.0 * (k + 3.0)) + second)
    sine, cosine = math.sin(t), math.cos(t)
    value = t if k % 2 == 0 else 1.0 - cosine
    for j in range(2 + k % 2, k + 1, 2):
        value = ((j - 1.0) * value - sine ** (j - 1) * cosine) / j
    return value
