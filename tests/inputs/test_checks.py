"""Containers that are taken, and errors that say what is wrong and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

from tests.inputs.tables import A, B, assert_same_bits
from widestable.inputs import check_training

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
    assert_same_bits(check_training(container(A), B), check_training(A, B), but=("columns",))


def test_outputs_and_weights_may_be_series_of_any_index() -> None:
    expected = check_training(A, B, [1.0, 2.0, 3.0])
    y, weight = pd.Series(B, index=[7, 3, 5]), pd.Series([1, 2, 3], index=[0, 9, 1])
    assert_same_bits(check_training(A, y, weight), expected)
    assert_same_bits(check_training(A, pl.Series(B), pl.Series([1, 2, 3])), expected)
    assert_same_bits(check_training(A, B, 1), check_training(A, B))


def test_names_of_frames_are_kept() -> None:
    columns = {"lat": [1.0, 2.0, 3.0], "lon": [4, 5, 6]}
    assert check_training(pd.DataFrame(columns), B).columns.names == ("lat", "lon")
    assert check_training(pl.DataFrame(columns), B).columns.names == ("lat", "lon")
    assert check_training(A, B).columns.names is None
    assert check_training(pd.DataFrame(A), B).columns.names is None


def test_an_array_of_truth_values_is_numbers() -> None:
    on = np.array([[True], [False], [True]])
    assert check_training(on, B, standardize=False).X.tolist() == [[0.0], [1.0]]


# --- Errors ----------------------------------------------------------------------------------------------


NAN, INF = A.copy(), A.copy()
NAN[1, 1], INF[2, 0] = np.nan, -np.inf
LENGTHS = {"size": [1.0, 2.0, 3.0], "sold": pd.to_timedelta(["1D", "2D", "3D"])}


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (NAN, r"Input X contains NaN at row 1, column 1 .* drop these rows or fill"),
        (INF, r"Input X contains infinity or a value too large .* at row 2, column 0"),
        ([[np.nan], [1.0], [np.nan]], r"at row 0, column 0 .* and in 1 more"),
        (pd.DataFrame(NAN, columns=["lat", "lon"]), r"NaN at row 1, column 'lon'"),
        (pl.DataFrame({"lat": [1.0, None, 2.0]}), r"NaN at row 1, column 'lat'"),
        (pd.DataFrame({"lat": pd.array([1, None, 2], dtype="Int64")}), r"NaN at row 1, column 'lat'"),
        (pd.DataFrame(LENGTHS), r"encode or drop column 'sold' \(.* in row 0\)"),
        (pl.DataFrame(LENGTHS), r"encode or drop column 'sold' \(.* in row 0\)"),
        ([["a", 1.0], [2.0, 3.0], [4.0, 5.0]], r"X must hold numbers, got 'a' at row 0, column 0"),
        (A + 1j, "Complex data not supported"),
        ([[1j], [2.0], [3.0]], "Complex data not supported"),
        (np.empty((0, 2)), r"Found array with 0 sample\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (A[:, 0], "Reshape your data"),
        (pd.Series([1.0, 2.0, 3.0]), "Expected a 2-dimensional container"),
        (A[None], "Found array with dim 3"),
        (A[:2], r"inconsistent numbers of samples: \[2, 3\]"),
        ([[10**400], [1], [2]], "value too large for float64"),
        ([[1.0, 2.0], [3.0], [4.0]], "Rows of X differ in length or hold lists: pass a table of numbers"),
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
