"""Bayesian projection pursuit by pyBayesPPR: a sum of ridge functions, each of its own oblique direction."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from studies.forecasts import Forecast, from_draws, scale
from studies.methods.limited import N_CHAINS, affordable
from studies.problems import Floats
from widestable.diagnostics import LEAST_DRAWS

# The library's own numbers: iterations to drop and to keep.
N_BURN, N_POST = 9000, 1000
TRIALS = (50, 250)
# Ridge functions are added as a chain goes on, so later iterations take longer than those of the trial.
SLOWER = 1.5


def bayes_ppr(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Run four chains of the library's 9000 + 1000 iterations, or fewer in this proportion if out of time."""
    import pyBayesPPR

    data = scale(X, y, X_new)
    np.random.seed(seed)  # noqa: NPY002, where the library looks for random numbers

    def chain(n: int) -> Any:
        n_post = max(LEAST_DRAWS, n // 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # at few rows, about a default that the library then changes
            return pyBayesPPR.bppr(data.X, data.y, n_burn=max(n - n_post, 1), n_post=n_post, silent=True)

    n = affordable(chain, TRIALS, int(SLOWER * N_CHAINS * (N_BURN + N_POST)), limit)
    chains = [chain(int(n / (SLOWER * N_CHAINS))) for _ in range(N_CHAINS)]
    f = np.array([np.asarray(model.predict(data.X_new)) for model in chains])
    noise_sd = np.sqrt(np.array([np.ravel(model.samples.s2) for model in chains]))
    forecast = from_draws(f, noise_sd, np.random.default_rng(seed))
    return data.undo(replace(forecast, n_iterations=int(n / SLOWER)))
