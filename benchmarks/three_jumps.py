"""Coverage and error on simulated three-jump data, beside Gaussian-process regression by maximum likelihood.

python -m benchmarks.three_jumps [number of data sets, 50 by default]
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from widestable import StableRegressor

NOISE_SD = 0.5
SMOOTHNESS = (1.5, 2.5)


class Result(NamedTuple):
    """Figures of one data set: errors are to the noise-free truth."""

    mae: float
    coverage: float
    converged: bool
    seconds: float
    gp_mae: dict[float, float]


def truth(x: np.ndarray) -> np.ndarray:
    """Three jumps of size 5."""
    return 5.0 * (x >= 1.0) + 5.0 * ((x >= -1.0) & (x < 0.0))


def gp_median(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, smoothness: float) -> np.ndarray:
    """Matérn Gaussian process, amplitude, length and noise by maximum likelihood from 6 starts."""
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * Matern(1.0, (1e-3, 1e3), nu=smoothness) + WhiteKernel(0.1, (1e-6, 1e2))
    gp = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a hyperparameter on its bound
        return gp.fit(X, y).predict(X_new)


def run_one(seed: int, **parameters: object) -> Result:
    """Simulate, fit, score."""
    rng = np.random.default_rng(seed)
    x, x_new = np.linspace(-2.0, 2.0, 40), np.linspace(-2.0, 2.0, 100)
    y = truth(x) + NOISE_SD * rng.standard_normal(x.size)
    y_new = truth(x_new) + NOISE_SD * rng.standard_normal(x_new.size)
    X, X_new = x[:, None], x_new[:, None]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted below
        model = StableRegressor(random_state=seed, **parameters).fit(X, y)
    low, high = model.predict_interval(X_new, 0.9).T
    mae = np.abs(model.predict(X_new) - truth(x_new)).mean()
    seconds = time.perf_counter() - started
    gp_mae = {s: float(np.abs(gp_median(X, y, X_new, s) - truth(x_new)).mean()) for s in SMOOTHNESS}
    inside = (low <= y_new) & (y_new <= high)
    return Result(float(mae), float(inside.mean()), bool(model.posterior_.converged), seconds, gp_mae)


def main(n_sets: int = 50) -> None:
    """Print one line a data set and the averages."""
    results = []
    for seed in range(n_sets):
        results.append(run_one(seed))
        print(seed, results[-1], flush=True)
    mae, coverage = np.mean([r.mae for r in results]), np.mean([r.coverage for r in results])
    error = np.std([r.coverage for r in results]) / np.sqrt(n_sets)
    print(f"90% intervals of new observations cover {coverage:.3f} (standard error {error:.3f})")
    print(f"MAE to the truth {mae:.4f}, converged {sum(r.converged for r in results)} of {n_sets}")
    for s in SMOOTHNESS:
        gp = np.mean([r.gp_mae[s] for r in results])
        print(f"Gaussian process, Matérn {s}: MAE {gp:.4f}, ratio {mae / gp:.3f}")
    print(f"seconds a fit, with predictions: {np.mean([r.seconds for r in results]):.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
