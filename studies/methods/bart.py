"""BART: Bayesian additive regression trees, by stochtree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from studies.forecasts import Floats, Forecast, from_draws, scale

N_GROWN = 10


def bart(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_chains: int, n_warm: int, n_keep: int) -> Forecast:
    """stochtree's defaults (200 trees), chains started from grown forests; the point is the posterior median of f."""
    from stochtree import BARTModel

    data = scale(X, y, X_new)
    model = BARTModel()
    model.sample(
        X_train=data.X,
        y_train=data.y,
        X_test=data.X_new,
        num_gfr=N_GROWN,
        num_burnin=n_warm,
        num_mcmc=n_keep,
        general_params={"num_chains": n_chains, "num_threads": 1, "random_seed": seed},
    )
    f = np.asarray(model.y_hat_test).T.reshape(n_chains, n_keep, -1)
    noise_sd = np.sqrt(np.asarray(model.global_var_samples)).reshape(n_chains, n_keep)
    forecast = from_draws(f, noise_sd, np.random.default_rng(seed))
    return data.undo(replace(forecast, n_iterations=n_chains * (N_GROWN + n_warm + n_keep)))
