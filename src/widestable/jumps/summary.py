"""From draws to the jumps that people read about."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._types import FloatArray, IntArray
from ..engine.draws import ChainDraws
from ..inputs import TrainingData, unscale_inputs
from ..network import sign_patterns
from .cluster import cluster
from .limits import Limits, check_limits, width_unit
from .probability import separation
from .result import BoundaryMap, Gaps, Jump, Jumps
from .steps import Found, Steps, add_up, gather

INTERVAL = (0.05, 0.95)
# Cells of a boundary map along each input.
CELLS = (12, 40)


def find_jumps(
    data: TrainingData, chains: Sequence[ChainDraws], size: float | None = None, max_width: float | None = None
) -> Jumps:
    """Jumps between training rows: how many in each draw, and those that draws agree on. Limits in the user's units.

    `StableRegressor.jumps` calls it.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> found = find_jumps(model.posterior_.data, model.posterior_.chains, size=0.5)
    >>> [round(jump.size) for jump in found]
    [1]
    """
    limits = check_limits(data, chains, size, max_width)
    steps = gather(data, chains, limits)
    found = add_up(steps, limits.size)
    d = data.X.shape[1]
    jumps = [_describe(data, found, members) for members in cluster(data, found)]
    return Jumps(
        min_size=limits.size * data.scaling.y_scale,
        max_width=limits.width * width_unit(data),
        n_jumps=np.bincount(found.draw, minlength=found.n_draws).astype(np.int64),
        found=tuple(sorted(jumps, key=lambda jump: jump.location) if d == 1 else jumps),
        names=data.feature_names or tuple(f"x{j + 1}" for j in range(d)),
        centre=_centre(data),
        gaps=_gaps(data, found) if d == 1 else None,
        boundaries=_boundaries(data, steps, limits, None) if d == 2 else None,
    )


def map_boundaries(
    data: TrainingData,
    chains: Sequence[ChainDraws],
    size: float | None = None,
    max_width: float | None = None,
    n_cells: int | None = None,
) -> BoundaryMap:
    """Probability of a jump between neighbouring cells of a grid over the training rows; two inputs only.

    `Jumps.boundaries` is one with a usual number of cells.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> map_boundaries(model.posterior_.data, model.posterior_.chains, n_cells=20).cells.shape
    (20, 20)
    """
    if data.X.shape[1] != 2:
        raise ValueError(f"Got {data.X.shape[1]} inputs, expected two, for a map needs a plane: use jumps() instead.")
    limits = check_limits(data, chains, size, max_width)
    return _boundaries(data, gather(data, chains, limits), limits, n_cells)


def _centre(data: TrainingData) -> FloatArray:
    """Means of the inputs, rounded to two digits of their standard deviations."""
    X = unscale_inputs(data.X, data.scaling)
    spread = np.where(np.ptp(X, axis=0) > 0.0, X.std(axis=0), np.maximum(np.abs(X[0]), 1.0))
    digits = 1 - np.floor(np.log10(spread)).astype(int)
    return np.array([round(float(mean), int(n)) for mean, n in zip(X.mean(axis=0), digits, strict=True)])


def _gaps(data: TrainingData, found: Found) -> Gaps:
    """Jumps between neighbouring points of the sorted line; there is one jump a gap and draw at most."""
    x = data.X[:, 0]
    # The gap is found from the signs of the rows, not from the location: rounding would put it elsewhere.
    n_high = (sign_patterns(found.h, data.X) > 0).sum(axis=1)
    rises = found.h[:, 1] > 0.0
    gap = np.where(rises, x.size - n_high, n_high) - 1
    change = np.where(rises, found.size, -found.size)
    of_gap = [change[gap == j] for j in range(x.size - 1)]
    raw = unscale_inputs(data.X, data.scaling)[:, 0]
    return Gaps(
        low=raw[:-1],
        high=raw[1:],
        probability=np.array([c.size for c in of_gap]) / found.n_draws,
        size=np.array([np.median(c) if c.size else math.nan for c in of_gap]) * data.scaling.y_scale,
    )


def _describe(data: TrainingData, found: Found, members: IntArray) -> Jump:
    """Medians and intervals over the draws that have the jump."""
    centre = np.average(data.X, axis=0, weights=data.weight)
    length = np.sqrt(np.sum(found.h[members, 1:] ** 2, axis=1))
    normals = found.h[members, 1:] / length[:, None]
    distance = -(found.h[members, 0] + found.h[members, 1:] @ centre) / length
    mean = normals.mean(axis=0)
    normal = mean / math.sqrt(float(mean @ mean))
    thresholds = np.quantile(distance, [0.5, *INTERVAL]) + normal @ centre
    sizes = found.size[members]
    plane = np.concatenate([[-thresholds[0]], normal])
    common = {
        "probability": members.size / found.n_draws,
        "width": float(np.median(found.width[members])) * width_unit(data),
        "agreement": _agreement(data, plane, found.h[members]),
    }
    if data.X.shape[1] == 1:
        return _on_line(data, normal[0], thresholds, sizes, common)
    # In the user's units normal . (x - mean) / scale > threshold is direction . x > threshold + direction . mean.
    direction = normal / data.scaling.x_scale
    location, low, high = thresholds + direction @ data.scaling.x_mean
    size, *interval = np.quantile(sizes, [0.5, *INTERVAL]) * data.scaling.y_scale
    return Jump(
        location=float(location),
        location_interval=(float(low), float(high)),
        direction=direction,
        size=float(size),
        size_interval=(float(interval[0]), float(interval[1])),
        **common,
    )


def _on_line(
    data: TrainingData, side: float, thresholds: FloatArray, sizes: FloatArray, common: dict[str, float]
) -> Jump:
    """With one input a location is a point, and a fall is a negative size."""
    location, *ends = np.array([side * t for t in thresholds]) * data.scaling.x_scale[0] + data.scaling.x_mean[0]
    size, *interval = side * np.quantile(sizes, [0.5, *INTERVAL]) * data.scaling.y_scale
    return Jump(
        location=float(location),
        location_interval=(float(min(ends)), float(max(ends))),
        direction=np.array([side]),
        size=float(size),
        size_interval=(float(min(interval)), float(max(interval))),
        **common,
    )


def _agreement(data: TrainingData, plane: FloatArray, h: FloatArray) -> float:
    same = sign_patterns(h, data.X) == sign_patterns(plane, data.X)
    return float((same @ data.weight).mean() / data.weight.sum())


def _boundaries(data: TrainingData, steps: Steps, limits: Limits, n_cells: int | None) -> BoundaryMap:
    n = n_cells or int(np.clip(round(1.5 * math.sqrt(len(data.X))), *CELLS))
    centres = [_centres(column, n) for column in data.X.T]
    grid = np.stack(np.meshgrid(*centres), axis=-1)  # (rows along the second input, columns along the first, 2)
    across_x = separation(steps, limits, grid[:, :-1].reshape(-1, 2), grid[:, 1:].reshape(-1, 2))
    across_y = separation(steps, limits, grid[:-1].reshape(-1, 2), grid[1:].reshape(-1, 2))
    x, y = unscale_inputs(np.column_stack(centres), data.scaling).T
    return BoundaryMap(x, y, across_x.reshape(n, n - 1), across_y.reshape(n - 1, n))


def _centres(column: FloatArray, n: int) -> FloatArray:
    """Centres of n cells that cover a column; a constant one gets a width of 1."""
    low, high = float(column.min()), float(column.max())
    margin = 0.0 if high > low else 0.5
    edges = np.linspace(low - margin, high + margin, n + 1)
    return np.asarray(0.5 * (edges[1:] + edges[:-1]))
