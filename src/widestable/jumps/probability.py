"""The probability that a jump separates two places, and its map over a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._types import FloatArray
from ..engine.draws import ChainDraws
from ..inputs import TrainingData, unscale_inputs
from ..network import sign_patterns
from .result import BoundaryMap
from .steps import Limits, Steps, check_limits, collect_steps

# Steps times pairs of places held in memory at once: 32 MB.
BLOCK = 1 << 22
# Fewest and most cells of a map along each input.
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
    way add up, because the data cannot tell them apart. `StableRegressor.jump_probability` calls this function with
    rows in the user's units.

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

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> posterior = model.posterior_
    >>> A, B = posterior.check_rows([[0.2]]), posterior.check_rows([[0.8]])
    >>> print(jump_probability(posterior.data, posterior.chains, A, B, size=0.5).round(1))
    [1.]
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


def map_boundaries(
    data: TrainingData,
    chains: Sequence[ChainDraws],
    size: float | None = None,
    max_width: float | None = None,
    n_cells: int | None = None,
) -> BoundaryMap:
    """Probability of a jump between neighbouring cells of a grid that covers the training rows; two inputs only.

    `Jumps.boundaries` is such a map with the default number of cells.

    Parameters
    ----------
    data : TrainingData
        What the model was fitted on.
    chains : sequence of ChainDraws
        The draws of each chain.
    size, max_width : float, optional
        What counts as a jump; see `jump_probability`.
    n_cells : int, optional
        Cells along each input. Default: between 12 and 40, more for more training rows.

    Returns
    -------
    BoundaryMap
        Probabilities on the sides of the cells, in the user's units.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> map_boundaries(model.posterior_.data, model.posterior_.chains, n_cells=20).cells.shape
    (20, 20)
    """
    if data.X.shape[1] != 2:
        raise ValueError(
            f"Got {data.X.shape[1]} inputs, expected two because a map shows a plane: use jumps() instead."
        )
    limits = check_limits(data, chains, size, max_width)
    return boundaries_of(data, collect_steps(data, chains, limits), limits, n_cells)


def boundaries_of(data: TrainingData, steps: Steps, limits: Limits, n_cells: int | None = None) -> BoundaryMap:
    """The map of boundaries from steps already collected."""
    n = n_cells or int(np.clip(round(1.5 * math.sqrt(len(data.X))), *CELLS))
    centres = [_cell_centres(column, n) for column in data.X.T]
    grid = np.stack(np.meshgrid(*centres), axis=-1)  # (cells along the second input, cells along the first, 2)
    across_x = _separated(steps, limits, grid[:, :-1].reshape(-1, 2), grid[:, 1:].reshape(-1, 2))
    across_y = _separated(steps, limits, grid[:-1].reshape(-1, 2), grid[1:].reshape(-1, 2))
    x, y = unscale_inputs(np.column_stack(centres), data.scaling).T
    return BoundaryMap(x, y, across_x.reshape(n, n - 1), across_y.reshape(n - 1, n))


def _cell_centres(column: FloatArray, n: int) -> FloatArray:
    """Centres of n equal cells that cover a column; a constant column gets cells of total width 1."""
    low, high = float(column.min()), float(column.max())
    margin = 0.0 if high > low else 0.5
    edges = np.linspace(low - margin, high + margin, n + 1)
    return np.asarray(0.5 * (edges[1:] + edges[:-1]))
