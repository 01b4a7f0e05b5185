"""GP ML: a Gaussian process with Gaussian kernel by maximum likelihood (the paper's GP MLE)."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from studies.forecasts import Floats, Forecast, from_normal, scale


def gp_ml(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_restarts: int) -> Forecast:
    """Kriging: `exp(-sum_j (x_j - x'_j)**2 / (2 l_j**2))` times an amplitude, plus noise, all by maximum likelihood.

    One length scale an input, several starts. The point prediction is the kriging mean.
    """
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    data = scale(X, y, X_new)
    gaussian = RBF(np.ones(X.shape[1]), (1e-3, 1e3))
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * gaussian + WhiteKernel(0.1, (1e-6, 1e2))
    gp = GaussianProcessRegressor(kernel, n_restarts_optimizer=n_restarts, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter on its bound is no news here
        gp.fit(data.X, data.y)
    mean, sd = gp.predict(data.X_new, return_std=True)  # the white kernel puts the noise into this s.d.
    return data.undo(from_normal(mean, sd))
