"""Log prior densities of alpha, log nu and log sigma2, up to constants."""

from __future__ import annotations

import math

from .._jit import inner_kernel, kernel


@inner_kernel
def log_prior_alpha(alpha, model):
    """Uniform on the model's range."""
    return 0.0 if model.alpha_low < alpha < model.alpha_high else -math.inf


@inner_kernel
def log_prior_log_nu(log_nu, kernel, model):
    """log(nu k) ~ N(0, sd^2), with k the mean of K(x, x) over the rows: 1 for sign units."""
    return -0.5 * ((log_nu + kernel.log_diagonal) / model.log_nu_sd) ** 2


@kernel
def log_prior_log_sigma2(log_sigma2):
    """sigma2 ~ half-Cauchy(0, 1), with the factor sigma2 of the logarithm; moves reject what is below its floor."""
    # log(s / (1 + s^2)) written so that neither large nor small s overflows.
    x = abs(log_sigma2)
    return -x - math.log1p(math.exp(-2.0 * x))


@inner_kernel
def log_prior(chain, model):
    """Log prior of nu and sigma2 where they are inferred (alpha and the marks are uniform)."""
    total = 0.0
    if model.infer_nu:
        total += log_prior_log_nu(chain.log_nu, chain.kernel, model)
    if model.infer_sigma2:
        total += log_prior_log_sigma2(chain.log_sigma2)
    return total
