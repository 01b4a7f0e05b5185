"""The posterior density of the law of the hyperplanes and of the parameters given the marks, and its gradient.

They are d + 4 *numbers*: the log relevances, log sharpness, log nu, log sigma2 and alpha. Sizes and remainder are
integrated out, so that

    y ~ N(0, g K + sigma2 W^-1 + sum_k v_k tau_k tau_k').

Small atoms move with the law: their whitened h stays. Atoms that are *held* stay where they are in the data, and their
whitened h changes instead, with a Jacobian: either as a whole, or in direction only, so that the hyperplane stays and
its slope follows the law. The length of h means nothing to sign units, which are always held by direction.

The covariance is factored without the atoms, which are added by Woodbury's identity: factoring the sum would lose
digits where atoms are large beside the noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.special import erf, gammaln, psi

from .._jit import inner_kernel
from .._jit import kernel as compiled
from .._types import FloatArray, IntArray
from ..network import kernel_diagonal
from ..stable import log_remainder, log_scale_of_mark
from .chain import N_OTHERS
from .gaussian_limit import apart_and_along, arcsine_and_slope, pull_back, rows_in_ball
from .kernel import Law
from .law import (
    log_prior_log_relevance,
    log_prior_log_sharpness,
    relevance_prior,
    slope_log_prior_log_sharpness,
)
from .model import Model
from .priors import log_prior_log_sigma2
from .system import LOG_2PI, LOG_TINY

# Places in the vector of numbers, behind the d log relevances.
LOG_SHARPNESS, LOG_NU, LOG_SIGMA2, ALPHA = -4, -3, -2, -1
# A pivot of a matrix with unit diagonal below this is rounding error.
SMALLEST_PIVOT = 1e-6


class Place(NamedTuple):
    """Where a chain is or might be: a law, the parameters and the hyperplanes, with the log density they have."""

    law: Law
    log_nu: float
    log_sigma2: float
    alpha: float
    h: FloatArray  # (atoms, d + 1) whitened hyperplanes
    log_density: float = -math.inf  # log likelihood and log priors of the law and of the parameters

    @property
    def numbers(self) -> FloatArray:
        """As `ALPHA` and its neighbours say; 0 stands for the sharpness of sign units, which does not move."""
        w = self.law.sharpness
        log_w = math.log(w) if math.isfinite(w) else 0.0
        return np.array([*np.log(self.law.relevance), log_w, self.log_nu, self.log_sigma2, self.alpha])

    def at(self, numbers: FloatArray) -> Place:
        """The place with these numbers and the same hyperplanes; sign units stay sign units."""
        w = math.exp(numbers[LOG_SHARPNESS]) if math.isfinite(self.law.sharpness) else math.inf
        law = Law(np.exp(numbers[:-N_OTHERS]), w)
        log_nu, log_sigma2, alpha = (float(number) for number in numbers[LOG_NU:])
        return Place(law, log_nu, log_sigma2, alpha, self.h)


# --- Priors ----------------------------------------------------------------------------------------------


def log_prior_of_law(model: Model, law: Law) -> float:
    """Log prior density of what is inferred of the law."""
    total = 0.0
    if model.relevant.size > 0:
        total += log_prior_log_relevance(np.log(law.relevance[model.relevant]), model.relevance_scale)
    if model.infer_sharpness:
        total += log_prior_log_sharpness(math.log(law.sharpness))
    return total


def log_prior(model: Model, place: Place) -> float:
    """Log prior density of the law and of the parameters."""
    value = log_prior_of_law(model, place.law)
    if model.infer_alpha and not model.alpha_low < place.alpha < model.alpha_high:
        return -math.inf
    if model.infer_nu and value > -math.inf:
        value -= 0.5 * ((place.log_nu + mean_log_diagonal(model, place.law)) / model.log_nu_sd) ** 2
    if model.infer_sigma2:
        value += log_prior_log_sigma2(place.log_sigma2)
    return value


def mean_log_diagonal(model: Model, law: Law) -> float:
    """log of the mean of K(x, x) over the rows: 0 for sign units."""
    return float(np.log(kernel_diagonal(model.X * law.relevance, law.sharpness).mean()))


def _add_slope_of_prior(
    model: Model, numbers: FloatArray, K: FloatArray, by_K: FloatArray, gradient: FloatArray
) -> None:
    """Add the derivative of `log_prior` in the numbers; its part through K(x, x) is added to `by_K`."""
    relevant = model.relevant
    if relevant.size > 0:
        gradient[relevant] += relevance_prior(numbers[relevant], model.relevance_scale)[1]
    if model.infer_sharpness:
        gradient[LOG_SHARPNESS] += slope_log_prior_log_sharpness(numbers[LOG_SHARPNESS])
    if model.infer_nu:
        mean = np.trace(K) / len(K)
        slope = -(numbers[LOG_NU] + math.log(mean)) / model.log_nu_sd**2
        gradient[LOG_NU] += slope
        by_K[np.diag_indices_from(by_K)] += slope / (len(by_K) * mean)
    if model.infer_sigma2:
        gradient[LOG_SIGMA2] -= math.tanh(numbers[LOG_SIGMA2])


# --- Held atoms ------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """Atoms that a change of the law leaves where they are."""

    atoms: NDArray[np.bool_]  # (atoms,)
    by_direction: bool


def hold(h: FloatArray, held: Held, law: Law, new: Law) -> tuple[FloatArray, float]:
    """Whitened hyperplanes after a change of the law, and the log Jacobian.

    With A = S S'^-1, a held h becomes A h, or |h| A h / |A h| by direction.
    """
    scale = np.append(1.0, law.relevance / new.relevance)
    if math.isfinite(law.sharpness):
        scale = scale * (law.sharpness / new.sharpness)
    before, width = h[held.atoms], h.shape[1]
    moved = before * scale
    log_jacobian = len(before) * float(np.log(scale).sum())
    if held.by_direction:
        stretch = np.sqrt((moved**2).sum(axis=1) / (before**2).sum(axis=1))
        log_jacobian -= width * float(np.log(stretch).sum())
        moved /= stretch[:, None]
    else:
        # Ratio of the normal densities of h.
        log_jacobian += 0.5 * float((before**2).sum() - (moved**2).sum())
    out = h.copy()
    out[held.atoms] = moved
    return out, log_jacobian


def slope_of_hold(h: FloatArray, held: Held) -> FloatArray:
    """Derivative of the log Jacobian of `hold` in the numbers of the new law, where it leads to h."""
    squares = h[held.atoms] ** 2
    if held.by_direction:
        squares *= h.shape[1] / squares.sum(axis=1)[:, None]
    by_scale = squares.sum(axis=0) - len(squares)
    return np.array([*by_scale[1:], by_scale.sum(), 0.0, 0.0, 0.0])


# --- The likelihood --------------------------------------------------------------------------------------


class Units(NamedTuple):
    """The atoms under a law, and the groups of those with one pattern up to sign."""

    log_mark: FloatArray  # (atoms,)
    projection: FloatArray  # (atoms, n) h.z
    tau: FloatArray  # (groups, n)
    log_scale: FloatArray  # (groups,) log of the summed scales
    group: IntArray  # (atoms,)
    sign: FloatArray  # (atoms,) sign of an atom's pattern beside that of its group
    share: FloatArray  # (atoms,) of the scale of its group


class Solved(NamedTuple):
    """y with sizes and remainder integrated out."""

    value: float  # the log likelihood; -inf when a factorisation failed
    L: FloatArray  # (n, n) Cholesky factor of g K + noise, lower
    T: FloatArray  # (n, groups) L^-1 tau'
    y: FloatArray  # (n,) L^-1 y
    R: FloatArray  # (groups, groups) (V^-1 + T'T)^-1


NOT_SOLVED = Solved(-math.inf, *(np.empty(0) for _ in range(4)))


def log_likelihood(model: Model, log_mark: FloatArray, place: Place) -> float:
    """log p(y | atoms, law, parameters); -inf when a factorisation fails.

    The same number as the engine's, from the covariance of the rows instead of its eigenbasis.
    """
    n, law = model.row_y.size, place.law
    g, noise = _variances(model, place)
    E, gap = rows_in_ball(model.X, np.log(law.relevance), math.log(law.sharpness))
    covariance = np.zeros((n, n))
    fill_covariance(E, gap, g, noise, covariance)
    return _solve(covariance, model, place, _units(model, log_mark, place)).value


def density_and_gradient(
    model: Model, log_mark: FloatArray, start: Place, held: Held, numbers: FloatArray
) -> tuple[Place, float, FloatArray]:
    """The place with these numbers, the log Jacobian of holding atoms on the way there, and the gradient of both.

    Parameters
    ----------
    model : Model
        Data and priors.
    log_mark : ndarray of shape (atoms,)
        Marks, which stay.
    start : Place
        Where the held atoms come from.
    held : Held
        Atoms that stay where they are in the data.
    numbers : ndarray of shape (d + 4,)
        Where to go.

    Returns
    -------
    tuple of Place, float and ndarray of shape (d + 4,)
        The gradient is that of `place.log_density` plus the log Jacobian. A density of -inf comes without one.
    """
    place, d = start.at(numbers), model.X.shape[1]
    nowhere = place, 0.0, np.zeros(numbers.size)
    prior = log_prior(model, place)
    if prior == -math.inf:
        return nowhere
    h, log_jacobian = hold(start.h, held, start.law, place.law)
    place = place._replace(h=h)
    g, noise = _variances(model, place)
    E, gap = rows_in_ball(model.X, numbers[:d], math.log(place.law.sharpness))
    K, cosine, slope = arcsine_and_slope(E, gap)
    covariance = g * K
    covariance[np.diag_indices_from(covariance)] += noise
    units = _units(model, log_mark, place)
    solved = _solve(covariance, model, place, units)
    if solved.value == -math.inf:
        return nowhere
    slopes = _slopes(solved, units)
    gradient = slope_of_hold(h, held)
    _add_slope_of_parameters(model, place, noise, slopes, units, gradient)
    by_K = 0.5 * g * (np.outer(slopes.a, slopes.a) - slopes.inverse)
    _add_slope_of_prior(model, numbers, K, by_K, gradient)
    by_relevance, by_sharpness = pull_back(by_K, E, gap, cosine, slope)
    gradient[:d] += by_relevance
    if math.isfinite(place.law.sharpness):
        gradient[LOG_SHARPNESS] += by_sharpness
        _add_slope_of_units(units, slopes, place, held, model.X, gradient)
    return place._replace(log_density=solved.value + prior), log_jacobian, gradient


def _variances(model: Model, place: Place) -> tuple[float, FloatArray]:
    """Scale g of the remainder, and the noise variance of each row."""
    g = math.exp(float(log_remainder(place.alpha, place.log_nu, model.n_atoms)))
    return g, math.exp(place.log_sigma2) / model.weight


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


def _units(model: Model, log_mark: FloatArray, place: Place) -> Units:
    """The atoms at a place."""
    law, h = place.law, place.h
    projection = h[:, :1] + (h[:, 1:] * law.relevance) @ model.X.T
    tau = erf(law.sharpness * projection) if math.isfinite(law.sharpness) else np.where(projection >= 0.0, 1.0, -1.0)
    sign = np.where(tau[:, 0] < 0.0, -1.0, 1.0)
    tau *= sign[:, None]
    log_v = np.maximum(log_scale_of_mark(log_mark, place.alpha, place.log_nu), LOG_TINY)
    number: dict[bytes, int] = {}
    first: list[int] = []
    group = np.empty(len(h), np.int64)
    for k, row in enumerate(tau):
        group[k] = number.setdefault(row.tobytes(), len(number))
        if group[k] == len(first):
            first.append(k)
    log_scale = np.full(len(first), -np.inf)
    np.logaddexp.at(log_scale, group, log_v)
    return Units(log_mark, projection, tau[first], log_scale, group, sign, np.exp(log_v - log_scale[group]))


def _solve(covariance: FloatArray, model: Model, place: Place, units: Units) -> Solved:
    """Integrate the sizes out of y with this covariance of remainder and noise, of which the lower triangle is used."""
    n = model.row_y.size
    try:
        L = np.linalg.cholesky(covariance).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return NOT_SOLVED
    solved = solve_triangular(L, np.column_stack([units.tau.T, model.row_y]), lower=True, check_finite=False)
    T, y = solved[:, :-1], solved[:, -1]
    R, log_det = _invert(units.log_scale, T.T @ T)
    if log_det == math.inf:
        return NOT_SOLVED
    u = T.T @ y
    within = model.n_extra * (LOG_2PI + place.log_sigma2) + model.ss_within * math.exp(-place.log_sigma2)
    log_det += 2.0 * float(np.log(np.diag(L)).sum())
    value = -0.5 * (n * LOG_2PI + log_det + float(y @ y) - float(u @ R @ u) + within)
    return Solved(value, L, T, y, R) if math.isfinite(value) else NOT_SOLVED


def _invert(log_scale: FloatArray, S: FloatArray) -> tuple[FloatArray, float]:
    """(V^-1 + S)^-1 and log det(I + V S), scaled to a unit diagonal; the latter is inf when digits are lost."""
    diagonal = np.exp(-log_scale) + np.diag(S)
    E = 1.0 / np.sqrt(diagonal)
    scaled = S * np.outer(E, E)
    np.fill_diagonal(scaled, 1.0)
    if not scaled.size:
        return scaled, 0.0
    try:
        L = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return scaled, math.inf
    if np.diag(L).min() < SMALLEST_PIVOT:
        return scaled, math.inf
    inverse = _symmetric(dpotri(L, lower=1)[0])
    log_det = float(np.log(diagonal).sum() + log_scale.sum() + 2.0 * np.log(np.diag(L)).sum())
    return inverse * np.outer(E, E), log_det


def _symmetric(lower: FloatArray) -> FloatArray:
    """The symmetric matrix with this lower triangle."""
    return np.tril(lower) + np.tril(lower, -1).T


class Slopes(NamedTuple):
    """Derivatives of the log likelihood. That in Q is (a a' - Q^-1) / 2."""

    a: FloatArray  # (n,) Q^-1 y
    inverse: FloatArray  # (n, n) Q^-1
    by_tau: FloatArray  # (atoms, n) in the pattern of each atom
    by_log_v: FloatArray  # (atoms,) in the log scale of each atom


def _slopes(solved: Solved, units: Units) -> Slopes:
    """Derivatives through Q^-1 = L^-T (I - T R T') L^-1.

    For a group, V Q^-1 tau is a column of L^-T T R and V tau' Q^-1 tau is 1 - R / V: accurate however large V is.
    """
    L, T, R = solved.L, solved.T, solved.R
    size = R @ (T.T @ solved.y)
    a = solve_triangular(L, solved.y - T @ size, lower=True, trans="T", check_finite=False)
    B = solve_triangular(L, T, lower=True, trans="T", check_finite=False)
    BR = B @ R
    inverse = _symmetric(dpotri(L, lower=1)[0]) - BR @ B.T
    by_group = np.outer(size, a) - BR.T
    by_log_V = 0.5 * ((size**2 + np.diag(R)) * np.exp(-units.log_scale) - 1.0)
    group, share = units.group, units.share
    return Slopes(a, inverse, (share * units.sign)[:, None] * by_group[group], share * by_log_V[group])


def _add_slope_of_parameters(
    model: Model, place: Place, noise: FloatArray, slopes: Slopes, units: Units, gradient: FloatArray
) -> None:
    """Add the derivatives of the log likelihood in log nu, log sigma2 and alpha at fixed marks.

    All of Q but the noise is proportional to nu, and what is not atoms or noise is proportional to g.
    """
    a = slopes.a
    by_log_noise = 0.5 * float(noise @ (a**2 - np.diag(slopes.inverse)))
    by_log_nu = 0.5 * float(a @ model.row_y - a.size) - by_log_noise
    gradient[LOG_NU] += by_log_nu
    gradient[LOG_SIGMA2] += by_log_noise - 0.5 * (model.n_extra - model.ss_within * math.exp(-place.log_sigma2))
    half = 0.5 * place.alpha
    if half < 1.0:
        of_v = (gammaln(1.0 - half) + units.log_mark) / half**2 + psi(1.0 - half) / half
        of_g = (math.log(model.n_atoms / (1.0 - half)) + gammaln(2.0 - half)) / half**2 + psi(2.0 - half) / half
        by_log_v = slopes.by_log_v
        gradient[ALPHA] += 0.5 * float(by_log_v @ of_v + (by_log_nu - by_log_v.sum()) * of_g)


def _add_slope_of_units(
    units: Units, slopes: Slopes, place: Place, held: Held, X: FloatArray, gradient: FloatArray
) -> None:
    """Add what the patterns erf(w h.z) of atoms contribute that are not held as a whole."""
    w, t = place.law.sharpness, units.projection
    by_t = slopes.by_tau * (2.0 / math.sqrt(math.pi) * w) * np.exp(-((w * t) ** 2))
    by_slope = np.sum(by_t * t, axis=1)
    moves = ~held.atoms
    gradient[: X.shape[1]] += place.law.relevance * np.sum(place.h[moves, 1:] * (by_t[moves] @ X), axis=0)
    gradient[LOG_SHARPNESS] += float(by_slope[moves].sum())
    if held.by_direction:
        squares = place.h[held.atoms] ** 2
        by_scale = by_slope[held.atoms] @ (squares / squares.sum(axis=1)[:, None])
        gradient[: X.shape[1]] += by_scale[1:]
        gradient[LOG_SHARPNESS] += float(by_scale.sum())
