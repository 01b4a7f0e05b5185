from __future__ import annotations

import itertools
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from tests import checks, reference
from widestable.inputs import (
    Scaling,
    TrainingData,
    check_new_rows,
    check_training,
    scale_inputs,
    scale_outputs,
    unscale_inputs,
    unscale_outputs,
)
from widestable.network import arcsine_kernel

A = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, 9.0]])
B = [1.0, 2.0, 4.0]


def assert_same_bits(first: TrainingData, second: TrainingData, but: tuple[str, ...] = ()) -> None:
    for field in fields(TrainingData):
        if field.name == "scaling":
            for part in fields(Scaling):
                one, two = getattr(first.scaling, part.name), getattr(second.scaling, part.name)
                np.testing.assert_array_equal(one, two, err_msg=part.name)
        elif field.name not in but:
            one, two = getattr(first, field.name), getattr(second, field.name)
            np.testing.assert_array_equal(one, two, err_msg=field.name)


def messy_data(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Repeated rows, numbers whose sums round, weights of zero."""
    X = rng.choice([0.1, 0.2, 0.7, 1e3], size=(n, 2))
    return X, rng.normal(size=n) * 10.0 ** rng.uniform(-8, 8, n), rng.integers(0, 4, n).astype(float)


# --- Merging and sorting ---------------------------------------------------------------------------------


def test_rows_come_out_distinct_and_sorted_with_means_and_weights() -> None:
    X = [[2, 1], [1, 5], [2, 1], [1, 4], [1, 5]]
    data = check_training(X, [1.0, 2.0, 4.0, 8.0, 2.0], [1, 1, 2, 0.5, 3], standardize=False)
    assert data.X.tolist() == [[1, 4], [1, 5], [2, 1]]
    assert data.y.tolist() == [8.0, 2.0, 3.0]
    assert data.weight.tolist() == [0.5, 4.0, 3.0]
    assert data.index.tolist() == [2, 1, 2, 0, 1]
    assert data.kept.tolist() == [True] * 5
    assert data.n_observations == 7.5
    assert data.ss_within == pytest.approx(1 * 2.0**2 + 2 * 1.0**2)
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous


def test_index_leads_back_to_the_given_rows(rng: np.random.Generator) -> None:
    X, y, weight = messy_data(rng)
    data = check_training(X, y, weight)
    np.testing.assert_array_equal(data.kept, weight > 0)
    np.testing.assert_array_equal(data.X[data.index], scale_inputs(X[data.kept], data.scaling))
    np.testing.assert_allclose(np.bincount(data.index, weight[data.kept]), data.weight)
    np.testing.assert_allclose(
        np.bincount(data.index, (weight * scale_outputs(y, data.scaling))[data.kept]), data.weight * data.y
    )


def test_rows_of_weight_zero_are_dropped() -> None:
    with_row = check_training([*A, [1e9, 1e9]], [*B, 1e9], [1, 1, 1, 0])
    assert with_row.kept.tolist() == [True, True, True, False]
    assert_same_bits(with_row, check_training(A, B), but=("kept",))


def test_signed_zeros_are_one_row() -> None:
    data = check_training([[-0.0], [0.0], [1.0]], B, standardize=False)
    assert data.X.ravel().tolist() == [0.0, 1.0]
    assert not np.signbit(data.X).any()


@pytest.mark.parametrize("standardize", [True, False])
def test_permuting_rows_permutes_the_index_and_changes_no_other_bit(
    standardize: bool, rng: np.random.Generator
) -> None:
    X, y, weight = messy_data(rng)
    data = check_training(X, y, weight, standardize=standardize)
    for _ in range(5):
        order = rng.permutation(len(X))
        other = check_training(X[order], y[order], weight[order], standardize=standardize)
        assert_same_bits(data, other, but=("index", "kept"))
        np.testing.assert_array_equal(other.kept, data.kept[order])
        full = np.full(len(X), -1)
        full[data.kept] = data.index
        np.testing.assert_array_equal(other.index, full[order][data.kept[order]])


@pytest.mark.parametrize("standardize", [True, False])
def test_integer_weights_equal_repeated_rows_to_the_last_bit(standardize: bool, rng: np.random.Generator) -> None:
    X, y, weight = messy_data(rng)
    times = weight.astype(int)
    repeated = check_training(np.repeat(X, times, axis=0), np.repeat(y, times), standardize=standardize)
    assert_same_bits(check_training(X, y, weight, standardize=standardize), repeated, but=("index", "kept"))


def test_merged_data_carry_the_whole_likelihood(rng: np.random.Generator) -> None:
    """`sigma2**(-(N - n)/2) exp(-SS / 2 sigma2)` times the density of the means, up to a constant."""
    X, y = rng.choice([0.0, 1.0, 2.5], size=(12, 1)), rng.normal(size=12)
    data = check_training(X, y, standardize=False)
    gaps = []
    for scale, sigma2 in itertools.product([0.5, 2.0], [0.1, 1.0, 3.0]):
        full = reference.log_normal_density(y, scale * arcsine_kernel(X) + sigma2 * np.eye(12))
        K = scale * arcsine_kernel(data.X) + sigma2 * np.diag(1 / data.weight)
        merged = reference.log_normal_density(data.y, K)
        merged -= (data.n_observations - len(data.X)) / 2 * np.log(sigma2) + data.ss_within / (2 * sigma2)
        gaps.append(full - merged)
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_one_row_is_enough() -> None:
    data = check_training([[3.0, 4.0]], [7.0])
    assert data.X.tolist() == [[0.0, 0.0]]
    assert data.y.tolist() == [0.0]
    assert data.scaling.y_mean == 7.0
    assert data.scaling.y_scale == 1.0


# --- Standardisation -------------------------------------------------------------------------------------


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
    check_new_rows(X, n_features=2, scaling=check_training(X, y).scaling)
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
    assert_same_bits(data, check_training(X[::-1], y[::-1]), but=("index", "kept"))


# --- New rows --------------------------------------------------------------------------------------------


def test_new_rows_are_scaled_like_training_rows_in_their_own_order() -> None:
    data = check_training(A, B)
    rows = check_new_rows(A[[2, 0, 2]], n_features=2, scaling=data.scaling)
    np.testing.assert_array_equal(rows, data.X[[2, 0, 2]])
    assert rows.flags.c_contiguous


def test_new_rows_are_compared_with_the_training_columns() -> None:
    frame = pd.DataFrame(A, columns=["a", "b"])
    data = check_training(frame, B)
    options: dict[str, Any] = {"n_features": 2, "scaling": data.scaling, "feature_names": data.feature_names}
    np.testing.assert_array_equal(check_new_rows(pl.DataFrame(frame.to_dict("list")), **options), data.X)
    np.testing.assert_array_equal(check_new_rows(A, **options), data.X)
    with pytest.raises(ValueError, match="feature names should match") as error:
        check_new_rows(frame[["b", "a"]], **options)
    assert "['b', 'a'], expected ['a', 'b']" in str(error.value)
    with pytest.raises(ValueError, match="X has 1 features, but widestable is expecting 2 features as input"):
        check_new_rows(A[:, :1], **options)
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        check_new_rows([[1.0, 2.0], [np.nan, 1.0]], **options)


def test_new_rows_beyond_float64_are_refused() -> None:
    scaling = check_training([[1e-300], [2e-300]], [1.0, 2.0]).scaling
    with pytest.raises(ValueError, match="too far from the training rows"):
        check_new_rows([[1e300]], n_features=1, scaling=scaling)


# --- Containers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container",
    [
        lambda X: X.tolist(),
        lambda X: X.astype(np.float32),
        lambda X: np.asfortranarray(X),
        lambda X: X.astype(object),
        lambda X: X.astype(int),
        lambda X: pd.DataFrame(X),
        lambda X: pd.DataFrame(X).astype("Float64"),
        lambda X: pd.DataFrame(X).astype("Int64"),
        lambda X: pl.DataFrame(X),
    ],
)
def test_all_containers_give_the_same_data(container: Any) -> None:
    assert_same_bits(check_training(container(A), B), check_training(A, B), but=("feature_names",))


def test_outputs_and_weights_may_be_series_of_any_index() -> None:
    expected = check_training(A, B, [1.0, 2.0, 3.0])
    y, weight = pd.Series(B, index=[7, 3, 5]), pd.Series([1, 2, 3], index=[0, 9, 1])
    assert_same_bits(check_training(A, y, weight), expected)
    assert_same_bits(check_training(A, pl.Series(B), pl.Series([1, 2, 3])), expected)
    assert_same_bits(check_training(A, B, 1), check_training(A, B))


def test_names_of_frames_are_kept() -> None:
    columns = {"lat": [1.0, 2.0, 3.0], "lon": [4, 5, 6]}
    assert check_training(pd.DataFrame(columns), B).feature_names == ("lat", "lon")
    assert check_training(pl.DataFrame(columns), B).feature_names == ("lat", "lon")
    assert check_training(A, B).feature_names is None
    assert check_training(pd.DataFrame(A), B).feature_names is None


def test_booleans_and_numeric_categories_are_numbers() -> None:
    frame = pd.DataFrame({"on": [True, False, True], "floor": pd.Categorical([1, 3, 2])})
    assert check_training(frame, B, standardize=False).X.tolist() == [[0.0, 3.0], [1.0, 1.0], [1.0, 2.0]]


# --- Errors ----------------------------------------------------------------------------------------------

NAN, INF = A.copy(), A.copy()
NAN[1, 1], INF[2, 0] = np.nan, -np.inf
TEXT = {"size": [1.0, 2.0, 3.0], "town": ["1", "Taipei", "Tainan"]}
DATES = {"size": [1.0, 2.0, 3.0], "sold": pd.to_datetime(["2019-07-01"] * 3)}


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (NAN, r"Input X contains NaN at row 1, column 1 .* drop these rows or fill"),
        (INF, r"Input X contains infinity or a value too large .* at row 2, column 0"),
        ([[np.nan], [1.0], [np.nan]], r"at row 0, column 0 .* and in 1 more"),
        (pd.DataFrame(NAN, columns=["lat", "lon"]), r"NaN at row 1, column 'lon'"),
        (pl.DataFrame({"lat": [1.0, None, 2.0]}), r"NaN at row 1, column 'lat'"),
        (pd.DataFrame({"lat": pd.array([1, None, 2], dtype="Int64")}), r"NaN at row 1, column 'lat'"),
        (pd.DataFrame(TEXT), r"X must hold numbers: encode or drop column 'town' \(Taipei in row 1\)"),
        (pl.DataFrame(TEXT), r"X must hold numbers: encode or drop column 'town' \(Taipei in row 1\)"),
        (pd.DataFrame(DATES), r"encode or drop column 'sold' \(2019-07-01"),
        (pl.DataFrame(DATES), r"encode or drop column 'sold' \(2019-07-01"),
        ([["a", 1.0], [2.0, 3.0], [4.0, 5.0]], r"X must hold numbers, got 'a' at row 0, column 0"),
        (np.array([["1"], ["2"], ["x"]], dtype=object), r"got 'x' at row 2, column 0"),
        (np.array([["2019-07-01"]] * 3, dtype="datetime64[D]"), "dates or times"),
        (A + 1j, "Complex data not supported"),
        ([[1j], [2.0], [3.0]], "Complex data not supported"),
        (np.empty((0, 2)), r"Found array with 0 sample\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (A[:, 0], "Reshape your data"),
        (pd.Series([1.0, 2.0, 3.0]), "Expected a 2-dimensional container"),
        (A[None], "Found array with dim 3"),
        (A[:2], r"inconsistent numbers of samples: \[2, 3\]"),
        ([[10**400], [1], [2]], "value too large for float64"),
    ],
)
def test_bad_inputs_say_what_and_where(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_training(X, B)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 2.0], r"Input y contains NaN at row 1"),
        ([1.0, 2.0, np.inf], r"Input y contains infinity .* at row 2"),
        (["a", "b", "c"], r"y must hold numbers, got 'a' at row 0"),
        (A, r"y should be a 1d array, got an array of shape \(3, 2\) instead.*fit one model for each column"),
        (None, "requires y to be passed, but the target y is None"),
        (3.0, "y should be a 1d array"),
        (np.array(B) + 1j, "Complex data not supported"),
        ([1.0, 2.0], r"inconsistent numbers of samples: \[3, 2\]"),
        (pd.Series(pd.to_datetime(["2019-07-01"] * 3)), "dates or times"),
    ],
)
def test_bad_outputs_say_what_and_where(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_training(A, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -2.0, 1.0], r"Negative values in data passed to sample_weight: -2.0 at row 1 .* pass zero"),
        ([0, 0, 0], r"Sample weights must contain at least one non-zero number, got 3 zeros"),
        (0, "non-zero"),
        ([1.0, 2.0], r"sample_weight.shape == \(2,\), expected \(3,\)!"),
        ([[1.0], [1.0], [1.0]], r"sample_weight.shape == \(3, 1\), expected \(3,\)!"),
        ([1.0, np.nan, 1.0], r"Input sample_weight contains NaN at row 1"),
        (["a", 1.0, 1.0], r"sample_weight must hold numbers, got 'a' at row 0"),
        (1j, "Complex data not supported"),
    ],
)
def test_bad_weights_say_what_and_where(weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_training(A, B, weight)


def test_sparse_input_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Sparse data was passed for X.*toarray"):
        check_training(scipy.sparse.csr_array(A), B)


def test_a_column_of_outputs_is_flattened_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        data = check_training(A, np.array(B)[:, None])
    assert_same_bits(data, check_training(A, B))


# --- scikit-learn's own checks ---------------------------------------------------------------------------


class LeastSquares(RegressorMixin, BaseEstimator):
    """The smallest estimator behind the gate, wired as the gate's docstring says."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LeastSquares:
        data = check_training(X, y, sample_weight)
        validate_data(self, X, skip_check_array=True)
        Z = np.column_stack([np.ones(len(data.X)), data.X])
        gram = (Z.T * data.weight) @ Z + 1e-8 * np.eye(Z.shape[1])
        self.scaling_, self.coef_ = data.scaling, np.linalg.solve(gram, (Z.T * data.weight) @ data.y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = check_new_rows(X, n_features=self.n_features_in_, scaling=self.scaling_)
        validate_data(self, X, reset=False, skip_check_array=True)
        return unscale_outputs(self.coef_[0] + (rows * self.coef_[1:]).sum(axis=1), self.scaling_)


@parametrize_with_checks([LeastSquares()])
def test_an_estimator_behind_the_gate_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
