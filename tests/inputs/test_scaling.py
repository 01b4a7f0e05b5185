"""Standardisation, and its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests import checks
from tests.inputs.tables import A, B, assert_same_bits
from widestable.inputs import check_new_rows, check_training, unscale_inputs, unscale_outputs


def test_scaled_data_have_weighted_mean_zero_and_sd_one(rng: np.random.Generator) -> None:
    X, y, weight = rng.normal(size=(30, 3)) * [1, 1e6, 1e-6] + [0, 5, 3], rng.normal(size=30), rng.random(30)
    data = check_training(X, y, weight)
    assert len(data.X) == 30
    np.testing.assert_allclose(np.average(data.X, axis=0, weights=data.weight), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.average(data.X**2, axis=0, weights=data.weight), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.average(data.y, weights=data.weight), 0.0, atol=checks.ROUNDING)
    np.testing.assert_allclose(np.average(data.y**2, weights=data.weight), 1.0, rtol=checks.ROUNDING)
    np.testing.assert_allclose(data.scaling.x_mean, np.average(X, axis=0, weights=weight), rtol=1e-12)
    assert data.scaling.y_scale == pytest.approx(np.sqrt(np.cov(y, aweights=weight, ddof=0)))


def test_standardisation_can_be_switched_off() -> None:
    data = check_training(A[::-1], B, standardize=False)
    np.testing.assert_array_equal(data.X, A)
    np.testing.assert_array_equal(data.y, B[::-1])
    assert data.scaling.x_scale.tolist() == [1.0, 1.0]
    assert (data.scaling.y_mean, data.scaling.y_scale) == (0.0, 1.0)
    tiny = check_training([[5e-324], [0.0]], [5e-324, -1.7e308], standardize=False)
    assert tiny.X.ravel().tolist() == [0.0, 5e-324]


def test_scaling_is_undone() -> None:
    data = check_training(A, B)
    np.testing.assert_allclose(unscale_inputs(data.X, data.scaling), A, rtol=checks.ROUNDING)
    np.testing.assert_allclose(unscale_outputs(data.y, data.scaling), B, rtol=checks.ROUNDING)


def test_scaling_the_outputs_scales_back_exactly_for_powers_of_two() -> None:
    one, other = check_training(A, B), check_training(A, np.multiply(B, 2.0**40))
    np.testing.assert_array_equal(one.y, other.y)
    assert other.scaling.y_scale == one.scaling.y_scale * 2.0**40


def test_constant_columns_and_outputs_are_only_shifted() -> None:
    data = check_training([[1.0, 0.1], [2.0, 0.1], [3.0, 0.1]], [0.7, 0.7, 0.7], [1, 2, 3])
    assert data.X[:, 1].tolist() == [0.0] * 3
    assert data.y.tolist() == [0.0] * 3
    assert data.scaling.x_scale[1] == 1.0
    assert (data.scaling.y_mean, data.scaling.y_scale) == (0.7, 1.0)


def test_a_column_that_differs_by_rounding_is_constant() -> None:
    data = check_training([[0.1 + 0.2], [0.3], [0.3]], [1.0, 2.0, 3.0])
    assert data.scaling.x_scale.tolist() == [1.0]
    assert data.X.tolist() == [[0.0]]
    small = check_training([[1.0], [1.0 + 1e-9]], [1.0, 2.0])
    np.testing.assert_allclose(small.X, [[-1.0], [1.0]], rtol=1e-6)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.7e308, 1e-307])
def test_extreme_numbers_are_scaled_like_others(size: float) -> None:
    values = np.array([-1.0, 0.25, 1.0, 0.5])
    data = check_training(size * values[:, None], size * values)
    expected = check_training(values[:, None], values)
    np.testing.assert_allclose(data.X, expected.X, rtol=checks.ROUNDING)
    np.testing.assert_allclose(data.y, expected.y, rtol=checks.ROUNDING)


def test_large_and_small_numbers_together() -> None:
    data = check_training([[1e300], [1e-300], [-1e300]], [1e-300, 1.0, 1e300])
    assert np.all(np.isfinite(data.X))
    assert np.all(np.isfinite(data.y))
    assert len(data.X) == 3


def test_rows_that_scaling_makes_equal_are_merged() -> None:
    data = check_training([[1e300], [1e-300], [2e-300]], B)
    assert len(data.X) == 2
    assert data.weight.tolist() == [2.0, 1.0]


def test_input_is_not_modified() -> None:
    X, y, weight = A.copy(), np.array(B), np.array([1.0, 0.0, 2.0])
    for array in (X, y, weight):
        array.flags.writeable = False
    check_training(X, y, weight)
    data = check_training(X, y)
    check_new_rows(X, columns=data.columns, scaling=data.scaling)
    np.testing.assert_array_equal(X, A)


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    X=hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=finite),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_finite_numbers_give_finite_distinct_rows(X: np.ndarray, seed: int) -> None:
    y = np.random.default_rng(seed).permutation(X[:, 0])
    data = check_training(X, y)
    assert np.all(np.isfinite(data.X))
    assert np.all(np.isfinite(data.y))
    assert np.isfinite(data.ss_within)
    assert len(np.unique(data.X, axis=0)) == len(data.X)
    np.testing.assert_array_equal(np.lexsort(data.X.T[::-1]), np.arange(len(data.X)))
    assert_same_bits(data, check_training(X[::-1], y[::-1]), but=("index", "kept", "observation"))


def test_far_outputs_do_not_count_for_the_scale_of_y(rng: np.random.Generator) -> None:
    X = np.arange(40.0)[:, None]
    y = 3.0 * (X[:, 0] > 25.0) + 0.5 * rng.standard_normal(40)
    clean = check_training(X, y).scaling
    # Nothing is far: a step is not taken for outliers.
    assert check_training(X, y, robust=True).scaling.y_scale == clean.y_scale
    y[[3, 30]] = 1e4, -1e5
    robust = check_training(X, y, robust=True).scaling
    assert abs(robust.y_mean - clean.y_mean) < 0.2 * clean.y_scale
    assert robust.y_scale == pytest.approx(clean.y_scale, rel=0.1)
    # Where most are equal, what is far cannot be told.
    y[:] = 2.0
    y[5] = 7.0
    assert check_training(X, y, robust=True).scaling.y_scale == check_training(X, y).scaling.y_scale
