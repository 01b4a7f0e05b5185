"""What loose atoms add to the likelihood, against dense algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest

from widestable.engine.loose import log_gain
from widestable.engine.moves.pair_scale import log_gain_of_two


def gaussian_gain(V: np.ndarray, A: np.ndarray, b: np.ndarray) -> float:
    """log p(y) with sizes of variances V over that without, for patterns with tau' P tau = A and tau' P y = b."""
    M = np.linalg.inv(V) + A
    return 0.5 * b @ np.linalg.solve(M, b) - 0.5 * np.linalg.slogdet(np.eye(len(V)) + V @ A)[1]


@pytest.mark.parametrize("v", [1e-8, 0.3, 1e6])
def test_gain_of_one_and_of_two_atoms(v: float) -> None:
    A, b = np.array([[2.0, 0.7], [0.7, 1.1]]), np.array([1.3, -0.4])
    one = gaussian_gain(np.diag([v]), A[:1, :1], b[:1])
    assert log_gain(math.log(v), A[0, 0], b[0]) == pytest.approx(one, rel=1e-9)
    two = gaussian_gain(np.diag([v, 2.0 * v]), A, b)
    found = log_gain_of_two(math.log(v), math.log(2.0 * v), A[0, 0], A[1, 1], A[0, 1], b[0], b[1])
    assert found == pytest.approx(two, rel=1e-7, abs=1e-9)


def test_gain_of_scales_beyond_float64() -> None:
    assert log_gain(-1400.0, 2.0, 1.0) == pytest.approx(0.0, abs=1e-200)
    # -log(v a)/2 + b^2 / (2 a) for v = exp(1400).
    assert log_gain(1400.0, 2.0, 1.0) == pytest.approx(-0.5 * (1400.0 + math.log(2.0)) + 0.25)
