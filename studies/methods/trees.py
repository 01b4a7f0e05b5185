"""Methods made of trees: BART by stochtree, and a random forest."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from studies.forecasts import Forecast, from_draws, from_observations, scale
from studies.problems import Floats

N_GROWN = 10
LEAF_SIZES = (1, 2, 5, 10)


def bart(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_chains: int, n_warm: int, n_keep: int) -> Forecast:
    """Run BART with stochtree's defaults (200 trees); the point prediction is the posterior median of f."""
    data = scale(X, y, X_new)
    model = sample_bart(data.X, data.y, data.X_new, seed, n_chains=n_chains, n_warm=n_warm, n_keep=n_keep)
    f = bart_draws(model, n_chains, n_keep)
    noise_sd = np.sqrt(np.asarray(model.global_var_samples)).reshape(n_chains, n_keep)
    forecast = from_draws(f, noise_sd, np.random.default_rng(seed))
    return data.undo(replace(forecast, n_iterations=n_chains * (N_GROWN + n_warm + n_keep)))


def sample_bart(
    X: Floats, y: Floats, X_new: Floats | None, seed: int, *, n_chains: int, n_warm: int, n_keep: int, thin: int = 1
) -> Any:
    """Return a stochtree model after sampling on one thread; chains start from grown forests.

    Parameters
    ----------
    X, y, X_new : ndarray
        Data in the units that the trees should see; no new rows if None.
    seed : int
    n_chains, n_warm, n_keep, thin : int
        Chains, draws of each to drop and to keep, and iterations per draw that is kept.
    """
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=X,
        y_train=y,
        X_test=X_new,
        num_gfr=N_GROWN,
        num_burnin=n_warm,
        num_mcmc=n_keep,
        general_params={"num_chains": n_chains, "num_threads": 1, "random_seed": seed, "keep_every": thin},
    )
    return model


def bart_draws(model: Any, n_chains: int, n_keep: int) -> Floats:
    """Return draws of f at the new rows of `sample_bart`, shape (chains, draws, m)."""
    return np.asarray(model.y_hat_test).T.reshape(n_chains, n_keep, -1)


def forest(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_trees: int) -> Forecast:
    """Average the trees, and add the residuals of training rows under the trees that have not seen them.

    The spread of the trees alone would leave out the noise, and the outputs in the leaves (quantile forests) cover too
    little at 40 rows. The leaf size is the one with the smallest out-of-bag absolute error.
    """
    from sklearn.ensemble import RandomForestRegressor

    data = scale(X, y, X_new)
    settings = {"n_estimators": n_trees, "random_state": seed, "bootstrap": True, "oob_score": True, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # with few trees, some rows are in every bag
        models = [RandomForestRegressor(min_samples_leaf=size, **settings).fit(data.X, data.y) for size in LEAF_SIZES]
    residuals = [data.y - model.oob_prediction_ for model in models]
    best = int(np.argmin([np.abs(residual).mean() for residual in residuals]))
    point = models[best].predict(data.X_new)
    forecast = from_observations(point + residuals[best][:, None], point)
    return data.undo(replace(forecast, n_iterations=n_trees, info={"leaf_size": LEAF_SIZES[best]}))
