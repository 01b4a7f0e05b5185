"""Any number of input columns: cells through their vertices, probabilities by Monte Carlo."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, product
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widestable.exact.cone_measure import measure_cones
from widestable.exact.whiten import whiten

Signs = NDArray[np.int8]
Floats = NDArray[np.float64]

# Below this a unit row lies on a hyperplane, or a set of unit rows is dependent.
_TOLERANCE = 1e-9
# Hyperplanes, and cells, that are treated together; a compiled call stays below 0.2 s.
_FLATS = 2048
_CELLS = 128


class Corners(NamedTuple):
    """Pairs of a cell and one of its vertices."""

    signs: Signs  # (k, n) the cell
    ray: Floats  # (k, r) the vertex, a unit vector
    on: NDArray[np.bool_]  # (k, n) rows that meet at the vertex


class Cells(NamedTuple):
    """Cells with what their vertices tell of their shape."""

    signs: Signs  # (L, n), first row positive
    walls: NDArray[np.bool_]  # (L, n) rows that touch the cell
    centre: Floats  # (L, r) sum of the unit vertices
    spread: Floats  # (L, r, r) sum of their squares


def general_cells(X: Floats, n_directions: int, rng: np.random.Generator) -> tuple[Signs, Floats, Floats]:
    """Cells of n points in d dimensions, and Monte Carlo estimates of their probabilities.

    Every cell has a vertex, and every vertex is a hyperplane through d independent rows. It fixes the
    signs of all other rows; its own rows take all sign combinations when they are just d, and otherwise
    those of the cells of their own arrangement (three points on a line cannot be + - +).

    A probability is the integral over directions of the distance from a point inside the cell to its
    walls. Every cell is measured for itself, so small ones too have estimates of a few per cent.

    Parameters
    ----------
    X
        Distinct rows, shape (n, d), that span d dimensions.
    n_directions
        Random directions for each cell.
    rng
        Source of the directions.

    Returns
    -------
    signs, q, standard_error
        Shapes (L, n), (L,) and (L,); q is adjusted to sum to one. The first row is positive in every cell.
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
    """Memory for the pairs of a cell and a vertex of n rows in general position: signs, walls and vertex."""
    return (comb(n, d) << d) * (2 * -(-n // 8) + 3 * 8 * (d + 1))


def all_sign_vectors(rows: Floats) -> Signs:
    """All cells of a central arrangement, both orientations: unit normals, shape (n, r), of rank r.

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


def _corners(rows: Floats) -> Iterator[Corners]:
    """Cells at every vertex of the arrangement (of two opposite vertices one), in batches."""
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


def _simple_corners(ray: Floats, on: NDArray[np.bool_], signs: Signs, free: Signs) -> Corners:
    """Cells at vertices with rank - 1 rows on them: all sign combinations of those rows."""
    on = np.repeat(on, len(free), axis=0)
    blown = np.repeat(signs, len(free), axis=0)
    blown[on] = np.tile(free, (len(signs), 1)).ravel()
    return Corners(blown, np.repeat(ray, len(free), axis=0), on)


def _crowded_corner(rows: Floats, ray: Floats, on: NDArray[np.bool_], signs: Signs) -> Corners:
    """Cells at a vertex with more than rank - 1 rows on it: the arrangement of those rows, by recursion."""
    basis = np.linalg.svd(ray[None, :])[2][1:]
    inside = rows[on] @ basis.T
    own = all_sign_vectors(inside / np.linalg.norm(inside, axis=1, keepdims=True))
    blown = np.tile(signs, (len(own), 1))
    blown[:, on] = own
    return Corners(blown, np.tile(ray, (len(own), 1)), np.tile(on, (len(own), 1)))


def _flats(rows: Floats) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """Unit vectors orthogonal to rank - 1 independent rows, and which rows each is orthogonal to."""
    n, rank = rows.shape
    subsets = combinations(range(n), rank - 1)
    while batch := list(islice(subsets, _FLATS)):
        _, size, axes = np.linalg.svd(rows[np.array(batch, dtype=np.int64)])
        ray = axes[size[:, -1] > _TOLERANCE, -1]
        yield ray, np.abs(ray @ rows.T) < _TOLERANCE


def _merge_corners(rows: Floats, back: Floats) -> Cells:
    """Distinct cells; the sums over their vertices are of unit vectors mapped by `back`."""
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


def _measure(cells: Cells, X: Floats, n_directions: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Estimates of q and their variances, in batches that keep a compiled call short."""
    Z = np.column_stack([np.ones(len(X)), X])
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    n_pairs = max(n_directions // 2, 2)
    q, variance = np.empty(len(cells.signs)), np.empty(len(cells.signs))
    for start in range(0, len(q), _CELLS):
        part = slice(start, start + _CELLS)
        seen = _seen_from_inside(Cells(cells.signs[part], cells.walls[part], cells.centre[part], cells.spread[part]), Z)
        measure_cones(*seen, n_pairs, rng, q[part], variance[part])
    return q, variance


def _sum_to_one(q: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Least squares given that the sum is one: the least certain cells take up what is missing."""
    share = variance / max(variance.sum(), np.finfo(float).tiny)
    return q + (1.0 - q.sum()) * share, np.sqrt(variance * (1.0 - share))


def _seen_from_inside(cells: Cells, Z: Floats) -> tuple[Floats, Floats, NDArray[np.bool_], Floats]:
    """Heights and slopes of the walls at a point inside each cell, and a shape for random directions."""
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
    factors = np.linalg.cholesky(shape / size + 1e-6 * np.eye(shape.shape[1]))
    return heights, slopes, cells.walls, factors
