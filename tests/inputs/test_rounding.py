"""The floor of the noise variance."""

from __future__ import annotations

import numpy as np
import pytest

from widestable.inputs import check_training
from widestable.inputs.rounding import LEAST_SHARE


def floor(y: np.ndarray, weight: np.ndarray | None = None, standardize: bool = False) -> float:
    return check_training(np.arange(len(y), dtype=float)[:, None], y, weight, standardize=standardize).least_variance


@pytest.mark.parametrize("unit", [1.0, 0.1, 1.0 / 3.0, 1e8])
def test_rounding_to_a_unit_adds_its_uniform_error(unit: float, rng: np.random.Generator) -> None:
    y = unit * np.round(rng.normal(7.0, 2.0, 100))
    assert floor(y) == pytest.approx(unit**2 / 12.0)
    assert floor(y, standardize=True) == pytest.approx(unit**2 / 12.0 / y.var())


def test_numbers_that_were_not_rounded_keep_a_small_part_of_their_variance(rng: np.random.Generator) -> None:
    two_levels, staircase = np.repeat([0.0, 1.0], 20), np.repeat([0.0, 3.0, 5.0, 9.0, 13.0], 8)
    for y in (rng.standard_normal(40), np.linspace(0.0, 1.0, 40), two_levels, staircase + 0.01 * staircase**2):
        assert floor(y) == pytest.approx(LEAST_SHARE * y.var())
        assert floor(y, standardize=True) == LEAST_SHARE


def test_the_floor_is_at_most_a_twelfth_of_the_variance() -> None:
    counts = np.concatenate([np.zeros(95), [1.0, 1.0, 2.0, 3.0, 1.0]])
    assert floor(counts) == pytest.approx(counts.var() / 12.0)


def test_constant_outputs_count_as_spread_over_one() -> None:
    assert floor(np.full(9, 5.0)) == floor(np.full(9, 5.0), standardize=True) == LEAST_SHARE


def test_order_and_repeats_change_no_bit(rng: np.random.Generator) -> None:
    y, weight = np.round(rng.normal(0.0, 3.0, 60)) / 7.0, rng.integers(1, 4, 60)
    order = rng.permutation(60)
    for standardize in (True, False):
        one = floor(y, weight, standardize)
        assert floor(y[order], weight[order], standardize) == one
        assert floor(np.repeat(y, weight), None, standardize) == one


def test_outputs_too_large_or_small_to_square_do_no_harm() -> None:
    y = np.array([1.0, 2.0, 3.0, 4.0] * 3)
    assert floor(1e300 * y) == np.inf
    assert floor(1e-300 * y) == 0.0
    assert floor(1e300 * y, standardize=True) == pytest.approx(1.0 / 15.0)
