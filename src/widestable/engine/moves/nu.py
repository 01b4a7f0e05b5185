"""Move C: nu changes while the marks and alpha stay, so every scale is multiplied by one factor."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..names import ALPHA, GROUPS, LOG_NU, LOG_SIGMA2
from ..priors import log_prior_log_nu
from ..system import log_likelihood


@inner_kernel
def move_nu(chain, model, work, rng, step, current):
    """Random walk on log nu at fixed marks; returns (accepted, log likelihood)."""
    log_nu = chain.theta[LOG_NU]
    change = step * rng.standard_normal()
    for g in range(chain.counts[GROUPS]):
        work.log_group_scale[g] = chain.log_group_scale[g] + change
    value = log_likelihood(
        chain, model, work, chain.theta[ALPHA], log_nu + change, chain.theta[LOG_SIGMA2], work.log_group_scale
    )
    log_ratio = value - current + log_prior_log_nu(log_nu + change, model) - log_prior_log_nu(log_nu, model)
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0, current
    chain.theta[LOG_NU] = log_nu + change
    for g in range(chain.counts[GROUPS]):
        chain.log_group_scale[g] = work.log_group_scale[g]
    return 1, value
