"""Cross-validation over a grid of (alpha, nu), as in the paper: mean absolute error of the posterior median."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from studies.forecasts import Floats

# (X, y, X_new, alpha, nu) -> point predictions.
Predict = Callable[[Floats, Floats, Floats, float, float], Floats]


def choose(
    predict: Predict, X: Floats, y: Floats, alphas: Sequence[float], nus: Sequence[float], n_folds: int, seed: int
) -> dict[str, float]:
    """The pair with the smallest error over shuffled folds; a grid of one pair needs no fit."""
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
