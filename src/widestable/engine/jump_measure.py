"""The jump measure for compiled code: scalar twins of the functions in `widestable.stable`."""

from __future__ import annotations

import math

from .._jit import inner_kernel


@inner_kernel
def log_scale_of_mark(log_mark, alpha, log_nu):
    """log v = log nu - (log Gamma(1 - alpha/2) + log gamma) / (alpha/2)."""
    a = 0.5 * alpha
    return log_nu - (math.lgamma(1.0 - a) + log_mark) / a


@inner_kernel
def log_remainder(alpha, log_nu, n_atoms):
    """log g, the mean of all the scales below the threshold; log nu when alpha = 2."""
    a = 0.5 * alpha
    if a >= 1.0:
        return log_nu
    return (
        log_nu
        + math.log(a)
        + (1.0 - 1.0 / a) * math.log(n_atoms)
        + (1.0 / a - 1.0) * math.log1p(-a)
        - math.lgamma(2.0 - a) / a
    )


@inner_kernel
def log_nu_offset(alpha, n_atoms):
    """c(a) = log(Gamma(1 - a) N) / a: holding log nu - c holds the threshold."""
    a = 0.5 * alpha
    return (math.lgamma(1.0 - a) + math.log(n_atoms)) / a
