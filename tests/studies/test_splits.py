from __future__ import annotations

import numpy as np
import pytest

from studies.datasets import Table
from studies.splits import cut, random_rows, scaled_rows, standardise, whole_locations


@pytest.fixture
def table(rng: np.random.Generator) -> Table:
    """414 rows at 259 places."""
    places = rng.standard_normal((259, 2))
    return Table(places[np.concatenate([np.arange(259), rng.integers(0, 259, 155)])], rng.standard_normal(414))


def test_random_rows_have_the_papers_sizes(table: Table) -> None:
    train, test = random_rows(table, 3)
    assert (len(train), len(test)) == (276, 138)
    assert sorted([*train, *test]) == list(range(414))
    assert not np.array_equal(test, random_rows(table, 4)[1])


def test_whole_locations_share_no_place(table: Table) -> None:
    train, test = whole_locations(table, 0)
    assert sorted([*train, *test]) == list(range(414))
    assert 270 <= len(train) <= 285
    assert not {tuple(row) for row in table.X[train]} & {tuple(row) for row in table.X[test]}


def test_units_are_those_of_the_whole_table(table: Table) -> None:
    scaled = standardise(Table(10.0 * table.X + 3.0, 5.0 * table.y))
    np.testing.assert_allclose([scaled.X.std(axis=0), scaled.X.mean(axis=0)], [[1.0, 1.0], [0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(scaled_rows(table.X, table.X), standardise(table).X)
    problem = cut(scaled, random_rows(scaled, 0))
    assert problem.y_new.shape == (1, 138)
