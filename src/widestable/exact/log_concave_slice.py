"""Slice sampling of log-concave densities, whose slices are intervals (Neal 2003)."""

from __future__ import annotations

import math

from .._jit import kernel


@kernel
def capped_exp(x):
    """exp(x), but finite: as a negative log density it is out of reach anyway."""
    return math.exp(min(x, 700.0))


@kernel
def log_two_exponentials(x, slope, log_a, rate, log_c):
    """-slope x - exp(log_a - rate x) - exp(log_c - x)."""
    return -slope * x - capped_exp(log_a - rate * x) - capped_exp(log_c - x)


@kernel
def slice_two_exponentials(x, slope, log_a, rate, log_c, highest, rng):
    """One slice move of `log_two_exponentials` on (-inf, highest), or not above x if x is above `highest`.

    Ends are moved out by growing steps: a slice of one piece needs only to be covered.
    """
    level = log_two_exponentials(x, slope, log_a, rate, log_c) - rng.standard_exponential()
    highest = max(highest, x)
    width = 1.0 + 1.0 / rate
    low = x - width * rng.random()
    high = low + width
    while log_two_exponentials(low, slope, log_a, rate, log_c) > level:
        low -= width
        width *= 2.0
    while high < highest and log_two_exponentials(high, slope, log_a, rate, log_c) > level:
        high += width
        width *= 2.0
    high = min(high, highest)
    while True:
        proposal = low + (high - low) * rng.random()
        if log_two_exponentials(proposal, slope, log_a, rate, log_c) >= level:
            return proposal
        if proposal < x:
            low = proposal
        else:
            high = proposal


@kernel
def log_noise(x, n_observations, sum_of_squares):
    """Log density of x = log sigma2 given residuals; half-Cauchy(0, 1) prior on sigma2."""
    log_prior = -2.0 * x - math.log1p(math.exp(-2.0 * x)) if x > 0.0 else -math.log1p(math.exp(2.0 * x))
    return x + log_prior - 0.5 * n_observations * x - 0.5 * sum_of_squares * capped_exp(-x)


@kernel
def slice_noise(x, n_observations, sum_of_squares, lowest, rng):
    """One slice move of log sigma2 on (lowest, inf), or not below x if x is below `lowest`."""
    lowest = min(lowest, x)
    level = log_noise(x, n_observations, sum_of_squares) - rng.standard_exponential()
    width = 1.0
    low = x - width * rng.random()
    high = low + width
    while low > lowest and log_noise(low, n_observations, sum_of_squares) > level:
        low -= width
        width *= 2.0
    low = max(low, lowest)
    while log_noise(high, n_observations, sum_of_squares) > level:
        high += width
        width *= 2.0
    while True:
        proposal = low + (high - low) * rng.random()
        if log_noise(proposal, n_observations, sum_of_squares) >= level:
            return proposal
        if proposal < x:
            low = proposal
        else:
            high = proposal
