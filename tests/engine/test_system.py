"""The running system of a chain against its slow twin, in every corner where digits get lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.engine.chains import FREE, build, equal_law, start_chain, sweep
from widestable import stable
from widestable.engine.chain import Chain, draw_atoms, new_state
from widestable.engine.kernel import Law
from widestable.engine.model import Model, make_model
from widestable.inputs import TrainingData, check_training
from widestable.network import arcsine_kernel, unit_patterns

GRID = np.array([(a, b) for a in np.linspace(-1, 1, 5) for b in np.linspace(-1, 1, 5)])


def grid_data(rng: np.random.Generator) -> TrainingData:
    """A jump on a 5 x 5 grid, some rows repeated."""
    X = np.vstack([GRID, GRID[:6]])
    return check_training(X, 3.0 * (X[:, 0] > 0.1) + 0.3 * rng.standard_normal(len(X)), standardize=False)


def dense_log_likelihood(chain: Chain, law: Law, model: Model, data: TrainingData) -> float:
    """log p(y | atoms, parameters) with one n-by-n Cholesky factor, nothing integrated by hand."""
    k = chain.n_atoms
    v = np.exp(stable.log_scale_of_mark(chain.log_mark[:k], chain.alpha, chain.log_nu))
    X = data.X * law.relevance
    tau = unit_patterns(chain.h[:k], X, law.sharpness)
    g = np.exp(stable.log_remainder(chain.alpha, chain.log_nu, model.n_atoms))
    Q = (tau.T * v) @ tau + g * arcsine_kernel(X, sharpness=law.sharpness)
    L = np.linalg.cholesky(Q + np.diag(np.exp(chain.log_sigma2) / data.weight))
    z = np.linalg.solve(L, data.y)
    value = -0.5 * z @ z - np.log(np.diag(L)).sum() - 0.5 * z.size * math.log(2.0 * math.pi)
    n_extra = data.n_observations - z.size
    within = n_extra * (math.log(2.0 * math.pi) + chain.log_sigma2) + data.ss_within / math.exp(chain.log_sigma2)
    return float(value - 0.5 * within)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 1.0, 1.5, 1.9, None])
@pytest.mark.parametrize("sharpness", [math.inf, 30.0, 1.0, 0.1])
def test_log_likelihood_equals_dense(alpha: float | None, sharpness: float, rng: np.random.Generator) -> None:
    """Small sharpness makes all patterns depend on three of them; a dense factor cannot follow small alpha there."""
    if alpha is not None and alpha < 0.7 and sharpness < 30.0:
        pytest.skip("scales of 1e20 on nearly dependent patterns are beyond a dense Cholesky factor")
    data = grid_data(rng)
    model = make_model(data, **(FREE | {"alpha": alpha}), n_atoms=20, sharpness=sharpness)
    law = Law(np.array([1.0, 0.4]), sharpness)
    chain = start_chain(model, rng, law, alpha=alpha)
    for _ in range(3):
        chain, _ = sweep(chain, model, 63, rng)
        expected = dense_log_likelihood(chain, law, model, data)
        # A dense Cholesky factor is the less accurate side when scales span many orders of magnitude.
        assert chain.log_likelihood == pytest.approx(expected, abs=1e-6)


def test_patterns_drift_less_than_rounding(rng: np.random.Generator) -> None:
    model = make_model(grid_data(rng), **FREE, n_atoms=20)
    # One sweep before the patterns are recomputed from scratch.
    chain, _ = sweep(start_chain(model, rng), model, 63, rng)
    assert chain.n_groups > 3
    np.testing.assert_allclose(chain.T[: chain.n_groups], chain.tau[: chain.n_groups] @ chain.kernel.basis, atol=1e-10)


def test_groups_hold_what_the_atoms_say(rng: np.random.Generator) -> None:
    model = make_model(grid_data(rng), **FREE, n_atoms=40)
    chain, _ = sweep(start_chain(model, rng), model, 20, rng)
    n_atoms, n_groups = chain.n_atoms, chain.n_groups
    patterns = np.where(chain.h[:n_atoms] @ chain.kernel.Z.T >= 0.0, 1.0, -1.0)
    np.testing.assert_array_equal(chain.tau[chain.group[:n_atoms]], patterns)
    assert len(np.unique(patterns, axis=0)) == n_groups < n_atoms
    np.testing.assert_array_equal(np.bincount(chain.group[:n_atoms], minlength=n_groups), chain.members[:n_groups])


def test_inverse_is_the_inverse(rng: np.random.Generator) -> None:
    model = make_model(grid_data(rng), **(FREE | {"alpha": 1.2}), n_atoms=20)
    chain, _ = sweep(start_chain(model, rng, alpha=1.2), model, 10, rng)
    n_groups = chain.n_groups
    T = chain.T[:n_groups]
    S = (T * chain.precision) @ T.T
    M = np.diag(np.exp(-chain.log_group_scale[:n_groups])) + S
    np.testing.assert_allclose(chain.S[:n_groups, :n_groups], S, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(chain.R[:n_groups, :n_groups] @ M, np.eye(n_groups), atol=1e-6)


def test_equal_patterns_with_huge_scales_do_not_break_the_system(rng: np.random.Generator) -> None:
    data = grid_data(rng)
    model = make_model(data, alpha=0.1, nu=1.0, sigma2=0.1, n_atoms=20)
    law = equal_law(model)
    # Three hyperplanes with one pattern and scales of 1e40 and more: V^-1 + S would be singular.
    h = np.array([[0.1, 1.0, 1e-9], [0.1, 1.0, -1e-9], [0.2, 2.0, 0.0], [1.0, 0.2, 0.1]])
    log_mark = np.log([0.01, 0.02, 0.011, 0.5])
    chain = build(model, new_state(0.1, 0.0, math.log(0.1), law, h, log_mark, rng))
    assert chain.n_groups == 2
    assert np.isfinite(chain.log_likelihood)
    chain, _ = sweep(chain, model, 50, rng)
    assert chain.n_failures == 0
    assert chain.log_likelihood == pytest.approx(dense_log_likelihood(chain, law, model, data), abs=1e-5)


def test_prior_draws_of_atoms_follow_the_measure(rng: np.random.Generator) -> None:
    model = make_model(grid_data(rng), **FREE, n_atoms=30)
    counts = np.array([draw_atoms(model, rng)[1].size for _ in range(500)])
    assert abs(counts.mean() - 30.0) < 4.0 * math.sqrt(30.0 / 500)


def test_alpha_two_has_no_atoms(rng: np.random.Generator) -> None:
    model = make_model(grid_data(rng), **(FREE | {"alpha": 2.0}), n_atoms=30)
    chain, _ = sweep(start_chain(model, rng, alpha=2.0), model, 20, rng)
    assert chain.n_atoms == 0
