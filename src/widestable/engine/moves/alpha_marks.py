"""Move B: alpha changes while the marks and nu stay, so every scale follows."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..priors import log_prior_alpha
from ..system import log_likelihood, set_group_scales
from .accept import accept


@inner_kernel
def move_alpha_marks(chain, model, work, rng, step):
    """Random walk on alpha at fixed marks; returns 1 when accepted."""
    new = chain.alpha + step * rng.standard_normal()
    if log_prior_alpha(new, model) == -math.inf:
        return 0
    set_group_scales(chain, new, chain.log_nu, chain.log_sigma2, work.log_group_scale)
    value = log_likelihood(chain, model, work, new, chain.log_nu, chain.log_sigma2, work.log_group_scale)
    if not accept(rng, value - chain.log_likelihood):
        return 0
    chain.alpha = new
    chain.log_likelihood = value
    for g in range(chain.n_groups):
        chain.log_group_scale[g] = work.log_group_scale[g]
    return 1
