"""The low-rank remainder and the tree over the rows, made to work on few rows and compared with slow twins."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.chains import FREE, equal_law, new_sample, one_thread, start_chain, sweep
from tests.exact.agreement import Draws, check_agreement
from widestable import StableRegressor, stable
from widestable.engine import kernel as kernels
from widestable.engine import model as models
from widestable.engine.chain import Chain
from widestable.engine.draws import pack
from widestable.engine.kernel import Kernel, Law, make_kernel
from widestable.engine.model import Model, make_model
from widestable.engine.moves.noise_share import take_up
from widestable.engine.run import extend, warm_up
from widestable.engine.sweep import Plan
from widestable.engine.tree import LEAF, balls, node_ranges
from widestable.inputs import TrainingData, check_training
from widestable.inputs.rows import near_together
from widestable.network import add_constant, arcsine_kernel, unit_patterns
from widestable.predict.components import components, prepare

# Not that of the paper, so that rows as units see them are not the rows themselves.
RELEVANCE = np.array([1.2, 0.7])
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


def decomposed(model: Model) -> Kernel:
    return make_kernel(model, equal_law(model))


def remainder_covariance(model: Model, kernel: Kernel) -> np.ndarray:
    """The kernel that stands for the rows': leading eigenvectors, the same eigenvalue for all others."""
    root = np.sqrt(model.weight)
    U = kernel.basis / root[:, None]
    K = (U * (kernel.eigenvalues - kernel.rest_eigenvalue)) @ U.T + kernel.rest_eigenvalue * np.eye(root.size)
    return K / np.outer(root, root)


def covariance(chain: Chain, model: Model) -> np.ndarray:
    """Of the mean outputs of the rows, given atoms and parameters."""
    k, kernel = chain.n_atoms, chain.kernel
    v = np.exp(stable.log_scale_of_mark(chain.log_mark[:k], chain.alpha, chain.log_nu))
    tau = unit_patterns(chain.h[:k], model.X * RELEVANCE, kernel.sharpness)
    g = np.exp(stable.log_remainder(chain.alpha, chain.log_nu, model.n_atoms))
    noise = np.diag(np.exp(chain.log_sigma2) / model.weight)
    return np.asarray((tau.T * v) @ tau + g * remainder_covariance(model, kernel) + noise)


def log_likelihood(chain: Chain, model: Model) -> float:
    L = np.linalg.cholesky(covariance(chain, model))
    z = np.linalg.solve(L, model.row_y)
    value = -0.5 * z @ z - np.log(np.diag(L)).sum() - 0.5 * z.size * math.log(2.0 * math.pi)
    within = model.n_extra * (math.log(2.0 * math.pi) + chain.log_sigma2)
    return float(value - 0.5 * (within + model.ss_within / math.exp(chain.log_sigma2)))


def swept(model: Model, n_sweeps: int, sharpness: float = math.inf, plan: Plan | None = None) -> Chain:
    rng = np.random.default_rng(0)
    return sweep(start_chain(model, rng, Law(RELEVANCE, sharpness)), model, n_sweeps, rng, plan)[0]


# A kernel of sharpness 0.1 has fewer eigenvalues above rounding than the rank asks for.
@pytest.mark.parametrize("sharpness", [math.inf, 2.0, 0.1])
def test_log_likelihood_equals_dense(sharpness: float, rng: np.random.Generator) -> None:
    model = low_rank(oblique(150, rng), sharpness)
    assert 0 < model.n_rest < 150
    for n_sweeps in (1, 63):
        chain = swept(model, n_sweeps, sharpness)
        assert chain.log_likelihood == pytest.approx(log_likelihood(chain, model), abs=1e-6)


@pytest.mark.parametrize("sharpness", [math.inf, 2.0])
def test_running_products_equal_recomputed_ones(sharpness: float, rng: np.random.Generator) -> None:
    model = low_rank(oblique(150, rng), sharpness)
    chain = swept(model, 63, sharpness)
    G = chain.n_groups
    tau = chain.tau[:G]
    np.testing.assert_allclose(chain.C[:G, :G], (tau * model.weight) @ tau.T, atol=1e-9)
    np.testing.assert_allclose(chain.w_y[:G], (tau * model.weight) @ model.row_y, atol=1e-9)
    np.testing.assert_allclose(chain.T[:G], tau @ chain.kernel.basis, atol=1e-9)


def test_the_tree_finds_every_flip(rng: np.random.Generator) -> None:
    """The same chain, to the last hyperplane, as looking at every row; reflections look at every row by themselves."""
    tree = low_rank(oblique(300, rng))
    assert len(tree.node_rows) > 0
    flat = tree._replace(node_rows=np.empty((0, 2), np.int64))
    plan = Plan(n_reflections=0)
    one, two = swept(tree, 60, plan=plan), swept(flat, 60, plan=plan)
    assert one.n_atoms == two.n_atoms > 3
    np.testing.assert_array_equal(one.h, two.h)
    parameters = [(chain.alpha, chain.log_nu, chain.log_sigma2) for chain in (one, two)]
    np.testing.assert_allclose(*parameters, rtol=1e-9)


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
    kernel = decomposed(low_rank(data))
    assert len(kernel.landmarks) == 150
    root = np.sqrt(data.weight)
    expected, U = np.linalg.eigh(arcsine_kernel(data.X) * np.outer(root, root))
    r = kernel.y.size
    np.testing.assert_allclose(kernel.eigenvalues, expected[::-1][:r], rtol=1e-6)
    assert kernel.rest_eigenvalue == pytest.approx(expected[: 150 - r].mean(), rel=1e-6)
    overlap = np.abs(np.sum(kernel.basis[:, :20] / root[:, None] * U[:, ::-1][:, :20], axis=0))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-6)


def test_few_landmarks_keep_the_trace_and_nearly_the_leading_part(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "MAX_LANDMARKS", 512)
    data = oblique(900, rng)
    model = make_model(data, **FREE, n_atoms=20, max_dense_rows=500)
    kernel = decomposed(model)
    assert (len(kernel.landmarks), kernel.y.size) == (512, 256)
    assert kernel.eigenvalues.sum() + model.n_rest * kernel.rest_eigenvalue == pytest.approx(data.weight.sum())
    root = np.sqrt(data.weight)
    expected = np.linalg.eigvalsh(arcsine_kernel(data.X) * np.outer(root, root))[::-1]
    np.testing.assert_allclose(kernel.eigenvalues[:10], expected[:10], rtol=0.01)
    np.testing.assert_allclose(kernel.eigenvalues[:50], expected[:50], rtol=0.1)


@pytest.mark.parametrize("n_processors", [1, 3])
def test_the_basis_is_the_same_on_any_number_of_processors(
    n_processors: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "BLOCK", 40)
    model = low_rank(oblique(150, rng))
    expected = decomposed(model).basis
    monkeypatch.setattr(kernels.joblib, "cpu_count", lambda: n_processors)
    np.testing.assert_array_equal(decomposed(model).basis, expected)


def test_landmarks_spread_over_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MIN_LANDMARKS", 11)
    monkeypatch.setattr(models, "MAX_LANDMARKS", 11)
    x = np.linspace(0.0, 1.0, 1001)
    data = check_training(x[:, None], x, standardize=False)
    kernel = decomposed(make_model(data, **FREE, n_atoms=20, max_dense_rows=50))
    np.testing.assert_allclose(kernel.landmarks, add_constant(np.linspace(0.0, 1.0, 11)[:, None]))


def test_predictions_are_those_of_the_low_rank_covariance(rng: np.random.Generator) -> None:
    """Mean and s.d. of f at new rows given one draw, by conditioning a dense Gaussian."""
    model = low_rank(oblique(150, rng))
    chain, buffers = sweep(start_chain(model, rng, Law(RELEVANCE, math.inf)), model, 40, rng, thin=40)
    draws = pack(buffers, RELEVANCE, math.inf, 0.0)
    mean, sd = components(prepare(model, [draws], 1e6), X_NEW, noise=False)
    g = np.exp(stable.log_remainder(draws.alpha, draws.log_nu, model.n_atoms))[0]
    K = g * remainder_covariance(model, chain.kernel) + np.diag(np.exp(draws.log_sigma2) / model.weight)
    # All rows are landmarks, so the leading part of the covariance with the rows is a projection of it.
    root = np.sqrt(model.weight)
    U = chain.kernel.basis / root[:, None]
    k = (arcsine_kernel(X_NEW * RELEVANCE, model.X * RELEVANCE) * root) @ U @ U.T / root
    # Stored hyperplanes are those of the inputs themselves.
    residual = model.row_y - draws.size @ unit_patterns(draws.h, model.X)
    expected = draws.size @ unit_patterns(draws.h, X_NEW) + g * k @ np.linalg.solve(K, residual)
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
    monkeypatch.setattr(models, "MAX_LANDMARKS", 512)  # quicker to prepare
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
    model = make_model(data, **fixed, n_atoms=30, max_dense_rows=max_dense_rows)
    setup, sample = one_thread(model), new_sample(model, 6, seed=3, **fixed)
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
