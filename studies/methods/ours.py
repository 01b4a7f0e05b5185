"""The stable model: the published sampler, and the jump engine with (alpha, nu) given, cross-validated or inferred."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.forecasts import ENDS, LEVELS, Forecast, Mixing, Mixture, from_draws, from_observations, judge_mixing
from studies.methods.running import LATE_PART, N_CHAINS, N_OBSERVED, N_SHOWN, Indices
from studies.problems import Floats, Problem
from studies.sampling import WARM_UP, compile_engine, draws_at, fit, mixture_at, observations_at, start, thinned
from widestable import Posterior
from widestable.diagnostics import Convergence
from widestable.exact import posterior_predictive
from widestable.inputs import check_training, spread_indices

# Settings of a search that are not settings of a fit.
SEARCH = ("alphas", "nus", "n_folds", "search_sweeps")
# Draws of each chain that show how f mixes at new rows, where every draw has a law of hyperplanes of its own.
N_DRAWN = 128
# (X, y, X_new, alpha, nu) -> point predictions.
Predict = Callable[[Floats, Floats, Floats, float, float], Floats]


def jumps(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> Forecast:
    """Run the jump engine; the point prediction is the posterior median of f.

    Parameters
    ----------
    X, y, X_new : ndarray
    seed : int
    **settings : Any
        Parameters of StableRegressor. With the lists `alphas` and `nus`, (alpha, nu) is the pair with the smallest
        absolute error in `n_folds` folds of the training rows, each fitted by one chain of `search_sweeps` sweeps.
    """
    fixed: dict[str, Any] = {name: value for name, value in settings.items() if name not in SEARCH}
    fixed |= _choose_by_jumps(X, y, seed, settings)
    model = fit(X, y, seed, **fixed)
    posterior = model.posterior_
    shown = thinned(posterior, N_DRAWN) if {"sharpness", "relevance"} & set(posterior.inferred) else posterior
    f = draws_at(shown, X_new, np.random.default_rng([seed, 1]))
    y = observations_at(thinned(posterior, N_SHOWN), X_new, N_OBSERVED, np.random.default_rng([seed, 2]))
    forecast = replace(from_observations(y, model.predict(X_new)), f_draws=f)
    info = {"alpha": model.alpha_, "nu": model.nu_, "sigma": model.sigma_, "sharpness": model.sharpness_}
    found = posterior.convergence()
    info |= {"rhat_train": float(found.rhat.max()), "ess_train": float(found.ess.min())}
    n_iterations = len(posterior.sigma2) * posterior.n_sweeps
    return replace(forecast, n_iterations=n_iterations, info=info)


def regressor(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> Forecast:
    """Run StableRegressor and predict as its users do; `info` has the processor seconds of the fit alone.

    Parameters
    ----------
    X, y, X_new : ndarray
    seed : int
    **settings : Any
        Parameters of StableRegressor.
    """
    started = time.process_time()
    model = fit(X, y, seed, **settings)
    seconds = time.process_time() - started
    posterior = model.posterior_
    quantiles = model.predict_quantiles(X_new, np.concatenate([LEVELS, ENDS]))
    n_sweeps = posterior.n_sweeps
    info = {"converged": posterior.converged, "n_sweeps": n_sweeps, "fit_seconds": seconds, "alpha": model.alpha_}
    info |= {"relevance": model.relevance_, "sharpness": model.sharpness_}
    info |= {"mixing": {name: found._asdict() for name, found in mixing_by_part(posterior).items()}}
    split = LEVELS.size
    mixture = Mixture(*mixture_at(thinned(posterior, N_SHOWN), X_new))
    forecast = Forecast(model.predict(X_new), quantiles[:, :split], quantiles[:, split:], info=info, mixture=mixture)
    return replace(forecast, n_iterations=len(posterior.sigma2) * n_sweeps)


class OurRun:
    """The chains of StableRegressor in stretches: 512 sweeps to warm up, then draws.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Training rows at which f is judged: an even selection of the rows at which draws of f are stored.
    seed : int
    **settings : Any
        Parameters of StableRegressor.
    """

    def __init__(self, problem: Problem, rows: Indices, seed: int, **settings: Any) -> None:
        compile_engine()
        self._X_new, self._n_rows = problem.X_new, len(rows)
        started = time.process_time()
        data = check_training(problem.X, problem.y, robust=settings.get("noise") == "outliers")
        self._chains = start(data, n_chains=N_CHAINS, seed=seed, **settings)
        self.seconds = time.process_time() - started

    @property
    def n_iterations(self) -> int:
        """Sweeps of each chain."""
        return self._chains.n_sweeps

    def advance(self, n_iterations: int) -> None:
        """Make sweeps; the warm-up is made at once, before the first of them."""
        started = time.process_time()
        if self._chains.n_sweeps == 0:
            self._chains = self._chains.warm_up(WARM_UP)
        thin = self._chains.at.sample.thin
        self._chains = self._chains.extend(-(-n_iterations // thin) * thin).forget()
        self.seconds += time.process_time() - started

    def f(self, part: float = LATE_PART) -> Floats:
        """Return f at the judged rows, (chains, draws, rows)."""
        f = self._chains.posterior().f
        n_last = int(part * self.n_iterations / self._chains.at.sample.thin)
        return f[:, -n_last:, spread_indices(f.shape[2], self._n_rows)]

    def quantiles(self) -> Floats:
        """Return quantiles of a new observation at LEVELS, (m, 100), from draws of the mixture that users see."""
        shown = thinned(self._chains.posterior(), N_SHOWN)
        y = observations_at(shown, self._X_new, N_OBSERVED, np.random.default_rng(self.n_iterations))
        return np.asarray(np.quantile(y, LEVELS, axis=0).T)


def mixing_by_part(posterior: Posterior) -> dict[str, Mixing]:
    """Return how well the relevances, the sharpness, the other parameters and f mixed, where they are inferred."""
    first_words = [name.split()[0] for name in posterior.names]
    parts = np.array([word if word in ("relevance", "sharpness", "f") else "parameters" for word in first_words])
    found = posterior.convergence()
    return {
        str(part): judge_mixing(Convergence(found.rhat[parts == part], found.ess[parts == part]))
        for part in np.unique(parts)
    }


def published(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> Forecast:
    """Run one chain of Algorithm 1 at a given or cross-validated (alpha, nu), in the units of the data.

    Parameters
    ----------
    X, y, X_new : ndarray
    seed : int
    **settings : Any
        `alphas`, `nus` and `n_folds` as for the jump engine; `iterations` and `burn_in` of the sampler;
        `search_iterations` per fit of the search, or `search_sweeps` to search with the jump engine, which has the
        same posterior and can afford it where a sweep of the published sampler is slow.
    """
    if "search_iterations" in settings:
        pair = _choose_by_published(X, y, seed, settings)
    else:
        pair = _choose_by_jumps(X, y, seed, {"standardize": False} | settings)
    iterations, burn_in = settings["iterations"], settings["burn_in"]
    f, sigma2 = run_published(X, y, X_new, seed, iterations=iterations, burn_in=burn_in, **pair)
    forecast = from_draws(f[None], np.sqrt(sigma2)[None], np.random.default_rng([seed, 2]))
    info = pair | {"sigma": float(np.sqrt(np.median(sigma2)))}
    return replace(forecast, n_iterations=iterations, info=info)


def run_published(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> tuple[Floats, Floats]:
    """Return draws of f at the new rows, (draws, m), and of sigma2, (draws,), from the published sampler."""
    rng = np.random.default_rng([seed, 3])
    draws = posterior_predictive(X, y, X_new, sampler="metropolis", random_state=rng, progress=False, **settings)
    return draws.f_new, draws.sigma2


# --- Cross-validation over a grid of (alpha, nu), as in the paper ----------------------------------------


def choose(
    predict: Predict, X: Floats, y: Floats, alphas: Sequence[float], nus: Sequence[float], n_folds: int, seed: int
) -> dict[str, float]:
    """Return the pair with the smallest absolute error over shuffled folds; a grid of one pair needs no fit.

    Parameters
    ----------
    predict : Callable
        (X, y, X_new, alpha, nu) -> point predictions at X_new.
    X, y : ndarray
        Training data.
    alphas, nus : sequence of float
    n_folds, seed : int

    Returns
    -------
    dict
        `alpha` and `nu`.
    """
    pairs = list(product(alphas, nus))
    if len(pairs) == 1:
        return dict(zip(("alpha", "nu"), pairs[0], strict=True))
    fold = np.random.default_rng([seed, 7]).permutation(np.arange(len(y)) % n_folds)

    def error(pair: tuple[float, float]) -> float:
        return float(np.mean([_fold_error(predict, X, y, fold == k, pair) for k in range(n_folds)]))

    best = pairs[int(np.argmin([error(pair) for pair in pairs]))]
    return dict(zip(("alpha", "nu"), best, strict=True))


def _fold_error(
    predict: Predict, X: Floats, y: Floats, held_out: NDArray[np.bool_], pair: tuple[float, float]
) -> float:
    point = predict(X[~held_out], y[~held_out], X[held_out], *pair)
    return float(np.abs(point - y[held_out]).mean())


def _choose_by_jumps(X: Floats, y: Floats, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    """Choose with the jump engine; without a grid there is nothing to choose."""
    if "alphas" not in settings:
        return {}

    def predict(X: Floats, y: Floats, X_new: Floats, alpha: float, nu: float) -> Floats:
        n_sweeps, standardize = settings["search_sweeps"], settings.get("standardize", True)
        model = fit(X, y, seed, alpha=alpha, nu=nu, n_chains=1, n_sweeps=n_sweeps, standardize=standardize)
        return model.predict(X_new)

    return choose(predict, X, y, settings["alphas"], settings["nus"], settings["n_folds"], seed)


def _choose_by_published(X: Floats, y: Floats, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    n = settings["search_iterations"]

    def predict(X: Floats, y: Floats, X_new: Floats, alpha: float, nu: float) -> Floats:
        f, _ = run_published(X, y, X_new, seed, alpha=alpha, nu=nu, iterations=n, burn_in=n // 3)
        return np.asarray(np.median(f, axis=0))

    return choose(predict, X, y, settings["alphas"], settings["nus"], settings["n_folds"], seed)
