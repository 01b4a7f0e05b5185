"""Limits of the parameters, and of data that float64 can follow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widestable import StableRegressor
from widestable.inputs import check_training
from widestable.parameters import RULES, check_count, check_coverage, check_parameters, check_units

X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 3.0])


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": None, "nu": None, "sigma2": None, "sharpness": None, "n_sweeps": None, "n_jobs": None},
        {"alpha": 2, "nu": np.float32(3.0), "sharpness": np.inf, "n_atoms": 10_000, "standardize": np.True_},
        {"alpha": 0.01, "n_sweeps": 12, "max_sweeps": 24, "n_jobs": -1, "n_chains": np.int64(1)},
        {"not a parameter": "skipped"},
    ],
)
def test_values_at_the_limits_pass(parameters: dict[str, Any]) -> None:
    check_parameters(parameters)


def test_the_message_names_value_expectation_and_remedy() -> None:
    for name, rule in RULES.items():
        with pytest.raises(ValueError) as error:
            check_parameters({name: "wrong"})
        assert str(error.value) == f"Got {name} = 'wrong', expected {rule.expected}: {rule.remedy}."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.0), ("alpha", 2.1), ("alpha", np.nan), ("alpha", "1"), ("nu", 0.0), ("nu", -1.0), ("nu", np.inf),
        ("sigma2", 0.0), ("n_atoms", 0), ("n_atoms", 1e9), ("n_atoms", None), ("standardize", "yes"), ("n_chains", 0),
        ("n_chains", 2.0), ("n_chains", True), ("n_sweeps", 11), ("n_sweeps", 100.0), ("max_sweeps", 3),
        ("n_jobs", 0), ("random_state", "a"), ("random_state", -1), ("progress", 1),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused_with_a_remedy(name: str, value: object) -> None:
    model = StableRegressor(**{name: value})
    with pytest.raises(ValueError, match=rf"^Got {name} = .*, expected .*: .+\.$"):
        model.fit([[0.0], [1.0]], [0.0, 1.0])
    assert not hasattr(model, "posterior_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numpy_scalars_are_fine_as_parameters() -> None:
    values = {"alpha": np.float32(1.5), "n_chains": np.int64(1), "n_sweeps": np.int32(30), "n_atoms": np.int8(5)}
    model = StableRegressor(**values, standardize=np.True_, random_state=np.int64(3))
    plain = StableRegressor(alpha=1.5, n_chains=1, n_sweeps=30, n_atoms=5, random_state=3)
    predictions = [m.fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.3]]) for m in (model, plain)]
    np.testing.assert_array_equal(*predictions)


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        (X * 1e150, Y, {}, r"Column 0 of X .* reaches 2e\+150.* rescale it"),
        (X * 1e-150, Y, {}, r"Column 0 of X .* spreads over 2e-150"),
        (X, Y * 1e150, {}, r"y spreads over about .*e\+150.* rescale y"),
        (np.zeros((3, 1)), Y * 1e150, {}, r"y spreads over about .* rescale y"),  # within one repeated row
        (X, Y, {"nu": 1e150}, r"Got nu = 1e\+150, which is .* squared spreads of y.* pass nu in squared units"),
        (X, Y, {"sigma2": 1e-150}, r"Got sigma2 = 1e-150, which is .* leave it out to infer it"),
        (X, Y, {"sharpness": 1e-6}, r"Got sharpness = 1e-06, so smooth .* pass a larger one"),
    ],
)
@pytest.mark.parametrize("standardize", [True, False])
def test_numbers_that_float64_cannot_follow_are_refused(
    X: np.ndarray, y: np.ndarray, parameters: dict[str, Any], message: str, standardize: bool
) -> None:
    with pytest.raises(ValueError, match=message):
        check_units(check_training(X, y, standardize=standardize), parameters)


def test_ordinary_units_pass() -> None:
    for size in (1e-100, 1.0, 1e100):
        check_units(check_training(X, size * Y), {"nu": size**2, "sigma2": size**2, "sharpness": None})


@pytest.mark.parametrize("value", [0, 1.0, "3", True, None])
def test_wrong_counts_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=rf"Got n = {value!r}, expected an integer of 1 or more: pass a larger"):
        check_count("n", value, 1)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90, np.nan, "0.9"])
def test_wrong_coverages_are_refused(coverage: Any) -> None:
    with pytest.raises(ValueError, match=r"Got coverage = .*, expected a number between 0 and 1: pass 0\.9"):
        check_coverage(coverage)
