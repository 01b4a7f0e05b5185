"""Units, and the kernel of the rows under a law of the hyperplanes, decomposed whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.engine.chains import FREE
from widestable.engine.kernel import Law, make_kernel, unit
from widestable.engine.model import make_model
from widestable.inputs import check_training
from widestable.network import arcsine_kernel, kernel_diagonal


def test_units_lie_between_minus_one_and_one() -> None:
    assert unit(0.0, math.inf) == 1.0
    assert unit(-0.1, math.inf) == -1.0
    assert unit(0.2, 3.0) == pytest.approx(math.erf(0.6))
    assert unit.py_func(0.2, 3.0) == unit(0.2, 3.0)


@pytest.mark.parametrize("sharpness", [math.inf, 2.0])
def test_the_eigenbasis_is_that_of_the_weighted_kernel(sharpness: float, rng: np.random.Generator) -> None:
    X, y, weight = rng.standard_normal((12, 2)), rng.standard_normal(12), rng.uniform(0.5, 3.0, 12)
    model = make_model(check_training(X, y, weight, standardize=False), **FREE, n_atoms=20, sharpness=sharpness)
    law = Law(np.array([2.0, 0.3]), sharpness)
    kernel = make_kernel(model, law)
    scaled, root = model.X * law.relevance, np.sqrt(model.weight)
    np.testing.assert_allclose(kernel.Z, np.column_stack([np.ones(12), scaled]))
    np.testing.assert_allclose(kernel.row_norm, np.linalg.norm(kernel.Z, axis=1))
    U = kernel.basis / root[:, None]
    np.testing.assert_allclose(U.T @ U, np.eye(12), atol=1e-12)
    expected = arcsine_kernel(scaled, sharpness=sharpness) * np.outer(root, root)
    np.testing.assert_allclose((U * kernel.eigenvalues) @ U.T, expected, atol=1e-12)
    np.testing.assert_allclose(U @ kernel.y, root * model.row_y, atol=1e-12)
    assert kernel.log_diagonal == pytest.approx(math.log(kernel_diagonal(scaled, sharpness).mean()))
