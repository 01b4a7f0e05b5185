from __future__ import annotations

import numpy as np
import pytest

from tests.checks import check_p_value
from tests.exact.twins import frequency_p_value, pattern_counts
from widestable.exact import build_partition
from widestable.exact.line import line_cells
from widestable.network import arcsine_kernel

X = np.array([-0.7, -0.2, 0.1, 0.9, 2.5])


def printed_q(x: np.ndarray) -> np.ndarray:
    """The paper's formulas, with the q_0 of the authors' code (the printed one equals it up to signs)."""
    return np.concatenate([[1 + (np.arctan(x[-1]) - np.arctan(x[0])) / np.pi], np.diff(np.arctan(x)) / np.pi])


def test_cells_are_the_gaps() -> None:
    signs, q = line_cells(X)
    assert signs.shape == (5, 5)
    assert [int((row == 1).sum()) for row in signs] == [5, 1, 2, 3, 4]
    np.testing.assert_allclose(q[1:], np.diff(np.arctan(X)) / np.pi, rtol=1e-13)
    np.testing.assert_allclose(q[0], 1 - (np.arctan(X[-1]) - np.arctan(X[0])) / np.pi, rtol=1e-13)


def test_arcsine_identity() -> None:
    signs, q = line_cells(X)
    np.testing.assert_allclose((signs.T * q) @ signs, arcsine_kernel(X[:, None]), atol=1e-14)


def test_q_keeps_its_digits_for_close_and_for_far_points() -> None:
    _, q = line_cells(np.array([-1e9, 1.0, 1.0 + 1e-12, 1e9]))
    np.testing.assert_allclose(q[0], 2e-9 / np.pi, rtol=1e-12)
    gap = (1.0 + 1e-12) - 1.0
    np.testing.assert_allclose(q[2], gap / 2 / np.pi, rtol=1e-9)
    assert abs(q.sum() - 1) < 1e-15


def test_one_point_is_one_cell() -> None:
    signs, q = line_cells(np.array([3.0]))
    assert signs.tolist() == [[1]]
    assert q == pytest.approx([1.0])


def test_unsorted_and_repeated_inputs_keep_their_columns(rng: np.random.Generator) -> None:
    """The authors' code moves the q's away from their patterns here, and loses cells to ties."""
    column = rng.permutation(np.repeat(np.arange(len(X)), 2))
    partition = build_partition(X[column, None])
    signs, q = line_cells(X)
    np.testing.assert_array_equal(partition.signs, signs[:, column])
    np.testing.assert_array_equal(partition.q, q)
    np.testing.assert_allclose(
        (partition.signs.T * partition.q) @ partition.signs, arcsine_kernel(X[column, None]), atol=1e-14
    )


def test_printed_formula_sums_to_more_than_one() -> None:
    """`1 + (atan x_n - atan x_1)/pi` is not a probability: do not correct ours back to it."""
    assert printed_q(X)[0] > 1.0
    assert printed_q(X).sum() > 1.3
    assert line_cells(X)[1].sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.statistical
def test_simulated_hyperplanes_agree_with_ours_and_not_with_the_printed_formula(
    rng: np.random.Generator,
) -> None:
    signs, q = line_cells(X)
    counts = pattern_counts(X[:, None], signs, 200_000, rng)
    check_p_value(frequency_p_value(counts, q), "patterns are not as frequent as q says")
    assert frequency_p_value(counts, printed_q(X) / printed_q(X).sum()) < 1e-100
