"""Checks of distributions that all tests share, with every threshold in one place.

A check raises AssertionError when its p-value falls below `P_VALUE` (seeds are fixed, so a failure is a
change of the code, not bad luck); checks that look at several things at once share that p-value among them.
Each one is itself tested, in test_checks.py, to fail on a slightly wrong target.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import stats

# Probability that a correct program fails one check.
P_VALUE = 1e-4
# Relative error allowed to quadratures, and to closed forms that differ by rounding only.
QUADRATURE = 1e-8
ROUNDING = 1e-12


def check_p_value(p_value: float, what: str, n_looks: int = 1) -> None:
    """One p-value out of `n_looks`."""
    limit = P_VALUE / n_looks
    assert p_value >= limit, f"{what}: p-value {p_value:.2g} is below {limit:.2g}"


def check_mean(draws: np.ndarray, target: np.ndarray | float) -> None:
    """The mean over the first axis is `target`: z-tests with the Monte Carlo standard error.

    Draws need a finite variance: bound them first (a cosine, an indicator) where tails are heavy.
    """
    draws = np.asarray(draws, dtype=float).reshape(len(draws), -1)
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    z = (draws.mean(axis=0) - np.ravel(target)) / np.maximum(error, np.finfo(float).tiny)
    p_values = 2.0 * stats.norm.sf(np.abs(z))
    worst = int(p_values.argmin())
    check_p_value(p_values[worst], f"mean of column {worst} is {z[worst]:.1f} standard errors off", z.size)


def check_cdf(draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> None:
    """Independent draws follow `cdf` (Kolmogorov-Smirnov)."""
    check_p_value(stats.kstest(draws, cdf).pvalue, "draws do not follow the distribution function")


def check_frequencies(counts: np.ndarray, probabilities: np.ndarray) -> None:
    """Counts follow `probabilities` (chi-squared)."""
    counts, probabilities = np.asarray(counts), np.asarray(probabilities)
    assert abs(probabilities.sum() - 1.0) < ROUNDING, f"probabilities sum to {probabilities.sum()}"
    p_value = stats.chisquare(counts, counts.sum() * probabilities).pvalue
    check_p_value(p_value, "counts do not follow the probabilities")


def contrasts(n: int) -> np.ndarray:
    """Linear combinations that show the joint law of n values: each value, each increment, sum, curvature."""
    rows = [*np.eye(n)]
    rows += [np.eye(n)[j] - np.eye(n)[i] for i, j in combinations(range(n), 2)]
    rows += [np.ones(n)] if n > 1 else []
    rows += [np.eye(n)[i] - 2.0 * np.eye(n)[i + 1] + np.eye(n)[i + 2] for i in range(n - 2)]
    return np.array(rows)


def check_same_law(first: np.ndarray, second: np.ndarray) -> None:
    """Two samples (m, n) have the same joint law: Kolmogorov-Smirnov on every contrast of the n values.

    Magnitudes are compared too, which doubles what a wrong scale of a symmetric law shows.
    """
    directions = contrasts(first.shape[1])
    for direction in directions:
        one, two = first @ direction, second @ direction
        p_value = min(stats.ks_2samp(one, two).pvalue, stats.ks_2samp(np.abs(one), np.abs(two)).pvalue)
        check_p_value(p_value, f"laws differ along {direction}", 2 * len(directions))


def check_characteristic_function(draws: np.ndarray, function: Callable[[np.ndarray], float]) -> None:
    """Symmetric draws (m, n) have the characteristic function `function(c) = E cos(c . f)`.

    Looks along every contrast, at frequencies where the function is between about 0.9 and 0.1.
    """
    spread = np.median(np.abs(draws))
    frequencies = np.concatenate([scale / spread * contrasts(draws.shape[1]) for scale in (0.3, 1.0)])
    check_mean(np.cos(draws @ frequencies.T), np.array([function(c) for c in frequencies]))
