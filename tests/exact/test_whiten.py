from __future__ import annotations

import numpy as np
import pytest

from widestable.exact.whiten import drop_flat_dimensions, whiten
from widestable.network import add_constant, arcsine_kernel


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_flat_inputs_keep_their_kernel(k: int, shift: float, rng: np.random.Generator) -> None:
    X = rng.normal(size=(9, k)) @ rng.normal(size=(k, 4)) + shift + rng.normal(size=4)
    flat = drop_flat_dimensions(X)
    assert flat.shape == (9, k)
    np.testing.assert_allclose(arcsine_kernel(flat), arcsine_kernel(X), atol=1e-12)


def test_full_inputs_come_back_untouched(rng: np.random.Generator) -> None:
    X = rng.normal(size=(5, 3))
    assert drop_flat_dimensions(X) is X


def test_one_row_spans_nothing() -> None:
    assert drop_flat_dimensions(np.array([[3.0, 4.0]])).shape == (1, 0)


def test_more_columns_than_rows(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3, 7))
    flat = drop_flat_dimensions(X)
    assert flat.shape == (3, 2)
    np.testing.assert_allclose(arcsine_kernel(flat), arcsine_kernel(X), atol=1e-12)


def test_whitened_hyperplanes_go_back(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 3)) + 5.0
    Z, back = whiten(X)
    np.testing.assert_allclose(Z[:, 1:].T @ Z[:, 1:] / 20, np.eye(3), atol=1e-12)
    h = rng.normal(size=4)
    np.testing.assert_allclose(Z @ h, add_constant(X) @ (back @ h), atol=1e-10)
