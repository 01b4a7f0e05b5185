"""Move A: alpha changes while the threshold and every scale stay, so nu and the marks follow."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ...stable import log_nu_offset
from ..priors import log_prior_alpha, log_prior_log_nu
from ..system import log_likelihood
from .accept import accept


@inner_kernel
def move_alpha_scales(chain, model, work, rng, step):
    """Random walk on alpha at fixed scales; returns 1 when accepted."""
    alpha, log_nu = chain.alpha, chain.log_nu
    new = alpha + step * rng.standard_normal()
    if log_prior_alpha(new, model) == -math.inf:
        return 0
    log_n = math.log(model.n_atoms)
    log_nu_new = log_nu + log_nu_offset(new, model.n_atoms) - log_nu_offset(alpha, model.n_atoms)
    ratio = new / alpha
    # gamma' = N (gamma/N)^ratio: the Jacobian is the product of ratio (gamma/N)^(ratio - 1).
    log_jacobian = chain.n_atoms * math.log(ratio)
    for k in range(chain.n_atoms):
        log_jacobian += (ratio - 1.0) * (chain.log_mark[k] - log_n)
    value = log_likelihood(chain, model, work, new, log_nu_new, chain.log_sigma2, chain.log_group_scale)
    log_ratio = value - chain.log_likelihood + log_jacobian
    log_ratio += log_prior_log_nu(log_nu_new, chain.kernel, model) - log_prior_log_nu(log_nu, chain.kernel, model)
    if not accept(rng, log_ratio):
        return 0
    chain.alpha = new
    chain.log_nu = log_nu_new
    chain.log_likelihood = value
    for k in range(chain.n_atoms):
        chain.log_mark[k] = log_n + ratio * (chain.log_mark[k] - log_n)
    return 1
