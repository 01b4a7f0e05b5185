"""The published sampler (Algorithms 1 and S.2): prior proposals accepted on the marginal likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widestable._algebra import inverse_from_cholesky
from widestable.exact.partition_metropolis import update_scales
from widestable.exact.target import (
    Target,
    covariance,
    draw_coefficients,
    factor,
    factor_or_raise,
    initial_scales,
    log_limit,
    log_marginal,
)

Floats = NDArray[np.float64]

# Multiplications in one compiled call, about 0.1 s.
_ARITHMETIC = 1e8


class MetropolisState(NamedTuple):
    """What the next sweep needs; `lower` is the Cholesky factor of Q at these scales and noise."""

    log_s: Floats  # (L,)
    sigma2: float
    lower: Floats  # (n, n)
    log_likelihood: float


class MetropolisInfo(NamedTuple):
    """What only diagnostics need."""

    share_accepted: float  # of the proposed scales
    sigma2_accepted: bool


def initial_state(target: Target, rng: np.random.Generator) -> MetropolisState:
    """Scales from the prior, none above the size of y; sigma2 at the median of its prior."""
    sigma2 = 1.0 if target.sigma2 is None else target.sigma2
    log_s = initial_scales(target, sigma2, rng)
    lower = factor_or_raise(target, covariance(target, log_s), sigma2)
    return MetropolisState(log_s, sigma2, lower, log_marginal(target, lower, sigma2))


def step(rng: np.random.Generator, state: MetropolisState, target: Target) -> tuple[MetropolisState, MetropolisInfo]:
    """One sweep: every scale in turn, then sigma2.

    Within the sweep `Q**-1` follows by rank-one updates; its end computes Q from scratch, so that
    rounding errors never outlive a sweep.
    """
    log_s, n_accepted = _sweep_scales(rng, state, target)
    K = covariance(target, log_s)
    lower = factor(target, K, state.sigma2)
    if lower is None:  # the sweep went where float64 cannot follow: stay
        return state, MetropolisInfo(0.0, False)
    moved = MetropolisState(log_s, state.sigma2, lower, log_marginal(target, lower, state.sigma2))
    new = moved if target.sigma2 is not None else _step_sigma2(rng, moved, target, K)
    return new, MetropolisInfo(n_accepted / len(log_s), new is not moved)


def draw_f(rng: np.random.Generator, state: MetropolisState, target: Target) -> Floats:
    """f at the training and new rows given the scales, shape (n + m,)."""
    return draw_coefficients(target, state.log_s, state.lower, state.sigma2, rng)[1]


def _sweep_scales(rng: np.random.Generator, state: MetropolisState, target: Target) -> tuple[Floats, int]:
    """Propose every scale; a group too large to be taken out of `Q**-1` is left out of it from scratch."""
    log_s, P = state.log_s.copy(), _inverse(state.lower)
    if target.alpha == 2.0:
        return log_s, 0
    n_groups, n = target.cells.patterns.shape
    noise = target.n_observations / state.sigma2, log_limit(target, state.sigma2)
    group, n_accepted, left_out = 0, 0, False
    while group < n_groups:
        last = min(n_groups, group + 1 + int(_ARITHMETIC / (3 * n * n)))
        group, n_new = update_scales(
            target.cells, log_s, P, P @ target.y, *noise, target.alpha, group, last, left_out, rng
        )
        n_accepted += n_new
        left_out = group < last
        if left_out:
            lower = factor(target, covariance(target, log_s, without=group), state.sigma2)
            if lower is None:
                return state.log_s, 0
            P = _inverse(lower)
    return log_s, n_accepted


def _inverse(lower: Floats) -> Floats:
    """`(L L')**-1`, both triangles (LAPACK's threads make this ten times slower at these sizes)."""
    P, work = np.empty((2, *lower.shape))
    inverse_from_cholesky(np.ascontiguousarray(lower), P, work, len(lower))
    return np.asarray(P)


def _step_sigma2(rng: np.random.Generator, state: MetropolisState, target: Target, K: Floats) -> MetropolisState:
    """Propose sigma2 from its half-Cauchy prior, accept on the marginal likelihood."""
    sigma2 = abs(float(rng.standard_cauchy()))
    threshold = np.log1p(-rng.random())
    largest = np.max(target.cells.log_size + state.log_s)
    lower = factor(target, K, sigma2) if largest <= log_limit(target, sigma2) else None
    if lower is None:
        return state
    log_likelihood = log_marginal(target, lower, sigma2)
    if threshold < log_likelihood - state.log_likelihood:
        return MetropolisState(state.log_s, sigma2, lower, log_likelihood)
    return state
