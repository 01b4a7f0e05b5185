"""Compiled pieces of the engine against NumPy twins a reader believes at sight."""

from __future__ import annotations

import math

import numpy as np
import pytest
from widestable.engine.jump_measure import log_nu_offset, log_remainder, log_scale_of_mark
from widestable.engine.unit import unit

from widestable import stable
from widestable._algebra import cholesky, inverse_from_cholesky, solve_lower, solve_upper
from widestable.engine.loose import log_gain
from widestable.engine.moves.pair_scale import log_gain_of_two
from widestable.engine.priors import log_prior_log_sigma2

ALPHAS = [0.01, 0.3, 1.0, 1.7, 1.999]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_jump_measure_equals_its_twin(alpha: float) -> None:
    for log_nu in (-3.0, 0.7):
        assert log_scale_of_mark(0.4, alpha, log_nu) == pytest.approx(
            float(stable.log_scale_of_mark(0.4, alpha, log_nu)), rel=1e-12
        )
        assert log_remainder(alpha, log_nu, 30.0) == pytest.approx(
            float(stable.log_remainder(alpha, log_nu, 30.0)), rel=1e-9, abs=1e-9
        )
        # Move A: log nu - c(alpha) is the log threshold.
        assert log_nu - log_nu_offset(alpha, 30.0) == pytest.approx(
            float(stable.log_threshold(alpha, log_nu, 30.0)), rel=1e-12
        )


def test_remainder_at_alpha_two_is_nu() -> None:
    assert log_remainder(2.0, 0.3, 30.0) == 0.3


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


def test_linear_algebra(rng: np.random.Generator) -> None:
    root = rng.standard_normal((7, 7))
    A = root @ root.T
    scale = 1.0 / np.sqrt(np.diag(A))
    A = A * np.outer(scale, scale)
    np.fill_diagonal(A, 1.0)
    L, inverse, work, x = np.zeros((9, 9)), np.zeros((9, 9)), np.zeros((9, 9)), np.zeros(7)
    assert cholesky(A, L, 7)
    np.testing.assert_allclose(L[:7, :7] @ L[:7, :7].T, A, atol=1e-13)
    inverse_from_cholesky(L, inverse, work, 7)
    np.testing.assert_allclose(inverse[:7, :7] @ A, np.eye(7), atol=1e-10)
    b = rng.standard_normal(7)
    solve_lower(L, b, x, 7)
    np.testing.assert_allclose(L[:7, :7] @ x, b, atol=1e-12)
    solve_upper(L, b, x, 7)
    np.testing.assert_allclose(L[:7, :7].T @ x, b, atol=1e-12)


def test_lost_pivot_is_reported_not_hidden() -> None:
    assert not cholesky(np.ones((2, 2)), np.zeros((2, 2)), 2)


@pytest.mark.parametrize("log_sigma2", [-800.0, -1.0, 0.0, 2.0, 800.0])
def test_prior_of_log_sigma2_is_half_cauchy(log_sigma2: float) -> None:
    expected = log_sigma2 - np.logaddexp(0.0, 2.0 * log_sigma2)
    assert log_prior_log_sigma2(log_sigma2) == pytest.approx(expected)


def test_units_lie_between_minus_one_and_one() -> None:
    assert unit(0.0, math.inf) == 1.0
    assert unit(-0.1, math.inf) == -1.0
    assert unit(0.2, 3.0) == pytest.approx(math.erf(0.6))
    assert unit.py_func(0.2, 3.0) == unit(0.2, 3.0)
