"""Orders and subsets of rows."""

from __future__ import annotations

import numpy as np
import pytest

from widestable.inputs import spread_indices
from widestable.inputs.rows import near_together


def test_near_rows_are_together(rng: np.random.Generator) -> None:
    """Blocks of the order are far more compact than blocks of the given rows."""
    X = rng.uniform(size=(1024, 2))
    order = near_together(X)
    assert sorted(order) == list(range(1024))
    blocks = X[order].reshape(32, 32, 2)
    assert np.ptp(blocks, axis=1).max() < 0.5
    assert np.ptp(X.reshape(32, 32, 2), axis=1).min() > 0.5


def test_one_column_is_sorted_down_to_the_leaf(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 1))
    np.testing.assert_array_equal(near_together(X, leaf=1), np.argsort(X[:, 0]))
    np.testing.assert_array_equal(near_together(X, leaf=100), np.arange(100))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100, 2001])
@pytest.mark.parametrize("k", [1, 2, 5, 99, 3000])
def test_spread_indices_are_distinct_and_evenly_spread(n: int, k: int) -> None:
    found = spread_indices(n, k)
    assert found.dtype == np.intp
    assert len(found) == min(n, k)
    assert np.all(np.isin(found, np.arange(n)))
    gaps = np.diff(found)
    if len(found) > 1:
        assert found[0] == 0
        assert found[-1] == n - 1
        assert gaps.min() >= 1
        assert gaps.max() - gaps.min() <= 1
