"""Jumps in words and as a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests import fits
from tests.jumps.draws import data_of, draws_of
from widestable import StableRegressor
from widestable.inputs.columns import learn
from widestable.jumps import Jump, Jumps, find_jumps


def jumps_of(direction: list[float], names: str = "a b c", centre: float = 0.0, spread: float = 1.0) -> Jumps:
    """One jump across `direction . x = 1.5`, 90% interval 1.4 to 1.6."""
    jump = Jump(0.97, 1.5, (1.4, 1.6), np.array(direction), 3.987, (3.77, 4.2), 0.0, 1.0)
    inputs = tuple(names.split()), np.full(len(direction), centre), np.full(len(direction), spread)
    return Jumps(1.0, 0.5, np.ones(9, dtype=np.int64), (jump,), *inputs, target="yield")


@pytest.mark.parametrize(
    ("direction", "words"),
    [
        ([0.5, 0.05, 0.0], "where a > 3.00 (2.80 to 3.20), 2 small weights left out"),
        ([0.0, -0.5, 0.05], "where b < -3.00 (-3.20 to -2.80), 2 small weights left out"),
        ([0.5, -0.5, 0.05], "where 0.5 a - 0.5 b > 1.50, 1 small weight left out"),
        ([0.5, -0.5, 0.2], "where 0.5 a - 0.5 b + 0.2 c > 1.50"),
    ],
)
def test_inputs_that_carry_the_plane_are_named_and_the_others_counted(direction: list[float], words: str) -> None:
    found = jumps_of(direction)
    assert found.describe(found[0]) == f"yield rises by 3.99 (3.77 to 4.20) {words}; probability 0.97"
    full = found.describe(found[0], full=True)
    assert "left out" not in full
    assert all(f" {name} " in full for name in "abc")


def test_weights_count_per_standard_deviation() -> None:
    """An input with a tiny coefficient and a large spread carries the plane."""
    found = replace(jumps_of([0.5, 0.005, 0.005]), spread=np.array([1.0, 100.0, 1.0]))
    assert "where 0.5 a + 0.5 b/100 > 1.50, 1 small weight left out" in found.describe(found[0])


def test_a_constant_input_is_neither_named_nor_counted() -> None:
    found = replace(jumps_of([0.5, 9.0, 0.05]), spread=np.array([1.0, 0.0, 1.0]))
    assert "where a > 3.00 (2.80 to 3.20), 1 small weight left out;" in found.describe(found[0])


@pytest.mark.parametrize("d", [2, 3])
def test_the_inequality_holds_where_the_plane_says(d: int) -> None:
    """Evaluate the words as Python on random rows, far from zero and in other units."""
    rng = np.random.default_rng(0)
    direction, centre, spread = rng.uniform(0.5, 1.0, d) / 40.0, rng.uniform(1e3, 2e3, d), np.full(d, 40.0)
    location = float(direction @ centre) + 0.3
    jump = Jump(1.0, location, (location - 1e-6, location + 1e-6), direction, 1.0, (0.5, 1.5), 0.0, 1.0)
    found = Jumps(1.0, 0.5, np.ones(9, dtype=np.int64), (jump,), ("a", "b", "c")[:d], centre, spread)
    words = found.describe(jump).split("where ")[1].split(";")[0]
    code = words.replace(" (", " * (").replace(" a", " * a") if d == 3 else words.replace(" (", " * (")
    X = centre + spread * rng.standard_normal((200, d))
    value = X @ direction - location
    X, value = X[np.abs(value) > 0.1], value[np.abs(value) > 0.1]  # coefficients are rounded
    assert [eval(code, dict(zip("abc", row, strict=False))) for row in X] == (value > 0.0).tolist()


def test_one_threshold_among_several_inputs_has_the_interval_of_its_draws() -> None:
    """Planes `a > t` for t = 0.2, ..., 0.8, with another input far from zero and of no effect."""
    data = data_of([[0.0, 500.0, 1.0], [1.0, 501.0, 0.0], [1.0, 499.0, 2.0]])
    thresholds = np.linspace(0.2, 0.8, 61)
    chain = draws_of(*([([-t, 1.0, 0.0, 0.0], 2.0)] for t in thresholds), width=4)
    found = find_jumps(data, [chain], 0.5)
    low, high = np.quantile(thresholds, [0.05, 0.95])
    assert f"f rises by 4 (4 to 4) where x1 > 0.50 ({low:.2f} to {high:.2f}), 2 small weights left out" in str(found)


def test_the_headline_counts_what_is_listed() -> None:
    found = jumps_of([1.0], "day")
    rare = replace(found[0], probability=0.3)
    lines = str(replace(found, found=(found[0], rare))).splitlines()
    assert lines[0] == "1 jump larger than 1, with 90% intervals:"
    assert lines[1] == "  yield rises by 3.99 (3.77 to 4.20) at 1.50 (1.40 to 1.60); probability 0.97"
    assert lines[2] == "  and 1 less probable, each in 20% to 50% of the draws"
    assert str(replace(found, found=(rare,))).splitlines()[0] == "No jump larger than 1 in at least half of the draws"
    wide = replace(found, found=(replace(found[0], width=0.25),), has_widths=True)
    assert "(1.40 to 1.60), 0.25 wide; probability" in str(wide)
    assert repr(wide) == str(wide)


def test_many_numbers_of_jumps_become_an_interval() -> None:
    found = replace(jumps_of([1.0], "day"), n_jumps=np.arange(101, dtype=np.int64))
    assert str(found).endswith("Jumps per draw: 50 (90%: 5 to 95)")


def test_the_table_has_the_numbers_of_the_jumps() -> None:
    jumps = fits.plane().jumps()
    table = jumps.to_frame()
    assert len(table) == len(jumps) > 0
    assert "width" not in table
    for (_, row), jump in zip(table.iterrows(), jumps, strict=True):
        assert (row["probability"], row["size"], row["location"]) == (jump.probability, jump.size, jump.location)
        assert (row["size 5%"], row["size 95%"]) == jump.size_interval
        assert (row["location 5%"], row["location 95%"]) == jump.location_interval
        assert [row["direction of x1"], row["direction of x2"]] == jump.direction.tolist()
        assert row["words"] == jumps.describe(jump)
    empty = fits.plane().jumps(size=1e9).to_frame()
    assert list(empty.columns) == list(table.columns)
    assert "width" in fits.smooth().jumps().to_frame()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_name_of_the_target_is_kept(tmp_path: object) -> None:
    X, y = fits.line_data()
    model = fits.fit(X, pd.Series(y, name="level"))
    assert model.jumps().target == "level"
    model.save(f"{tmp_path}/model.zip")
    assert "level rises by" in str(StableRegressor.load(f"{tmp_path}/model.zip").jumps())
    assert fits.line().jumps().target == "f"


# --- Dates, categories and missing values ----------------------------------------------------------------


def mixed_jumps(direction: list[float], location: float) -> Jumps:
    """One jump over a table of dates, a category of three levels, and numbers of which some are missing."""
    day = pd.date_range("2023-03-01", periods=60)
    x = np.where(np.arange(60) % 4 == 0, np.nan, np.arange(60) % 7)
    table = pd.DataFrame({"day": day, "plan": list("ABC") * 20, "x": x})
    columns, X = learn(table, "indicator")
    assert columns.terms == (
        "[day in days since 2023-03-01]", "[plan is A]", "[plan is B]", "[plan is C]", "x", "[x is missing]",
    )  # fmt: skip
    ends = (location - 0.5, location + 0.5)
    jump = Jump(1.0, location, ends, np.array(direction), 2.0, (1.0, 3.0), 0.0, 1.0)
    counts = np.ones(9, dtype=np.int64)
    return Jumps(1.0, 0.5, counts, (jump,), columns.labels, X.mean(axis=0), X.std(axis=0), columns=columns)


@pytest.mark.parametrize(
    ("direction", "location", "words"),
    [
        # Rows of 1 April and later are higher; day 31 is 1 April.
        ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 30.8, "day is after 2023-03-31 (2023-03-31 to 2023-04-02), 5 small"),
        ([-1.0, 0.0, 0.0, 0.0, 0.0, 0.0], -30.2, "day is before 2023-04-01 (2023-03-30 to 2023-04-01), 5 small"),
        ([0.0, 3.0, 0.0, 3.0, 0.0, 0.0], 1.5, "plan is A or C, 3 small weights left out"),
        # The same plane: levels add up to 1, so 10 may be taken from all.
        ([0.0, 13.0, 10.0, 13.0, 0.0, 0.0], 11.5, "plan is A or C, 3 small weights left out"),
        # Whether x is missing has a weight, but too small a one to change sides; the next one is large enough.
        ([0.0, 3.0, 0.0, 3.0, 0.0, 1.2], 1.5, "plan is A or C, 3 small weights left out"),
        (
            [0.0, 3.0, 0.0, 3.0, 0.0, 1.8],
            1.5,
            "1 [plan is A] - 2 [plan is B] + 1 [plan is C] + 1.8 [x is missing] > -0.5, 2",
        ),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 2.0], 1.0, "x is missing, 5 small"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, -2.0], -1.0, "x is not missing, 5 small"),
        ([0.0, 0.0, 0.0, 0.0, 2.0, 0.0], 6.0, "x > 3.00 (2.75 to 3.25), 5 small"),
    ],
)
def test_one_input_of_a_table_is_told_in_its_own_words(direction: list[float], location: float, words: str) -> None:
    found = mixed_jumps(direction, location)
    assert f" where {words}" in found.describe(found[0])


def test_a_sum_counts_days_from_a_date_and_levels_as_0_or_1() -> None:
    found = mixed_jumps([0.1, 0.0, 0.0, 3.0, 0.0, 0.0], 5.0)
    # Around the middle of the dates (day 30), and without what all levels share (1): 0.1 (day - 30) > 5 - 1 - 3.
    expected = "where 2 [day in days since 2023-03-31]/20 - 1 [plan is A] - 1 [plan is B] + 2 [plan is C] > 1.0"
    assert expected in found.describe(found[0])
    assert "x" in found.describe(found[0], full=True).split("[plan is C]")[1]
    assert list(found.to_frame().columns[-2:]) == ["direction of [x is missing]", "words"]


def test_jumps_take_other_names() -> None:
    found = replace(mixed_jumps([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 30.8), names=("date", "kind", "age"))
    assert "where date is after" in found.describe(found[0])
    assert found.terms[-1] == "[age is missing]"
