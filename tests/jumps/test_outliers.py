"""Opposite jumps around one or two rows are marked as possible outliers, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.jumps.draws import Atoms, data_of, draws_of
from tests.jumps.test_matching import LINE, step
from widestable.inputs import TrainingData, check_training
from widestable.jumps import find_jumps

GRID = data_of([[float(a), float(b)] for a in range(7) for b in range(7)])


def marked(data: TrainingData, *draws: Atoms) -> list[tuple[int, ...]]:
    return [jump.possible_outliers for jump in find_jumps(data, [draws_of(*draws, width=data.X.shape[1] + 1)])]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("n_rows", "expected"), [(1, (20,)), (2, (20, 21)), (3, ()), (5, ())])
def test_only_one_or_two_rows_are_outliers(n_rows: int, expected: tuple[int, ...], sign: float) -> None:
    draws: list[Atoms] = [[step(19.5, 3.0 * sign), step(19.5 + n_rows, -3.0 * sign)]] * 30
    assert marked(LINE, *draws) == [expected, expected]


def test_a_step_beside_an_outlier_is_a_jump() -> None:
    draws: list[Atoms] = [[step(9.5, 3.0), step(19.5, 3.0), step(20.5, -3.0), step(30.5, -5.0)]] * 30
    assert marked(LINE, *draws) == [(), (20,), (20,), ()]


def test_jumps_up_twice_or_of_other_sizes_are_no_outlier(rng: np.random.Generator) -> None:
    assert marked(LINE, *([[step(19.5, 3.0), step(20.5, 3.0)]] * 30)) == [(), ()]
    other = [[step(19.5, 3.0 + 0.1 * e), step(20.5, -5.0 + 0.1 * e)] for e in rng.standard_normal(30)]
    assert marked(LINE, *other) == [(), ()]


def test_jumps_that_no_draw_has_together_are_no_outlier() -> None:
    draws: list[Atoms] = [[step(19.5, 3.0)] if i % 2 else [step(20.5, -3.0)] for i in range(60)]
    assert marked(LINE, *draws) == [(), ()]


def test_rows_have_their_numbers_in_the_given_data() -> None:
    """Out of order, and with a row of weight zero in front."""
    x, weight = np.append(99.0, np.arange(40.0)[::-1]), np.append(0.0, np.ones(40))
    data = check_training(x[:, None], np.zeros(41), weight, standardize=False)
    assert marked(data, *([[step(19.5, 3.0), step(20.5, -3.0)]] * 30)) == [(20,), (20,)]
    assert x[20] == 20.0


def test_observations_that_agree_are_no_outlier() -> None:
    """Weight 3 is writing the row three times."""
    heavy = replace(LINE, weight=np.where(np.arange(40) == 20, 3.0, 1.0))
    assert marked(heavy, *([[step(19.5, 3.0), step(20.5, -3.0)]] * 30)) == [(), ()]


def test_a_narrow_strip_of_a_plane_is_an_outlier(rng: np.random.Generator) -> None:
    """Two nearly parallel lines; the normal (1, 0.2) orders all points of the grid differently."""

    def strip(low: float, high: float) -> list[Atoms]:
        tilts = 0.2 + 0.001 * rng.standard_normal(30)
        return [[([-low, 1.0, tilt], 1.5), ([-high, 1.0, tilt], -1.5)] for tilt in tilts]

    # (3, 3) is at 3.6, its neighbours in this order are at 3.4 and 3.8; five points are between 3.1 and 4.1.
    assert marked(GRID, *strip(3.5, 3.7)) == [(24,), (24,)]
    assert marked(GRID, *strip(3.3, 3.7)) == [(23, 24), (23, 24)]
    assert marked(GRID, *strip(3.1, 4.1)) == [(), ()]


def test_lines_that_cross_are_no_outlier() -> None:
    """The point (4, 0) is above both, and (2, 6) below both; all others are above one of them."""
    draws: list[Atoms] = [[([-3.91, 1.0, 0.3], 1.5), ([-4.21, 1.0, 0.4], -1.5)]] * 30
    assert marked(GRID, *draws) == [(), ()]


def test_the_printed_form_names_the_row() -> None:
    draws: list[Atoms] = [[step(9.5, 4.0), step(19.5, 3.0), step(20.5, -3.0)]] * 30
    found = find_jumps(LINE, [draws_of(*draws, width=2)])
    head, first, *others, last, _ = str(found).splitlines()
    assert "outlier" not in head + first
    assert [line.endswith("; possibly an outlier: row 20") for line in others] == [True, True]
    assert "count from 0" in last
    assert found.to_dict()["jumps"][1]["possible_outliers"] == [20]
