"""Scales of a partition given their coefficients, through Kanter's variables (s, u)."""

from __future__ import annotations

import math

import numpy as np

from .._jit import kernel
from ..stable.kanter import log_kanter
from .log_concave_slice import capped_exp, slice_two_exponentials


@kernel
def log_angle(w, log_rate, alpha):
    """Log density of w = pi - u given s: log A - A s**(-a/(1-a))."""
    log_A = log_kanter(w, alpha)
    return log_A - capped_exp(log_A + log_rate)


@kernel
def slice_angle(w, log_rate, alpha, rng):
    """One slice move of w on (0, pi); A is monotone in w, so slices are intervals."""
    level = log_angle(w, log_rate, alpha) - rng.standard_exponential()
    low, high = 0.0, math.pi
    while True:
        proposal = low + (high - low) * (1.0 - rng.random())
        if log_angle(proposal, log_rate, alpha) >= level:
            return proposal
        if proposal < w:
            low = proposal
        else:
            high = proposal


@kernel
def update_scales_given_coefficients(log_size, z, log_limit, alpha, log_s, angle, rng):
    """s | u, beta, then u | s for every cell; `beta = z sqrt(v)` with the v of the current scales.

    With r = a/(1-a) and c = beta**2 / (2 nu q**(2/alpha)) the log density of x = log s is
    `-(r + 1/2) x - A exp(-r x) - c exp(-x)`, which is concave. `angle` holds pi - u.
    """
    r = alpha / (2.0 - alpha)
    for cell in range(log_s.shape[0]):
        log_A = log_kanter(angle[cell], alpha)
        log_c = math.log(0.5 * z[cell] * z[cell] + 1e-300) + log_s[cell]
        highest = log_limit - log_size[cell]
        log_s[cell] = slice_two_exponentials(log_s[cell], r + 0.5, log_A, r, log_c, highest, rng)
        angle[cell] = slice_angle(angle[cell], -r * log_s[cell], alpha, rng)


@kernel
def signed_sums(signs, beta):
    """f_i = sum_l beta_l tau_l(x_i), for every column of the table of signs."""
    f = np.zeros(signs.shape[1])
    for cell in range(signs.shape[0]):
        b = beta[cell]
        for i in range(signs.shape[1]):
            f[i] += b * signs[cell, i]
    return f
