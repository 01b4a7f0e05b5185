"""The search for the hyperplanes from which chains with many inputs start."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

from tests.engine.chains import FREE, equal_law
from widestable._blas import one_blas_thread
from widestable.engine import search
from widestable.engine.chain import Spikes, State, start_state
from widestable.engine.model import Model, make_model
from widestable.engine.search import (
    MANY_INPUTS,
    MAX_ROWS,
    Atoms,
    Rows,
    climb,
    explain,
    explained_by_smooth,
    find_atoms,
    fit_scales,
    gain,
    move,
    rows_of,
    what_is_left,
    with_found_atoms,
)
from widestable.inputs import check_training
from widestable.network import arcsine_kernel
from widestable.stable import log_scale_of_mark, log_threshold

N = 150
FIRST, SECOND = np.eye(MANY_INPUTS + 1)[1] - 0.8 * np.eye(MANY_INPUTS + 1)[2], np.eye(MANY_INPUTS + 1)[3]


def draw_model(rng: np.random.Generator, d: int = MANY_INPUTS, n: int = N, **settings: bool) -> Model:
    """Two jumps in the first three inputs."""
    X = rng.standard_normal((n, d))
    Z = np.column_stack([np.ones(n), X])
    y = 2.0 * np.sign(Z @ FIRST[: d + 1]) + np.sign(Z @ SECOND[: d + 1]) + 0.2 * rng.standard_normal(n)
    data = check_training(X, y, rng.uniform(0.5, 2.0, n), standardize=False)
    return make_model(data, **FREE, n_atoms=15, **{"infer_relevance": True} | settings)


def start(model: Model, rng: np.random.Generator) -> State:
    return start_state(model, equal_law(model), rng, **FREE)


def some_atoms(rows: Rows, rng: np.random.Generator, k: int = 3) -> Atoms:
    h = rng.standard_normal((k, rows.Z.shape[1]))
    h /= np.linalg.norm(h, axis=1, keepdims=True)
    return Atoms(h, np.where(h @ rows.Z.T >= 0.0, 1.0, -1.0), rng.standard_normal(k))


def covariance_over_noise(rows: Rows, atoms: Atoms) -> np.ndarray:
    return np.linalg.inv(rows.inverse) + (atoms.tau.T * np.exp(atoms.log_scale)) @ atoms.tau


def log_likelihood(y: np.ndarray, C: np.ndarray) -> float:
    """Of y ~ N(0, sigma2 C) with the best sigma2, up to a constant."""
    return -0.5 * (y.size * math.log(y @ np.linalg.solve(C, y)) + np.linalg.slogdet(C)[1])


def test_both_jumps_are_found(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    found = find_atoms(rows, rng)
    for truth in (FIRST, SECOND):
        assert np.abs(found.tau @ np.sign(rows.Z @ truth)).max() >= 0.94 * N
    # The noise has a variance of 0.04, and the remainder takes a part of it.
    assert what_is_left(rows, found).sigma2 < 0.05


def test_an_atom_that_is_a_little_off_is_moved_to_its_place(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    off = FIRST / np.linalg.norm(FIRST) + 0.1 * rng.standard_normal(FIRST.size)
    h = np.array([off, SECOND])
    before = Atoms(h / np.linalg.norm(h, axis=1, keepdims=True), np.where(h @ rows.Z.T >= 0.0, 1.0, -1.0), np.ones(2))
    after = move(before, 0, rows, rng)
    truth = np.sign(rows.Z @ FIRST)
    assert abs(before.tau[0] @ truth) < 0.95 * N
    assert abs(after.tau[0] @ truth) > abs(before.tau[0] @ truth)
    np.testing.assert_array_equal(after.tau, np.where(after.h @ rows.Z.T >= 0.0, 1.0, -1.0))
    np.testing.assert_array_equal(after.h[1], before.h[1])


def test_the_search_moves_all_atoms_after_each_new_one(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[tuple[int, int]] = []

    def recorded(atoms: Atoms, k: int, *rest: Any) -> Atoms:
        moved.append((len(atoms.h), k))
        return move(atoms, k, *rest)

    monkeypatch.setattr(search, "move", recorded)
    model = draw_model(rng)
    found = find_atoms(rows_of(model, start(model, rng)), rng)
    assert set(moved) == {(n, k) for n in range(1, len(found.h) + 1) for k in range(n)}


def test_the_state_starts_with_what_was_found(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    before = start(model, rng)
    with one_blas_thread():
        found = find_atoms(rows_of(model, before), copy.deepcopy(before.rng))
    after, k = with_found_atoms(model, before), len(found.h)
    length = np.linalg.norm(after.h[:k], axis=1, keepdims=True)
    np.testing.assert_allclose(after.h[:k], length * found.h)
    np.testing.assert_array_equal(after.h[k:], before.h[k:])
    np.testing.assert_array_equal(after.log_mark[k:], before.log_mark[k:])
    # Scales are those that were found, where they are above the threshold.
    scale, threshold = found.log_scale + after.log_sigma2, log_threshold(after.alpha, after.log_nu, model.n_atoms)
    given = log_scale_of_mark(after.log_mark[:k], after.alpha, after.log_nu)
    np.testing.assert_allclose(given, np.maximum(scale, threshold), atol=0.05)
    assert np.all(after.log_mark < math.log(model.n_atoms))


@pytest.mark.parametrize("why", ["few inputs", "few rows", "relevances given", "smooth units", "no atoms"])
def test_the_state_stays_where_nothing_is_to_be_searched(why: str, rng: np.random.Generator) -> None:
    d, n = MANY_INPUTS - (why == "few inputs"), MANY_INPUTS if why == "few rows" else N
    model = draw_model(rng, d=d, n=n, infer_relevance=why != "relevances given")
    if why == "no atoms":
        model = model._replace(has_atoms=False)
    law = equal_law(model, 2.0 if why == "smooth units" else math.inf)
    state = start(model, rng)._replace(law=law)
    assert with_found_atoms(model, state) is state


def test_no_more_rows_than_asked_for_and_outliers_weigh_little(rng: np.random.Generator) -> None:
    model = draw_model(rng, n=MAX_ROWS + 50, has_spikes=True)
    state = start(model, rng)
    assert rows_of(model, state).y.size == MAX_ROWS
    model = draw_model(rng, has_spikes=True)
    row = int(model.obs_row[7])
    state = start(model, rng)._replace(spikes=Spikes(np.array([7]), np.array([5.0])))
    B = np.linalg.inv(rows_of(model, state).inverse)
    noise = 1.0 / model.weight
    noise[row] += math.exp(5.0)
    np.testing.assert_allclose(B, arcsine_kernel(model.X) + np.diag(noise), atol=1e-8)


def test_the_precision_is_the_inverse_of_the_covariance(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    atoms = some_atoms(rows, rng)
    C = covariance_over_noise(rows, atoms)
    left = what_is_left(rows, atoms)
    np.testing.assert_allclose(left.P, np.linalg.inv(C), atol=1e-9)
    assert left.sigma2 == pytest.approx(rows.y @ np.linalg.solve(C, rows.y) / N)


def test_what_an_atom_gains_is_a_ratio_of_likelihoods(rng: np.random.Generator) -> None:
    """At a fixed sigma2, against dense algebra; no other scale gains more."""
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    atoms = some_atoms(rows, rng)
    left, h = what_is_left(rows, atoms), FIRST[None] / np.linalg.norm(FIRST)
    explained, log_scale = explain(h, rows, left)
    tau = np.where(h[0] @ rows.Z.T >= 0.0, 1.0, -1.0)

    def log_density(scale: float) -> float:
        C = left.sigma2 * (covariance_over_noise(rows, atoms) + scale * np.outer(tau, tau))
        return float(-0.5 * (rows.y @ np.linalg.solve(C, rows.y) + np.linalg.slogdet(C)[1]))

    best = math.exp(log_scale[0])
    assert gain(explained[0]) == pytest.approx(log_density(best) - log_density(0.0))
    assert log_density(best) > max(log_density(0.9 * best), log_density(1.1 * best))


def test_scales_are_fitted_by_maximum_likelihood(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    atoms = find_atoms(rows, rng)
    at_random = atoms._replace(log_scale=rng.standard_normal(len(atoms.h)))
    fitted = fit_scales(rows, at_random)
    before, after = (log_likelihood(rows.y, covariance_over_noise(rows, a)) for a in (at_random, fitted))
    assert after > before + 1.0
    for k in range(len(atoms.h)):
        for change in (-0.5, 0.5):
            other = fitted._replace(log_scale=fitted.log_scale + change * (np.arange(len(atoms.h)) == k))
            assert log_likelihood(rows.y, covariance_over_noise(rows, other)) < after + 0.02


def test_the_gradient_is_that_of_differences(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    left = what_is_left(rows, some_atoms(rows, rng))
    h = some_atoms(rows, rng, 4).h
    _, slope = explained_by_smooth(h, 5.0, rows, left)
    for along in rng.standard_normal((5, *h.shape)):
        along -= np.sum(along * h, axis=1, keepdims=True) * h
        up, down = (explained_by_smooth(h + e * along, 5.0, rows, left)[0] for e in (1e-6, -1e-6))
        np.testing.assert_allclose((up - down) / 2e-6, np.sum(slope * along, axis=1), rtol=1e-4, atol=1e-6)


def test_climbing_never_goes_down(rng: np.random.Generator) -> None:
    model = draw_model(rng)
    rows = rows_of(model, start(model, rng))
    left, h = what_is_left(rows, some_atoms(rows, rng)), some_atoms(rows, rng, 6).h
    climbed = climb(h, 5.0, rows, left)
    gained = explained_by_smooth(climbed, 5.0, rows, left)[0] - explained_by_smooth(h, 5.0, rows, left)[0]
    assert np.all(gained >= 0.0)
    assert gained.max() > 1.0
    np.testing.assert_allclose(np.linalg.norm(climbed, axis=1), 1.0)
