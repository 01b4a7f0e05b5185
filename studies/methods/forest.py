"""Random forest; its intervals come from out-of-bag residuals."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from studies.forecasts import Floats, Forecast, from_observations, scale

LEAF_SIZES = (1, 2, 5, 10)


def forest(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_trees: int) -> Forecast:
    """The mean of the trees, plus the residuals of training rows predicted by the trees that have not seen them.

    The spread of the trees alone would leave out the noise, and the outputs in the leaves (quantile forests) cover too
    little at 40 rows. The size of leaves is the one with the smallest out-of-bag absolute error.
    """
    from sklearn.ensemble import RandomForestRegressor

    data = scale(X, y, X_new)
    settings = {"n_estimators": n_trees, "random_state": seed, "bootstrap": True, "oob_score": True, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few trees may have seen every row
        models = [RandomForestRegressor(min_samples_leaf=size, **settings).fit(data.X, data.y) for size in LEAF_SIZES]
    residuals = [data.y - model.oob_prediction_ for model in models]
    best = int(np.argmin([np.abs(residual).mean() for residual in residuals]))
    point = models[best].predict(data.X_new)
    forecast = from_observations(point + residuals[best][:, None], point)
    return data.undo(replace(forecast, n_iterations=n_trees, info={"leaf_size": LEAF_SIZES[best]}))
