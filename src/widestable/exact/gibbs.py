"""The blocked sampler: coefficients given scales, scales given coefficients, through Kanter's variables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widestable.exact.log_concave_slice import slice_noise
from widestable.exact.partition_gibbs import update_scales_given_coefficients
from widestable.exact.target import (
    SIGNAL_TO_NOISE,
    Target,
    covariance,
    draw_coefficients,
    factor_or_raise,
    initial_scales,
    log_limit,
)

Floats = NDArray[np.float64]

# Cells in one compiled call, a few hundredths of a second.
_CELLS = 20_000
_LARGEST_LOG = 600.0


class GibbsState(NamedTuple):
    """A point of the joint posterior."""

    log_s: Floats  # (L,)
    angle: Floats  # (L,) pi - u, u Kanter's angle
    sigma2: float
    f: Floats  # (n + m,) at training and new rows


class GibbsInfo(NamedTuple):
    """What only diagnostics need."""

    moved: bool  # False: numbers outside float64 came up, and the state stayed


def initial_state(target: Target, rng: np.random.Generator) -> GibbsState:
    """Scales from the prior, none above the size of y; sigma2 at the median of its prior; f unset."""
    sigma2 = 1.0 if target.sigma2 is None else target.sigma2
    log_s = initial_scales(target, sigma2, rng)
    angle = np.pi * (1.0 - rng.random(len(log_s)))
    return GibbsState(log_s, angle, sigma2, np.full(target.cells.signs.shape[1], np.nan))


def step(rng: np.random.Generator, state: GibbsState, target: Target) -> tuple[GibbsState, GibbsInfo]:
    """One sweep: beta | s, sigma2; then s | u, beta; u | s; sigma2 | beta."""
    lower = factor_or_raise(target, covariance(target, state.log_s), state.sigma2)
    z, f = draw_coefficients(target, state.log_s, lower, state.sigma2, rng)
    # The slices below never end on NaN.
    if not (np.isfinite(z).all() and np.isfinite(f @ f)):
        return state, GibbsInfo(moved=False)
    log_s, angle = state.log_s.copy(), state.angle.copy()
    if target.alpha < 2.0:
        _update_scales(rng, target, z, log_limit(target, state.sigma2), log_s, angle)
    sigma2 = target.sigma2 or _draw_sigma2(rng, target, f, log_s, state.sigma2)
    return GibbsState(log_s, angle, sigma2, f), GibbsInfo(moved=True)


def draw_f(rng: np.random.Generator, state: GibbsState, target: Target) -> Floats:
    """f at the training and new rows, shape (n + m,): part of the state already."""
    return state.f


def _update_scales(
    rng: np.random.Generator, target: Target, z: Floats, limit: float, log_s: Floats, angle: Floats
) -> None:
    """Update `log_s` and `angle` in place, in batches that keep a compiled call short."""
    for start in range(0, len(z), _CELLS):
        part = slice(start, start + _CELLS)
        log_size = target.cells.log_size[part]
        update_scales_given_coefficients(log_size, z[part], limit, target.alpha, log_s[part], angle[part], rng)


def _draw_sigma2(rng: np.random.Generator, target: Target, f: Floats, log_s: Floats, sigma2: float) -> float:
    """sigma2 given the residuals, not below what the largest scale allows."""
    residual = target.y - f[: len(target.y)]
    sum_of_squares = target.weight @ residual**2 + target.ss_within
    largest = np.max(target.cells.log_size + log_s)
    lowest = largest + np.log(target.n_observations / SIGNAL_TO_NOISE)
    x = slice_noise(np.log(sigma2), target.n_observations, sum_of_squares, lowest, rng)
    # From a start far from the posterior a slice may reach numbers that float64 has not, and no way leads back.
    return float(np.exp(min(x, _LARGEST_LOG)))
