"""Starting values of the chains: where the Gaussian limit (alpha = 2) has its highest posterior density.

Its log posterior has a gradient in closed form (`gaussian_limit`), so a quasi-Newton search from several points finds
the modes in seconds, where chains would need thousands of sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from .._blas import one_blas_thread
from .._types import FloatArray
from ..network import kernel_diagonal
from .chain import State, draw_atoms, new_state
from .gaussian_limit import LOG_NU, LOG_SHARPNESS, LOG_SIGMA2, Known, Rows, Scales, log_posterior
from .kernel import Law
from .law import (
    LOG_RELEVANCE_LIMIT,
    LOG_SHARPNESS_HIGH,
    LOG_SHARPNESS_LOW,
    draw_log_relevance,
    draw_log_sharpness,
)
from .model import Model
from .observations import inflate
from .screen import find_outliers, spikes_at

MAX_ROWS = 500
# Searches run on this many rows first; what they find is then improved on all.
FEW_ROWS = 200
# Number of optima worth improving: no fit has many more chains.
MAX_OPTIMA = 8
LOG_NU_RANGE, LOG_SIGMA2_RANGE = (-20.0, 20.0), (-18.0, 10.0)
SHARPNESS_STARTS = (2.0, 0.5, 20.0)
SIGMA2_START = 0.1
# Relevance of the other inputs where a search starts with one that dominates.
DOMINATED = 0.1
# An input with less than this part of the largest relevance is ignored. It is tried at these parts, in logs; so many of
# the trials are followed up, and a gain in the log posterior below this ends the search.
IGNORED, LOG_WOKEN, N_WOKEN, LEAST_GAIN = 0.2, (0.0, math.log(0.3)), 3, 1.0
# Optima no parameter of which differs by more are one optimum, found twice.
SAME = 0.2
# An optimum so much below the best in the log posterior is a trap, also if alpha < 2 judges differently.
MAX_LOSS = 30.0
# Standard deviation of the noise that tells chains with one optimum apart.
JITTER = 0.1


class FixedLaw(NamedTuple):
    """What is given of the law of the hyperplanes; None stands for what is inferred."""

    relevance: FloatArray | None  # (d,)
    sharpness: float | None


class Optimum(NamedTuple):
    """Parameters of the law and of the Gaussian limit.

    Attributes
    ----------
    log_relevance : FloatArray, shape (d,)
    log_sharpness : float
        Infinite for sign units.
    log_nu : float
    log_sigma2 : float
    log_posterior : float
        Up to a constant. Parameters that are fixed have no prior in it.
    """

    log_relevance: FloatArray
    log_sharpness: float
    log_nu: float
    log_sigma2: float
    log_posterior: float


def gaussian_limit_optima(
    rows: Rows, known: Known, scales: Scales, rng: np.random.Generator, n_starts: int = 8
) -> list[Optimum]:
    """Find distinct local maxima of the Gaussian limit's posterior density, best first.

    Parameters
    ----------
    rows : Rows
        At most 500 of them are used, evenly spread.
    known : Known
        Parameters that are fixed keep their values.
    scales : Scales
    rng : numpy.random.Generator
        Draws some of the starting points from the prior.
    n_starts : int
        Number of searches.

    Returns
    -------
    list of Optimum
    """
    rows = thin_rows(rows, MAX_ROWS)
    few = thin_rows(rows, FEW_ROWS)
    # One thread: the last bits of the optima, and so the draws, must not depend on the machine's load.
    with one_blas_thread():
        starts = choose_starts(few, known, scales, rng, n_starts)
        optima = distinct(climb(start, few, known, scales) for start in starts)
        optima = distinct([wake_inputs(optima[0], few, known, scales), *optima])
        if len(few.y) < len(rows.y):
            optima = distinct(climb(as_vector(optimum), rows, known, scales) for optimum in optima[:MAX_OPTIMA])
    return optima


def distinct(optima: Iterable[Optimum]) -> list[Optimum]:
    """Those that differ in a parameter by more than 0.2, best first."""
    kept: list[Optimum] = []
    for optimum in sorted(optima, key=lambda optimum: -optimum.log_posterior):
        place = as_vector(optimum)
        if not any(np.allclose(place, as_vector(other), rtol=0.0, atol=SAME) for other in kept):
            kept.append(optimum)
    return kept


def as_vector(optimum: Optimum) -> FloatArray:
    """The vector of parameters that `log_posterior` takes."""
    return np.array([*optimum.log_relevance, *optimum[1:4]])


def spread(
    optima: list[Optimum], equal: Optimum | None, known: Known, n_chains: int, rng: np.random.Generator
) -> list[Optimum]:
    """Choose one start per chain: the good optima in turn, best first, and `equal` for the last of several chains.

    Chains from one optimum agree even where the posterior has others, so the last chain starts from equal relevances.
    Jitter moves the parameters that are inferred; `log_posterior` is the value before.

    Parameters
    ----------
    optima : list of Optimum
        Best first. Those more than 30 below the best are left out: a chain might never leave them.
    equal : Optimum or None
        Best parameters at equal relevances (`optimum_of_equal_relevance`), None where relevances are fixed.
    known : Known
        What jitter leaves alone.
    n_chains : int
    rng : numpy.random.Generator
    """
    good = [optimum for optimum in optima if optimum.log_posterior >= optima[0].log_posterior - MAX_LOSS]
    starts = [good[chain % len(good)] for chain in range(n_chains)]
    if equal is not None and n_chains > 1:
        starts[-1] = equal
    return [_jittered(start, known, rng) for start in starts]


def optimum_of_equal_relevance(rows: Rows, known: Known, scales: Scales, rng: np.random.Generator) -> Optimum | None:
    """Find the best parameters given `r_j = 1/sqrt(d)`, or None where relevances are fixed."""
    if known.log_relevance is not None:
        return None
    d = rows.d
    given = known._replace(log_relevance=np.full(d, -0.5 * math.log(d)))
    return gaussian_limit_optima(rows, given, scales, rng)[0]


def thin_rows(rows: Rows, n_most: int) -> Rows:
    """At most `n_most` rows, evenly spread over their order, in which near rows are together."""
    n = len(rows.y)
    keep = np.unique(np.linspace(0, max(n - 1, 0), min(n, n_most)).round().astype(np.intp))
    return rows._replace(X=rows.X[keep], y=rows.y[keep], weight=rows.weight[keep])


def choose_starts(
    rows: Rows, known: Known, scales: Scales, rng: np.random.Generator, n_starts: int
) -> list[FloatArray]:
    """Equal relevances and ones, then those of many other candidates that fit best as they are."""
    sharpness = [math.log(w) for w in SHARPNESS_STARTS] if known.log_sharpness is None else [known.log_sharpness]
    starts = [
        _start(log_r, log_w, rows, known)
        for log_r, log_w in _candidates(rows.d, sharpness, known, scales, rng, n_starts)
    ]
    starts = [start for i, start in enumerate(starts) if not any(np.array_equal(start, other) for other in starts[:i])]
    others = sorted(starts[2:], key=lambda start: -log_posterior(start, rows, known, scales)[0])
    return (starts[:2] + others)[:n_starts]


def _candidates(
    d: int, sharpness: list[float], known: Known, scales: Scales, rng: np.random.Generator, n_draws: int
) -> Iterator[tuple[FloatArray, float]]:
    """Log relevances and log sharpness of candidates for a start."""
    if known.log_relevance is not None:
        yield from product([known.log_relevance], sharpness)
        return
    yield from ((log_r, log_w) for log_w in sharpness for log_r in (np.full(d, -0.5 * math.log(d)), np.zeros(d)))
    for j in range(d):
        one_dominates = np.full(d, math.log(DOMINATED))
        one_dominates[j] = 0.0
        yield one_dominates, sharpness[j % len(sharpness)]
    for _ in range(n_draws):
        log_w = draw_log_sharpness(rng) if known.log_sharpness is None else known.log_sharpness
        yield draw_log_relevance(d, scales.relevance, rng), log_w


def _start(log_relevance: FloatArray, log_sharpness: float, rows: Rows, known: Known) -> FloatArray:
    """The vector of parameters, with nu K of mean diagonal 1 where nu is inferred."""
    k = (
        kernel_diagonal(rows.X * np.exp(log_relevance[rows.group]), math.exp(log_sharpness)).mean()
        if len(rows.y) > 0
        else 1.0
    )
    log_nu = -math.log(k) if known.log_nu is None else known.log_nu
    log_sigma2 = math.log(SIGMA2_START) if known.log_sigma2 is None else known.log_sigma2
    return np.array([*log_relevance, log_sharpness, log_nu, log_sigma2])


def climb(start: FloatArray, rows: Rows, known: Known, scales: Scales) -> Optimum:
    """Search from one starting point, inside the bounds."""
    d = rows.d
    is_free = np.append(np.full(d, known.log_relevance is None), [value is None for value in known[1:]])
    bounds = np.array(
        [(-LOG_RELEVANCE_LIMIT, LOG_RELEVANCE_LIMIT)] * d
        + [(LOG_SHARPNESS_LOW, LOG_SHARPNESS_HIGH), LOG_NU_RANGE, _range_of_log_sigma2(scales.log_sigma2_floor)]
    )
    theta = start.copy()

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        theta[is_free] = free
        value, gradient = log_posterior(theta, rows, known, scales)
        return -value, -gradient[is_free]

    if is_free.any():
        options = {"maxiter": 300, "ftol": 1e-8, "gtol": 1e-3}
        free = np.clip(start, *bounds.T)[is_free]
        theta[is_free] = minimize(loss, free, jac=True, method="L-BFGS-B", bounds=bounds[is_free], options=options).x
    value = log_posterior(theta, rows, known, scales)[0]
    return Optimum(theta[:d], theta[LOG_SHARPNESS], theta[LOG_NU], theta[LOG_SIGMA2], value)


def wake_inputs(optimum: Optimum, rows: Rows, known: Known, scales: Scales) -> Optimum:
    """Give inputs that an optimum ignores the relevance of those that it uses, one at a time, while that helps.

    An input that acts on its own, and evenly to both sides of its mean, has next to no gradient where it is ignored, so
    searches among many inputs miss it.
    """
    if known.log_relevance is not None:
        return optimum
    while True:
        largest = optimum.log_relevance.max()
        asleep = np.flatnonzero(optimum.log_relevance < largest + math.log(IGNORED))
        starts = [_with_relevance(optimum, j, largest + log_part) for j in asleep.tolist() for log_part in LOG_WOKEN]
        starts.sort(key=lambda start: -log_posterior(start, rows, known, scales)[0])
        better = distinct([optimum, *(climb(start, rows, known, scales) for start in starts[:N_WOKEN])])[0]
        if better.log_posterior < optimum.log_posterior + LEAST_GAIN:
            return optimum
        optimum = better


def _with_relevance(optimum: Optimum, j: int, log_relevance: float) -> FloatArray:
    start = as_vector(optimum)
    start[j] = log_relevance
    return start


def _range_of_log_sigma2(floor: float) -> tuple[float, float]:
    """Where to search: above the floor of the prior, which is high where y is in small units and not standardised."""
    low, high = LOG_SIGMA2_RANGE
    return max(low, floor), max(high, floor + high - low)


def _jittered(optimum: Optimum, known: Known, rng: np.random.Generator) -> Optimum:
    d = optimum.log_relevance.size
    noise = JITTER * rng.standard_normal(d + 3)
    log_r, log_w, log_nu, log_sigma2 = optimum[:4]
    if known.log_relevance is None:
        log_r = np.clip(log_r + noise[:d], -LOG_RELEVANCE_LIMIT, LOG_RELEVANCE_LIMIT)
    if known.log_sharpness is None:
        log_w = min(max(log_w + noise[LOG_SHARPNESS], LOG_SHARPNESS_LOW), LOG_SHARPNESS_HIGH)
    if known.log_nu is None:
        log_nu += noise[LOG_NU]
    if known.log_sigma2 is None:
        log_sigma2 += noise[LOG_SIGMA2]
    return Optimum(log_r, log_w, log_nu, log_sigma2, optimum.log_posterior)


# --- States of chains ------------------------------------------------------------------------------------


def start_inferred_law(
    model: Model,
    law: FixedLaw,
    rngs: Sequence[np.random.Generator],
    rng: np.random.Generator,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
) -> list[State]:
    """One state per chain: the law, nu and sigma2 near optima of the Gaussian limit, atoms from the prior.

    Where rows are so many that the law is held during sampling, all chains start from the best optimum.

    Parameters
    ----------
    model : Model
        Data and priors.
    law : FixedLaw
        What is given of the law.
    rngs : sequence of numpy.random.Generator
        One stream per chain.
    rng : numpy.random.Generator
        Draws starting points of the search, and jitter.
    alpha, nu, sigma2 : float or None
        Parameters that are fixed, None where inferred.

    Returns
    -------
    list of State
    """
    # Where one column of an input varies, the others have its relevance too.
    columns = np.flatnonzero(np.isin(model.leader, model.leader[np.ptp(model.X, axis=0) > 0.0]))
    outliers = find_outliers(model)
    # The optimum must not trust outliers: they get the weight that their spikes leave them.
    seen, _ = inflate(model, spikes_at(model, outliers, outliers.log_variance))
    leaders, group = np.unique(model.leader[columns], return_inverse=True)
    X = np.ascontiguousarray(model.X[:, columns])
    rows = Rows(X, seen.row_y, seen.weight, seen.n_extra, seen.ss_within, group)
    known = Known(
        log_relevance=None if law.relevance is None else np.log(law.relevance[leaders]),
        log_sharpness=None if law.sharpness is None else math.log(law.sharpness),
        log_nu=None if nu is None else math.log(nu),
        log_sigma2=None if sigma2 is None else math.log(sigma2),
    )
    scales = Scales(model.relevance_scale, model.log_nu_sd, model.log_sigma2_floor)
    optima = gaussian_limit_optima(rows, known, scales, rng)
    if model.relevant.size == 0 and not model.infer_sharpness:
        starts = [optima[0]] * len(rngs)
    else:
        starts = spread(optima, optimum_of_equal_relevance(rows, known, scales, rng), known, len(rngs), rng)
    states = []
    for start, own in zip(starts, rngs, strict=True):
        relevance = np.ones(model.X.shape[1]) if law.relevance is None else law.relevance.copy()
        relevance[columns] = np.exp(start.log_relevance[group])
        # The Gaussian limit explains the data without atoms: alpha starts high, so that the remainder does so at first.
        first_alpha = own.uniform(1.6, 1.95) if alpha is None else alpha
        chain_law = Law(relevance, math.exp(start.log_sharpness))
        h, log_mark = draw_atoms(model, own)
        spikes = spikes_at(model, outliers, start.log_sigma2)
        states.append(new_state(first_alpha, start.log_nu, start.log_sigma2, chain_law, h, log_mark, own, spikes))
    return states
