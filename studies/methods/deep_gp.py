"""A deep Gaussian process of two layers by dgpsi, trained by stochastic imputation."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import Any

import numpy as np

from studies.forecasts import Forecast, Mixture, from_observations, scale
from studies.methods.limited import SHARE
from studies.problems import Floats

# The library's own numbers: iterations of training, and imputations to predict from.
N_TRAIN, N_IMPUTED = 500, 10
STRETCH = 10
# Of the limit; the rest is for the imputations.
TRAINING = 0.7
N_DRAWS = 200


def deep_gp(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Train two layers of Matérn 5/2 processes, as many hidden ones as inputs, the last one with the inputs as well.

    500 iterations of training if time allows. The forecast is the mixture of ten imputed networks, noise included.
    """
    _compile()
    started = time.process_time()
    data = scale(X, y, X_new)
    model = _start(data.X, data.y, seed)
    n = 0
    while n < N_TRAIN and time.process_time() - started < TRAINING * SHARE * limit:
        model.train(N=STRETCH, disable=True)
        n += STRETCH
    mean, variance = _predict(model, data.X_new)
    info = {"fit_seconds": time.process_time() - started, "n_train": n}
    mixture = Mixture(mean, np.sqrt(variance), np.full(len(mean), 1.0 / len(mean)))
    noise = np.random.default_rng(seed).standard_normal((N_DRAWS, *mean.shape))
    y_draws = (mixture.mean + mixture.sd * noise).reshape(-1, len(X_new))
    forecast = from_observations(y_draws, np.median(mean, axis=0))
    return data.undo(replace(forecast, n_iterations=n, info=info, mixture=mixture))


def _start(X: Floats, y: Floats, seed: int) -> Any:
    import dgpsi

    np.random.seed(seed)  # noqa: NPY002, where the library looks for random numbers
    dgpsi.nb_seed(seed)
    d = X.shape[1]
    hidden = [dgpsi.kernel(length=np.ones(1), name="matern2.5") for _ in range(d)]
    how = {"scale_est": True, "nugget": 0.1, "nugget_est": True, "connect": np.arange(d)}
    return dgpsi.dgp(X, y[:, None], dgpsi.combine(hidden, [dgpsi.kernel(np.ones(1), name="matern2.5", **how)]))


def _predict(model: Any, X_new: Floats) -> tuple[Floats, Floats]:
    """Return means and variances of a new observation from each imputation, both (imputations, m)."""
    import dgpsi

    parts = dgpsi.emulator(model.estimate(), N=N_IMPUTED).predict(X_new, aggregation=False)
    mean, variance = (np.array([np.ravel(part) for part in found]) for found in parts)
    return mean, variance


@functools.cache
def _compile() -> None:
    """Compile the library, once per process: this is not what is timed."""
    x = np.linspace(-1.0, 1.0, 8)[:, None]
    model = _start(x, x[:, 0] ** 2, 0)
    model.train(N=2, disable=True)
    _predict(model, x)
