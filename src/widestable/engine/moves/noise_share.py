"""nu and sigma2 together, with the noise outside the leading dimensions held.

A remainder of low rank counts there too. Over many rows that noise, g times the rest's eigenvalue plus sigma2, is known
so well that neither of the two can move alone, and a chain that starts with the wrong share would keep it for thousands
of sweeps.
"""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ...stable import log_remainder_of_one
from ..priors import log_prior_log_nu, log_prior_log_sigma2
from ..system import log_likelihood, shift_group_scales
from .accept import accept


@inner_kernel
def take_up(log_sigma2, noise):
    """log(sigma2 + noise), and the log of its derivative in log sigma2; (-inf, 0) when nothing is left."""
    total = math.exp(log_sigma2) + noise
    if not total > 0.0:
        return -math.inf, 0.0
    return math.log(total), log_sigma2 - math.log(total)


@inner_kernel
def move_noise_share(chain, model, work, rng, step):
    """Random walk on log nu at fixed marks while sigma2 takes up the difference; returns 1 when accepted."""
    alpha, log_nu, log_sigma2, kernel = chain.alpha, chain.log_nu, chain.log_sigma2, chain.kernel
    change = step * rng.standard_normal()
    log_nu_new = log_nu + change
    # g is proportional to nu.
    noise = math.exp(log_remainder_of_one(alpha, log_nu, model.n_atoms)) * kernel.rest_eigenvalue
    log_sigma2_new, log_jacobian = take_up(log_sigma2, noise * (1.0 - math.exp(change)))
    if log_sigma2_new == -math.inf or log_sigma2_new < model.log_sigma2_floor:
        return 0
    shift_group_scales(chain, log_sigma2_new - log_sigma2, change, work.log_group_scale)
    value = log_likelihood(chain, model, work, alpha, log_nu_new, log_sigma2_new, work.log_group_scale)
    log_ratio = value - chain.log_likelihood + log_jacobian
    log_ratio += log_prior_log_nu(log_nu_new, kernel, model) - log_prior_log_nu(log_nu, kernel, model)
    log_ratio += log_prior_log_sigma2(log_sigma2_new) - log_prior_log_sigma2(log_sigma2)
    if not accept(rng, log_ratio):
        return 0
    chain.log_nu = log_nu_new
    chain.log_sigma2 = log_sigma2_new
    chain.log_likelihood = value
    for i in range(chain.n_groups):
        chain.log_group_scale[i] = work.log_group_scale[i]
    return 1
