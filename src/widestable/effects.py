"""The effect of one input: f along it, averaged over the other inputs (partial dependence), with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._types import FloatArray
from .importance import choose_draws
from .inputs import spread_indices, unscale_outputs
from .posterior import Posterior
from .predict.joint import draw_paths

# Values of the input, rows whose other inputs are averaged over, and posterior draws of f.
N_POINTS, N_ROWS, N_DRAWS = 61, 40, 200
# An input with at most this many values, such as a category, is shown at these.
FEW = 12


class Effect(NamedTuple):
    """f along one input, averaged over rows of the data that keep their other inputs.

    Attributes
    ----------
    x : (m,) array
        Values of the input.
    lower, middle, upper : (m,) arrays
        Median over the draws of f, and the ends of the central interval.
    """

    x: FloatArray
    lower: FloatArray
    middle: FloatArray
    upper: FloatArray


def effects(posterior: Posterior, inputs: Sequence[int], coverage: float = 0.9) -> list[Effect]:
    """Partial dependence of f on each of these inputs, in the user's units.

    Each draw of f is averaged over rows of the data before quantiles are taken, so the interval is that of the average.

    Parameters
    ----------
    posterior : Posterior
        The draws.
    inputs : sequence of int
        Which inputs.
    coverage : float
        Probability of the intervals.

    Returns
    -------
    list of Effect
        One per input.
    """
    data, source = posterior.data, posterior._source
    rows = data.X[spread_indices(len(data.X), N_ROWS)]
    weight = data.weight[spread_indices(len(data.X), N_ROWS)]
    points = [_points(data.X[:, j]) for j in inputs]
    blocks = [_rows_along(rows, j, values) for j, values in zip(inputs, points, strict=True)]
    # The pictures of one model are the same each time.
    paths = draw_paths(source, choose_draws(source, N_DRAWS), blocks, np.random.default_rng(0))
    tail = 0.5 * (1.0 - coverage)
    found = []
    for j, values, f in zip(inputs, points, paths, strict=True):
        average = np.average(f.reshape(len(rows), values.size, -1), axis=0, weights=weight)
        ends = np.quantile(unscale_outputs(average, data.scaling), [tail, 0.5, 1.0 - tail], axis=1)
        found.append(Effect(values * data.scaling.x_scale[j] + data.scaling.x_mean[j], *ends))
    return found


def strongest(found: Sequence[Effect], n: int) -> list[int]:
    """The places of the n effects that change f most, in their order."""
    change = np.array([np.ptp(effect.middle) for effect in found])
    return sorted(np.argsort(-change, kind="stable")[:n].tolist())


def _points(column: FloatArray) -> FloatArray:
    """Where to look along an input, scaled."""
    distinct = np.unique(column)
    return distinct if distinct.size <= FEW else np.linspace(distinct[0], distinct[-1], N_POINTS)


def _rows_along(rows: FloatArray, j: int, values: FloatArray) -> FloatArray:
    """Each row with all values of input j, shape (rows * values, d)."""
    along = np.repeat(rows, values.size, axis=0)
    along[:, j] = np.tile(values, len(rows))
    return along
