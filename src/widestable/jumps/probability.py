"""The probability that a jump separates two places, and its map over a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._types import FloatArray
from ..engine.draws import ChainDraws
from ..inputs import TrainingData, spread_indices, unscale_inputs
from ..network import sign_patterns
from .result import BoundaryMap
from .steps import Limits, Steps, check_limits, collect_steps

# Steps times pairs of places held in memory at once: 32 MB.
BLOCK = 1 << 22
# Points of a map along each input, and draws that it is made of.
MAP_POINTS, MAP_DRAWS = 64, 600
# A boundary is located to one of so many cells along each input, fewest and most.
CELLS = (12, 40)


def jump_probability(
    data: TrainingData,
    chains: Sequence[ChainDraws],
    A: FloatArray,
    B: FloatArray,
    size: float | None = None,
    max_width: float | None = None,
) -> FloatArray:
    """Posterior probability that a jump separates row i of A from row i of B.

    Only steps with the two places on different sides count. Among them, steps that split the training rows in the same
    way add up, because the data cannot tell them apart.

    Parameters
    ----------
    data : TrainingData
        What the model was fitted on.
    chains : sequence of ChainDraws
        The draws of each chain.
    A, B : (m, d) arrays
        Places, in the model's units.
    size : float, optional
        The least change of f that counts, in the units of y. Default: the noise s.d.
    max_width : float, optional
        The greatest width of a step that counts, in the units of x for one input and in standardised units for several.
        Default: a quarter of the standard deviation of the inputs.

    Returns
    -------
    (m,) array
        Probabilities.
    """
    limits = check_limits(data, chains, size, max_width)
    return _separated(collect_steps(data, chains, limits), limits, A, B)


def _separated(steps: Steps, limits: Limits, A: FloatArray, B: FloatArray) -> FloatArray:
    """For each pair, the fraction of draws in which a jump separates it."""
    probability = np.zeros(len(A))
    if not steps.first.size:
        return probability
    draw = steps.draw[steps.first]
    first_of_draw = np.flatnonzero(np.append(True, draw[1:] != draw[:-1]))
    block = max(1, BLOCK // steps.size.size)
    for start in range(0, len(A), block):
        pairs = slice(start, start + block)
        change = _change(steps, A[pairs], B[pairs])
        # Add the changes within each group, then ask whether any group of the draw is a jump.
        is_jump = np.abs(np.add.reduceat(change, steps.first, axis=0)) > limits.size
        probability[pairs] = np.logical_or.reduceat(is_jump, first_of_draw, axis=0).sum(axis=0)
    return probability / steps.n_draws


def _change(steps: Steps, A: FloatArray, B: FloatArray) -> FloatArray:
    """Change of f from A to B across each step, shape (steps, pairs)."""
    half = sign_patterns(steps.h, B).astype(float) - sign_patterns(steps.h, A)
    return np.asarray(0.5 * steps.size[:, None] * half)


def map_boundaries(data: TrainingData, chains: Sequence[ChainDraws], limits: Limits) -> BoundaryMap:
    """Probability of a jump near each point of a grid that covers the training rows of two inputs.

    The grid is fine enough for a straight boundary to look straight. How near is near depends on the training rows: as
    near as their number lets a boundary be located.

    Parameters
    ----------
    data : TrainingData
        What the model was fitted on.
    chains : sequence of ChainDraws
        The draws of each chain, of which some are used.
    limits : Limits
        What counts as a jump.

    Returns
    -------
    BoundaryMap
        Probabilities, in the user's units.
    """
    steps = collect_steps(data, [_thinned(draws, MAP_DRAWS // len(chains)) for draws in chains], limits)
    n_cells = float(np.clip(round(1.5 * math.sqrt(len(data.X))), *CELLS))
    ends = [_ends(column) for column in data.X.T]
    axes = [np.linspace(low, high, MAP_POINTS) for low, high in ends]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    reach = [0.5 * (high - low) / n_cells for low, high in ends]
    across = [_separated(steps, limits, grid - offset, grid + offset) for offset in np.diag(reach)]
    x, y = unscale_inputs(np.column_stack(axes), data.scaling).T
    first, second = data.columns.labels
    return BoundaryMap(
        x,
        y,
        np.maximum(*across).reshape(MAP_POINTS, MAP_POINTS),
        (float(reach[0] * data.scaling.x_scale[0]), float(reach[1] * data.scaling.x_scale[1])),
        (first, second),
        data.columns,
    )


def _thinned(draws: ChainDraws, n: int) -> ChainDraws:
    """At most n draws, evenly spread."""
    keep = np.zeros(len(draws), dtype=bool)
    keep[spread_indices(len(draws), n)] = True
    return draws.where(keep)


def _ends(column: FloatArray) -> tuple[float, float]:
    """Ends of a column; those of a constant one are 1 apart."""
    low, high = float(column.min()), float(column.max())
    margin = 0.0 if high > low else 0.5
    return low - margin, high + margin
