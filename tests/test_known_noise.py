"""`fit(noise_variance=)`: noise whose variance is known for each row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import fits
from tests.test_regressor import same_draws
from widestable import StableRegressor
from widestable.network import arcsine_kernel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_sweeps": 60, "random_state": 0}


def variances() -> np.ndarray:
    return np.geomspace(0.01, 3.0, 15)


@pytest.mark.parametrize("standardize", [False, True])
def test_alpha_two_is_heteroscedastic_gaussian_process_regression(standardize: bool) -> None:
    """One row is repeated, with another output and another variance."""
    X, y = fits.line_data()
    nu, v = 4.0, variances()
    model = StableRegressor.paper(alpha=2.0, nu=nu, standardize=standardize, **SHORT).fit(X, y, noise_variance=v)
    X_new = np.array([[97.0], [99.5], [100.0], [104.0]])
    # The prior is that of the scaled data.
    scaling = model.posterior_.data.scaling
    rows, new = (X - scaling.x_mean) / scaling.x_scale, (X_new - scaling.x_mean) / scaling.x_scale
    k = nu * arcsine_kernel(new, rows)
    solved = np.linalg.solve(nu * arcsine_kernel(rows) + np.diag(v), k.T)
    median, sd = model.predict(X_new, return_std=True)
    np.testing.assert_allclose(median, scaling.y_mean + solved.T @ (y - scaling.y_mean), rtol=1e-8)
    np.testing.assert_allclose(sd, np.sqrt(nu - np.sum(k * solved.T, axis=1)), rtol=1e-8)
    # A new observation has the harmonic mean of the variances.
    both = model.predict(X_new, return_std=True, noise=True)[1]
    np.testing.assert_allclose(both**2 - sd**2, 15.0 / np.sum(1.0 / v), rtol=1e-7)


def test_equal_variances_are_a_fixed_sigma2() -> None:
    X, y = fits.line_data()
    known = StableRegressor(**SHORT).fit(X, y, noise_variance=np.full(15, 0.25))
    assert same_draws(known, StableRegressor(sigma2=0.25, **SHORT).fit(X, y))
    assert "sigma2" not in known.posterior_.inferred


def test_the_likelihood_is_that_of_single_observations(tmp_path: object) -> None:
    X, y = fits.line_data()
    model = StableRegressor.paper(**SHORT).fit(X, y, noise_variance=variances())
    model.save(f"{tmp_path}/model.zip")
    for posterior in (model.posterior_, StableRegressor.load(f"{tmp_path}/model.zip").posterior_):
        tree = posterior.to_arviz()
        order, data = tree.observed_data["observation"].values, posterior.data
        f = posterior.f[:, :, data.obs_row]
        sd = np.sqrt(variances()[order])
        np.testing.assert_allclose(tree.log_likelihood["y"], stats.norm.logpdf(y[order], f, sd), rtol=1e-8)
        noise = (tree.posterior_predictive["y"].values - f) / sd
        assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-4


def test_a_precise_row_holds_f_and_a_poor_one_does_not() -> None:
    """With normal noise: where outliers are possible, a single row that is far off is one."""
    X, y = np.arange(8.0)[:, None], np.zeros(8)
    y[3] = 5.0
    v = np.full(8, 0.01)
    close = StableRegressor.paper(**SHORT).fit(X, y, noise_variance=v).predict([[3.0]])[0]
    v[3] = 1e4
    far = StableRegressor.paper(**SHORT).fit(X, y, noise_variance=v).predict([[3.0]])[0]
    assert close > 4.0
    assert abs(far) < 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise_variance": np.ones(3)}, r"Got noise_variance of shape \(3,\), expected \(15,\)"),
        ({"noise_variance": np.append(np.ones(14), 0.0)}, "Got noise_variance = 0.0 at .*expected a number above 0"),
        ({"noise_variance": np.append(np.ones(14), np.nan)}, "noise_variance"),
        ({"noise_variance": np.ones(15), "sample_weight": np.ones(15)}, "Got noise_variance and sample_weight"),
    ],
)
def test_wrong_variances_are_refused(given: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StableRegressor(**SHORT).fit(*fits.line_data(), **given)


def test_a_fixed_sigma2_contradicts_them() -> None:
    with pytest.raises(ValueError, match="Got noise_variance and sigma2, expected only one"):
        StableRegressor(sigma2=1.0, **SHORT).fit(*fits.line_data(), noise_variance=np.ones(15))
