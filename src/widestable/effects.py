"""The effect of one input: f along it, averaged over the other inputs (partial dependence), with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._types import FloatArray
from .importance import choose_draws
from .inputs import Columns, scale_inputs, spread_indices, unscale_inputs, unscale_outputs
from .posterior import Posterior
from .predict.joint import draw_paths

# Values of the input, rows whose other inputs are averaged over, and posterior draws of f.
N_POINTS, N_ROWS, N_DRAWS = 61, 40, 200
# An input with at most this many values is shown at these.
FEW = 12


class Effect(NamedTuple):
    """f along one input, averaged over rows of the data that keep their other inputs.

    Attributes
    ----------
    x : (m,) array
        Values of the input: numbers, dates as datetime64, or all levels of a category as text.
    lower, middle, upper : (m,) arrays
        Median over the draws of f, and the ends of the central interval.
    """

    x: NDArray[Any]
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
    columns, chosen = data.columns, spread_indices(len(data.X), N_ROWS)
    given = columns.decode(unscale_inputs(data.X, data.scaling))
    points = [_points(columns, j, given[:, j]) for j in inputs]
    blocks = [
        scale_inputs(_rows_along(columns, given[chosen], j, values), data.scaling)
        for j, values in zip(inputs, points, strict=True)
    ]
    # The pictures of one model are the same each time.
    paths = draw_paths(source, choose_draws(source, N_DRAWS), blocks, np.random.default_rng(0))
    tail = 0.5 * (1.0 - coverage)
    found = []
    for j, values, f in zip(inputs, points, paths, strict=True):
        average = np.average(f.reshape(chosen.size, values.size, -1), axis=0, weights=data.weight[chosen])
        ends = np.quantile(unscale_outputs(average, data.scaling), [tail, 0.5, 1.0 - tail], axis=1)
        found.append(Effect(columns.values(j, values), *ends))
    return found


def strongest(found: Sequence[Effect], n: int) -> list[int]:
    """The places of the n effects that change f most, in their order."""
    change = np.array([np.ptp(effect.middle) for effect in found])
    return sorted(np.argsort(-change, kind="stable")[:n].tolist())


def _points(columns: Columns, j: int, values: FloatArray) -> FloatArray:
    """Where to look along input j: at its levels, at few values, or evenly from the smallest to the largest."""
    if (levels := columns.levels_at(j)) is not None:
        return levels
    distinct = np.unique(values[~np.isnan(values)])
    return distinct if distinct.size <= FEW else np.linspace(distinct[0], distinct[-1], N_POINTS)


def _rows_along(columns: Columns, given: FloatArray, j: int, values: FloatArray) -> FloatArray:
    """Each row with all values of input j, as columns of the engine, shape (rows * values, d)."""
    along = np.repeat(given, values.size, axis=0)
    along[:, j] = np.tile(values, len(given))
    return columns.expand(along)
