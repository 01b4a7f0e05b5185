from __future__ import annotations

import numpy as np
import pytest

from studies.sampling import Fixed, covariance_draws, draws_at, fit, start, thinned
from widestable import StableRegressor
from widestable.inputs import check_training
from widestable.network import arcsine_kernel
from widestable.predict.components import max_laws


@pytest.fixture(scope="module")
def model() -> StableRegressor:
    X = np.array([[-1.0], [0.0], [0.5], [2.0]])
    return fit(X, np.array([0.0, 0.1, 3.0, 3.2]), 0, alpha=1.1, nu=2.0, standardize=False, n_chains=2, n_sweeps=300)


def test_covariance_is_the_sum_over_atoms(model: StableRegressor) -> None:
    """Against the formula written out, for the last draw of the first chain."""
    posterior = model.posterior_
    Q = covariance_draws(posterior)
    assert Q.shape == (2 * 200, 4, 4)
    draws = posterior.chains[0]
    k = int(draws.n_atoms[-1])
    N, a = posterior.model.n_atoms, 1.1 / 2.0
    from scipy.special import gamma

    v0 = 2.0 * (gamma(1.0 - a) * N) ** (-1.0 / a)
    expected = N * v0 * 1.1 / (2.0 - 1.1) * arcsine_kernel(posterior.data.X) + np.exp(draws.log_sigma2[-1]) * np.eye(4)
    for h, log_mark in zip(draws.h[-k:], draws.log_mark[-k:], strict=True):
        tau = np.where(h[0] + h[1] * posterior.data.X[:, 0] > 0.0, 1.0, -1.0)
        expected += 2.0 * (gamma(1.0 - a) * np.exp(log_mark)) ** (-1.0 / a) * np.outer(tau, tau)
    np.testing.assert_allclose(Q[199], expected, rtol=1e-9)


def test_draws_at_rows_are_those_of_the_posterior(model: StableRegressor, rng: np.random.Generator) -> None:
    rows = np.array([[-0.5], [0.25], [1.0]])
    f = draws_at(model.posterior_, rows, rng)
    assert f.shape == (2, 200, 3)
    quartiles = model.predict_quantiles(rows, [0.25, 0.5, 0.75], noise=False)
    below = (f[..., None] < quartiles).mean(axis=(0, 1))
    # 400 draws: three binomial standard errors of at most 0.025.
    np.testing.assert_allclose(below, np.tile([0.25, 0.5, 0.75], (3, 1)), atol=0.075)


def test_chains_are_those_of_the_regressor() -> None:
    """A run in one go has the regressor's draws; in steps of our own it starts with them."""
    X, y = np.array([[-1.0], [0.0], [0.5], [2.0]]), np.array([0.0, 0.1, 3.0, 3.2])
    settings = {"n_chains": 2, "n_sweeps": 60, "standardize": False}
    fitted = fit(X, y, 0, alpha=1.1, nu=2.0, **settings).posterior_
    chains = start(check_training(X, y, standardize=False), Fixed(alpha=1.1, nu=2.0), n_chains=2, seed=0)
    np.testing.assert_array_equal(chains.run(60).posterior().f, fitted.f)
    by_hand = chains.warm_up(20).extend(40, thin=1)
    assert (by_hand.n_sweeps, by_hand.posterior().f.shape) == (60, fitted.f.shape)
    np.testing.assert_array_equal(by_hand.posterior().f[:, :5], fitted.f[:, :5])


def test_draws_at_rows_use_every_draw_of_an_inferred_law() -> None:
    """More laws than predictions would look at, each draw at its own: f at a training row is as stored."""
    X, y = np.array([[-1.0, 0.3], [0.0, 1.0], [0.5, -1.0], [2.0, 0.0]]), np.array([0.0, 0.1, 3.0, 3.2])
    posterior = fit(X, y, 0, sharpness=None, relevance=None, n_chains=2, n_sweeps=1500).posterior_
    assert len(np.unique(posterior.relevance[0], axis=0)) > max_laws(4)
    few = thinned(posterior, 50)
    np.testing.assert_array_equal(few.alpha, posterior.alpha[:, np.linspace(0, 999, 50).round().astype(int)])
    f = draws_at(few, X, np.random.default_rng(0))
    assert f.shape == (2, 50, 4)
    assert few.sample.n_draws == 50
    # Both are draws of f given the same parameters and atoms, so they go together.
    for i in range(4):
        assert np.corrcoef(f[:, :, i].ravel(), few.f[:, :, i].ravel())[0, 1] > 0.3
