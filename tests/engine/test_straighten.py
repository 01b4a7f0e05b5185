"""Crooked jumps in warm-up: hyperplanes with rows on the wrong side, and several that make one jump."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.engine.chains import build, equal_law
from widestable.engine.chain import Chain, Spikes, make_work, new_state, state_of
from widestable.engine.model import Model, make_model
from widestable.engine.straighten import crooked_jumps, fit_of, nearly_separate, separate, straighten
from widestable.inputs import check_training

N, D, SIZE, SIGMA2 = 80, 3, 5.0, 0.09
# The hyperplane of the jump; the row farthest from it has the level of the other side.
TRUTH = np.array([0.2, 1.0, -0.7, 0.5])


def draw_jump(rng: np.random.Generator) -> tuple[Model, np.ndarray, np.ndarray]:
    """A jump, the true side of each row, and the rows in the order of their distance from it."""
    X = rng.standard_normal((N, D))
    projection = TRUTH[0] + X @ TRUTH[1:]
    side = np.where(projection > 0.0, 1.0, -1.0)
    order = np.argsort(np.abs(projection))
    y = SIZE * side + math.sqrt(SIGMA2) * rng.standard_normal(N)
    y[order[-1]] *= -1.0
    data = check_training(X, y, standardize=False)
    model = make_model(data, alpha=1.0, nu=1.0, sigma2=SIGMA2, n_atoms=15, has_spikes=True)
    # The rows of a model are in an order of their own.
    rank = np.array([int(np.flatnonzero(np.all(row == X, axis=1))[0]) for row in model.X])
    return model, side[rank], np.argsort(np.abs(projection[rank]))


def chain_with(model: Model, h: list[np.ndarray], outliers: list[int], rng: np.random.Generator) -> Chain:
    """A chain with these hyperplanes, of large scales, and spikes at these rows."""
    observation = np.array([int(np.flatnonzero(model.obs_row == row)[0]) for row in outliers], dtype=np.int64)
    spikes = Spikes(observation, np.full(observation.size, model.spike_log_c[8]))
    atoms = np.array(h), np.full(len(h), -4.0)
    return build(model, new_state(1.0, 0.0, math.log(SIGMA2), equal_law(model), *atoms, rng, spikes))


def straightened(chain: Chain, model: Model, rng: np.random.Generator) -> Chain:
    work, law = make_work(model, chain.kernel), equal_law(model)
    state = new_state(1.0, 0.0, math.log(SIGMA2), law, np.empty((0, D + 1)), np.empty(0), rng)
    return straighten(chain, state_of(chain, law, state.tuning, rng), model, work)


def flipped(model: Model, side: np.ndarray, rows: list[int], Z: np.ndarray) -> np.ndarray:
    """A hyperplane with all rows on their sides but some."""
    wrong = side.copy()
    wrong[rows] *= -1.0
    h = separate(Z, wrong)
    assert h is not None
    return 2.0 * h


def sides(chain: Chain) -> np.ndarray:
    return np.sign(chain.h[: chain.n_atoms] @ chain.kernel.Z.T)


def test_a_hyperplane_with_rows_on_its_wrong_side_moves_and_only_the_outlier_stays_one(
    rng: np.random.Generator,
) -> None:
    model, side, order = draw_jump(rng)
    Z = np.column_stack([np.ones(N), model.X])
    wrong, outlier = order[:2].tolist(), int(order[-1])
    before = chain_with(model, [flipped(model, side, wrong, Z)], [*wrong, outlier], rng)._replace(n_sweeps=37)
    after = straightened(before, model, rng)
    assert abs(sides(after)[0] @ side) == N
    assert model.obs_row[after.spike[: after.n_spikes]].tolist() == [outlier]
    assert np.linalg.norm(after.h[0]) == pytest.approx(2.0)
    assert after.n_sweeps == 37


def test_three_hyperplanes_that_make_one_jump_become_one(rng: np.random.Generator) -> None:
    model, side, order = draw_jump(rng)
    Z = np.column_stack([np.ones(N), model.X])
    a, b, outlier = *order[:2].tolist(), int(order[-1])
    three = [flipped(model, side, rows, Z) for rows in ([a], [b], [a, b])]
    before = chain_with(model, three, [outlier], rng)
    # Together they fit every row.
    assert np.abs(np.delete(model.row_y - fit_of(before, model).f, outlier)).max() < 4.0 * math.sqrt(SIGMA2)
    after = straightened(before, model, rng)
    assert after.n_atoms == 1
    assert abs(sides(after)[0] @ side) == N
    assert model.obs_row[after.spike[: after.n_spikes]].tolist() == [outlier]


def test_a_straight_jump_stays_as_it_is(rng: np.random.Generator) -> None:
    model, _, order = draw_jump(rng)
    chain = chain_with(model, [TRUTH], [int(order[-1])], rng)
    assert straightened(chain, model, rng) is chain


def test_a_jump_in_two_steps_that_the_data_ask_for_stays(rng: np.random.Generator) -> None:
    """Six rows have a level of their own between two planes, so one hyperplane in their place fits worse."""
    X = rng.standard_normal((N, D))
    X[:6, 0] = np.linspace(0.1, 0.2, 6)
    X[6:, 0] += np.where(X[6:, 0] > 0.15, 0.3, -0.3)
    y = np.where(np.arange(N) < 6, 0.0, SIZE * np.sign(X[:, 0] - 0.15)) + math.sqrt(SIGMA2) * rng.standard_normal(N)
    model = make_model(check_training(X, y, standardize=False), alpha=1.0, nu=1.0, sigma2=SIGMA2, n_atoms=15)
    planes = [np.array([-0.05, 1.0, 0.0, 0.0]), np.array([-0.25, 1.0, 0.0, 0.0])]
    chain = chain_with(model, planes, [], rng)
    assert len(list(crooked_jumps(chain, model, fit_of(chain, model)))) == 1
    assert straightened(chain, model, rng) is chain


def test_the_mean_of_f_is_that_of_a_gaussian_process(rng: np.random.Generator) -> None:
    """The slow twin: the covariance of y from all atoms, spikes, the remainder and noise."""
    model, _, order = draw_jump(rng)
    chain = chain_with(model, [TRUTH, rng.standard_normal(D + 1)], [int(order[-1])], rng)
    kernel, n_spikes, n_groups = chain.kernel, chain.n_spikes, chain.n_groups
    U = kernel.basis / np.sqrt(model.weight)[:, None]
    g_lam = 1.0 / chain.precision - SIGMA2
    V = np.exp(chain.log_group_scale[:n_groups])
    tau = chain.tau[n_spikes:n_groups]
    of_f = (U * g_lam) @ U.T + (tau.T * V[n_spikes:]) @ tau
    of_y = of_f + SIGMA2 * np.eye(N)
    row = model.obs_row[chain.spike[0]]
    of_y[row, row] += V[0]
    fit = fit_of(chain, model)
    np.testing.assert_allclose(fit.f, of_f @ np.linalg.solve(of_y, model.row_y), atol=1e-8)
    np.testing.assert_allclose(fit.noise_sd, math.sqrt(SIGMA2))


def test_the_widest_margin_is_found(rng: np.random.Generator) -> None:
    """Among rows on a circle, the hyperplane half-way between the two nearest of either side."""
    angle = np.radians([10.0, 80.0, 130.0, 150.0])
    Z = np.column_stack([np.cos(angle), np.sin(angle)])
    h = separate(Z, np.array([1.0, 1.0, -1.0, -1.0]))
    assert h is not None
    # Square, not round, limits to h: the margin is as wide as can be up to the length of h.
    assert np.degrees(np.arctan2(*h)) % 180.0 == pytest.approx(75.0, abs=12.0)
    assert separate(Z, np.array([1.0, -1.0, 1.0, -1.0])) is None


def test_few_rows_are_wrong_where_not_all_can_be_right(rng: np.random.Generator) -> None:
    Z = np.column_stack([np.ones(N), rng.standard_normal((N, D))])
    side = np.sign(Z @ TRUTH)
    side[np.argsort(np.abs(Z @ TRUTH))[-2:]] *= -1.0
    assert separate(Z, side) is None
    h = nearly_separate(Z, side)
    assert h is not None
    assert np.sum(np.sign(Z @ h) != side) <= 6
