"""Noise variance: a random walk on its log."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..names import ALPHA, LOG_NU, LOG_SIGMA2
from ..priors import log_prior_log_sigma2
from ..system import log_likelihood


@inner_kernel
def move_sigma2(chain, model, work, rng, step, current):
    """Random walk on log sigma2; returns (accepted, log likelihood)."""
    log_sigma2 = chain.theta[LOG_SIGMA2]
    new = log_sigma2 + step * rng.standard_normal()
    value = log_likelihood(chain, model, work, chain.theta[ALPHA], chain.theta[LOG_NU], new, chain.log_group_scale)
    log_ratio = value - current + log_prior_log_sigma2(new) - log_prior_log_sigma2(log_sigma2)
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0, current
    chain.theta[LOG_SIGMA2] = new
    return 1, value
