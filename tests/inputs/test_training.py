"""Merging, sorting and new rows. tests/test_estimator_checks.py runs scikit-learn's own checks through this gate."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests import twins
from tests.inputs.tables import A, B, assert_same_bits, messy_data
from widestable.inputs import check_new_rows, check_training, scale_inputs, scale_outputs
from widestable.network import arcsine_kernel

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
    assert_same_bits(with_row, check_training(A, B), but=("kept", "observation"))


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
        assert_same_bits(data, other, but=("index", "kept", "observation"))
        np.testing.assert_array_equal(other.kept, data.kept[order])
        full = np.full(len(X), -1)
        full[data.kept] = data.index
        np.testing.assert_array_equal(other.index, full[order][data.kept[order]])


@pytest.mark.parametrize("standardize", [True, False])
def test_integer_weights_equal_repeated_rows_to_the_last_bit(standardize: bool, rng: np.random.Generator) -> None:
    X, y, weight = messy_data(rng)
    times = weight.astype(int)
    repeated = check_training(np.repeat(X, times, axis=0), np.repeat(y, times), standardize=standardize)
    assert_same_bits(
        check_training(X, y, weight, standardize=standardize), repeated, but=("index", "kept", "observation")
    )


def test_merged_data_carry_the_whole_likelihood(rng: np.random.Generator) -> None:
    """`sigma2**(-(N - n)/2) exp(-SS / 2 sigma2)` times the density of the means, up to a constant."""
    X, y = rng.choice([0.0, 1.0, 2.5], size=(12, 1)), rng.normal(size=12)
    data = check_training(X, y, standardize=False)
    gaps = []
    for scale, sigma2 in itertools.product([0.5, 2.0], [0.1, 1.0, 3.0]):
        full = twins.log_normal_density(y, scale * arcsine_kernel(X) + sigma2 * np.eye(12))
        K = scale * arcsine_kernel(data.X) + sigma2 * np.diag(1 / data.weight)
        merged = twins.log_normal_density(data.y, K)
        merged -= (data.n_observations - len(data.X)) / 2 * np.log(sigma2) + data.ss_within / (2 * sigma2)
        gaps.append(full - merged)
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_one_row_is_enough() -> None:
    data = check_training([[3.0, 4.0]], [7.0])
    assert data.X.tolist() == [[0.0, 0.0]]
    assert data.y.tolist() == [0.0]
    assert data.scaling.y_mean == 7.0
    assert data.scaling.y_scale == 1.0


# --- New rows --------------------------------------------------------------------------------------------


def test_new_rows_are_scaled_like_training_rows_in_their_own_order() -> None:
    data = check_training(A, B)
    rows = check_new_rows(A[[2, 0, 2]], columns=data.columns, scaling=data.scaling)
    np.testing.assert_array_equal(rows, data.X[[2, 0, 2]])
    assert rows.flags.c_contiguous


def test_new_rows_are_compared_with_the_training_columns() -> None:
    frame = pd.DataFrame(A, columns=["a", "b"])
    data = check_training(frame, B)
    options: dict[str, Any] = {"columns": data.columns, "scaling": data.scaling}
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
    data = check_training([[1e-300], [2e-300]], [1.0, 2.0])
    with pytest.raises(ValueError, match="too far from the training rows"):
        check_new_rows([[1e300]], columns=data.columns, scaling=data.scaling)
