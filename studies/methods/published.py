"""Stable, as published: Algorithm 1 on the exact partition of training and new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from widestable.exact import posterior_predictive
from studies.forecasts import Floats, Forecast, from_draws
from studies.methods.choice import choose
from studies.methods.jumps import choose_by_jumps


def published(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> Forecast:
    """The published sampler at a given or cross-validated (alpha, nu), in the units of the data; one chain.

    Parameters
    ----------
    settings : `alphas`, `nus`, lists, and `n_folds` as for the jump engine; `iterations`, `burn_in` of the sampler;
        `search_iterations` of each fit of the search, or `search_sweeps` to search with the jump engine, which has the
        same posterior and can afford it where a sweep of the published sampler is slow.
    """
    if "search_iterations" in settings:
        pair = _choose(X, y, seed, settings)
    else:
        pair = choose_by_jumps(X, y, seed, {"standardize": False} | settings)
    iterations, burn_in = settings["iterations"], settings["burn_in"]
    f, sigma2 = run(X, y, X_new, seed, iterations=iterations, burn_in=burn_in, **pair)
    forecast = from_draws(f[None], np.sqrt(sigma2)[None], np.random.default_rng([seed, 2]))
    info = pair | {"sigma": float(np.sqrt(np.median(sigma2)))}
    return replace(forecast, n_iterations=iterations, info=info)


def run(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> tuple[Floats, Floats]:
    """Draws of f at the new rows, (draws, m), and of sigma2, (draws,), of the published sampler."""
    rng = np.random.default_rng([seed, 3])
    draws = posterior_predictive(X, y, X_new, sampler="metropolis", rng=rng, progress=False, **settings)
    return draws.f_new, draws.sigma2


def _choose(X: Floats, y: Floats, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    n = settings["search_iterations"]

    def predict(X: Floats, y: Floats, X_new: Floats, alpha: float, nu: float) -> Floats:
        f, _ = run(X, y, X_new, seed, alpha=alpha, nu=nu, iterations=n, burn_in=n // 3)
        return np.asarray(np.median(f, axis=0))

    return choose(predict, X, y, settings["alphas"], settings["nus"], settings["n_folds"], seed)
