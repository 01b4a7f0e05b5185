from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tests.checks import P_VALUE, check_p_value
from tests.exact.twins import feasible_patterns, frequency_p_value, grid, pattern_counts
from widestable.exact import build_partition
from widestable.exact.plane import plane_cells, solid_angle
from widestable.network import arcsine_kernel


def both_grids() -> np.ndarray:
    """The paper's training and test inputs: 121 distinct rows of 130."""
    return np.concatenate([grid(7, 7), grid(9, 9)])


def assert_arcsine_identity(signs: np.ndarray, q: np.ndarray, X: np.ndarray, atol: float = 1e-10) -> None:
    signs = signs.astype(float)
    np.testing.assert_allclose((signs.T * q) @ signs, arcsine_kernel(X), atol=atol)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        grid(3, 2),
        np.array([[0.3, 0.1], [-1.0, 0.4], [0.2, 0.9], [1.5, -0.3], [-0.4, -1.1], [0.8, 0.7]]),
        np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [1.0, 1.0]]),
    ],
    ids=["triangle", "grid", "generic", "four on a line"],
)
def test_cells_are_the_feasible_patterns(X: np.ndarray) -> None:
    signs, q = plane_cells(X)
    assert {tuple(row) for row in signs.tolist()} == feasible_patterns(X)
    assert len(np.unique(signs, axis=0)) == len(signs)
    assert abs(q.sum() - 1) < 1e-14


def test_the_papers_grids() -> None:
    X = both_grids()
    build_partition(X)  # compiles
    started = time.process_time()
    partition = build_partition(X)
    assert time.process_time() - started < 1.0
    assert partition.signs.shape == (4849, 130)
    assert abs(partition.q.sum() - 1) < 1e-12
    assert partition.q.min() > 1e-6
    assert_arcsine_identity(partition.signs, partition.q, X)


def test_generic_count_and_identity(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 2))
    signs, q = plane_cells(X)
    assert len(q) == 60 * 59 // 2 + 1
    assert q.min() > 0
    assert_arcsine_identity(signs, q, X, atol=1e-12)


def test_adding_a_row_splits_cells_and_keeps_their_sums(rng: np.random.Generator) -> None:
    X = np.concatenate([grid(3, 3), rng.normal(size=(4, 2))])
    coarse, fine = plane_cells(X[:-1]), plane_cells(X)
    patterns, cell = np.unique(fine[0][:, :-1], axis=0, return_inverse=True)
    order = np.lexsort(coarse[0].T[::-1])
    np.testing.assert_array_equal(patterns, coarse[0][order])
    np.testing.assert_allclose(np.bincount(cell.ravel(), fine[1]), coarse[1][order], atol=1e-14)


def test_raw_map_coordinates_lose_no_cells(rng: np.random.Generator) -> None:
    """Far from zero all rows (1, x) are nearly parallel; the cells are those of the centred points."""
    X = rng.normal(size=(25, 2)) * 0.01
    near, far = plane_cells(X), plane_cells(X + np.array([25.0, 121.5]))
    assert {tuple(row) for row in near[0].tolist()} == {tuple(row) for row in far[0].tolist()}
    assert abs(far[1].sum() - 1) < 1e-12
    assert far[1].min() > 0


def test_points_that_nearly_coincide(rng: np.random.Generator) -> None:
    X = rng.normal(size=(8, 2))
    X = np.concatenate([X, X + 1e-7 * rng.normal(size=X.shape)])
    signs, q = plane_cells(X)
    assert len(q) == 16 * 15 // 2 + 1
    assert q.min() > 0
    assert_arcsine_identity(signs, q, X, atol=1e-14)


def test_octant_is_an_eighth_of_the_sphere() -> None:
    octant = np.eye(3)
    assert solid_angle(octant, 3, np.eye(3)) == pytest.approx(np.pi / 2, rel=1e-15)


def test_batches_join(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plane_cells(grid(4, 4))
    monkeypatch.setattr("widestable.exact.plane._BATCH", 7)
    parts = plane_cells(grid(4, 4))
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])


@pytest.mark.statistical
def test_414_generic_points_in_five_seconds(rng: np.random.Generator) -> None:
    X = rng.normal(size=(414, 2))
    plane_cells(X[:5])
    started = time.process_time()
    signs, q = plane_cells(X)
    assert time.process_time() - started < 5.0
    assert len(q) == 85_492
    assert abs(q.sum() - 1) < 1e-12
    assert_arcsine_identity(signs, q, X)


@pytest.mark.statistical
def test_real_estate_inputs_build(shared_data: Path) -> None:
    X = np.loadtxt(shared_data / "real_estate.csv", delimiter=",", skiprows=1, usecols=(4, 5))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    partition = build_partition(X)
    assert len(np.unique(X, axis=0)) == 259
    assert partition.signs.shape[1] == 414
    assert partition.q.min() > 0
    assert abs(partition.q.sum() - 1) < 1e-12
    distinct = np.unique(X, axis=0, return_index=True)[1]
    assert_arcsine_identity(partition.signs[:, distinct], partition.q, X[distinct])


@pytest.mark.statistical
def test_every_pattern_occurs_as_often_as_q_says(rng: np.random.Generator) -> None:
    X = both_grids()
    partition = build_partition(X)
    counts = pattern_counts(X, partition.signs, 2_000_000, rng)
    check_p_value(frequency_p_value(counts, partition.q), "patterns are not as frequent as q says")
    # The check sees q's that are wrong by two per cent.
    tilted = partition.q * np.where(np.arange(len(partition.q)) % 2, 0.98, 1.02)
    assert frequency_p_value(counts, tilted / tilted.sum()) < P_VALUE
