"""Examples on which all engines must give the same posterior, and the check that two of them do.

Another engine joins by giving its draws as `Draws` for the same examples:

    check_agreement(posterior_draws("quadrants", "gibbs"), draws_of_other_engine, bias=0.02)
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from scipy.stats import norm

from tests.checks import check_p_value
from tests.exact.twins import grid
from widestable.exact import build_partition, posterior_predictive

SIGMA = 0.5


class Example(NamedTuple):
    """Data in raw units with the alpha and nu to hold fixed."""

    X: np.ndarray
    y: np.ndarray
    alpha: float
    nu: float = 1.0


class Draws(NamedTuple):
    """Posterior draws of a few chains."""

    f: np.ndarray  # (chains, draws, n) at the training rows
    sigma2: np.ndarray  # (chains, draws)


def three_jumps() -> Example:
    """The paper's first 1-D example."""
    x = np.linspace(-2.0, 2.0, 40)
    truth = 5.0 * (x >= 1.0) + 5.0 * ((x >= -1.0) & (x < 0.0))
    return Example(x[:, None], truth + _noise(40), alpha=1.1)


def quadrants() -> Example:
    """The paper's first 2-D example."""
    X = grid(7, 7)
    return Example(X, 5.0 * (X[:, 0] > 0.0) + 5.0 * (X[:, 1] > 0.0) + _noise(49), alpha=1.1)


def space() -> Example:
    """25 rows in three dimensions and one oblique jump; q is a Monte Carlo estimate here."""
    X = np.random.default_rng(1).standard_normal((25, 3))
    return Example(X, 5.0 * (X @ [0.8, -0.6, 0.0] > 0.2) + _noise(25), alpha=1.1)


EXAMPLES = {"three_jumps": three_jumps, "quadrants": quadrants, "space": space}


def _noise(n: int) -> np.ndarray:
    return SIGMA * np.random.default_rng(2024).standard_normal(n)


@cache
def posterior_draws(
    name: str, sampler: str, iterations: int = 2000, burn_in: int = 400, n_chains: int = 2, nu: float | None = None
) -> Draws:
    """Draws of the exact samplers on one of the examples; the same call runs once a session."""
    X, y, alpha, default_nu = EXAMPLES[name]()
    partition = build_partition(X)
    chains = [
        posterior_predictive(
            X,
            y,
            alpha=alpha,
            nu=default_nu if nu is None else nu,
            sampler=sampler,
            iterations=iterations,
            burn_in=burn_in,
            partition=partition,
            random_state=np.random.default_rng([chain, len(sampler)]),
        )
        for chain in range(n_chains)
    ]
    return Draws(np.stack([chain.f_train for chain in chains]), np.stack([chain.sigma2 for chain in chains]))


def check_agreement(one: Draws, other: Draws, bias: float = 0.0) -> None:
    """Means and quantiles of f and log sigma2 agree within Monte Carlo error plus `bias`.

    Each pair of means, and of probabilities to lie below a pooled quantile, is compared by a z-test whose
    standard error comes from the effective sample sizes. `bias`, in posterior standard deviations for means and
    in probability for quantiles, is what an approximate engine is allowed on top.
    """
    a, b = (np.concatenate([draws.f, np.log(draws.sigma2)[..., None]], axis=2) for draws in (one, other))
    pooled = np.concatenate([x.reshape(-1, x.shape[2]) for x in (a, b)])
    centre, scale = np.median(pooled, axis=0), pooled.std(axis=0)
    z = [_differences((a - centre) / scale, (b - centre) / scale, bias)]
    z += [_differences(a < cut, b < cut, bias) for cut in np.quantile(pooled, (0.1, 0.5, 0.9), axis=0)]
    worst = float(np.max(z))
    check_p_value(2.0 * norm.sf(worst), f"posteriors differ by {worst:.1f} Monte Carlo errors", np.size(z))


def _differences(a: np.ndarray, b: np.ndarray, bias: float) -> np.ndarray:
    """Absolute z-scores of the difference in means of each column, less the bias."""
    mean_a, error_a = mean_and_error(a)
    mean_b, error_b = mean_and_error(b)
    return np.maximum(np.abs(mean_a - mean_b) - bias, 0.0) / np.hypot(error_a, error_b)


def mean_and_error(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over chains and draws, shape (k,) from (chains, draws, k), and their Monte Carlo errors."""
    x = np.asarray(x, dtype=float)
    ess = array_stats.ess(x, chain_axis=0, draw_axis=1, method="mean")
    return x.mean(axis=(0, 1)), x.std(axis=(0, 1)) / np.sqrt(ess)
