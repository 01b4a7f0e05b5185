"""Limits of the parameters. tests/test_regressor.py has a wrong value for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
