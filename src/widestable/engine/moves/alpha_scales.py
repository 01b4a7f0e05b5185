"""Move A: alpha changes while the threshold and every scale stay, so nu and the marks follow."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..jump_measure import log_nu_offset
from ..names import ALPHA, ATOMS, LOG_NU, LOG_SIGMA2
from ..priors import log_prior_alpha, log_prior_log_nu
from ..system import log_likelihood


@inner_kernel
def move_alpha_scales(chain, model, work, rng, step, current):
    """Random walk on alpha at fixed scales; returns (accepted, log likelihood)."""
    alpha, log_nu = chain.theta[ALPHA], chain.theta[LOG_NU]
    new = alpha + step * rng.standard_normal()
    if log_prior_alpha(new, model) == -math.inf:
        return 0, current
    log_n = math.log(model.n_atoms)
    log_nu_new = log_nu + log_nu_offset(new, model.n_atoms) - log_nu_offset(alpha, model.n_atoms)
    ratio = new / alpha
    # gamma' = N (gamma/N)^ratio: the Jacobian is the product of ratio (gamma/N)^(ratio - 1).
    log_jacobian = chain.counts[ATOMS] * math.log(ratio)
    for k in range(chain.counts[ATOMS]):
        log_jacobian += (ratio - 1.0) * (chain.log_mark[k] - log_n)
    value = log_likelihood(chain, model, work, new, log_nu_new, chain.theta[LOG_SIGMA2], chain.log_group_scale)
    log_ratio = value - current + log_jacobian
    log_ratio += log_prior_log_nu(log_nu_new, model) - log_prior_log_nu(log_nu, model)
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0, current
    chain.theta[ALPHA] = new
    chain.theta[LOG_NU] = log_nu_new
    for k in range(chain.counts[ATOMS]):
        chain.log_mark[k] = log_n + ratio * (chain.log_mark[k] - log_n)
    return 1, value
