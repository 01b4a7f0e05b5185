"""Posteriors of both samplers against routes that share no code with them: quadrature and importance sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tests.checks import check_p_value
from tests.exact.agreement import mean_and_error
from widestable.exact import posterior_predictive
from widestable.network import arcsine_kernel
from widestable.stable import draw_log_positive

SAMPLERS = ["metropolis", "gibbs"]


def check_chain(values: np.ndarray, expected: np.ndarray, error: np.ndarray | float = 0.0) -> None:
    """Means of a chain's columns, (draws, k), are as expected, within Monte Carlo error."""
    mean, own = mean_and_error(values[None])
    z = np.abs(mean - expected) / np.hypot(own, error)
    check_p_value(2 * norm.sf(z.max()), f"off by {z.max():.1f} Monte Carlo errors", len(z))


def one_observation(y: float, cuts: np.ndarray, nu: float) -> np.ndarray:
    """P(f < cut | y) and P(log sigma2 < cut | y) at alpha = 1 on a fine grid: f is Cauchy, scale sqrt(nu/2)."""
    log_sigma2 = np.linspace(-25.0, 25.0, 801)[:, None]
    angle = (np.arange(2000) + 0.5) / 2000 * np.pi - np.pi / 2
    f = np.sqrt(nu / 2) * np.tan(angle)  # equal prior probabilities
    sigma2 = np.exp(log_sigma2)
    log_weight = -0.5 * np.log(sigma2) - (y - f) ** 2 / (2 * sigma2) + log_sigma2 - np.log1p(sigma2**2)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    in_f, in_sigma2 = weight.sum(axis=0), weight.sum(axis=1)
    return np.array([in_f[f < cut].sum() for cut in cuts] + [in_sigma2[log_sigma2[:, 0] < cut].sum() for cut in cuts])


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_one_observation_by_quadrature(sampler: str, rng: np.random.Generator) -> None:
    cuts = np.array([-1.0, 0.5, 2.0, 2.9])
    draws = posterior_predictive(
        [[0.4]], [3.0], alpha=1.0, nu=2.0, sampler=sampler, iterations=8000, burn_in=200, random_state=rng
    )
    below = np.concatenate([draws.f_train < cuts, np.log(draws.sigma2)[:, None] < cuts], axis=1)
    check_chain(below, one_observation(3.0, cuts, nu=2.0))
    with pytest.raises(AssertionError):
        check_chain(below, one_observation(3.0, cuts, nu=1.2))


def importance(X: np.ndarray, y: np.ndarray, alpha: float, nu: float, n: int, rng: np.random.Generator):
    """E[f] and E[log sigma2] given y, by weighting prior draws of a one-dimensional partition written out here."""
    angle = np.arctan(np.unique(X))
    q = np.concatenate([[1 - (angle[-1] - angle[0]) / np.pi], np.diff(angle) / np.pi])
    signs = np.array([np.ones(len(y)), *(np.where(np.arctan(X[:, 0]) < cut - 1e-9, -1, 1) for cut in angle[1:])])
    sigma2 = np.abs(rng.standard_cauchy(n))
    v = nu * q ** (2 / alpha) * np.exp(draw_log_positive(alpha, (n, len(q)), rng))
    v = np.minimum(v, 1e12 * sigma2[:, None])  # of no weight, but singular
    K = np.einsum("kl,li,lj->kij", v, signs, signs)
    Q = K + sigma2[:, None, None] * np.eye(len(y))
    solved = np.linalg.solve(Q, y[:, None])[..., 0]
    log_weight = -0.5 * np.linalg.slogdet(Q)[1] - 0.5 * solved @ y
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    values = np.column_stack([np.einsum("kij,kj->ki", K, solved), np.log(sigma2)])
    mean = weight @ values
    return mean, np.sqrt(weight**2 @ (values - mean) ** 2)


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("alpha", [0.6, 1.3])
def test_repeated_and_unsorted_rows_by_importance_sampling(
    sampler: str, alpha: float, rng: np.random.Generator
) -> None:
    X, y = np.array([[0.5], [-1.0], [0.5], [1.5]]), np.array([2.0, -0.5, 2.6, 2.2])
    mean, error = importance(X, y, alpha, 1.5, 200_000, rng)
    draws = posterior_predictive(
        X, y, alpha=alpha, nu=1.5, sampler=sampler, iterations=8000, burn_in=500, random_state=rng
    )
    values = np.column_stack([draws.f_train, np.log(draws.sigma2)])
    check_chain(values, mean, error)
    wrong, error = importance(X, y, alpha, 9.0, 200_000, rng)
    with pytest.raises(AssertionError):
        check_chain(values, wrong, error)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_alpha_two_is_gaussian_process_regression(sampler: str, rng: np.random.Generator) -> None:
    X, X_new = rng.normal(size=(7, 2)), rng.normal(size=(3, 2))
    y = rng.normal(size=7)
    draws = posterior_predictive(
        X, y, X_new, alpha=2.0, nu=1.7, sigma2=0.3, sampler=sampler, iterations=8000, burn_in=0, random_state=rng
    )
    K = 1.7 * arcsine_kernel(np.concatenate([X, X_new]))
    gain = K[:, :7] @ np.linalg.inv(K[:7, :7] + 0.3 * np.eye(7))
    mean, variance = gain @ y, np.diag(K - gain @ K[:7])
    f = np.concatenate([draws.f_train, draws.f_new], axis=1)
    check_chain(np.concatenate([f, (f - mean) ** 2], axis=1), np.concatenate([mean, variance]))
    noise = draws.y_new - draws.f_new
    check_chain(np.concatenate([noise, noise**2], axis=1), np.array([0.0] * 3 + [0.3] * 3))
    assert (draws.sigma2 == 0.3).all()


@pytest.mark.statistical
def test_new_rows_do_not_change_the_posterior(rng: np.random.Generator) -> None:
    """Splitting cells finer leaves the law of f at the training rows alone."""
    x = np.linspace(-1, 1, 8)[:, None]
    y = 3.0 * (x[:, 0] > 0.1) + 0.3 * rng.standard_normal(8)
    settings = {"alpha": 1.2, "nu": 1.0, "sampler": "gibbs", "iterations": 6000, "burn_in": 500, "random_state": rng}
    without = posterior_predictive(x, y, **settings)
    finer = posterior_predictive(x, y, rng.normal(size=(30, 1)), **settings)
    mean, error = mean_and_error(np.column_stack([without.f_train, np.log(without.sigma2)])[None])
    check_chain(np.column_stack([finer.f_train, np.log(finer.sigma2)]), mean, error)
