"""Move C: nu changes while the marks and alpha stay, so every scale is multiplied by one factor."""

from __future__ import annotations

from ..._jit import inner_kernel
from ..priors import log_prior_log_nu
from ..system import log_likelihood, shift_group_scales
from .accept import accept


@inner_kernel
def move_nu(chain, model, work, rng, step):
    """Random walk on log nu at fixed marks; returns 1 when accepted."""
    log_nu, kernel = chain.log_nu, chain.kernel
    change = step * rng.standard_normal()
    shift_group_scales(chain, 0.0, change, work.log_group_scale)
    value = log_likelihood(chain, model, work, chain.alpha, log_nu + change, chain.log_sigma2, work.log_group_scale)
    log_ratio = value - chain.log_likelihood
    log_ratio = log_ratio + log_prior_log_nu(log_nu + change, kernel, model) - log_prior_log_nu(log_nu, kernel, model)
    if not accept(rng, log_ratio):
        return 0
    chain.log_nu = log_nu + change
    chain.log_likelihood = value
    for g in range(chain.n_groups):
        chain.log_group_scale[g] = work.log_group_scale[g]
    return 1
