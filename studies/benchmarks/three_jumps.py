"""Coverage and error over many data sets of the demo, three jumps, beside Gaussian processes by maximum likelihood."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widestable import StableRegressor
from widestable.cli.demo import Score, judge, run_gp, run_ours, simulate

SMOOTHNESS = (1.5, 2.5)


def run_one(seed: int, n_jobs: int = 1) -> tuple[list[Score], bool]:
    """Return scores of ours and of two Gaussian processes on one data set, and whether our chains converged."""
    example = simulate(np.random.default_rng(seed))
    model = StableRegressor(random_state=seed, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is returned
        outcomes = [run_ours(example, model)]
    outcomes += [run_gp(example, s)._replace(name=f"Gaussian process, Matérn {s}") for s in SMOOTHNESS]
    return [judge(example, outcome) for outcome in outcomes], bool(model.posterior_.converged)


def three_jumps(n_sets: int = 50, n_jobs: int = 1) -> None:
    """Print averages over the data sets."""
    results = [run_one(seed, n_jobs) for seed in range(n_sets)]
    for scores in zip(*(scores for scores, _ in results), strict=True):
        numbers = np.array([score[1:] for score in scores])
        mean, error = numbers.mean(axis=0), numbers.std(axis=0) / np.sqrt(n_sets)
        print(f"{scores[0].name:30} MAE {mean[0]:.4f}  CRPS {mean[1]:.4f}  ", end="")
        print(f"coverage of 90% intervals {mean[2]:.3f} (standard error {error[2]:.3f})  {mean[3]:.1f} s")
    print(f"converged: {sum(converged for _, converged in results)} of {n_sets}")
