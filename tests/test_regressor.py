from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests import fits
from widestable import StableRegressor
from widestable.engine import run
from widestable.network import arcsine_kernel
from widestable.random_state import make_rng

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def same_draws(one: StableRegressor, two: StableRegressor) -> bool:
    pairs = zip(one.posterior_.chains, two.posterior_.chains, strict=True)
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for a, b in pairs for name in vars(a))


# --- Fitting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("random_state", [3, np.random.RandomState, np.random.default_rng])
def test_the_seed_decides_the_draws_whatever_the_threads(random_state: Any) -> None:
    def fit(n_jobs: int) -> StableRegressor:
        state = random_state if isinstance(random_state, int) else random_state(3)
        return fits.fit(*fits.line_data(), random_state=state, n_jobs=n_jobs)

    one, two = fit(1), fit(2)
    assert same_draws(one, two)
    assert not same_draws(one, fits.line())  # another seed
    assert not np.array_equal(one.posterior_.alpha[0], one.posterior_.alpha[1])  # chains differ


def test_none_as_random_state_is_fresh_each_time() -> None:
    data = fits.line_data()
    assert not same_draws(fits.fit(*data, random_state=None), fits.fit(*data, random_state=None))


def test_integer_weights_are_repeated_rows_and_order_means_nothing(rng: np.random.Generator) -> None:
    X, y = fits.line_data()
    weight = rng.integers(0, 3, size=y.size)
    repeated = rng.permutation(np.repeat(np.arange(y.size), weight))
    assert same_draws(fits.fit(X, y, weight), fits.fit(X[repeated], y[repeated]))


@pytest.mark.parametrize("name", ["nu", "sigma2"])
def test_fixed_parameters_are_in_the_users_units(name: str) -> None:
    X, y = fits.line_data()
    model = fits.fit(X, y, **{name: 1.7})
    np.testing.assert_allclose(getattr(model.posterior_, name), 1.7, rtol=1e-12)
    raw = fits.fit(X, y, **{name: 1.7}, standardize=False)
    np.testing.assert_allclose(getattr(raw.posterior_, name), 1.7, rtol=1e-12)


def test_predictions_follow_the_units_of_y_and_x() -> None:
    """Powers of two scale every intermediate exactly, so the draws are the same ones."""
    X, y = fits.line_data()
    X_new = X[::3] + 0.1
    model, scaled = fits.line(), fits.fit(4.0 * X, 8.0 * y)
    np.testing.assert_allclose(scaled.predict_interval(4.0 * X_new), 8.0 * model.predict_interval(X_new), rtol=1e-9)
    assert scaled.alpha_ == pytest.approx(model.alpha_)
    assert scaled.nu_ == pytest.approx(64.0 * model.nu_)
    assert scaled.sigma_ == pytest.approx(8.0 * model.sigma_)


def test_alpha_two_is_gaussian_process_regression() -> None:
    """No atoms and nothing inferred: every draw is the same Gaussian."""
    X, y = fits.line_data()
    nu, sigma2 = 4.0, 0.3
    model = fits.fit(X, y, alpha=2.0, nu=nu, sigma2=sigma2, standardize=False)
    X_new = np.array([[97.0], [99.5], [100.0], [104.0]])
    Q = nu * arcsine_kernel(X) + sigma2 * np.eye(y.size)
    k = nu * arcsine_kernel(X_new, X)
    mean = k @ np.linalg.solve(Q, y)
    sd = np.sqrt(nu - np.sum(k * np.linalg.solve(Q, k.T).T, axis=1))
    np.testing.assert_allclose(model.predict(X_new), mean, rtol=1e-8)
    q = np.array([0.05, 0.95])
    expected = mean[:, None] + np.sqrt(sd**2 + sigma2)[:, None] * stats.norm.ppf(q)
    np.testing.assert_allclose(model.predict_interval(X_new), expected, rtol=1e-8)
    of_f = mean[:, None] + sd[:, None] * stats.norm.ppf(q)
    np.testing.assert_allclose(model.predict_quantiles(X_new, q, noise=False), of_f, rtol=1e-8)


def test_fitted_attributes_are_medians_in_the_users_units() -> None:
    model = fits.line()
    assert model.alpha_ == np.median(model.posterior_.alpha)
    assert model.nu_ == np.median(model.posterior_.nu)
    assert model.sigma_ == np.sqrt(np.median(model.posterior_.sigma2))
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")


@quiet
def test_columns_are_known_by_name() -> None:
    """Those of polars: scikit-learn's own checks pass frames of pandas."""
    X, y = fits.line_data()
    columns = {"east": X[:, 0], "north": X[:, 0] ** 2}
    model = fits.fit(pl.DataFrame(columns), y)
    assert list(model.feature_names_in_) == ["east", "north"]
    assert model.predict(pl.DataFrame(columns)).shape == y.shape
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pl.DataFrame({"north": columns["north"], "east": columns["east"]}))


def test_many_columns_work(rng: np.random.Generator) -> None:
    X = rng.standard_normal((30, 12))
    model = fits.fit(X, 4.0 * (X[:, 0] > 0.0))
    assert np.isfinite(model.predict_interval(rng.standard_normal((5, 12)))).all()


@pytest.mark.parametrize("alpha", [0.01, 0.05, 1.99, 2.0])
def test_extreme_alpha_runs_and_stays_finite(alpha: float) -> None:
    X, y = fits.line_data()
    model = fits.fit(X, y, alpha=alpha)
    X_new = np.array([[-1e6], [0.0], [99.0], [101.0], [1e9]])
    for found in (model.predict(X_new), model.predict_interval(X_new), model.sample_y(X_new, 5, random_state=0)):
        assert np.isfinite(found).all()
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows_are_enough(n: int) -> None:
    model = fits.fit(np.arange(n)[:, None], np.arange(n) * 3.0)
    low, high = model.predict_interval([[0.5]])[0]
    assert low < high
    assert model.jumps().n_jumps.size == model.posterior_.alpha.size


def test_unfitted_models_say_so() -> None:
    model = StableRegressor()
    calls: list[Callable[[], object]] = [
        lambda: model.predict([[0.0]]), lambda: model.sample_y([[0.0]]), model.jumps, model.continue_sampling,
        lambda: model.save("never.zip"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


# --- Predicting ----------------------------------------------------------------------------------------------


def test_shapes_and_order_of_predictions() -> None:
    model, X = fits.plane(), np.zeros((3, 2))
    assert model.predict(X).shape == (3,)
    assert model.predict_quantiles(X, [0.2, 0.5, 0.7, 0.9]).shape == (3, 4)
    assert model.predict_quantiles(X, 0.5).shape == (3, 1)
    assert model.sample_y(X).shape == (3, 1)
    low, high = model.predict_interval(X).T
    assert np.all(low < high)


def test_intervals_are_quantiles_and_nest() -> None:
    model, X = fits.line(), np.array([[99.0], [100.0]])
    half, most = model.predict_interval(X, 0.5), model.predict_interval(X, 0.9)
    np.testing.assert_array_equal(half, model.predict_quantiles(X, [0.25, 0.75]))
    assert np.all(most[:, 0] < half[:, 0])
    assert np.all(half[:, 1] < most[:, 1])
    of_f = model.predict_interval(X, 0.9, noise=False)
    assert np.all(np.diff(of_f, axis=1) < np.diff(most, axis=1))
    np.testing.assert_array_equal(model.predict(X), model.predict_quantiles(X, [0.5], noise=False)[:, 0])


def test_wrong_coverages_and_counts_are_refused() -> None:
    """tests/test_parameters.py tries more values."""
    model = fits.line()
    with pytest.raises(ValueError, match="Got coverage = 90"):
        model.predict_interval([[0.0]], 90)
    with pytest.raises(ValueError, match="Got n_samples = 0"):
        model.sample_y([[0.0]], 0)
    with pytest.raises(ValueError, match="Got n_sweeps = 0"):
        model.continue_sampling(0)


@pytest.mark.parametrize("q", [0.0, 1.0, [0.5, 2.0], np.nan, [[0.5]]])
def test_wrong_probabilities_are_refused(q: object) -> None:
    with pytest.raises(ValueError, match="Got q = "):
        fits.line().predict_quantiles([[0.0]], q)


def test_joint_draws_follow_their_seed_and_agree_with_quantiles() -> None:
    model, X = fits.line(), np.array([[98.7], [99.6], [101.4]])
    draws = model.sample_y(X, 4000, random_state=0)
    np.testing.assert_array_equal(model.sample_y(X, 4000, random_state=0), draws)
    for below, q in ((model.predict_quantiles(X, [q])[:, 0], q) for q in (0.1, 0.5, 0.9)):
        share = (draws <= below[:, None]).mean(axis=1)
        np.testing.assert_allclose(share, q, atol=4.0 * np.sqrt(q * (1.0 - q) / 4000))
    rng = make_rng(5)
    assert not np.array_equal(model.sample_y(X, 2, random_state=rng), model.sample_y(X, 2, random_state=rng))


# --- With scikit-learn -----------------------------------------------------------------------------------------


@quiet
def test_in_a_pipeline_and_a_grid_search() -> None:
    X, y = fits.line_data()
    pipeline = make_pipeline(StandardScaler(), StableRegressor(n_chains=1, n_sweeps=30, nu=1.0, random_state=0))
    grid = {"stableregressor__alpha": [1.1, 2.0]}
    search = GridSearchCV(pipeline, grid, scoring="neg_mean_absolute_error", cv=2).fit(X, y)
    assert search.best_params_["stableregressor__alpha"] in grid["stableregressor__alpha"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == y.shape


def test_pickled_models_predict_the_same_and_go_on() -> None:
    model, copy = (pickle.loads(pickle.dumps(fits.line())) for _ in range(2))
    X = np.array([[99.5], [103.0]])
    np.testing.assert_array_equal(copy.predict_interval(X), fits.line().predict_interval(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert same_draws(model.continue_sampling(20), copy.continue_sampling(20))


# --- Sampling ------------------------------------------------------------------------------------------------


@quiet
def test_continuing_adds_draws_and_changes_no_old_ones() -> None:
    model = fits.fit(*fits.line_data())
    before = model.posterior_
    model.continue_sampling(31)
    after = model.posterior_
    assert after.alpha.shape == (2, before.alpha.shape[1] + 31)
    np.testing.assert_array_equal(after.f[:, : before.f.shape[1]], before.f)
    assert after.n_sweeps == before.n_sweeps + 31
    assert model.alpha_ == np.median(after.alpha)
    assert not np.array_equal(after.alpha[:, -31:], before.alpha[:, -31:])


@quiet
def test_continuing_without_a_count_makes_whole_rounds() -> None:
    model = fits.fit(*fits.line_data(), max_sweeps=100)
    before = model.posterior_.n_sweeps
    model.continue_sampling()
    assert before < model.posterior_.n_sweeps <= before + 100


def test_sampling_stops_when_converged() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StableRegressor(alpha=2.0, nu=1.0, sigma2=0.1, random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
    assert model.posterior_.converged
    assert model.posterior_.n_sweeps < 10_000


def test_unconverged_chains_warn_with_name_value_and_remedy() -> None:
    model = StableRegressor(n_chains=2, n_sweeps=30, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"(R-hat|sample size) of .* is \d.*call continue_sampling") as found:
        model.fit(*fits.line_data())
    assert found[0].filename == __file__  # points at the caller


def interrupt_after(n_rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made, whole = [], run.run_round

    def run_round(*args: Any) -> Any:
        made.append(1)
        if len(made) > n_rounds:
            raise KeyboardInterrupt
        return whole(*args)

    monkeypatch.setattr(run, "run_round", run_round)


@quiet
@pytest.mark.parametrize("n_sweeps", [120, None])
def test_ctrl_c_keeps_whole_rounds_and_warns(n_sweeps: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(3, monkeypatch)
    model = StableRegressor(n_chains=2, n_sweeps=n_sweeps, random_state=0)
    with pytest.warns(UserWarning, match=r"interrupted after \d+ sweeps per chain; \d+ draws of each were kept"):
        model.fit(*fits.line_data())
    assert model.posterior_.interrupted
    assert model.predict([[100.0]]).shape == (1,)
    monkeypatch.undo()
    n_draws = model.posterior_.alpha.shape[1]
    assert model.continue_sampling(40).posterior_.alpha.shape[1] > n_draws
    assert not model.posterior_.interrupted


def test_ctrl_c_before_any_draw_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(0, monkeypatch)
    with pytest.raises(KeyboardInterrupt, match="nothing to keep: fit again"):
        StableRegressor(n_chains=1, n_sweeps=60).fit(*fits.line_data())


@quiet
def test_ctrl_c_while_continuing_keeps_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fits.fit(*fits.line_data())
    n_draws = model.posterior_.alpha.shape[1]
    interrupt_after(2, monkeypatch)
    with pytest.warns(UserWarning, match="interrupted"):
        model.continue_sampling(80)
    assert model.posterior_.alpha.shape[1] == n_draws + 20


@quiet
def test_a_time_limit_keeps_what_was_drawn_and_says_how_to_go_on() -> None:
    model = StableRegressor(n_chains=2, max_time=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"The time was over after \d+ sweeps per chain"):
        model.fit(*fits.line_data())
    posterior = model.posterior_
    assert posterior.interrupted
    assert posterior.converged is False
    n_sweeps = posterior.n_sweeps
    model.set_params(max_time=None, max_sweeps=600).continue_sampling()
    assert not model.posterior_.interrupted
    assert model.posterior_.n_sweeps > n_sweeps


def test_a_warning_names_rows_as_they_were_given() -> None:
    X, y = fits.line_data()
    order = np.argsort(-X[:, 0], kind="stable")
    posterior = fits.fit(X[order], y[order]).posterior_
    # The distinct rows are sorted, the given ones descend.
    assert posterior.names[3] == f"f at row {len(X) - 2} (x1 = 98)"
    assert posterior.names[-1] == "f at row 0 (x1 = 102)"
