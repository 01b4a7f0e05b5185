"""The posterior density of the law of the hyperplanes and of the parameters given the marks, and its gradient.

They are d + 4 *numbers*: the log relevances, log sharpness, log nu, log sigma2 and alpha. Sizes and remainder are
integrated out (`law_likelihood`). Columns that share one relevance, such as the levels of a category, follow the first
of them: only its number is free, and it has the sum of their derivatives.

Small atoms move with the law: their whitened h stays. Atoms that are *held* stay where they are in the data, and their
whitened h changes instead, with a Jacobian: either as a whole, or in direction only, so that the hyperplane stays and
its slope follows the law. The length of h means nothing to sign units, which are always held by direction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit, psi

from .._types import FloatArray
from ..stable import log_remainder_of_one
from .chain import N_OTHERS
from .gaussian_limit import arcsine_and_slope, pull_back
from .kernel import Law
from .law import (
    LOG_SHARPNESS_HIGH,
    LOG_SHARPNESS_LOW,
    log_prior_log_relevance,
    log_prior_log_sharpness,
    slope_log_prior_log_relevance,
    slope_log_prior_log_sharpness,
)
from .law_likelihood import Slopes, Units, covariance_of, make_units, slopes_of, solve, view
from .model import Model
from .priors import log_prior_log_sigma2
from .system import LOG_2PI

# Places in the vector of numbers, behind the d log relevances.
LOG_SHARPNESS, LOG_NU, LOG_SIGMA2, ALPHA = -4, -3, -2, -1
# Nearer to an end of its range, in parts of the range, no number is told from the end.
JUST_INSIDE = 1e-12


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


# --- Numbers without bounds ------------------------------------------------------------------------------
#
# A path that leaves the range of alpha or of the sharpness is lost, and where the data want a value at the end of its
# range most would be. Free numbers are all of the real line: the logit of the place in the range, instead of these two.


def _ranges(model: Model) -> tuple[tuple[int, float, float], ...]:
    """Places and ranges of the numbers that are bounded."""
    sharpness = (LOG_SHARPNESS, LOG_SHARPNESS_LOW, LOG_SHARPNESS_HIGH) if model.infer_sharpness else ()
    alpha = (ALPHA, model.alpha_low, model.alpha_high) if model.infer_alpha else ()
    return tuple(bounded for bounded in (sharpness, alpha) if bounded)


def to_free(model: Model, numbers: FloatArray) -> FloatArray:
    """The free numbers of these numbers; an end of a range counts as a place just inside."""
    free = numbers.copy()
    for place, low, high in _ranges(model):
        free[place] = logit(min(max((numbers[place] - low) / (high - low), JUST_INSIDE), 1.0 - JUST_INSIDE))
    return free


def from_free(model: Model, free: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The numbers of these free numbers, and the derivative of each."""
    numbers, stretch = free.copy(), np.ones(free.size)
    for place, low, high in _ranges(model):
        part = float(expit(free[place]))
        numbers[place] = low + (high - low) * part
        stretch[place] = (high - low) * part * float(expit(-free[place]))
    return numbers, stretch


def slope_of_log_stretch(model: Model, free: FloatArray) -> FloatArray:
    """Derivative of the log of the derivative that `from_free` returns."""
    slope = np.zeros(free.size)
    for place, _, _ in _ranges(model):
        slope[place] = -math.tanh(0.5 * free[place])
    return slope


def follow(model: Model, numbers: FloatArray) -> FloatArray:
    """The numbers with each log relevance equal to that of its leading column."""
    return np.concatenate([numbers[model.leader], numbers[model.leader.size :]])


# --- Priors ----------------------------------------------------------------------------------------------


def log_prior_of_law(model: Model, law: Law) -> float:
    """Log prior density of what is inferred of the law."""
    total = 0.0
    if model.relevant.size > 0:
        total += log_prior_log_relevance(np.log(law.relevance[model.relevant]), model.relevance_scale)
    if model.infer_sharpness:
        total += log_prior_log_sharpness(math.log(law.sharpness))
    return total


def log_prior(model: Model, place: Place, log_diagonal: float) -> float:
    """Log prior density of the law and of the parameters, given the log of the mean of K(x, x) over the rows."""
    value = log_prior_of_law(model, place.law)
    if model.infer_alpha and not model.alpha_low < place.alpha < model.alpha_high:
        return -math.inf
    if model.infer_sigma2 and place.log_sigma2 < model.log_sigma2_floor:
        return -math.inf
    if model.infer_nu:
        value -= 0.5 * ((place.log_nu + log_diagonal) / model.log_nu_sd) ** 2
    if model.infer_sigma2:
        value += log_prior_log_sigma2(place.log_sigma2)
    return value


def _add_slope_of_prior(
    model: Model, numbers: FloatArray, log_diagonal: float, by_K: FloatArray, gradient: FloatArray
) -> None:
    """Add the derivative of `log_prior` in the numbers; its part through K(x, x) is added to `by_K`."""
    relevant = model.relevant
    if relevant.size > 0:
        gradient[relevant] += slope_log_prior_log_relevance(numbers[relevant], model.relevance_scale)
    if model.infer_sharpness:
        gradient[LOG_SHARPNESS] += slope_log_prior_log_sharpness(numbers[LOG_SHARPNESS])
    if model.infer_nu:
        slope = -(numbers[LOG_NU] + log_diagonal) / model.log_nu_sd**2
        gradient[LOG_NU] += slope
        by_K.flat[:: len(by_K) + 1] += slope / (len(by_K) * math.exp(log_diagonal))
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
    if not held.atoms.any():
        return h, 0.0
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


# --- The density -----------------------------------------------------------------------------------------


def log_density(model: Model, log_mark: FloatArray, place: Place) -> float:
    """Log likelihood and log priors of a place inside the prior's range; -inf when a factorisation fails."""
    seen = view(model.X, place.law)
    units = make_units(model.X, place.law, place.h, log_mark, place.alpha, place.log_nu)
    covariance = covariance_of(seen, *_variances(model, place))
    value = solve(covariance, model.row_y, units).value + _within(model, place)
    return value + log_prior(model, place, seen.log_diagonal)


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
    numbers = follow(model, numbers)
    place, d = start.at(numbers), model.X.shape[1]
    nowhere = place, 0.0, np.zeros(numbers.size)
    if log_prior_of_law(model, place.law) == -math.inf:
        return nowhere
    h, log_jacobian = hold(start.h, held, start.law, place.law)
    place = place._replace(h=h)
    seen = view(model.X, place.law)
    prior = log_prior(model, place, seen.log_diagonal)
    if prior == -math.inf:
        return nowhere
    g, noise = _variances(model, place)
    K, cosine, slope = arcsine_and_slope(seen.E, seen.gap)
    covariance = g * K
    covariance.flat[:: len(K) + 1] += noise
    units = make_units(model.X, place.law, h, log_mark, place.alpha, place.log_nu)
    # It is symmetric, and LAPACK would copy a matrix in the order of C.
    solved = solve(covariance.T, model.row_y, units)
    if solved.value == -math.inf:
        return nowhere
    slopes = slopes_of(solved, units)
    gradient = slope_of_hold(h, held)
    _add_slope_of_parameters(model, place, log_mark, noise, slopes, gradient)
    by_K = np.multiply.outer(slopes.a, slopes.a)
    by_K -= slopes.inverse
    by_K *= 0.5 * g
    _add_slope_of_prior(model, numbers, seen.log_diagonal, by_K, gradient)
    by_relevance, by_sharpness = pull_back(by_K, seen.E, seen.gap, cosine, slope)
    gradient[:d] += by_relevance
    if math.isfinite(place.law.sharpness):
        gradient[LOG_SHARPNESS] += by_sharpness
        _add_slope_of_units(units, slopes, place, held, model.X, gradient)
    gradient[:d] = np.bincount(model.leader, gradient[:d], d)
    return place._replace(log_density=solved.value + _within(model, place) + prior), log_jacobian, gradient


def _variances(model: Model, place: Place) -> tuple[float, FloatArray]:
    """Scale g of the remainder, and the noise variance of each row."""
    g = math.exp(log_remainder_of_one(place.alpha, place.log_nu, model.n_atoms))
    return g, math.exp(place.log_sigma2) / model.weight


def _within(model: Model, place: Place) -> float:
    """What the spread within rows adds to the log likelihood."""
    return -0.5 * (model.n_extra * (LOG_2PI + place.log_sigma2) + model.ss_within * math.exp(-place.log_sigma2))


def _add_slope_of_parameters(
    model: Model, place: Place, log_mark: FloatArray, noise: FloatArray, slopes: Slopes, gradient: FloatArray
) -> None:
    """Add the derivatives of the log likelihood in log nu, log sigma2 and alpha at fixed marks.

    All of Q but the noise is proportional to nu, and what is not atoms or noise is proportional to g.
    """
    a = slopes.a
    by_log_noise = 0.5 * float(noise @ (a**2 - slopes.inverse.diagonal()))
    by_log_nu = 0.5 * float(a @ model.row_y - a.size) - by_log_noise
    gradient[LOG_NU] += by_log_nu
    gradient[LOG_SIGMA2] += by_log_noise - 0.5 * (model.n_extra - model.ss_within * math.exp(-place.log_sigma2))
    half = 0.5 * place.alpha
    if half < 1.0:
        of_v = (gammaln(1.0 - half) + log_mark) / half**2 + psi(1.0 - half) / half
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
