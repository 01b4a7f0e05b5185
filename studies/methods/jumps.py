"""Stable, jump engine: StableRegressor with (alpha, nu) given, cross-validated or inferred."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from studies.forecasts import Floats, Forecast, from_draws
from studies.methods.choice import choose
from widestable.posterior import Posterior
from widestable.predict import mixture
from widestable.regressor import StableRegressor

# Settings of a search that are not settings of a fit.
SEARCH = ("alphas", "nus", "n_folds", "search_sweeps")


def jumps(X: Floats, y: Floats, X_new: Floats, seed: int, **settings: Any) -> Forecast:
    """The jump engine; the point prediction is the posterior median of f.

    Parameters
    ----------
    settings : of StableRegressor. With `alphas` and `nus`, lists, (alpha, nu) is the pair with the smallest absolute
        error in `n_folds` folds of the training rows, each fitted by one chain of `search_sweeps` sweeps.
    """
    fixed: dict[str, Any] = {name: value for name, value in settings.items() if name not in SEARCH}
    fixed |= choose_by_jumps(X, y, seed, settings)
    model = fit(X, y, seed, **fixed)
    posterior = model.posterior_
    f = draws_at(posterior, X_new, np.random.default_rng([seed, 1]))
    forecast = from_draws(f, np.sqrt(posterior.sigma2), np.random.default_rng([seed, 2]))
    info = {"alpha": model.alpha_, "nu": model.nu_, "sigma": model.sigma_, "sharpness": model.sharpness_}
    found = posterior.convergence()
    info |= {"rhat_train": float(found.rhat.max()), "ess_train": float(found.ess.min())}
    n_iterations = len(posterior.chains) * posterior.n_sweeps
    return replace(forecast, point=model.predict(X_new), n_iterations=n_iterations, info=info)


def choose_by_jumps(X: Floats, y: Floats, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    """The cross-validated pair (alpha, nu) as keyword arguments; nothing when there is no grid."""
    if "alphas" not in settings:
        return {}

    def predict(X: Floats, y: Floats, X_new: Floats, alpha: float, nu: float) -> Floats:
        n_sweeps, standardize = settings["search_sweeps"], settings.get("standardize", True)
        model = fit(X, y, seed, alpha=alpha, nu=nu, n_chains=1, n_sweeps=n_sweeps, standardize=standardize)
        return model.predict(X_new)

    return choose(predict, X, y, settings["alphas"], settings["nus"], settings["n_folds"], seed)


def fit(X: Floats, y: Floats, seed: int, **settings: Any) -> StableRegressor:
    """A fitted regressor on one thread, without warnings: whether chains converged is part of the report."""
    if "sharpness" in settings and settings["sharpness"] == "inf":
        settings["sharpness"] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return StableRegressor(random_state=seed, n_jobs=1, progress=False, **settings).fit(X, y)


def draws_at(posterior: Posterior, X_new: Floats, rng: np.random.Generator) -> Floats:
    """f at each new row, in the order of the chains, shape (chains, draws, m); rows are not drawn jointly."""
    rows = posterior.check_rows(X_new)
    largest = float(np.abs(posterior.data.y).max())
    source = mixture.prepare(posterior.model, posterior.chains, largest)
    mean, sd = mixture.components(source, rows, False)
    f = mean + sd * rng.standard_normal(sd.shape)
    scaling = posterior.data.scaling
    return np.asarray(scaling.y_mean + scaling.y_scale * f.T).reshape(*posterior.sigma2.shape, len(rows))
