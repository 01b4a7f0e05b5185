"""The blocked sampler: coefficients given scales, then scales given coefficients, through Kanter's variables (s, u)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._jit import kernel
from .._types import FloatArray
from ..stable import log_kanter_of_one
from .target import (
    SIGNAL_TO_NOISE,
    Target,
    covariance,
    draw_coefficients,
    factor_or_raise,
    initial_scales,
    log_limit,
)

# Cells per compiled call, a few hundredths of a second.
_CELLS = 20_000
_LARGEST_LOG = 600.0


class GibbsState(NamedTuple):
    """A point of the joint posterior."""

    log_s: FloatArray  # (L,)
    angle: FloatArray  # (L,) pi - u, where u is Kanter's angle
    sigma2: float
    f: FloatArray  # (n + m,) at training and new rows


class GibbsInfo(NamedTuple):
    """What only diagnostics need."""

    moved: bool  # False when numbers outside float64 came up and the state stayed


def initial_state(target: Target, rng: np.random.Generator) -> GibbsState:
    """Draw scales from the prior, none above the size of y; sigma2 starts at its prior median, f is unset."""
    sigma2 = 1.0 if target.sigma2 is None else target.sigma2
    log_s = initial_scales(target, sigma2, rng)
    angle = np.pi * (1.0 - rng.random(len(log_s)))
    return GibbsState(log_s, angle, sigma2, np.full(target.cells.signs.shape[1], np.nan))


def step(rng: np.random.Generator, state: GibbsState, target: Target) -> tuple[GibbsState, GibbsInfo]:
    """Run one sweep: beta | s, sigma2; then s | u, beta; u | s; sigma2 | beta."""
    lower = factor_or_raise(target, covariance(target, state.log_s), state.sigma2)
    z, f = draw_coefficients(target, state.log_s, lower, state.sigma2, rng)
    # Slice sampling never starts from NaN, so it cannot loop forever.
    if not (np.isfinite(z).all() and np.isfinite(f @ f)):
        return state, GibbsInfo(moved=False)
    log_s, angle = state.log_s.copy(), state.angle.copy()
    if target.alpha < 2.0:
        _update_scales(rng, target, z, log_limit(target, state.sigma2), log_s, angle)
    sigma2 = target.sigma2 or _draw_sigma2(rng, target, f, log_s, state.sigma2)
    return GibbsState(log_s, angle, sigma2, f), GibbsInfo(moved=True)


def draw_f(rng: np.random.Generator, state: GibbsState, target: Target) -> FloatArray:
    """Return f at the training and new rows, shape (n + m,); it is part of the state already."""
    return state.f


def _update_scales(
    rng: np.random.Generator, target: Target, z: FloatArray, limit: float, log_s: FloatArray, angle: FloatArray
) -> None:
    """Update `log_s` and `angle` in place, in batches that keep a compiled call short."""
    for start in range(0, len(z), _CELLS):
        part = slice(start, start + _CELLS)
        log_size = target.cells.log_size[part]
        update_scales_given_coefficients(log_size, z[part], limit, target.alpha, log_s[part], angle[part], rng)


def _draw_sigma2(rng: np.random.Generator, target: Target, f: FloatArray, log_s: FloatArray, sigma2: float) -> float:
    """Draw sigma2 given the residuals, not below what the largest scale allows."""
    residual = target.y - f[: len(target.y)]
    sum_of_squares = target.weight @ residual**2 + target.ss_within
    largest = np.max(target.cells.log_size + log_s)
    lowest = largest + np.log(target.n_observations / SIGNAL_TO_NOISE)
    x = slice_noise(np.log(sigma2), target.n_observations, sum_of_squares, lowest, rng)
    # Far from the posterior a slice may leave the range of float64, and the chain could not come back.
    return float(np.exp(min(x, _LARGEST_LOG)))


# --- Compiled: scales and angles given the coefficients --------------------------------------------------


@kernel
def update_scales_given_coefficients(log_size, z, log_limit, alpha, log_s, angle, rng):
    """Draw s | u, beta, then u | s, for every cell; `beta = z sqrt(v)` with the v of the current scales.

    With r = a/(1-a) and c = beta**2 / (2 nu q**(2/alpha)), the log density of x = log s is
    `-(r + 1/2) x - A exp(-r x) - c exp(-x)`, which is concave. `angle` holds pi - u.
    """
    r = alpha / (2.0 - alpha)
    for cell in range(log_s.shape[0]):
        log_A = log_kanter_of_one(angle[cell], alpha)
        log_c = math.log(0.5 * z[cell] * z[cell] + 1e-300) + log_s[cell]
        highest = log_limit - log_size[cell]
        log_s[cell] = slice_two_exponentials(log_s[cell], r + 0.5, log_A, r, log_c, highest, rng)
        angle[cell] = slice_angle(angle[cell], -r * log_s[cell], alpha, rng)


@kernel
def slice_angle(w, log_rate, alpha, rng):
    """Make one slice move of w on (0, pi); A is monotone in w, so slices are intervals."""
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
def log_angle(w, log_rate, alpha):
    """Return the log density of w = pi - u given s: log A - A s**(-a/(1-a))."""
    log_A = log_kanter_of_one(w, alpha)
    return log_A - capped_exp(log_A + log_rate)


# --- Compiled: slice moves of log-concave densities, whose slices are intervals (Neal 2003) --------------


@kernel
def capped_exp(x):
    """Return exp(x), but finite: as a negative log density it is out of reach anyway."""
    return math.exp(min(x, 700.0))


@kernel
def slice_two_exponentials(x, slope, log_a, rate, log_c, highest, rng):
    """Make one slice move of `log_two_exponentials` on (-inf, max(highest, x)).

    The ends move out by growing steps: a slice in one piece only needs to be covered.
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
def log_two_exponentials(x, slope, log_a, rate, log_c):
    """Return -slope x - exp(log_a - rate x) - exp(log_c - x)."""
    return -slope * x - capped_exp(log_a - rate * x) - capped_exp(log_c - x)


@kernel
def slice_noise(x, n_observations, sum_of_squares, lowest, rng):
    """Make one slice move of x = log sigma2 on (min(lowest, x), inf)."""
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


@kernel
def log_noise(x, n_observations, sum_of_squares):
    """Return the log density of x = log sigma2 given residuals, with a half-Cauchy(0, 1) prior on sigma2."""
    log_prior = -2.0 * x - math.log1p(math.exp(-2.0 * x)) if x > 0.0 else -math.log1p(math.exp(2.0 * x))
    return x + log_prior - 0.5 * n_observations * x - 0.5 * sum_of_squares * capped_exp(-x)
