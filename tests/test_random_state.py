"""Random streams from what users pass as random_state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from widestable.random_state import make_rng, make_seed, make_seeds


@pytest.mark.parametrize("random_state", [7, np.int64(7)])
def test_an_integer_seeds_as_numpy_does(random_state: Any) -> None:
    assert make_rng(random_state).random() == np.random.default_rng(7).random()


def test_none_is_fresh_each_time() -> None:
    assert make_rng(None).random() != make_rng(None).random()


def test_a_generator_is_used_itself() -> None:
    rng = np.random.default_rng(0)
    assert make_rng(rng) is rng


@pytest.mark.parametrize("source", [np.random.RandomState, np.random.default_rng])
def test_sources_of_random_numbers_move_on(source: Any) -> None:
    first, second = source(3), source(3)
    assert make_seed(first).entropy == make_seed(second).entropy
    assert make_seed(first).entropy != make_seed(source(3)).entropy


def test_seeds_of_chains_differ() -> None:
    values = {np.random.default_rng(seed).random() for seed in make_seeds(0, 4)}
    assert len(values) == 4


@pytest.mark.parametrize("random_state", [-1, 1.0, "a", True])
def test_anything_else_is_refused(random_state: Any) -> None:
    with pytest.raises(ValueError, match=r"Got random_state = .*, expected None, an integer of 0 or more.*: pass an"):
        make_rng(random_state)
