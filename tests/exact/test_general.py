from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tests.checks import P_VALUE, check_p_value
from tests.exact.twins import feasible_patterns, frequency_p_value, grid, pattern_counts
from widestable.exact import general
from widestable.exact.cells import n_cells_bound
from widestable.exact.general import general_cells, sine_power_integral
from widestable.exact.line import line_cells
from widestable.exact.plane import plane_cells

# Six corners of a cube, an edge's middle, a face's middle: four in a plane, three on a line.
CROWDED = np.array(
    [[0, 0, 0], [2, 0, 0], [0, 2, 0], [2, 2, 0], [0, 0, 2], [2, 0, 2], [1, 0, 0], [1, 1, 0]], dtype=float
)


def in_order(signs: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.lexsort(signs.T)
    return (signs[order], *(column[order] for column in columns))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("t", [0.004, 0.0099, 0.0101, 1.3, np.pi])
def test_sine_power_integral(k: int, t: float) -> None:
    x, w = np.polynomial.legendre.leggauss(60)
    expected = t / 2 * (w @ np.sin(t / 2 * (x + 1)) ** k)
    # The recursion cancels just above the point where the series takes over.
    assert sine_power_integral(t, k) == pytest.approx(expected, rel=1e-5 if k > 3 else 1e-9)


@pytest.mark.parametrize("X", [CROWDED, grid(2, 2, 2)], ids=["crowded", "cube"])
def test_cells_are_the_feasible_patterns(X: np.ndarray, rng: np.random.Generator) -> None:
    signs, _, _ = general_cells(X, 10, rng)
    assert {tuple(row) for row in signs.tolist()} == feasible_patterns(X)
    assert len(np.unique(signs, axis=0)) == len(signs)


def test_generic_count_in_three_and_four_dimensions(rng: np.random.Generator) -> None:
    assert len(general_cells(rng.normal(size=(12, 3)), 10, rng)[0]) == n_cells_bound(12, 3)
    assert len(general_cells(rng.normal(size=(9, 4)), 10, rng)[0]) == n_cells_bound(9, 4)


def test_as_few_rows_as_dimensions_allow(rng: np.random.Generator) -> None:
    signs, q, _ = general_cells(np.concatenate([np.zeros((1, 3)), np.eye(3)]), 1000, rng)
    assert len(signs) == 8
    assert abs(q.sum() - 1) < 1e-12


@pytest.mark.parametrize("X", [grid(4, 3), np.arange(14.0).reshape(7, 2) ** 1.5], ids=["grid", "generic"])
def test_agrees_with_the_exact_plane(X: np.ndarray, rng: np.random.Generator) -> None:
    signs, q = in_order(*plane_cells(X))
    signs_mc, q_mc, error = in_order(*general_cells(X, 4000, rng))
    np.testing.assert_array_equal(signs, signs_mc)
    z = (q_mc - q) / error
    check_p_value(2 * norm.sf(np.abs(z).max()), "q is off", len(z))
    assert 0.3 < np.mean(z**2) < 2.0  # the errors reported are the errors made
    assert (error / q).max() < 0.05


def test_agrees_with_the_exact_line(rng: np.random.Generator) -> None:
    x = np.sort(rng.normal(size=9))
    signs, q = in_order(*line_cells(x))
    signs_mc, q_mc, _ = in_order(*general_cells(x[:, None], 4, rng))
    np.testing.assert_array_equal(signs, signs_mc)
    np.testing.assert_allclose(q_mc, q, rtol=1e-12)  # two directions are all there are on a circle


@pytest.mark.statistical
@pytest.mark.parametrize("X", [grid(3, 3, 3), CROWDED], ids=["grid", "crowded"])
def test_every_pattern_occurs_as_often_as_q_says(X: np.ndarray, rng: np.random.Generator) -> None:
    signs, q, error = general_cells(X, 5000, rng)
    counts = pattern_counts(X, signs, 400_000, rng)
    assert (error / q).max() < 0.03
    check_p_value(frequency_p_value(counts, q), "patterns are not as frequent as q says")
    assert frequency_p_value(counts, q[::-1]) < P_VALUE


@pytest.mark.statistical
def test_small_cells_are_estimated_too(rng: np.random.Generator) -> None:
    signs, q, error = general_cells(rng.normal(size=(25, 3)), 2000, rng)
    assert len(signs) == 2325
    assert q.min() < 1e-9
    assert (error / q).max() < 0.1


def test_rows_closer_than_the_tolerance_stay_on_one_side(rng: np.random.Generator) -> None:
    """Two rows that cannot be told apart, beside far ones: as if the two were one."""
    far, near = 1e6 * rng.standard_normal((4, 3)), 1e-4 * rng.standard_normal((2, 3))
    signs, q, _ = general_cells(np.concatenate([far, near]), 200, rng)
    assert (signs[:, 4] == signs[:, 5]).all()
    assert len(signs) == len(general_cells(np.concatenate([far, near[:1]]), 200, rng)[0])
    assert abs(q.sum() - 1.0) < 1e-12


def test_rows_that_cannot_be_measured_are_refused(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Data for which this happens are hard to find, so the factorisation is made to fail."""

    def fail(*args: object) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(general, "_measure", fail)
    with pytest.raises(ValueError, match=r"so far apart, or so close together.* rescale the columns of X"):
        general_cells(rng.normal(size=(5, 3)), 10, rng)
