"""Boosted trees for quantiles by scikit-learn, with trees and number of iterations chosen by cross-validation."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from studies.forecasts import ENDS, LEVELS, Forecast, scale
from studies.problems import Floats

# Quantiles that are fitted; those between are interpolated, and the outermost are repeated beyond them.
FITTED = np.array([0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99])
# Quantiles that stand for them in the search.
SEARCHED = (0.1, 0.5, 0.9)
LEAF_SIZES, N_LEAVES = (20, 5, 2), (4, 16)
N_FOLDS, MAX_ITERATIONS, STEP = 5, 200, 0.1
# Of the limit; the search takes the smaller trees first, and ends there.
SEARCHING = 0.6


def boosting(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Boost the pinball loss of 17 quantiles; leaf size, leaves per tree and iterations by five-fold cross-validation.

    The choice has the smallest pinball loss over the quantiles 0.1, 0.5 and 0.9. Quantiles that cross are sorted.
    """
    started = time.process_time()
    data = scale(X, y, X_new)
    best: tuple[float, dict[str, Any]] | None = None
    for size, leaves in product(LEAF_SIZES, N_LEAVES):
        if best is not None and time.process_time() - started > SEARCHING * limit:
            break
        settings = {"min_samples_leaf": size, "max_leaf_nodes": leaves, "random_state": seed}
        loss, n_iterations = _search(data.X, data.y, settings, seed)
        if best is None or loss < best[0]:
            best = loss, settings | {"max_iter": n_iterations}
    assert best is not None
    found = np.array([_model(level, best[1]).fit(data.X, data.y).predict(data.X_new) for level in FITTED])
    found = np.sort(found, axis=0)
    wanted = np.concatenate([LEVELS, ENDS, [0.5]])
    quantiles = np.array([np.interp(wanted, FITTED, column) for column in found.T])
    split = LEVELS.size
    forecast = Forecast(quantiles[:, -1], quantiles[:, :split], quantiles[:, split:-1])
    info = {name: best[1][name] for name in ("min_samples_leaf", "max_leaf_nodes", "max_iter")}
    return data.undo(replace(forecast, n_iterations=best[1]["max_iter"], info=info))


def _model(level: float, settings: dict[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    common = {"loss": "quantile", "learning_rate": STEP, "early_stopping": False}
    return HistGradientBoostingRegressor(quantile=level, **common, **settings)


def _search(X: Floats, y: Floats, settings: dict[str, Any], seed: int) -> tuple[float, int]:
    """Return the smallest pinball loss over numbers of iterations in five folds, and that number."""
    losses = np.zeros(MAX_ITERATIONS)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=seed).split(X):
        for level in SEARCHED:
            model = _model(level, settings | {"max_iter": MAX_ITERATIONS}).fit(X[train], y[train])
            error = y[test] - np.array(list(model.staged_predict(X[test])))
            losses[: len(error)] += np.sum(error * (level - (error < 0.0)), axis=1)
    best = int(np.argmin(losses))
    return float(losses[best]), best + 1
