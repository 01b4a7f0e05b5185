"""Uncertainty through the keywords of `predict`, alone and inside scikit-learn's meta-estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import stats
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler

from tests import fits
from widestable import StableRegressor
from widestable.network import arcsine_kernel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X_NEW = np.array([[97.0], [99.5], [100.0], [104.0]])
SHORT: dict[str, Any] = {"n_chains": 2, "n_sweeps": 60, "random_state": 0}


# --- Keywords ----------------------------------------------------------------------------------------------


def test_keywords_give_what_the_methods_give() -> None:
    model = fits.line()
    q = [0.1, 0.5, 0.8]
    np.testing.assert_array_equal(model.predict(X_NEW, quantiles=q), model.predict_quantiles(X_NEW, q))
    np.testing.assert_array_equal(model.predict(X_NEW, interval=0.8), model.predict_interval(X_NEW, 0.8))
    np.testing.assert_array_equal(
        model.predict(X_NEW, interval=0.8, noise=False), model.predict_interval(X_NEW, 0.8, noise=False)
    )
    np.testing.assert_array_equal(model.predict(X_NEW), model.predict_quantiles(X_NEW, [0.5], noise=False)[:, 0])
    np.testing.assert_array_equal(model.predict(X_NEW, noise=True), model.predict_quantiles(X_NEW, [0.5])[:, 0])
    assert model.predict(X_NEW, quantiles=0.5).shape == (4, 1)


def test_the_standard_deviation_is_that_of_a_gaussian_process_at_alpha_two() -> None:
    X, y = fits.line_data()
    nu, sigma2 = 4.0, 0.3
    model = fits.fit(X, y, alpha=2.0, nu=nu, sigma2=sigma2, standardize=False)
    k = nu * arcsine_kernel(X_NEW, X)
    solved = np.linalg.solve(nu * arcsine_kernel(X) + sigma2 * np.eye(y.size), k.T)
    variance = nu - np.sum(k * solved.T, axis=1)
    median, sd = model.predict(X_NEW, return_std=True)
    np.testing.assert_allclose(median, solved.T @ y, rtol=1e-8)
    np.testing.assert_allclose(sd, np.sqrt(variance), rtol=1e-8)
    np.testing.assert_allclose(model.predict(X_NEW, return_std=True, noise=True)[1], np.sqrt(variance + sigma2))


def test_the_standard_deviation_is_half_the_central_68_percent_interval_of_f() -> None:
    model = fits.line()
    low, high = model.predict_interval(X_NEW, stats.norm.cdf(1.0) - stats.norm.cdf(-1.0), noise=False).T
    np.testing.assert_allclose(model.predict(X_NEW, return_std=True)[1], 0.5 * (high - low), rtol=1e-9)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quantiles": [0.5], "interval": 0.9}, "Got quantiles and interval, expected at most one of them"),
        ({"interval": 0.9, "return_std": True}, "Got interval and return_std, expected at most one of them"),
        ({"interval": 90}, "Got interval = 90, expected a number between 0 and 1"),
        ({"quantiles": [0.0, 0.5]}, r"Got quantiles = \[0.0, 0.5\], expected numbers above 0 and below 1"),
    ],
)
def test_contradictions_are_told(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fits.line().predict(X_NEW, **wrong)


# --- Meta-estimators ---------------------------------------------------------------------------------------


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"load": rng.uniform(size=24), "site": rng.choice(["north", "south"], size=24)})
    log_y = 2.0 * (frame["load"] > 0.5) + (frame["site"] == "south") + 0.1 * rng.standard_normal(24)
    return frame, np.exp(log_y.to_numpy())


def columns() -> ColumnTransformer:
    return ColumnTransformer([("number", StandardScaler(), ["load"]), ("word", OneHotEncoder(drop="first"), ["site"])])


@pytest.mark.parametrize("routing", [False, True])
def test_pipelines_forward_the_keywords(routing: bool) -> None:
    X, y = table()
    with sklearn.config_context(enable_metadata_routing=routing):
        last = StableRegressor(**SHORT)
        if routing:
            last.set_predict_request(quantiles=True, interval=True, return_std=True, noise=True)
        pipeline = make_pipeline(columns(), last).fit(X, y)
        model, seen = pipeline[-1], pipeline[:-1].transform(X)
        np.testing.assert_array_equal(pipeline.predict(X, interval=0.9), model.predict_interval(seen, 0.9))
        np.testing.assert_array_equal(
            pipeline.predict(X, quantiles=[0.2, 0.7], noise=False),
            model.predict_quantiles(seen, [0.2, 0.7], noise=False),
        )
        for found, expected in zip(
            pipeline.predict(X, return_std=True), model.predict(seen, return_std=True), strict=True
        ):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("transformer", [None, StandardScaler()])
def test_transformed_targets_keep_their_quantiles(transformer: Any) -> None:
    """Quantiles follow an increasing transformation exactly, whatever their number."""
    X, y = table()
    how = {"transformer": transformer} if transformer else {"func": np.log, "inverse_func": np.exp}
    outer = TransformedTargetRegressor(make_pipeline(columns(), StableRegressor(**SHORT)), **how).fit(X, y)
    inner: Pipeline = outer.regressor_
    back = np.exp if transformer is None else (lambda v: v * y.std() + y.mean())
    for keywords in ({"interval": 0.9}, {"quantiles": [0.1, 0.5, 0.6, 0.9]}):
        found = outer.predict(X, **keywords)
        np.testing.assert_allclose(found, back(inner.predict(X, **keywords)), rtol=1e-12)
        assert np.all(np.diff(found, axis=1) > 0.0)
    np.testing.assert_allclose(outer.predict(X, quantiles=[0.5], noise=False), outer.predict(X), rtol=1e-12)


def test_transformers_that_count_columns_take_one_quantile_at_a_time() -> None:
    """The limit that the page on pipelines tells of."""
    X, y = table()
    inner = make_pipeline(columns(), StableRegressor(**SHORT))
    model = TransformedTargetRegressor(inner, transformer=PowerTransformer()).fit(X, y)
    with pytest.raises(ValueError, match="feature"):
        model.predict(X, interval=0.9)
    low, high = (model.predict(X, quantiles=[q]) for q in (0.05, 0.95))
    assert low.shape == y.shape
    assert np.all(low < high)
