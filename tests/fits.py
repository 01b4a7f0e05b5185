"""Small fitted models that several tests share, and slow, obvious twins of predictions."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning

from widestable import Posterior, StableRegressor
from widestable.network import arcsine_kernel, unit_patterns
from widestable.parameters import PAPER
from widestable.stable import log_remainder


def fit(X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None, **parameters: object) -> StableRegressor:
    """A short run of the paper's model, unless told otherwise. It has not converged, so its warning is muted."""
    model = StableRegressor(**(PAPER | {"n_chains": 2, "n_sweeps": 60, "random_state": 0} | parameters))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight)


def line_data() -> tuple[np.ndarray, np.ndarray]:
    """A jump of 5 at zero, one row repeated with another output, far from zero in both axes."""
    rng = np.random.default_rng(0)
    x = np.append(np.linspace(-2.0, 2.0, 14), -2.0)
    return 100.0 + x[:, None], 30.0 + 5.0 * (x > 0.0) + 0.3 * rng.standard_normal(x.size)


@cache
def line() -> StableRegressor:
    return fit(*line_data())


@cache
def plane() -> StableRegressor:
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((16, 2)), rng.integers(1, 4, size=16), axis=0)
    y = 3.0 * (X @ [1.0, -0.5] > 0.1) + 0.2 * rng.standard_normal(len(X))
    return fit(X, y, rng.uniform(0.5, 1.5, size=len(X)), n_atoms=12)


@cache
def smooth() -> StableRegressor:
    """Smooth units whose sharpness differs from draw to draw."""
    rng = np.random.default_rng(2)
    X = np.repeat(rng.standard_normal((14, 2)), 2, axis=0)[1:]
    return fit(X, np.sin(X[:, 0]) + 3.0 * (X[:, 1] > 0.2) + 0.2 * rng.standard_normal(len(X)), sharpness=None)


@cache
def relevant_steps() -> StableRegressor:
    """Sign units whose relevance differs from draw to draw, as by default."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.standard_normal((14, 2)), 2, axis=0)[1:]
    return fit(X, 3.0 * (X @ [1.0, -0.5] > 0.1) + 0.2 * rng.standard_normal(len(X)), relevance=None)


@cache
def relevant() -> StableRegressor:
    """Smooth units whose relevance and sharpness differ from draw to draw."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.standard_normal((14, 2)), 2, axis=0)[1:]
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(len(X))
    return fit(X, y, sharpness=None, relevance=None)


def slow_components(posterior: Posterior, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of f at scaled rows X given each draw: condition a Gaussian process on y minus the atoms."""
    data = posterior.data
    means, variances = [], []
    for draws in posterior.chains:
        first = np.concatenate([[0], np.cumsum(draws.n_atoms)])
        for i in range(len(draws)):
            h, size = draws.h[first[i] : first[i + 1]], draws.size[first[i] : first[i + 1]]
            g = np.exp(log_remainder(draws.alpha[i], draws.log_nu[i], posterior.model.n_atoms))
            noise = np.diag(np.exp(draws.log_sigma2[i]) / data.weight)
            sharpness, relevance = draws.sharpness[i], draws.relevance[i]
            new, rows = X * relevance, data.X * relevance
            k = g * arcsine_kernel(new, rows, sharpness)
            solved = np.linalg.solve(g * arcsine_kernel(rows, sharpness=sharpness) + noise, k.T)
            at_new, at_rows = (unit_patterns(h, places, sharpness) for places in (X, data.X))
            means.append(size @ at_new + solved.T @ (data.y - size @ at_rows))
            self = g * np.diag(arcsine_kernel(new, sharpness=sharpness))
            variances.append(self - np.sum(k * solved.T, axis=1))
    return np.array(means).T, np.array(variances).T


def slow_quantile(mean: np.ndarray, sd: np.ndarray, q: float) -> float:
    """Quantile of an equal mixture of normals by a root finder."""
    ends = (mean - 40.0 * sd).min(), (mean + 40.0 * sd).max()
    return optimize.brentq(lambda x: stats.norm.cdf(x, mean, sd).mean() - q, *ends, xtol=1e-14, rtol=1e-14)
