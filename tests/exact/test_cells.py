from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.exact.twins import grid
from widestable.exact import Partition, build_partition
from widestable.exact.cells import n_cells_bound
from widestable.exact.line import line_cells
from widestable.network import arcsine_kernel


def test_shapes_and_types() -> None:
    partition = build_partition(grid(3, 3))
    assert partition.signs.dtype == np.int8
    assert set(np.unique(partition.signs)) == {-1, 1}
    assert partition.q.shape == partition.standard_error.shape == (len(partition.signs),)
    assert not partition.standard_error.any()


def test_repeated_rows_share_their_columns() -> None:
    X = grid(3, 3)
    twice = build_partition(np.concatenate([X, X]))
    np.testing.assert_array_equal(twice.signs[:, :9], twice.signs[:, 9:])
    np.testing.assert_array_equal(twice.q, build_partition(X).q)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_order_of_rows_moves_columns_only(d: int, rng: np.random.Generator) -> None:
    X = rng.normal(size=(7, d))
    order = rng.permutation(7)
    one, other = build_partition(X, n_directions=10), build_partition(X[order], n_directions=10)
    np.testing.assert_array_equal(one.signs[:, order], other.signs)
    np.testing.assert_array_equal(one.q, other.q)


def test_smallest_row_is_positive(rng: np.random.Generator) -> None:
    X = rng.normal(size=(6, 2))
    assert (build_partition(X).signs[:, np.argmin(X[:, 0])] == 1).all()


@pytest.mark.parametrize("direction", [[1.0, 0.0], [1.0, -2.0], [0.0, 1.0]])
def test_points_on_a_line_in_the_plane_are_the_closed_form(direction: list[float], rng: np.random.Generator) -> None:
    X = np.array([0.5, -0.7]) + rng.normal(size=(8, 1)) * direction
    partition = build_partition(X)
    assert len(partition.q) == 8
    assert abs(partition.q.sum() - 1) < 1e-14
    np.testing.assert_allclose((partition.signs.T * partition.q) @ partition.signs, arcsine_kernel(X), atol=1e-12)


def test_a_constant_column_far_away_shrinks_the_line() -> None:
    x = np.linspace(-1, 1, 5)
    partition = build_partition(np.column_stack([x, np.full(5, np.sqrt(3.0))]))
    np.testing.assert_allclose(partition.q, line_cells(x / 2.0)[1], rtol=1e-12)


def test_a_plane_in_space_is_exact(rng: np.random.Generator) -> None:
    X = rng.normal(size=(10, 2)) @ rng.normal(size=(2, 3)) + 1.0
    partition = build_partition(X)
    assert len(partition.q) == n_cells_bound(10, 2)
    assert not partition.standard_error.any()
    signs = partition.signs.astype(float)
    np.testing.assert_allclose((signs.T * partition.q) @ signs, arcsine_kernel(X), atol=1e-12)


@pytest.mark.parametrize("X", [[[2.0, 3.0]], [[2.0, 3.0]] * 3, [[0.0], [-0.0]]])
def test_one_distinct_row_is_one_cell(X: list[list[float]]) -> None:
    partition = build_partition(X)
    assert partition.signs.tolist() == [[1] * len(X)]
    assert partition.q.tolist() == [1.0]


def test_save_and_load(tmp_path: Path, rng: np.random.Generator) -> None:
    partition = build_partition(rng.normal(size=(6, 3)), n_directions=20)
    partition.save(tmp_path / "cells.npz")
    loaded = Partition.load(tmp_path / "cells.npz")
    for name in ("signs", "q", "standard_error"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(partition, name))
        assert getattr(loaded, name).dtype == getattr(partition, name).dtype


def test_too_many_cells_says_how_many_and_what_else_to_use(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"12497501 cells.*58.2 GiB.*StableRegressor"):
        build_partition(rng.normal(size=(5000, 2)))
    with pytest.raises(ValueError, match="up to 7 cells"):
        build_partition(rng.normal(size=(4, 2)), max_bytes=7 * 4 - 1)
    build_partition(rng.normal(size=(4, 2)), max_bytes=7 * 4)
    with pytest.raises(ValueError, match=r"30 distinct rows in 7 dimensions.* cells"):
        build_partition(rng.normal(size=(30, 7)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"Expected X .* got shape \(2,\)\. Reshape a single input column"),
        (np.empty((0, 2)), r"at least one row and one column, got shape \(0, 2\)"),
        ([[0.0], [np.nan]], r"X holds nan at row 1, column 0 .* drop or fill"),
        ([[np.inf, 1.0]], r"X holds inf at row 0, column 0"),
    ],
)
def test_bad_inputs_are_refused(X: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_partition(X)


def test_random_state_decides_the_estimates(rng: np.random.Generator) -> None:
    """By default the partition depends on X alone."""
    X = rng.normal(size=(6, 3))
    one = build_partition(X, n_directions=10).q
    np.testing.assert_array_equal(build_partition(X, n_directions=10).q, one)
    np.testing.assert_array_equal(build_partition(X, n_directions=10, random_state=np.random.default_rng(0)).q, one)
    assert not np.array_equal(build_partition(X, n_directions=10, random_state=1).q, one)
