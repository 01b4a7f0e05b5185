"""The law of the hyperplanes: relevance of each input and sharpness, one at a time or all together.

A new law changes every pattern and the remainder's kernel. Small atoms move with it: their whitened h stays. Atoms that
matter stay where they are in the data, with a Jacobian. A proposal is judged by a Cholesky factor of the covariance
that y has without atoms. The kernel is decomposed once after several proposals, if any of them was accepted. Since all
of this is large matrices, it is plain Python between compiled sweeps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import erf

from ..._blas import one_blas_thread
from ..._jit import inner_kernel
from ..._jit import kernel as compiled
from ..._types import FloatArray, IntArray
from ...network import kernel_diagonal
from ...stable import log_remainder, log_scale_of_mark
from ..chain import LAW_ALL, LAW_ONE, Chain, Tuning, Work
from ..gaussian_limit import apart_and_along, rows_in_ball
from ..kernel import Law, make_kernel
from ..law import log_prior_log_relevance, log_prior_log_sharpness
from ..model import Model
from ..sweep import rebuild
from ..system import LOG_2PI, LOG_TINY
from .accept import accept

TARGET_ACCEPTANCE = 0.35
# Atoms with v n / sigma2 above one of these are held in place; infinity holds none.
HOLD_ABOVE = (0.1, 1.0, 10.0, math.inf)
# Standard deviation of the numbers before anything is learned, and how long it counts.
FIRST_SD, FIRST_COUNT = 0.2, 20.0
# Weight of the newest state: the start of a chain is forgotten.
LEAST_WEIGHT = 0.005
# A pivot of a matrix with unit diagonal below this is rounding error.
SMALLEST_PIVOT = 1e-6


class Learned(NamedTuple):
    """What warm-up has seen of the numbers (log r, log w), old states weighing less and less."""

    n: float
    mean: FloatArray  # (p,)
    covariance: FloatArray  # (p, p)


def nothing_learned(d: int) -> Learned:
    """Before the first state is seen."""
    return Learned(0.0, np.zeros(d + 1), FIRST_SD**2 * np.eye(d + 1))


class Place(NamedTuple):
    """A law and what changes with it, with the log posterior density it has."""

    law: Law
    h: FloatArray  # (atoms, d + 1)
    log_nu: float
    log_density: float  # log likelihood and log priors of the law and of nu


def n_proposals(n: int) -> int:
    """Proposals per visit."""
    return sweeps_between(n) if n <= 600 else 8


def sweeps_between(n: int) -> int:
    """Sweeps between two visits, which then take about a third of the time: never a matter of the clock."""
    return max(2, min(16, round(n / 25))) if n <= 1500 else 32


def is_inferred(model: Model) -> bool:
    """Whether the law moves at all."""
    return model.infer_sharpness or model.relevant.size > 0


def update_law(
    chain: Chain, model: Model, work: Work, law: Law, tuning: Tuning, rng: np.random.Generator, learned: Learned | None
) -> tuple[Chain, Law, Tuning, Learned | None]:
    """Propose several laws; rebuild the chain under the last one that was accepted.

    Parameters
    ----------
    chain : Chain
        Its system must be fresh.
    model, work : Model, Work
        What stays the same, and memory to work in.
    law : Law
        The present law.
    tuning : Tuning
        How to propose.
    rng : numpy.random.Generator
        Moves on.
    learned : Learned or None
        What warm-up has seen so far; None after warm-up, when proposals no longer change.

    Returns
    -------
    tuple of Chain, Law, Tuning and (Learned or None)
    """
    h = chain.h[: chain.n_atoms].copy()
    prior = log_prior(model, law, chain.log_nu, chain.kernel.log_diagonal)
    start = place = Place(law, h, chain.log_nu, chain.log_likelihood + prior)
    # One thread: the last bits of the factors, and so the draws, must not depend on the machine's load.
    with one_blas_thread():
        for _ in range(n_proposals(model.row_y.size)):
            place, step, probability = _propose(chain, model, place, tuning, rng)
            if learned is not None:
                tuning, learned = _learn(tuning, learned, _numbers(place.law), step, probability)
    if place is start:
        return chain, law, tuning, learned
    chain.h[: chain.n_atoms] = place.h
    n_sweeps = chain.n_sweeps
    chain = rebuild(chain._replace(kernel=make_kernel(model, place.law), log_nu=place.log_nu), model, work)
    return chain._replace(n_sweeps=n_sweeps), place.law, tuning, learned


def _propose(
    chain: Chain, model: Model, place: Place, tuning: Tuning, rng: np.random.Generator
) -> tuple[Place, int, float]:
    """One proposal: where it leaves the chain, which step size it used, and its acceptance probability."""
    new, active = _numbers(place.law), _active(model)
    together = active.size > 1 and rng.random() < 0.5
    if together:
        which = -1
        new[active] += (np.exp(tuning.log_step[-1]) * (tuning.factor @ rng.standard_normal(new.size)))[active]
    else:
        which, direction = _direction(active, new.size, rng)
        new += np.exp(tuning.log_step[which]) * rng.standard_normal() * direction
    found, log_ratio = _try(chain, model, place, _law(new, place.law), rng)
    accepted = accept(rng, log_ratio)
    chain.tally[LAW_ALL if together else LAW_ONE] += (1, accepted)
    return (found if accepted else place), which, math.exp(min(log_ratio, 0.0))


def _direction(active: IntArray, p: int, rng: np.random.Generator) -> tuple[int, FloatArray]:
    """A direction to move in, and the place of its step size: one number, all relevances, or these against the sharpness.

    The last changes the bias alone: it leaves w r as it is.
    """
    direction, relevances = np.zeros(p), active[active < p - 1]
    n_directions = active.size + (relevances.size > 1) + (relevances.size > 0 and active[-1] == p - 1)
    which = int(n_directions * rng.random())
    if which < active.size:
        direction[active[which]] = 1.0
        return int(active[which]), direction
    direction[relevances] = 1.0
    if which == active.size and relevances.size > 1:
        return p, direction
    direction[-1] = -1.0
    return p + 1, direction


def _active(model: Model) -> IntArray:
    """Which of the numbers (log r, log w) are inferred."""
    return np.append(model.relevant, [model.X.shape[1]] if model.infer_sharpness else []).astype(np.int64)


def _numbers(law: Law) -> FloatArray:
    """(log r, log w); 0 stands for the sharpness of sign units, which does not move."""
    return np.append(np.log(law.relevance), math.log(law.sharpness) if math.isfinite(law.sharpness) else 0.0)


def _law(numbers: FloatArray, old: Law) -> Law:
    """The inverse of `_numbers`; sign units stay sign units."""
    return Law(np.exp(numbers[:-1]), math.exp(numbers[-1]) if math.isfinite(old.sharpness) else math.inf)


def _learn(
    tuning: Tuning, learned: Learned, numbers: FloatArray, step: int, probability: float
) -> tuple[Tuning, Learned]:
    """Steer one step size towards its acceptance rate, and learn the covariance of the numbers."""
    n = learned.n + 1.0
    log_step = tuning.log_step.copy()
    log_step[step] += 2.0 / (1.0 + 0.1 * n) ** 0.6 * (probability - TARGET_ACCEPTANCE)
    weight = max(1.0 / (FIRST_COUNT + n), LEAST_WEIGHT)
    mean = numbers if learned.n == 0.0 else learned.mean + weight * (numbers - learned.mean)
    away = numbers - mean
    covariance = (1.0 - weight) * learned.covariance + weight * np.outer(away, away)
    factor = np.asarray(np.linalg.cholesky(covariance + 1e-6 * np.eye(numbers.size)), dtype=np.float64)
    return Tuning(log_step, factor), Learned(n, mean, covariance)


# --- The ratio of one proposal ---------------------------------------------------------------------------


def log_prior_of_law(model: Model, law: Law) -> float:
    """Log prior density of what is inferred of the law."""
    total = 0.0
    if model.relevant.size > 0:
        total += log_prior_log_relevance(np.log(law.relevance[model.relevant]), model.relevance_scale)
    if model.infer_sharpness:
        total += log_prior_log_sharpness(math.log(law.sharpness))
    return total


def log_prior(model: Model, law: Law, log_nu: float, log_diagonal: float) -> float:
    """Log prior density of what a move of the law changes: the law itself, and nu as the scale of f."""
    of_nu = -0.5 * ((log_nu + log_diagonal) / model.log_nu_sd) ** 2 if model.infer_nu else 0.0
    return log_prior_of_law(model, law) + of_nu


def _try(chain: Chain, model: Model, place: Place, law: Law, rng: np.random.Generator) -> tuple[Place, float]:
    """Where a proposed law leads, and the log ratio to accept it by.

    With smooth units, in half of the proposals, nu changes so that the mean of nu K(x, x) over the rows stays. Which
    atoms are held must be decided by what the move leaves alone: their marks then,
    otherwise their scales beside the noise.
    """
    log_diagonal = mean_log_diagonal(model, law)
    log_mark, log_nu = chain.log_mark[: chain.n_atoms], place.log_nu
    if model.infer_nu and math.isfinite(law.sharpness) and rng.random() < 0.5:
        log_nu += mean_log_diagonal(model, place.law) - log_diagonal
        is_held = log_mark < math.log(model.n_atoms) + math.log(1.0 - rng.random())
    else:
        above = HOLD_ABOVE[int(len(HOLD_ABOVE) * rng.random())]
        log_v = log_scale_of_mark(log_mark, chain.alpha, log_nu)
        is_held = log_v - chain.log_sigma2 + math.log(model.row_y.size) > math.log(above)
    prior = log_prior(model, law, log_nu, log_diagonal)
    if prior == -math.inf:
        return place, -math.inf
    h, log_jacobian = hold(place.h, is_held, place.law, law)
    density = log_likelihood(chain, model, law, h, log_nu) + prior
    return Place(law, h, log_nu, density), density - place.log_density + log_jacobian


def mean_log_diagonal(model: Model, law: Law) -> float:
    """log of the mean of K(x, x) over the rows: 0 for sign units."""
    return float(np.log(kernel_diagonal(model.X * law.relevance, law.sharpness).mean()))


def hold(h: FloatArray, is_held: NDArray[np.bool_], law: Law, new: Law) -> tuple[FloatArray, float]:
    """Whitened hyperplanes after a change of the law, with some held in place in the data, and the log Jacobian.

    With A = S S'^-1, a held h becomes A h. The length of h means nothing to sign units: it is kept, and the direction
    alone changes, which is accepted more often.
    """
    scale = np.append(1.0, law.relevance / new.relevance)
    is_smooth = math.isfinite(law.sharpness)
    if is_smooth:
        scale = scale * (law.sharpness / new.sharpness)
    held, width = h[is_held], h.shape[1]
    moved = held * scale
    log_jacobian = len(held) * float(np.log(scale).sum())
    if is_smooth:
        # Ratio of the normal densities of h.
        log_jacobian += 0.5 * float((held**2).sum() - (moved**2).sum())
    else:
        stretch = np.sqrt((moved**2).sum(axis=1) / (held**2).sum(axis=1))
        log_jacobian -= width * float(np.log(stretch).sum())
        moved /= stretch[:, None]
    out = h.copy()
    out[is_held] = moved
    return out, log_jacobian


def log_likelihood(chain: Chain, model: Model, law: Law, h: FloatArray, log_nu: float) -> float:
    """log p(y | atoms, law, parameters) with sizes and remainder integrated out; -inf when a factorisation fails.

    The same number as the engine's, from the covariance of the rows instead of its eigenbasis.
    """
    n = model.row_y.size
    g = math.exp(float(log_remainder(chain.alpha, log_nu, model.n_atoms)))
    sigma2 = math.exp(chain.log_sigma2)
    E, gap = rows_in_ball(model.X, np.log(law.relevance), math.log(law.sharpness))
    covariance = np.zeros((n, n))
    fill_covariance(E, gap, g, sigma2 / model.weight, covariance)
    try:
        L = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return -math.inf
    tau, log_scale = _groups(chain, model, law, h, log_nu)
    solved = solve_triangular(L, np.column_stack([tau.T, model.row_y]), lower=True, check_finite=False)
    T, y = solved[:, :-1], solved[:, -1]
    log_det, explained = _integrate_sizes(log_scale, T.T @ T, T.T @ y)
    within = model.n_extra * (LOG_2PI + chain.log_sigma2) + model.ss_within / sigma2
    log_det += 2.0 * float(np.log(np.diag(L)).sum())
    value = -0.5 * (n * LOG_2PI + log_det + float(y @ y) - explained + within)
    return value if math.isfinite(value) else -math.inf


@compiled
def fill_covariance(E, gap, g, noise, covariance):
    """Lower triangle of g K + noise, from rows in the unit ball."""
    for a in range(E.shape[0]):
        for b in range(a):
            covariance[a, b] = g * arcsine(E, gap, a, b)
        covariance[a, a] = g * arcsine(E, gap, a, a) + noise[a]


@inner_kernel
def arcsine(E, gap, a, b):
    """K at two rows."""
    apart, along = apart_and_along(E, a, b)
    apart += gap[a] + gap[b]
    along += gap[a] + gap[b]
    return 1.0 - (4.0 / math.pi) * math.atan2(math.sqrt(apart), math.sqrt(along))


def _groups(chain: Chain, model: Model, law: Law, h: FloatArray, log_nu: float) -> tuple[FloatArray, FloatArray]:
    """Distinct patterns (up to sign) of the atoms, and the log of the summed scales of each."""
    projection = h[:, :1] + (h[:, 1:] * law.relevance) @ model.X.T
    tau = erf(law.sharpness * projection) if math.isfinite(law.sharpness) else np.where(projection >= 0.0, 1.0, -1.0)
    tau = np.where(tau[:, :1] < 0.0, -tau, tau)
    log_v = np.maximum(log_scale_of_mark(chain.log_mark[: chain.n_atoms], chain.alpha, log_nu), LOG_TINY)
    place: dict[bytes, int] = {}
    first, group = [], np.empty(len(h), np.int64)
    for k, row in enumerate(tau):
        key = row.tobytes()
        if key not in place:
            place[key] = len(place)
            first.append(k)
        group[k] = place[key]
    log_scale = np.full(len(place), -np.inf)
    np.logaddexp.at(log_scale, group, log_v)
    return tau[first], log_scale


def _integrate_sizes(log_scale: FloatArray, S: FloatArray, u: FloatArray) -> tuple[float, float]:
    """log det(I + V S) and u'(V^-1 + S)^-1 u, scaled to a unit diagonal; (inf, 0) when digits are lost."""
    diagonal = np.exp(-log_scale) + np.diag(S)
    E = 1.0 / np.sqrt(diagonal)
    scaled = S * np.outer(E, E)
    np.fill_diagonal(scaled, 1.0)
    try:
        L = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return math.inf, 0.0
    if L.size and np.diag(L).min() < SMALLEST_PIVOT:
        return math.inf, 0.0
    z = solve_triangular(L, E * u, lower=True, check_finite=False) if L.size else u
    log_det = float(np.log(diagonal).sum() + log_scale.sum() + 2.0 * np.log(np.diag(L)).sum())
    return log_det, float(z @ z)
