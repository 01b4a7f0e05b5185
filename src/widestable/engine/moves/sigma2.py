"""Noise variance: a random walk on its log."""

from __future__ import annotations

from ..._jit import inner_kernel
from ..priors import log_prior_log_sigma2
from ..system import log_likelihood, shift_group_scales
from .accept import accept


@inner_kernel
def move_sigma2(chain, model, work, rng, step):
    """Random walk on log sigma2; returns 1 when accepted."""
    log_sigma2 = chain.log_sigma2
    new = log_sigma2 + step * rng.standard_normal()
    if new < model.log_sigma2_floor:
        return 0
    shift_group_scales(chain, new - log_sigma2, 0.0, work.log_group_scale)
    value = log_likelihood(chain, model, work, chain.alpha, chain.log_nu, new, work.log_group_scale)
    log_ratio = value - chain.log_likelihood + log_prior_log_sigma2(new) - log_prior_log_sigma2(log_sigma2)
    if not accept(rng, log_ratio):
        return 0
    chain.log_sigma2 = new
    chain.log_likelihood = value
    for g in range(chain.n_groups):
        chain.log_group_scale[g] = work.log_group_scale[g]
    return 1
