"""nu and sigma2 together, with the noise outside the leading dimensions held: a remainder of low rank counts there too.

Over many rows that noise, g times the rest's eigenvalue plus sigma2, is known so well that neither of the two can move
alone, and a chain that starts with the wrong share would keep it for thousands of sweeps.
"""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..jump_measure import log_remainder
from ..names import ALPHA, GROUPS, LOG_NU, LOG_SIGMA2
from ..priors import log_prior_log_nu, log_prior_log_sigma2
from ..system import log_likelihood


@inner_kernel
def take_up(log_sigma2, noise):
    """log(sigma2 + noise), and the log of its derivative in log sigma2; (-inf, 0) when nothing is left."""
    total = math.exp(log_sigma2) + noise
    if not total > 0.0:
        return -math.inf, 0.0
    return math.log(total), log_sigma2 - math.log(total)


@inner_kernel
def move_noise_share(chain, model, work, rng, step, current):
    """Random walk on log nu at fixed marks, sigma2 taking up the difference; returns (accepted, log likelihood)."""
    alpha, log_nu, log_sigma2 = chain.theta[ALPHA], chain.theta[LOG_NU], chain.theta[LOG_SIGMA2]
    change = step * rng.standard_normal()
    log_nu_new = log_nu + change
    # g is proportional to nu.
    noise = math.exp(log_remainder(alpha, log_nu, model.n_atoms)) * model.rest_eigenvalue
    log_sigma2_new, log_jacobian = take_up(log_sigma2, noise * (1.0 - math.exp(change)))
    if log_sigma2_new == -math.inf:
        return 0, current
    for i in range(chain.counts[GROUPS]):
        work.log_group_scale[i] = chain.log_group_scale[i] + change
    value = log_likelihood(chain, model, work, alpha, log_nu_new, log_sigma2_new, work.log_group_scale)
    log_ratio = value - current + log_jacobian
    log_ratio += log_prior_log_nu(log_nu_new, model) - log_prior_log_nu(log_nu, model)
    log_ratio += log_prior_log_sigma2(log_sigma2_new) - log_prior_log_sigma2(log_sigma2)
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0, current
    chain.theta[LOG_NU] = log_nu_new
    chain.theta[LOG_SIGMA2] = log_sigma2_new
    for i in range(chain.counts[GROUPS]):
        chain.log_group_scale[i] = work.log_group_scale[i]
    return 1, value
