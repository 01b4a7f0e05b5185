"""Compiled linear algebra against NumPy."""

from __future__ import annotations

import numpy as np

from widestable._algebra import cholesky, inverse_from_cholesky, solve_lower, solve_upper


def test_factors_inverses_and_solutions(rng: np.random.Generator) -> None:
    """In the corner of arrays that have room for more."""
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
