"""The probability that a jump separates two places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import FloatArray
from ..engine.draws import ChainDraws
from ..inputs import TrainingData
from ..network import sign_patterns
from .limits import Limits, check_limits
from .steps import Steps, gather

# Steps times pairs of places held in memory at once (32 MB).
BLOCK = 1 << 22


def jump_probability(
    data: TrainingData,
    chains: Sequence[ChainDraws],
    A: FloatArray,
    B: FloatArray,
    size: float | None = None,
    max_width: float | None = None,
) -> FloatArray:
    """Posterior probability of a jump larger than `size` between row i of A and row i of B, shape (m,).

    A and B are in the model's units, the limits in the user's. Steps that split the training rows in the same way
    cannot be told apart by the data: their changes from A to B add up. Only steps that separate A from B count.
    `StableRegressor.jump_probability` takes A and B in the user's units and calls it.

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
    return separation(gather(data, chains, limits), limits, A, B)


def separation(steps: Steps, limits: Limits, A: FloatArray, B: FloatArray) -> FloatArray:
    """The part of the draws in which a jump separates each pair."""
    probability = np.zeros(len(A))
    if not steps.first.size:
        return probability
    draw = steps.draw[steps.first]
    first_of_draw = np.flatnonzero(np.append(True, draw[1:] != draw[:-1]))
    block = max(1, BLOCK // steps.size.size)
    for start in range(0, len(A), block):
        pairs = slice(start, start + block)
        change = _change(steps, A[pairs], B[pairs])
        is_jump = np.abs(np.add.reduceat(change, steps.first, axis=0)) > limits.size
        probability[pairs] = np.logical_or.reduceat(is_jump, first_of_draw, axis=0).sum(axis=0)
    return probability / steps.n_draws


def _change(steps: Steps, A: FloatArray, B: FloatArray) -> FloatArray:
    """Change of f from A to B across each step, shape (steps, pairs)."""
    half = sign_patterns(steps.h, B).astype(float) - sign_patterns(steps.h, A)
    return np.asarray(0.5 * steps.size[:, None] * half)
