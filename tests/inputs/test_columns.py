"""Dates, categories and missing values: what columns are taken for, and how they become numbers and words."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.inputs.tables import assert_same_bits
from widestable.inputs import Columns, check_new_rows, check_training
from widestable.inputs.columns import MAX_LEVELS, learn

DAYS = ["2023-03-29", "2023-03-31", "2023-04-01", "2023-04-13"]
SINCE = [0.0, 2.0, 3.0, 15.0]


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


# --- Dates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        frame(d=DAYS),
        frame(d=pd.to_datetime(DAYS)),
        frame(d=pd.to_datetime(DAYS).tz_localize("Asia/Taipei")),
        frame(d=[date.fromisoformat(day) for day in DAYS]),
        frame(d=[datetime.fromisoformat(day) for day in DAYS]),
        frame(d=["29.03.2023", "31.03.2023", "01.04.2023", "13.04.2023"]),
        frame(d=["03/29/2023", "03/31/2023", "04/01/2023", "04/13/2023"]),
        frame(d=["29/03/2023", "31/03/2023", "01/04/2023", "13/04/2023"]),
        frame(d=["29 Mar 2023", "31 Mar 2023", "01 Apr 2023", "13 Apr 2023"]),
        frame(d=[f"{day}T00:00:00+08:00" for day in DAYS]),
        pl.DataFrame({"d": [date.fromisoformat(day) for day in DAYS]}),
        pl.DataFrame({"d": pl.Series(DAYS).str.to_datetime().dt.replace_time_zone("Asia/Taipei")}),
        [[day] for day in DAYS],
        np.array(DAYS, dtype="datetime64[D]")[:, None],
        np.array(DAYS, dtype=object)[:, None],
    ],
)
def test_dates_of_many_kinds_count_days_since_the_first(table: Any) -> None:
    columns, X = learn(table)
    assert X.ravel().tolist() == SINCE
    assert columns.given[0].kind == "date"
    assert columns.show(0, 3.0) == "2023-04-01"
    assert columns.values(0, np.array([3.0])).astype("datetime64[D]").tolist() == [date(2023, 4, 1)]
    np.testing.assert_array_equal(columns.encode(table), X)


def test_times_keep_their_digits_and_are_shown_to_the_unit_they_have() -> None:
    stamps = pd.date_range("2023-01-01 10:00", periods=5000, freq="37s")
    columns, X = learn(frame(t=stamps))
    assert columns.show(0, X[1, 0]) == "2023-01-01 10:00:37"
    back = columns.values(0, X[:, 0])
    assert np.abs(back - stamps.to_numpy()).max() <= np.timedelta64(1, "us")
    assert learn(frame(t=stamps.floor("min")))[0].show(0, 1.0) == "2023-01-02 10:00"
    # A new date may be coarser than the first one.
    assert columns.encode(np.array([["2023-01-02"]], dtype="datetime64[D]")) == pytest.approx(14.0 / 24.0)


def test_centuries_are_no_problem() -> None:
    """Spans of time in nanoseconds end at 292 years."""
    columns, X = learn(np.array(["1066-10-14", "2023-03-31"], dtype="datetime64[D]")[:, None])
    assert X.ravel().tolist() == [0.0, (date(2023, 3, 31) - date(1066, 10, 14)).days]
    assert columns.show(0, X[1, 0]) == "2023-03-31"


def test_clocks_of_a_time_zone_go_on_where_they_change() -> None:
    """The night of 26 March 2023 has 23 hours in Berlin."""
    columns, X = learn(frame(t=pd.date_range("2023-03-25", periods=3, tz="Europe/Berlin")))
    assert X.ravel() == pytest.approx([0.0, 1.0, 1.0 + 23.0 / 24.0])
    assert [columns.show(0, days) for days in X[:, 0]] == ["2023-03-25", "2023-03-26", "2023-03-27"]
    # A date without a zone is read on the same clock.
    assert columns.encode([["2023-03-27"]]) == pytest.approx(X[2:])
    with pytest.raises(ValueError, match="has a time zone, and had none in training"):
        learn(frame(t=DAYS))[0].encode(frame(t=pd.to_datetime(DAYS).tz_localize("UTC")))


def test_dates_that_can_be_read_in_two_ways_are_refused() -> None:
    with pytest.raises(ValueError, match="'03/04/2023', may begin with the day or with the month: write them like"):
        learn(frame(d=["03/04/2023", "05/06/2023"]))
    # New dates are read as those of training were.
    columns, _ = learn(frame(d=["29/03/2023", "01/04/2023"]))
    assert columns.encode([["02/04/2023"]]).tolist() == [[4.0]]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ([["soon"]], "Column 'd' holds 'soon' in row 0 .*, expected a date"),
        ([[3.5]], "pass a table like that of training"),
        (frame(d=[3.5]), "Column 'd' holds 3.5 in row 0 .*, expected a date as in training"),
        ([[None]], "NaN at row 0"),
    ],
)
def test_what_is_no_date_is_named(new: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learn(frame(d=DAYS))[0].encode(new)


# --- Categories ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["b", "a", "b"], ("a", "b")),
        ([True, False, True], (False, True)),
        (pd.Categorical(["b", "a", "b"], categories=["b", "c", "a"]), ("b", "a")),
        (pd.Categorical([3, 1, 3]), (1, 3)),
        (pd.array([True, False, True], dtype="boolean"), (False, True)),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ("a", "b")),
        (pl.Series([True, False, True]), (False, True)),
    ],
)
def test_categories_have_one_column_per_level(values: Any, levels: tuple[Any, ...]) -> None:
    table = pl.DataFrame({"k": values}) if isinstance(values, pl.Series) else frame(k=values)
    columns, X = learn(table)
    assert columns.given[0].levels == levels
    assert X.tolist() == [[float(value == level) for level in levels] for value in values]
    assert columns.is_plain is False
    np.testing.assert_array_equal(columns.encode(table), X)
    np.testing.assert_array_equal(columns.decode(X)[:, 0], X.argmax(axis=1))


def test_levels_lie_equally_far_apart_whatever_their_frequencies() -> None:
    """As two numbers one s.d. above and below the mean: also a rare level, and beside a number."""
    kind, x = np.repeat(["a", "b", "c"], [50, 49, 1]), np.arange(100.0)
    data = check_training(frame(kind=kind, x=x), x)
    levels = check_new_rows(frame(kind=["a", "b", "c"], x=[0.0] * 3), columns=data.columns, scaling=data.scaling)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(levels[i] - levels[j]) == pytest.approx(2.0)
    assert np.average(data.X, axis=0, weights=data.weight) == pytest.approx([0.0] * 4, abs=1e-12)
    assert data.columns.input_of_column.tolist() == [0, 0, 0, 1]


def test_a_new_level_is_an_error_that_lists_the_known_ones_or_none_of_them() -> None:
    columns, _ = learn(frame(town=["Oslo", "Bergen", "Oslo"]))
    with pytest.raises(ValueError, match=r"'town' holds 'Paris' in row 1 .*\(Bergen, Oslo\): correct it"):
        columns.encode(frame(town=["Oslo", "Paris"]))
    assert columns.encode(frame(town=["Oslo", "Paris"]), unknown="other").tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_text_with_too_many_levels_is_refused() -> None:
    with pytest.raises(ValueError, match=rf"Column 'name' has {MAX_LEVELS + 1} different values such as"):
        learn(frame(name=[f"n{i}" for i in range(MAX_LEVELS + 1)]))


def test_tables_of_numbers_take_the_old_path() -> None:
    X = np.random.default_rng(0).standard_normal((9, 3))
    for table in (X, X.tolist(), frame(a=X[:, 0], b=X[:, 1], c=X[:, 2]), X.astype(object), X.astype(str)):
        columns, rows = learn(table)
        np.testing.assert_array_equal(rows, X)
        assert [column.kind for column in columns.given] == ["number"] * 3


# --- Missing values --------------------------------------------------------------------------------------

HOLES = frame(x=[1.0, np.nan, 3.0], kind=["a", "b", None], day=["2023-01-01", None, "2023-01-05"])


def test_missing_values_are_refused_dropped_or_marked() -> None:
    y = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"NaN at row 1, column 'x' .* pass missing=\"drop\" or missing=\"indicator\""):
        check_training(HOLES, y)
    data = check_training(HOLES, y, missing="drop")
    assert data.kept.tolist() == [True, False, False]
    columns, X = learn(HOLES, "indicator")
    assert X.tolist() == [
        [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [2.0, 1.0, 0.0, 1.0, 0.0, 2.0, 1.0],
        [3.0, 0.0, 0.0, 0.0, 1.0, 4.0, 0.0],
    ]
    assert columns.input_of_column.tolist() == [0, 0, 1, 1, 1, 2, 2]
    shown = [[columns.show(j, v) for j, v in enumerate(row)] for row in columns.decode(X)]
    assert shown == [["1", "a", "2023-01-01"], ["missing", "b", "missing"], ["3", "missing", "2023-01-05"]]


def test_new_rows_with_missing_values() -> None:
    columns, X = learn(HOLES, "indicator")
    np.testing.assert_array_equal(columns.encode(HOLES), X)
    dropped = columns.encode(HOLES, missing="drop")
    np.testing.assert_array_equal(dropped[0], X[0])
    assert np.isnan(dropped[1:]).all()
    with pytest.raises(ValueError, match="NaN at row 1, column 'x'"):
        columns.encode(HOLES, missing="error")
    # A column that was whole in training has nothing to mark a hole with.
    whole, _ = learn(HOLES[:1], "indicator")
    with pytest.raises(ValueError, match="NaN at row 1"):
        whole.encode(HOLES[:2].assign(kind="a"))


def test_rows_without_an_output_are_dropped_unless_that_is_an_error() -> None:
    X, y = [[1.0], [2.0], [3.0]], [1.0, np.nan, 3.0]
    with pytest.raises(ValueError, match="Input y contains NaN at row 1"):
        check_training(X, y)
    for missing in ("drop", "indicator"):
        assert check_training(X, y, missing=missing).kept.tolist() == [True, False, True]
    with pytest.raises(ValueError, match="Each of the 2 rows has a missing value"):
        check_training([[np.nan], [1.0]], [1.0, np.nan], missing="drop")


def test_rows_that_are_left_out_teach_nothing() -> None:
    table = frame(
        kind=["a", "b", "c", "a"], day=["2023-01-05", "2023-01-09", "2023-01-01", "2023-01-05"], x=[1, 2, 3, 4]
    )
    data = check_training(table, [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 0.0, 1.0])
    expected = check_training(table.drop(index=2), [1.0, 2.0, 4.0])
    assert_same_bits(data, expected, but=("kept", "observation"))
    assert data.columns == expected.columns
    assert data.columns.given[0].levels == ("a", "b")


# --- Files -----------------------------------------------------------------------------------------------


def test_columns_survive_json() -> None:
    columns, _ = learn(HOLES.assign(on=[True, False, True], size=pd.Categorical([3, 1, 3])), "indicator")
    meta = json.loads(json.dumps(columns.to_meta()))
    assert Columns.from_meta(meta, columns.names) == columns


@pytest.mark.parametrize(
    "change",
    [{"kind": "secret"}, {"kind": "date"}, {"fill": float("nan")}, {"levels": [["a"]]}, {"dates": {"origin": "no"}}],
)
def test_columns_of_a_hostile_file_are_refused(change: dict[str, Any]) -> None:
    meta = learn(frame(kind=["a", "b"]))[0].to_meta()
    with pytest.raises((ValueError, TypeError)):
        Columns.from_meta([meta[0] | change], None)
