from __future__ import annotations

import numpy as np
import pytest

from studies.benchmarks.outlier_data import contaminated
from studies.forecasts import Forecast, score
from studies.methods import METHODS
from studies.methods.gaussian_process import gp_bayes, gp_ml, gp_ml_wide, gp_student
from studies.methods.ours import choose, regressor
from studies.problems import Floats, Problem, friedman, simulate
from studies.sampling import default_model

SETTINGS: dict[str, dict[str, object]] = {
    "published": {
        "alphas": [1.1],
        "nus": [1.0],
        "n_folds": 0,
        "search_iterations": 0,
        "iterations": 300,
        "burn_in": 100,
    },
    "jumps_given": {"alpha": 1.1, "nu": 1.0, "standardize": False, "n_chains": 2, "n_sweeps": 300},
    "jumps_inferred": {"n_chains": 2, "n_sweeps": 300, "sharpness": "inf"},
    "jumps_default": {"n_chains": 2, "n_sweeps": 300} | default_model(),
    "gp_ml": {"n_restarts": 1},
    "gp_bayes": {"n_chains": 2, "n_warm": 100, "n_keep": 100},
    "bayes_nnet": {"n_restarts": 1, "n_steps": 2000},
    "bart": {"n_chains": 2, "n_warm": 100, "n_keep": 200},
    "forest": {"n_trees": 40},
}
NEEDS = {"gp_bayes": "numpyro", "bayes_nnet": "numpyro", "bart": "stochtree"}
SLOW = {*NEEDS, "published", "jumps_given", "jumps_inferred", "jumps_default"}


def run(name: str, problem: Problem) -> Forecast:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    return METHODS[name].fit(problem.X, problem.y, problem.X_new, 0, **SETTINGS[name])


@pytest.mark.filterwarnings("default")  # of other libraries
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in METHODS])
def test_every_method_has_the_same_face(name: str) -> None:
    problem = simulate("one_jump", 0)
    forecast = run(name, problem)
    assert forecast.point.shape == (100,)
    assert forecast.quantiles.shape == (100, 100)
    assert np.all(np.diff(forecast.quantiles, axis=1) >= 0.0)
    assert np.all(forecast.ends[:, 0] < forecast.ends[:, 1])
    found = score(forecast, problem)
    # A constant prediction has an error of 2.5; the noise alone covers 0.9 with a width of 1.64.
    assert found["mae_truth"] < 0.8
    assert 0.6 < found["coverage"] <= 1.0
    assert 1.0 < found["width"] < 5.0


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["gp_ml", pytest.param("gp_bayes", marks=pytest.mark.slow)])
def test_units_do_not_matter(name: str) -> None:
    problem = simulate("smooth", 0)
    other = Problem(1e3 * problem.X + 5.0, 40.0 * problem.y - 7.0, 1e3 * problem.X_new + 5.0, problem.y_new)
    # Optimisers and chains amplify rounding a little.
    np.testing.assert_allclose(run(name, other).point, 40.0 * run(name, problem).point - 7.0, atol=1.0)


def test_a_gaussian_process_with_many_inputs_needs_long_scales_to_start_from() -> None:
    """From length scales of 1 the likelihood is flat, and the best prediction seems to be a constant."""
    problem = friedman(60, 30, n_new=100)
    rows = problem.X, problem.y, problem.X_new
    constant = np.abs(problem.f_new - problem.y.mean()).mean()
    assert np.abs(gp_ml(*rows, 0, n_restarts=0).point - problem.f_new).mean() > 0.95 * constant
    assert np.abs(gp_ml_wide(*rows, 0, n_restarts=0).point - problem.f_new).mean() < 0.8 * constant


def test_the_regressor_is_judged_by_what_its_users_see() -> None:
    problem = simulate("quadrants", 0)
    found = regressor(problem.X, problem.y, problem.X_new, 0, relevance=None, n_chains=2, n_sweeps=60)
    assert set(found.info["mixing"]) == {"relevance", "parameters", "f"}
    middle = 0.5 * (found.quantiles[:, 49] + found.quantiles[:, 50])
    assert np.all((found.ends[:, 0] < middle) & (middle < found.ends[:, 1]))
    assert found.n_iterations == 120


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_gp_bayes_merges_rows_without_changing_the_posterior() -> None:
    """A row written twice and a row moved by a hair twice are the same data."""
    pytest.importorskip("numpyro")
    problem = simulate("smooth", 0)
    X, y = np.repeat(problem.X[::2], 2, axis=0), problem.y
    apart = X + 1e-7 * (np.arange(40) % 2)[:, None]
    one, other = (
        METHODS["gp_bayes"].fit(Z, y, problem.X_new, 0, n_chains=2, n_warm=300, n_keep=500) for Z in (X, apart)
    )
    np.testing.assert_allclose(one.point, other.point, atol=0.15)
    np.testing.assert_allclose(one.ends, other.ends, atol=0.5)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_student_noise_lets_outliers_be() -> None:
    """Two outliers of 40 observations move a process with normal noise; the units of y do not matter."""
    pytest.importorskip("numpyro")
    problem = contaminated("smooth", 0)
    how = {"n_chains": 2, "n_warm": 200, "n_keep": 200}
    robust = gp_student(problem.X, problem.y, problem.X_new, 0, **how)
    normal = gp_bayes(problem.X, problem.y, problem.X_new, 0, **how)
    errors = [np.abs(forecast.point - problem.f_new).mean() for forecast in (robust, normal)]
    assert errors[0] < 0.5 * errors[1]
    other = gp_student(problem.X, 40.0 * problem.y - 7.0, problem.X_new, 0, **how)
    np.testing.assert_allclose(other.point, 40.0 * robust.point - 7.0, atol=5.0)


def test_the_search_takes_the_smallest_error() -> None:
    """Predictions alpha - 1 everywhere for outputs 0: the pair nearest to alpha = 1 wins, the first nu on ties."""

    def predict(X: Floats, y: Floats, X_new: Floats, alpha: float, nu: float) -> Floats:
        assert len(X) == 20
        return np.full(len(X_new), alpha - 1.0)

    assert choose(predict, np.zeros((25, 1)), np.zeros(25), [0.5, 0.9, 1.6], [2.0, 3.0], 5, 0) == {
        "alpha": 0.9,
        "nu": 2.0,
    }


def test_a_grid_of_one_pair_is_not_searched() -> None:
    def predict(*args: object) -> Floats:
        raise AssertionError

    assert choose(predict, np.zeros((5, 1)), np.zeros(5), [1.1], [1.0], 0, 0) == {"alpha": 1.1, "nu": 1.0}
