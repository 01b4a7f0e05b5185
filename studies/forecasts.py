"""What every method returns: a point prediction and quantiles of a new observation per new row. And its scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from studies.problems import Floats, Problem
from widestable.diagnostics import Convergence, convergence
from widestable.inputs import spread_indices

# Middles of 100 slices of equal probability: the mean of a function over them is its integral over (0, 1).
LEVELS = (np.arange(100) + 0.5) / 100.0
COVERAGE = 0.9
ENDS = np.array([0.5 - COVERAGE / 2.0, 0.5 + COVERAGE / 2.0])
# More components do not change a log score in the digits that are shown.
MAX_COMPONENTS = 1000


class Mixture(NamedTuple):
    """The density of a new observation as a mixture of k normal ones at each of m rows."""

    mean: Floats  # (k, m)
    sd: Floats  # (k, m), or (k, 1) if the same at every row
    weight: Floats  # (k,), adding up to 1

    def log_density(self, y: Floats) -> Floats:
        """Return the log density of observations, in the shape (..., m) of y.

        Examples
        --------
        >>> two = Mixture(np.array([[0.0], [2.0]]), np.ones((2, 1)), np.array([0.5, 0.5]))
        >>> bool(np.isclose(two.log_density(np.array([1.0]))[0], norm.logpdf(1.0)))
        True
        """
        log_weight = np.log(self.weight)[:, None] - np.log(self.sd) - 0.5 * np.log(2.0 * np.pi)
        sets = np.asarray(y).reshape(-1, self.mean.shape[1])
        found = [logsumexp(log_weight - 0.5 * ((row - self.mean) / self.sd) ** 2, axis=0) for row in sets]
        return np.array(found).reshape(np.shape(y))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predictions of one method at m new rows.

    Attributes
    ----------
    point : ndarray of shape (m,)
        The method's point prediction: the posterior median of f, or the nearest thing to it.
    quantiles : ndarray of shape (m, 100)
        Quantiles of a new observation at LEVELS.
    ends : ndarray of shape (m, 2)
        Its 5% and 95% quantiles.
    f_draws : ndarray of shape (chains, draws, m), or None
        Draws of f in the order of the chains, if the method is a Markov chain.
    n_iterations : int
        All iterations, warm-up included.
    info : dict
        Numbers worth reporting, such as chosen or inferred parameters.
    mixture : Mixture or None
        The density of a new observation, if the method has one.
    """

    point: Floats
    quantiles: Floats
    ends: Floats
    f_draws: Floats | None = None
    n_iterations: int = 0
    info: dict[str, Any] = field(default_factory=dict)
    mixture: Mixture | None = None


class Scaled(NamedTuple):
    """Data with mean 0 and s.d. 1 over the training rows, and the way back."""

    X: Floats
    y: Floats
    X_new: Floats
    y_mean: float
    y_scale: float

    def undo(self, forecast: Forecast) -> Forecast:
        """Return the forecast in the units of y."""
        parts = {name: getattr(forecast, name) for name in ("point", "quantiles", "ends", "f_draws")}
        moved = {name: self.y_mean + self.y_scale * part for name, part in parts.items() if part is not None}
        if (mixture := forecast.mixture) is not None:
            mean, sd = self.y_mean + self.y_scale * mixture.mean, self.y_scale * mixture.sd
            moved["mixture"] = mixture._replace(mean=mean, sd=sd)
        return replace(forecast, **moved)


def scale(X: Floats, y: Floats, X_new: Floats) -> Scaled:
    """Standardise by the training rows; constant columns are only shifted."""
    mean, sd = X.mean(axis=0), X.std(axis=0)
    sd = np.where(sd > 0.0, sd, 1.0)
    y_mean, y_scale = float(y.mean()), float(y.std()) or 1.0
    return Scaled((X - mean) / sd, (y - y_mean) / y_scale, (X_new - mean) / sd, y_mean, y_scale)


def from_normal(mean: Floats, sd: Floats) -> Forecast:
    """Return a Gaussian forecast.

    Parameters
    ----------
    mean, sd : ndarray of shape (m,)
        Moments of a new observation.
    """
    z = norm.ppf(np.concatenate([LEVELS, ENDS]))
    quantiles = mean[:, None] + sd[:, None] * z
    mixture = Mixture(mean[None], sd[None], np.ones(1))
    return Forecast(mean, quantiles[:, : LEVELS.size], quantiles[:, LEVELS.size :], mixture=mixture)


def from_observations(y_draws: Floats, point: Floats) -> Forecast:
    """Return a forecast from draws of a new observation.

    Parameters
    ----------
    y_draws : ndarray of shape (draws, m)
        In any order.
    point : ndarray of shape (m,)
    """
    quantiles = np.quantile(y_draws, np.concatenate([LEVELS, ENDS]), axis=0).T
    return Forecast(point, quantiles[:, : LEVELS.size], quantiles[:, LEVELS.size :])


def from_draws(f: Floats, noise_sd: Floats, rng: np.random.Generator) -> Forecast:
    """Return a forecast from draws of f; the point prediction is the median of f.

    Parameters
    ----------
    f : ndarray of shape (chains, draws, m)
    noise_sd : ndarray of shape (chains, draws)
    rng : numpy.random.Generator
        Source of the noise.
    """
    y = f + noise_sd[:, :, None] * rng.standard_normal(f.shape)
    forecast = from_observations(y.reshape(-1, f.shape[2]), np.median(f, axis=(0, 1)))
    shown = spread_indices(noise_sd.size, MAX_COMPONENTS)
    weight = np.full(shown.size, 1.0 / shown.size)
    mixture = Mixture(f.reshape(-1, f.shape[2])[shown], noise_sd.reshape(-1, 1)[shown], weight)
    return replace(forecast, f_draws=f, mixture=mixture)


# --- Scores ----------------------------------------------------------------------------------------------


def crps(quantiles: Floats, y: Floats) -> Floats:
    """Return the continuous ranked probability score, `2 * integral of the pinball loss`, in the shape of y.

    Parameters
    ----------
    quantiles : ndarray of shape (m, 100)
        Quantiles at LEVELS.
    y : ndarray of shape (..., m)

    Examples
    --------
    >>> exact = 2.0 * norm.pdf(0.0) - 1.0 / np.sqrt(np.pi)  # standard normal at 0
    >>> float(np.round(crps(norm.ppf(LEVELS)[None, :], np.zeros(1))[0] - exact, 3))
    0.0
    """
    error = np.asarray(y)[..., None] - quantiles
    return np.asarray(2.0 * np.mean(error * (LEVELS - (error < 0.0)), axis=-1))


def score(forecast: Forecast, problem: Problem) -> dict[str, Any]:
    """Return the errors of point predictions and scores of the whole forecast.

    `mae_sets` and their mean `mae`, `rmse`, `crps`, `coverage` and `width` of 90% intervals; `mae_truth` if the truth
    is known; `log_score`, minus the mean log density of new observations, if the forecast has a density.
    """
    lower, upper = forecast.ends.T
    mae_sets = np.abs(forecast.point - problem.y_new).mean(axis=1)
    inside = (lower <= problem.y_new) & (problem.y_new <= upper)
    found: dict[str, Any] = {
        "mae_sets": mae_sets,
        "mae": mae_sets.mean(),
        "rmse": np.sqrt(np.mean((forecast.point - problem.y_new) ** 2)),
        "crps": np.mean([crps(forecast.quantiles, y).mean() for y in problem.y_new]),
        "coverage": inside.mean(),
        "width": (upper - lower).mean(),
    }
    if problem.f_new is not None:
        found["mae_truth"] = np.abs(forecast.point - problem.f_new).mean()
    if forecast.mixture is not None:
        found["log_score"] = -forecast.mixture.log_density(problem.y_new).mean()
    return found


class Mixing(NamedTuple):
    """How well a run mixed over several quantities."""

    rhat: float  # the largest
    ess: float  # the smallest
    ess_tenth: float  # the 10th percentile: the slowest tenth of the quantities


def judge_mixing(found: Convergence) -> Mixing:
    """Return the worst R-hat and the smallest and slowest-tenth effective sample size."""
    return Mixing(float(found.rhat.max()), float(found.ess.min()), float(np.percentile(found.ess, 10.0)))


def mixing(forecast: Forecast) -> dict[str, float]:
    """Return how well f mixed over the new rows; nothing without chains."""
    return {} if forecast.f_draws is None else judge_mixing(convergence(forecast.f_draws))._asdict()
