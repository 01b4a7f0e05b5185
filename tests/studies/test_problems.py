from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from studies.problems import BY_NAME, FUNCTIONS, Problem, friedman, grids, jump_and_slope, oblique, simulate

# Computed by hand, off and on the edges.
VALUES = {
    "three_jumps": {(-1.5,): 0.0, (-1.0,): 5.0, (-0.5,): 5.0, (0.0,): 0.0, (0.5,): 0.0, (1.0,): 5.0},
    "one_jump": {(-0.1,): 0.0, (0.0,): 0.0, (0.1,): 5.0},
    "two_jumps": {(-0.7,): 0.0, (-2.0 / 3.0,): 5.0, (0.6,): 5.0, (2.0 / 3.0,): 0.0},
    "piecewise_smooth": {(-1.0,): 5.0, (0.0,): 8.0, (2.0,): 0.0},
    "smooth": {(0.0,): -2.0, (np.pi / 2.0,): 3.0 * np.tanh(np.pi / 2.0) - np.pi},
    "quadrants": {(-0.5, -0.5): 0.0, (0.5, -0.5): 5.0, (0.5, 0.5): 10.0, (0.0, 0.5): 5.0},
    "diagonal": {(-1.0 / 3.0, 1.0 / 3.0): 0.0, (0.5, -0.25): 5.0, (0.25, -0.5): 0.0},
    "curved_edge": {(1.0, 0.0): 5.0, (0.0, 0.0): 0.0, (0.0, 0.25): 5.0, (1.0, -0.5): 0.0},
    "smooth_plane": {(1.0, 1.0): 1.0, (1.0, -1.0): 3.0},
}


@pytest.mark.parametrize("name", BY_NAME)
def test_values_by_hand(name: str) -> None:
    rows = np.array(list(VALUES[name]))
    np.testing.assert_allclose(BY_NAME[name].truth(rows), list(VALUES[name].values()), atol=1e-12)


def test_the_papers_sizes_and_settings() -> None:
    assert [len(rows) for rows in (*grids(1), *grids(2))] == [40, 100, 49, 81]
    assert [function.alpha for function in FUNCTIONS] == [1.1, 1.1, 1.3, 1.0, 1.9, 1.1, 0.1, 1.0, 1.3]
    assert [function.name for function in FUNCTIONS if not function.has_jumps] == ["smooth", "smooth_plane"]


def test_test_sets_are_shared_and_training_sets_are_not() -> None:
    one, other = simulate("one_jump", 0), simulate("one_jump", 1)
    np.testing.assert_array_equal(one.y_new, other.y_new)
    assert not np.any(one.y == other.y)
    np.testing.assert_array_equal(one.y, simulate("one_jump", 0).y)


def test_noise_has_the_papers_size() -> None:
    problem = simulate("smooth", 0)
    noise = problem.y_new - problem.f_new
    assert abs(noise.std() - 0.5) < 0.02  # 10 000 values: 5.7 standard errors
    assert abs(np.abs(noise).mean() - 0.399) < 0.02  # the floor of the paper's error


def test_oblique_jumps_have_two_directions_and_training_data_of_their_own() -> None:
    problem = oblique(200, 4, n_new=2000)
    np.testing.assert_array_equal(problem.y, oblique(200, 4).y)
    jumps = problem.f_new - np.sin(2.0 * problem.X_new[:, 0])
    assert set(np.round(jumps, 12)) == {0.0, 3.0, 5.0, 8.0}
    second = problem.X_new[:, :2] @ [0.8, -0.6] > -0.3
    np.testing.assert_allclose(jumps % 5.0, 3.0 * second, atol=1e-12)
    # The other jump is a half-space too: its two sides have opposite means along one direction.
    first = jumps - 3.0 * second > 2.5
    direction = problem.X_new[first].mean(axis=0) - problem.X_new[~first].mean(axis=0)
    along = problem.X_new @ direction / np.linalg.norm(direction)
    assert np.mean((along > 0.2) == first) > 0.95


@pytest.mark.parametrize(("make", "d", "noise_sd"), [(oblique, 3, 0.5), (jump_and_slope, 3, 0.5), (friedman, 6, 1.0)])
def test_training_data_do_not_depend_on_the_new_rows(make: Callable[..., Problem], d: int, noise_sd: float) -> None:
    problem = make(200, d, 3, 500)
    np.testing.assert_array_equal(problem.y, make(200, d, 3).y)
    assert not np.any(problem.y == make(200, d, 4).y)
    noise = problem.y_new - problem.f_new
    assert noise.std() == pytest.approx(noise_sd, rel=0.04)  # 10 000 values: 5.7 standard errors


def test_friedman_and_slope_by_hand() -> None:
    problem = friedman(10, 7, n_new=50)
    x1, x2, x3, x4, x5, *_ = problem.X_new.T
    expected = 10.0 * np.sin(np.pi * x1 * x2) + 20.0 * (x3 - 0.5) ** 2 + 10.0 * x4 + 5.0 * x5
    np.testing.assert_allclose(problem.f_new, expected, rtol=1e-12)
    problem = jump_and_slope(10, 2, n_new=50)
    x1, x2 = problem.X_new.T
    np.testing.assert_allclose(problem.f_new, 2.0 * x1 + 5.0 * (x1 + x2 > 0.2 * np.sqrt(2.0)), rtol=1e-12)
