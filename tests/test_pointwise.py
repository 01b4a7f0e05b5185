"""Likelihood and predictive draws of each observation, and what ArviZ makes of them."""

from __future__ import annotations

from collections.abc import Callable

import arviz_stats
import numpy as np
import pytest
from scipy import integrate, stats

from tests import fits
from widestable import Posterior
from widestable.network import arcsine_kernel


def outlying() -> tuple[Posterior, np.ndarray]:
    """Row 5 is far off and has weight 2; rows 8 and 9 are equal."""
    X, y = np.linspace(0.0, 1.0, 20)[:, None], np.random.default_rng(0).standard_normal(20)
    X[9], y[9], y[5] = X[8], y[8], 30.0
    weight = np.ones(20)
    weight[5] = 2.0
    return fits.fit(X, y, weight, noise="outliers", n_sweeps=120).posterior_, y


def test_weight_counts_as_copies() -> None:
    posterior = fits.plane().posterior_
    tree = posterior.to_arviz()
    data, scaling = posterior.data, posterior.data.scaling
    assert tree.log_likelihood["y"].shape == (2, 40, data.obs_y.size)
    sd = np.sqrt(posterior.sigma2)
    for i in range(data.obs_y.size):
        y = data.obs_y[i] * scaling.y_scale + scaling.y_mean
        expected = data.obs_weight[i] * stats.norm.logpdf(y, posterior.f[:, :, data.obs_row[i]], sd)
        np.testing.assert_allclose(tree.log_likelihood["y"][:, :, i], expected, rtol=1e-9)


def test_observations_are_numbered_by_given_row() -> None:
    posterior, y = outlying()
    tree = posterior.to_arviz()
    rows = tree.observed_data["observation"].values
    assert sorted(rows) == [*range(9), *range(10, 20)]
    np.testing.assert_allclose(tree.observed_data["y"], y[rows], rtol=1e-9)
    for group in ("log_likelihood", "posterior_predictive"):
        np.testing.assert_array_equal(tree[group]["observation"], rows)


def test_spikes_are_integrated_out() -> None:
    """Integrate over the size of the spike by quadrature: copies of an observation share it."""
    posterior, y = outlying()
    found = posterior.to_arviz().log_likelihood["y"]
    c, scaling = np.exp(posterior.model.spike_log_c), posterior.data.scaling
    draws = posterior.chains[1]
    sigma, p = np.sqrt(posterior.sigma2[1, 7]), draws.p_outlier[7]
    for row, n_copies in ((5, 2), (8, 2), (3, 1)):
        f = draws.f[7, posterior.data.obs_row[posterior.data.observation[row]]] * scaling.y_scale + scaling.y_mean

        def copies(spike: float, f: float = f, row: int = row, n: int = n_copies) -> float:
            return stats.norm.pdf(y[row], f + spike, sigma) ** n

        density = (1.0 - p) * copies(0.0)
        for value in c:
            sd, middle = sigma * np.sqrt(value), y[row] - f

            def spiked(o: float, sd: float = sd, copies: Callable[[float], float] = copies) -> float:
                return stats.norm.pdf(o, 0.0, sd) * copies(o)

            ends = middle - 12.0 * sigma, middle + 12.0 * sigma
            inside = integrate.quad(spiked, *ends, points=[middle], epsabs=0.0)[0]
            density += p / c.size * inside
        assert float(found.sel(observation=row)[1, 7]) == pytest.approx(np.log(density), rel=1e-6)


def test_predictive_draws_have_the_noise_of_the_model() -> None:
    posterior = fits.line().posterior_
    tree = posterior.to_arviz(random_state=3)
    f = posterior.f[:, :, posterior.data.obs_row]
    noise = (tree.posterior_predictive["y"].values - f) / np.sqrt(posterior.sigma2)[:, :, None]
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-4
    assert set(posterior.to_arviz(log_likelihood=False, posterior_predictive=False).children) == {
        "posterior",
        "sample_stats",
        "observed_data",
    }


def test_outliers_are_predicted_as_often_as_they_are() -> None:
    posterior, _ = outlying()
    tree = posterior.to_arviz(random_state=1)
    f = posterior.f[:, :, posterior.data.obs_row]
    z = (tree.posterior_predictive["y"].values - f) / np.sqrt(posterior.sigma2)[:, :, None]
    p = np.stack([draws.p_outlier for draws in posterior.chains])[:, :, None]
    c = np.exp(posterior.model.spike_log_c)
    beyond = (1.0 - p) * 2.0 * stats.norm.sf(5.0) + p * (2.0 * stats.norm.sf(5.0 / np.sqrt(1.0 + c))).mean()
    expected = np.broadcast_to(beyond, z.shape)
    assert abs((np.abs(z) > 5.0).sum() - expected.sum()) < 4.0 * np.sqrt(expected.sum())


def test_leaving_one_out_agrees_with_the_gaussian_process() -> None:
    """At alpha = 2 with nothing inferred, the left-out predictive density is known in closed form."""
    X, y = fits.line_data()
    X = X + 0.01 * np.arange(15.0)[:, None]  # no row twice
    nu, sigma2 = 4.0, 0.3
    posterior = fits.fit(X, y, alpha=2.0, nu=nu, sigma2=sigma2, standardize=False, n_sweeps=3000).posterior_
    inverse = np.linalg.inv(nu * arcsine_kernel(X) + sigma2 * np.eye(15))
    mean, variance = y - (inverse @ y) / np.diag(inverse), 1.0 / np.diag(inverse)
    exact = stats.norm.logpdf(y, mean, np.sqrt(variance))
    found = arviz_stats.loo(posterior.to_arviz(), pointwise=True)
    np.testing.assert_allclose(found.elpd_i.sel(observation=np.arange(15)), exact, atol=0.25)
    assert found.elpd == pytest.approx(exact.sum(), abs=0.5)
    assert found.n_data_points == 15


def test_many_rows_have_the_likelihood_at_stored_ones() -> None:
    X = np.linspace(0.0, 1.0, 1003)[:, None]
    posterior = fits.fit(X, np.sin(6.0 * X[:, 0]), alpha=2.0, nu=1.0, sigma2=0.1, n_chains=1, n_sweeps=12).posterior_
    tree = posterior.to_arviz()
    assert tree.log_likelihood["y"].shape == (1, 8, 500)
    np.testing.assert_array_equal(tree.observed_data["observation"], posterior.model.rows)
    np.testing.assert_allclose(tree.observed_data["y"], np.sin(6.0 * X[posterior.model.rows, 0]), atol=1e-9)
