"""The published sampler (Algorithms 1 and S.2): proposals from the prior, accepted on the marginal likelihood."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._algebra import inverse_from_cholesky
from .._jit import kernel
from .._types import FloatArray
from ..stable import draw_log_positive_one
from .target import (
    Target,
    covariance,
    draw_coefficients,
    factor,
    factor_or_raise,
    initial_scales,
    log_limit,
    log_marginal,
)

# Multiplications per compiled call, about 0.1 s.
_ARITHMETIC = 1e8
# Changes of the covariance below this share of the noise are not worth a rank-one update.
_NEGLIGIBLE = 1e-15
# Q**-1 is known to about this relative precision; see `is_unsafe`.
_PRECISION = 1e-10


class MetropolisState(NamedTuple):
    """What the next sweep needs."""

    log_s: FloatArray  # (L,)
    sigma2: float
    lower: FloatArray  # (n, n) Cholesky factor of Q at these scales and noise
    log_likelihood: float


class MetropolisInfo(NamedTuple):
    """What only diagnostics need."""

    share_accepted: float  # of the proposed scales
    sigma2_accepted: bool


def initial_state(target: Target, rng: np.random.Generator) -> MetropolisState:
    """Draw scales from the prior, none above the size of y; sigma2 starts at its prior median."""
    sigma2 = 1.0 if target.sigma2 is None else target.sigma2
    log_s = initial_scales(target, sigma2, rng)
    lower = factor_or_raise(target, covariance(target, log_s), sigma2)
    return MetropolisState(log_s, sigma2, lower, log_marginal(target, lower, sigma2))


def step(rng: np.random.Generator, state: MetropolisState, target: Target) -> tuple[MetropolisState, MetropolisInfo]:
    """Run one sweep: every scale in turn, then sigma2.

    Rank-one updates carry `Q**-1` through the sweep. Its end computes Q from scratch, so rounding errors never
    outlive a sweep.
    """
    log_s, n_accepted = _sweep_scales(rng, state, target)
    K = covariance(target, log_s)
    lower = factor(target, K, state.sigma2)
    if lower is None:  # the sweep left the range of float64: stay
        return state, MetropolisInfo(0.0, False)
    moved = MetropolisState(log_s, state.sigma2, lower, log_marginal(target, lower, state.sigma2))
    new = moved if target.sigma2 is not None else _step_sigma2(rng, moved, target, K)
    return new, MetropolisInfo(n_accepted / len(log_s), new is not moved)


def draw_f(rng: np.random.Generator, state: MetropolisState, target: Target) -> FloatArray:
    """Draw f at the training and new rows given the scales, shape (n + m,)."""
    return draw_coefficients(target, state.log_s, state.lower, state.sigma2, rng)[1]


def _sweep_scales(rng: np.random.Generator, state: MetropolisState, target: Target) -> tuple[FloatArray, int]:
    """Propose every scale; `Q**-1` without a group is computed from scratch where updating would lose digits."""
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


def _inverse(lower: FloatArray) -> FloatArray:
    """Return `(L L')**-1`, both triangles (LAPACK's threads would make this ten times slower at these sizes)."""
    P, work = np.empty((2, *lower.shape))
    inverse_from_cholesky(np.ascontiguousarray(lower), P, work, len(lower))
    return np.asarray(P)


def _step_sigma2(rng: np.random.Generator, state: MetropolisState, target: Target, K: FloatArray) -> MetropolisState:
    """Propose sigma2 from its half-Cauchy prior and accept on the marginal likelihood."""
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


# --- Compiled: each scale is proposed from its prior and accepted on the likelihood ----------------------
#
# Cells that split the training rows alike change the covariance along the same vector tau. They are visited one after
# another, so `a = tau'P tau` and `b = tau'P y`, with P = Q**-1, are computed once for all of them.


@kernel
def update_scales(cells, log_s, P, py, precision, log_limit, alpha, first, last, without_first, rng):
    """Visit groups first..last-1 of `cells`; `precision` is the trace of the inverse noise covariance.

    `without_first` says that P leaves out group `first`. The visit stops before a group that cannot be taken out of
    P safely. Returns the next group to visit and the number of accepted proposals.
    """
    w = np.empty(P.shape[0])
    n_accepted = 0
    for group in range(first, last):
        start, stop = cells.starts[group], cells.starts[group + 1]
        tau = cells.patterns[group]
        a = times_pattern(P, tau, w)
        b = 0.0
        for i in range(w.shape[0]):
            b += tau[i] * py[i]
        base = 0.0
        if not (without_first and group == first):
            base = total_scale(cells.log_size, log_s, start, stop)
            if is_unsafe(base, a, precision):
                return group, n_accepted
        change, n_new = update_group(cells.log_size, log_s, start, stop, base, a, b, log_limit, alpha, rng)
        n_accepted += n_new
        if abs(change) * precision > _NEGLIGIBLE:
            rank_one(P, py, w, change, a, b)
    return last, n_accepted


@kernel
def update_group(log_size, log_s, start, stop, base, a, b, log_limit, alpha, rng):
    """Propose every scale of a group whose total enters P as `base`; return its change and the number accepted."""
    total = total_scale(log_size, log_s, start, stop)
    current = log_gain(total - base, a, b)
    n_accepted = 0
    for cell in range(start, stop):
        v = math.exp(log_size[cell] + log_s[cell])
        others = total - v
        if others < 1e-6 * total:  # the difference has lost its digits: add up again
            others = total_scale(log_size, log_s, start, cell) + total_scale(log_size, log_s, cell + 1, stop)
        proposal = draw_log_positive_one(alpha, rng)
        threshold = math.log(1.0 - rng.random())
        if log_size[cell] + proposal > log_limit:
            continue
        proposed_total = others + math.exp(log_size[cell] + proposal)
        proposed = log_gain(proposed_total - base, a, b)
        if threshold < proposed - current:
            log_s[cell] = proposal
            total, current = proposed_total, proposed
            n_accepted += 1
    return total - base, n_accepted


@kernel
def log_gain(change, a, b):
    """Return log N(y; 0, Q + change tau tau') - log N(y; 0, Q), by the formulas for rank-one updates."""
    grown = 1.0 + change * a
    if not grown > 0.0:
        return -math.inf
    return -0.5 * math.log(grown) + 0.5 * b * b * change / grown


@kernel
def is_unsafe(v, a, precision):
    """Return whether taking v out of P would lose its digits: `1 - v a` is then small beside its rounding error."""
    return 1.0 - v * a < _PRECISION * (1.0 + v * precision)


@kernel
def total_scale(log_size, log_s, start, stop):
    """Return the sum of v over cells start..stop-1."""
    total = 0.0
    for cell in range(start, stop):
        total += math.exp(log_size[cell] + log_s[cell])
    return total


@kernel
def times_pattern(P, tau, out):
    """Write P tau to `out`, P symmetric, with an inner loop that vectorises; return tau'P tau."""
    n = tau.shape[0]
    for i in range(n):
        out[i] = 0.0
    for j in range(n):
        t = tau[j]
        for i in range(n):
            out[i] += P[j, i] * t
    total = 0.0
    for i in range(n):
        total += tau[i] * out[i]
    return total


@kernel
def rank_one(P, py, w, change, a, b):
    """Turn P = Q**-1 and P y into those of Q + change tau tau', in place; w = P tau."""
    n = w.shape[0]
    factor = change / (1.0 + change * a)
    for i in range(n):
        py[i] -= factor * b * w[i]
        wi = factor * w[i]
        for j in range(n):
            P[i, j] -= wi * w[j]
