"""From the draws to the list of jumps: count them, match them across draws, and summarise each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..engine.draws import ChainDraws
from ..inputs import CATEGORY, TrainingData, unscale_inputs
from ..network import sign_patterns
from .matching import match_jumps
from .outliers import mark_outliers
from .probability import map_boundaries
from .result import Gaps, Jump, Jumps
from .steps import DrawnJumps, add_up, check_limits, collect_steps, width_unit

# Ends of the central 90% intervals.
INTERVAL = (0.05, 0.95)


def find_jumps(
    data: TrainingData, chains: Sequence[ChainDraws], size: float | None = None, max_width: float | None = None
) -> Jumps:
    """Find the jumps between training rows: how many each draw has, and those that the draws agree on.

    Parameters
    ----------
    data : TrainingData
        What the model was fitted on.
    chains : sequence of ChainDraws
        The draws of each chain.
    size : float, optional
        The least change of f that counts, in the units of y. Default: the noise s.d.
    max_width : float, optional
        The greatest width of a step that counts, in the units of x for one input and in standardised units for several.
        Default: a quarter of the standard deviation of the inputs.

    Returns
    -------
    Jumps
        The jumps, in the user's units.
    """
    limits = check_limits(data, chains, size, max_width)
    steps = collect_steps(data, chains, limits)
    drawn = add_up(steps, limits.size)
    d = data.X.shape[1]
    centre, spread = _centre_and_spread(data)
    members = match_jumps(data, drawn)
    jumps = mark_outliers(data, drawn, [_summarise(data, drawn, of_jump) for of_jump in members], members)
    jumps = [replace(jump, levels=_levels(data, jump)) for jump in jumps]
    return Jumps(
        min_size=limits.size * data.scaling.y_scale,
        max_width=limits.width * width_unit(data),
        n_jumps=np.bincount(drawn.draw, minlength=drawn.n_draws).astype(np.int64),
        found=tuple(sorted(jumps, key=lambda jump: jump.location) if d == 1 else jumps),
        names=data.columns.labels,
        centre=centre,
        spread=spread,
        target=data.target or "f",
        has_widths=any(np.isfinite(draws.sharpness).any() for draws in chains),
        columns=data.columns,
        gaps=_gaps(data, drawn) if d == 1 else None,
        boundaries=map_boundaries(data, chains, limits) if d == 2 and data.columns.is_plain else None,
    )


def _centre_and_spread(data: TrainingData) -> tuple[FloatArray, FloatArray]:
    """Means of the inputs, rounded to the second digit of their standard deviations, and these."""
    X = unscale_inputs(data.X, data.scaling)
    spread = np.where(np.ptp(data.X, axis=0) > 0.0, X.std(axis=0), 0.0)
    digits = [1 - math.floor(math.log10(sd)) if sd > 0.0 else 12 for sd in spread]
    return np.array([round(float(mean), n) for mean, n in zip(X.mean(axis=0), digits, strict=True)]), spread


def _gaps(data: TrainingData, drawn: DrawnJumps) -> Gaps:
    """Jumps between neighbouring training points; a draw has at most one jump per gap."""
    x = data.X[:, 0]
    # Find the gap from the signs of the rows, not from the location, which rounding may put in the next gap.
    n_high = (sign_patterns(drawn.h, data.X) > 0).sum(axis=1)
    rises = drawn.h[:, 1] > 0.0
    gap = np.where(rises, x.size - n_high, n_high) - 1
    change = np.where(rises, drawn.size, -drawn.size)
    in_gap = [change[gap == j] for j in range(x.size - 1)]
    raw = data.columns.values(0, unscale_inputs(data.X, data.scaling)[:, 0])
    return Gaps(
        low=raw[:-1],
        high=raw[1:],
        probability=np.array([c.size for c in in_gap]) / drawn.n_draws,
        size=np.array([np.median(c) if c.size else math.nan for c in in_gap]) * data.scaling.y_scale,
    )


def _summarise(data: TrainingData, drawn: DrawnJumps, members: IntArray) -> Jump:
    """Medians and intervals of one jump over the draws that have it."""
    centre = np.average(data.X, axis=0, weights=data.weight)
    length = np.sqrt(np.sum(drawn.h[members, 1:] ** 2, axis=1))
    normals = drawn.h[members, 1:] / length[:, None]
    # Hyperplanes are compared by their distance from the centre of the data: tilted ones differ least there.
    distance = -(drawn.h[members, 0] + drawn.h[members, 1:] @ centre) / length
    mean = normals.mean(axis=0)
    normal = mean / math.sqrt(float(mean @ mean))
    thresholds = np.quantile(distance, [0.5, *INTERVAL]) + normal @ centre
    sizes = drawn.size[members]
    plane = np.concatenate([[-thresholds[0]], normal])
    common: dict[str, Any] = {
        "probability": members.size / drawn.n_draws,
        "width": float(np.median(drawn.width[members])) * width_unit(data),
        "agreement": _agreement(data, plane, drawn.h[members]),
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
    data: TrainingData, side: float, thresholds: FloatArray, sizes: FloatArray, common: dict[str, Any]
) -> Jump:
    """With one input the location is a point, and the size is negative where f falls (`side` is -1)."""
    location, *ends = np.array([side * t for t in thresholds]) * data.scaling.x_scale[0] + data.scaling.x_mean[0]
    size, *interval = side * np.quantile(sizes, [0.5, *INTERVAL]) * data.scaling.y_scale
    points = unscale_inputs(data.X, data.scaling)[:, 0]
    right = int(np.clip(np.searchsorted(points, location), 1, points.size - 1))
    places = np.array([location, min(ends), max(ends), *points[[right - 1, right]]])
    at, low, high, before, after = data.columns.values(0, places).tolist()
    return Jump(
        location=at,
        location_interval=(low, high),
        between=(before, after),
        direction=np.array([side]),
        size=float(size),
        size_interval=(float(min(interval)), float(max(interval))),
        **common,
    )


def _levels(data: TrainingData, jump: Jump) -> tuple[str, tuple[str, ...]] | None:
    """The category that alone tells on which side of a jump a training row is, and its levels where f is higher."""
    columns = data.columns
    if columns.is_plain:
        return None
    X = unscale_inputs(data.X, data.scaling)
    is_higher, given = X @ jump.direction > jump.location, columns.decode(X)
    for j, column in enumerate(columns.given):
        levels = [*range(len(column.levels)), *([np.nan] if column.fill is not None else [])]
        if column.kind != CATEGORY or len(levels) < 2:
            continue
        sides = [is_higher[_equal(given[:, j], level)] for level in levels]
        if all(side.all() or not side.any() for side in sides):
            higher = [level for level, side in zip(levels, sides, strict=True) if side.any()]
            return columns.labels[j], tuple(columns.show(j, level) for level in higher)
    return None


def _equal(values: FloatArray, level: float) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(values) if np.isnan(level) else values == level)


def _agreement(data: TrainingData, plane: FloatArray, h: FloatArray) -> float:
    """Mean fraction of the training rows, by weight, that lie on the same side of `plane` and of each h."""
    same = sign_patterns(h, data.X) == sign_patterns(plane, data.X)
    return float((same @ data.weight).mean() / data.weight.sum())
