"""The low-rank remainder and the tree over the rows, made to work on few rows and compared with slow twins."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from widestable.engine.names import ATOMS, GROUPS
from widestable.engine.state import make_buffers, make_model, make_work, start_chain

from tests.exact.agreement import Draws, check_agreement
from widestable import StableRegressor, stable
from widestable.engine import kernel as kernels
from widestable.engine.chain import Chain
from widestable.engine.draws import pack
from widestable.engine.kernel import choose_landmarks
from widestable.engine.model import Model, Plan
from widestable.engine.moves.noise_share import take_up
from widestable.engine.run import Setup, extend, start, warm_up
from widestable.engine.sweep import run
from widestable.engine.tree import LEAF, balls, node_ranges
from widestable.inputs import TrainingData, check_training
from widestable.inputs.rows import near_together
from widestable.network import add_constant, arcsine_kernel, unit_patterns
from widestable.predict import mixture

FREE: dict[str, None] = {"alpha": None, "nu": None, "sigma2": None}
X_NEW = np.array([[0.1, -0.4], [1.5, 0.2], [-2.0, 2.0]])


def oblique(n: int, rng: np.random.Generator) -> TrainingData:
    """A jump and a wave over a plane, near rows together, some rows repeated."""
    X = rng.standard_normal((n, 2))
    y = 3.0 * (X @ [0.6, 0.8] > 0.2) + np.sin(2.0 * X[:, 0]) + 0.5 * rng.standard_normal(n)
    data = check_training(np.vstack([X, X[:9]]), np.append(y, y[:9] + 0.1))
    order = near_together(data.X)
    X, y, weight = data.X[order], data.y[order], data.weight[order]
    return replace(data, X=np.ascontiguousarray(X), y=y, weight=weight, index=np.argsort(order)[data.index])


def low_rank(data: TrainingData, sharpness: float = math.inf) -> Model:
    return make_model(data, **FREE, n_atoms=20, sharpness=sharpness, max_dense_rows=50)


def remainder_covariance(model: Model) -> np.ndarray:
    """The kernel that stands for the rows': leading eigenvectors, the same eigenvalue for all others."""
    root = np.sqrt(model.weight)
    U = model.basis / root[:, None]
    K = (U * (model.eigenvalues - model.rest_eigenvalue)) @ U.T + model.rest_eigenvalue * np.eye(root.size)
    return K / np.outer(root, root)


def covariance(chain: Chain, model: Model) -> np.ndarray:
    """Of the mean outputs of the rows, given atoms and parameters."""
    alpha, log_nu, log_sigma2 = chain.theta
    k = chain.counts[ATOMS]
    v = np.exp(stable.log_scale_of_mark(chain.log_mark[:k], alpha, log_nu))
    tau = unit_patterns(chain.h[:k], model.Z[:, 1:], model.sharpness)
    g = np.exp(stable.log_remainder(alpha, log_nu, model.n_atoms))
    return np.asarray((tau.T * v) @ tau + g * remainder_covariance(model) + np.diag(np.exp(log_sigma2) / model.weight))


def log_likelihood(chain: Chain, model: Model) -> float:
    L = np.linalg.cholesky(covariance(chain, model))
    z = np.linalg.solve(L, model.row_y)
    log_sigma2 = chain.theta[2]
    value = -0.5 * z @ z - np.log(np.diag(L)).sum() - 0.5 * z.size * math.log(2.0 * math.pi)
    return float(
        value
        - 0.5 * model.n_extra * (math.log(2.0 * math.pi) + log_sigma2)
        - 0.5 * model.ss_within / math.exp(log_sigma2)
    )


def swept(model: Model, n_sweeps: int, seed: int = 0, plan: Plan | None = None, thin: int = 0) -> tuple[Chain, object]:
    rng = np.random.default_rng(seed)
    chain = start_chain(model, rng, **FREE)
    buffers = make_buffers(model, n_sweeps // thin if thin else 0)
    run(chain, model, plan or Plan(), make_work(model), rng, 0, n_sweeps, thin, False, buffers)
    return chain, buffers


# A kernel of sharpness 0.1 has fewer eigenvalues above rounding than the rank asks for.
@pytest.mark.parametrize("sharpness", [math.inf, 2.0, 0.1])
def test_log_likelihood_equals_dense(sharpness: float, rng: np.random.Generator) -> None:
    model = low_rank(oblique(150, rng), sharpness)
    assert 0 < model.n_rest < 150
    for n_sweeps in (1, 63):
        chain, _ = swept(model, n_sweeps)
        assert chain.log_likelihood[0] == pytest.approx(log_likelihood(chain, model), abs=1e-6)


@pytest.mark.parametrize("sharpness", [math.inf, 2.0])
def test_running_products_equal_recomputed_ones(sharpness: float, rng: np.random.Generator) -> None:
    model = low_rank(oblique(150, rng), sharpness)
    chain, _ = swept(model, 63)
    G = chain.counts[GROUPS]
    tau = chain.tau[:G]
    np.testing.assert_allclose(chain.C[:G, :G], (tau * model.weight) @ tau.T, atol=1e-9)
    np.testing.assert_allclose(chain.w_y[:G], (tau * model.weight) @ model.row_y, atol=1e-9)
    np.testing.assert_allclose(chain.T[:G], tau @ model.basis, atol=1e-9)


def test_the_tree_finds_every_flip(rng: np.random.Generator) -> None:
    """The same chain, to the last hyperplane, as looking at every row; reflections look at every row by themselves."""
    tree = low_rank(oblique(300, rng))
    nothing = np.empty((0, tree.y.size))
    flat = tree._replace(node_rows=np.empty((0, 2), np.int64), node_radius=np.empty(0), node_basis=nothing)
    plan = Plan(n_reflections=0)
    (one, _), (two, _) = swept(tree, 60, plan=plan), swept(flat, 60, plan=plan)
    assert one.counts[ATOMS] == two.counts[ATOMS] > 3
    np.testing.assert_array_equal(one.h, two.h)
    np.testing.assert_allclose(one.theta, two.theta, rtol=1e-9)


def test_nodes_hold_their_rows(rng: np.random.Generator) -> None:
    Z = add_constant(oblique(300, rng).X)
    ranges = node_ranges(len(Z))
    centre, radius = balls(Z, ranges)
    for (first, end), c, r in zip(ranges, centre, radius, strict=True):
        assert np.sqrt(((Z[first:end] - c) ** 2).sum(axis=1)).max() <= r * (1.0 + 1e-12)
    leaves = ranges[len(ranges) // 2 :]
    assert leaves[0, 0] == 0
    assert leaves[-1, 1] == len(Z)
    assert np.array_equal(leaves[1:, 0], leaves[:-1, 1])
    assert np.ptp(leaves, axis=1).max() <= LEAF
    # Near rows are together: a leaf is small beside the whole.
    assert np.median(radius[len(ranges) // 2 :]) < 0.35 * radius[0]


def test_landmarks_at_every_row_give_the_true_leading_part(rng: np.random.Generator) -> None:
    data = oblique(150, rng)
    model = low_rank(data)
    assert len(model.landmarks) == 150
    root = np.sqrt(data.weight)
    expected, U = np.linalg.eigh(arcsine_kernel(data.X) * np.outer(root, root))
    r = model.y.size
    np.testing.assert_allclose(model.eigenvalues, expected[::-1][:r], rtol=1e-6)
    assert model.rest_eigenvalue == pytest.approx(expected[: 150 - r].mean(), rel=1e-6)
    overlap = np.abs(np.sum(model.basis[:, :20] / root[:, None] * U[:, ::-1][:, :20], axis=0))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-6)


def test_few_landmarks_keep_the_trace_and_nearly_the_leading_part(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "MAX_LANDMARKS", 512)
    data = oblique(900, rng)
    model = make_model(data, **FREE, n_atoms=20, max_dense_rows=500)
    assert (len(model.landmarks), model.y.size) == (512, 256)
    assert model.eigenvalues.sum() + model.n_rest * model.rest_eigenvalue == pytest.approx(data.weight.sum())
    root = np.sqrt(data.weight)
    expected = np.linalg.eigvalsh(arcsine_kernel(data.X) * np.outer(root, root))[::-1]
    np.testing.assert_allclose(model.eigenvalues[:10], expected[:10], rtol=0.01)
    np.testing.assert_allclose(model.eigenvalues[:50], expected[:50], rtol=0.1)


@pytest.mark.parametrize("n_processors", [1, 3])
def test_the_basis_is_the_same_on_any_number_of_processors(
    n_processors: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "BLOCK", 40)
    data = oblique(150, rng)
    expected = low_rank(data)
    monkeypatch.setattr(kernels.joblib, "cpu_count", lambda: n_processors)
    np.testing.assert_array_equal(low_rank(data).basis, expected.basis)


def test_landmarks_spread_over_the_rows() -> None:
    Z = add_constant(np.linspace(0.0, 1.0, 1001)[:, None])
    np.testing.assert_allclose(choose_landmarks(Z, 11)[:, 1], np.linspace(0.0, 1.0, 11))


def test_predictions_are_those_of_the_low_rank_covariance(rng: np.random.Generator) -> None:
    """Mean and s.d. of f at new rows given one draw, by conditioning a dense Gaussian."""
    model = low_rank(oblique(150, rng))
    _, buffers = swept(model, 40, thin=40)
    draws = pack(buffers)
    mean, sd = mixture.components(mixture.prepare(model, [draws], 1e6), X_NEW, noise=False)
    X = model.Z[:, 1:]
    g = np.exp(stable.log_remainder(draws.alpha, draws.log_nu, model.n_atoms))[0]
    K = g * remainder_covariance(model) + np.diag(np.exp(draws.log_sigma2) / model.weight)
    # All rows are landmarks, so the leading part of the covariance with the rows is a projection of it.
    U = model.basis / np.sqrt(model.weight)[:, None]
    k = (arcsine_kernel(X_NEW, X) * np.sqrt(model.weight)) @ U @ U.T / np.sqrt(model.weight)
    residual = model.row_y - draws.size @ unit_patterns(draws.h, X, math.inf)
    expected = draws.size @ unit_patterns(draws.h, X_NEW, math.inf) + g * k @ np.linalg.solve(K, residual)
    np.testing.assert_allclose(mean[:, 0], expected, atol=1e-6)
    variance = g - g * g * np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
    np.testing.assert_allclose(sd[:, 0], np.sqrt(variance), rtol=1e-5)


@pytest.mark.parametrize("noise", [0.3, -0.04])
def test_the_jacobian_of_the_share_of_the_noise_is_a_derivative(noise: float) -> None:
    """The invariance check hardly sees it: five rows say little about the share."""
    log_sigma2, eps = -1.2, 1e-5
    value, log_jacobian = take_up(log_sigma2, noise)
    assert value == pytest.approx(math.log(math.exp(log_sigma2) + noise))
    slope = (take_up(log_sigma2 + eps, noise)[0] - take_up(log_sigma2 - eps, noise)[0]) / (2.0 * eps)
    assert log_jacobian == pytest.approx(math.log(slope), abs=1e-8)
    assert take_up(log_sigma2, -1.0)[0] == -math.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_regressor_of_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen by itself, finds the jump, and a saved one goes on where it was."""
    monkeypatch.setattr(kernels, "MAX_LANDMARKS", 512)  # quicker to prepare
    rng = np.random.default_rng(5)
    x = rng.permutation(np.linspace(0.0, 10.0, 2400))
    y = 4.0 * (x > 6.2) + 0.3 * rng.standard_normal(2400)
    model = StableRegressor(n_chains=2, n_sweeps=90, random_state=0, progress=False).fit(x[:, None], y)
    assert model.posterior_.model.n_rest == 2400 - 256
    assert model.posterior_.chains[0].coefficient.shape[1] == 512
    rows = np.array([[1.0], [6.19], [6.21], [9.0]])
    np.testing.assert_allclose(model.predict(rows), [0.0, 0.0, 4.0, 4.0], atol=0.15)
    model.save(tmp_path / "model.zip")
    loaded = StableRegressor.load(tmp_path / "model.zip")
    np.testing.assert_array_equal(loaded.sample_y(rows, 3, random_state=0), model.sample_y(rows, 3, random_state=0))
    np.testing.assert_array_equal(loaded.continue_sampling(5).posterior_.f, model.continue_sampling(5).posterior_.f)


def draws_of(data: TrainingData, max_dense_rows: int, n_sweeps: int, nu: float = 1.0) -> Draws:
    """f at 20 rows of the data, evenly spread, and sigma2."""
    fixed = {"alpha": 1.3, "nu": nu, "sigma2": None}
    setup = Setup(make_model(data, **fixed, n_atoms=30, max_dense_rows=max_dense_rows), n_jobs=1)
    sample = start(setup.model, np.random.SeedSequence(3).spawn(6), **fixed)
    chains = extend(warm_up(sample, setup, 400), setup, n_sweeps).chains
    rows = np.linspace(0, chains[0].f.shape[1] - 1, 20).astype(int)
    return Draws(np.stack([d.f[:, rows] for d in chains]), np.exp([d.log_sigma2 for d in chains]))


# What half of the leading eigenvectors may move, in posterior s.d. and probability.
LOW_RANK = 0.03


@pytest.mark.statistical
def test_low_rank_and_dense_agree() -> None:
    data = oblique(300, np.random.default_rng(1))
    dense = draws_of(data, 1000, 600)
    check_agreement(dense, draws_of(data, 50, 600), bias=LOW_RANK)
    with pytest.raises(AssertionError, match="posteriors differ"):
        check_agreement(dense, draws_of(data, 50, 600, nu=9.0), bias=LOW_RANK)


@pytest.mark.slow
def test_low_rank_and_dense_agree_on_two_thousand_rows() -> None:
    data = oblique(1991, np.random.default_rng(2))
    check_agreement(draws_of(data, 2000, 1200), draws_of(data, 1000, 1200), bias=LOW_RANK)
