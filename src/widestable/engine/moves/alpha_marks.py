"""Move B: alpha changes while the marks and nu stay, so every scale follows."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..names import ALPHA, GROUPS, LOG_NU, LOG_SIGMA2
from ..priors import log_prior_alpha
from ..system import log_likelihood, set_group_scales


@inner_kernel
def move_alpha_marks(chain, model, work, rng, step, current):
    """Random walk on alpha at fixed marks; returns (accepted, log likelihood)."""
    new = chain.theta[ALPHA] + step * rng.standard_normal()
    if log_prior_alpha(new, model) == -math.inf:
        return 0, current
    set_group_scales(chain, chain.log_mark, new, chain.theta[LOG_NU], work.log_group_scale)
    value = log_likelihood(chain, model, work, new, chain.theta[LOG_NU], chain.theta[LOG_SIGMA2], work.log_group_scale)
    if not math.log(1.0 - rng.random()) < value - current:
        return 0, current
    chain.theta[ALPHA] = new
    for g in range(chain.counts[GROUPS]):
        chain.log_group_scale[g] = work.log_group_scale[g]
    return 1, value
