"""Accept or reject, and keep count."""

from __future__ import annotations

import math

from ..._jit import inner_kernel, kernel

TARGET_ACCEPTANCE = 0.44


@kernel
def accept(rng, log_ratio):
    """Metropolis-Hastings: True with probability min(1, exp(log_ratio)); never for NaN."""
    return math.log(1.0 - rng.random()) < log_ratio


@inner_kernel
def count(chain, move, accepted):
    """Count an attempt at a move."""
    chain.tally[move, 0] += 1
    chain.tally[move, 1] += accepted


@inner_kernel
def adapt_step(chain, move, accepted):
    """Steer the step size of a move towards 44% acceptance (Robbins-Monro)."""
    gain = 1.0 / (1.0 + chain.n_sweeps) ** 0.6
    chain.log_step[move] += gain * (accepted - TARGET_ACCEPTANCE) * 4.0
