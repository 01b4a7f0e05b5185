from __future__ import annotations

import numpy as np

from tests.jumps.draws import data_of, draws_of
from widestable.jumps import find_jumps
from widestable.jumps.matching import MIN_PROBABILITY, split_distance

LINE = data_of(np.arange(40.0)[:, None].tolist())


def step(at: float, size: float) -> tuple[list[float], float]:
    return [-at, 1.0], size / 2.0


def test_jumps_near_each_other_are_one_when_no_draw_has_two(rng: np.random.Generator) -> None:
    places = rng.normal(20.0, 1.5, size=200)
    found = find_jumps(LINE, [draws_of(*([step(at, 3.0)] for at in places), width=2)])
    (jump,) = found
    assert jump.probability == 1.0
    np.testing.assert_allclose(jump.location, np.median(places))
    np.testing.assert_allclose(jump.location_interval, np.quantile(places, [0.05, 0.95]))


def test_jumps_near_each_other_are_two_when_every_draw_has_both(rng: np.random.Generator) -> None:
    draws = [[step(18.5 + 0.1 * e, 3.0), step(21.5 - 0.1 * e, 2.0)] for e in rng.standard_normal(100)]
    first, second = find_jumps(LINE, [draws_of(*draws, width=2)])
    assert (first.probability, second.probability) == (1.0, 1.0)
    np.testing.assert_allclose([first.location, second.location], [18.5, 21.5], atol=0.05)
    np.testing.assert_allclose([first.size, second.size], [3.0, 2.0])


def test_a_rise_and_a_fall_are_two_jumps() -> None:
    """An outlier between two points: up and down again."""
    draws = [[step(19.5, 3.0), step(20.5, -3.0)]] * 30
    assert [(j.location, j.size) for j in find_jumps(LINE, [draws_of(*draws, width=2)])] == [(19.5, 3.0), (20.5, -3.0)]


def test_probabilities_are_shares_of_draws_and_rare_jumps_are_left_out() -> None:
    draws = [[step(9.5, 2.0)] + [step(29.5, 4.0)] * (i % 2) + [step(35.5, 4.0)] * (i % 10 == 0) for i in range(100)]
    found = find_jumps(LINE, [draws_of(*draws, width=2)])
    assert [(j.location, j.probability) for j in found] == [(9.5, 1.0), (29.5, 0.5)]
    assert MIN_PROBABILITY > 0.1
    assert found.n_jumps.tolist() == [1 + i % 2 + (i % 10 == 0) for i in range(100)]


def test_planes_are_averaged_and_described_in_the_users_units(rng: np.random.Generator) -> None:
    from widestable.inputs import check_training

    X = rng.uniform(-1.0, 1.0, size=(200, 3)) * [1.0, 100.0, 1.0] + [5.0, -300.0, 0.0]
    data = check_training(X, np.zeros(200))
    # In the user's units: f rises by 4 where x1 + x2 / 100 > 2.1.
    normal = np.array([1.0, 0.01, 0.0]) * data.scaling.x_scale
    offset = data.scaling.x_mean @ [1.0, 0.01, 0.0] - 2.1
    planes = [np.append(offset, normal) + 0.01 * rng.standard_normal(4) for _ in range(50)]
    # Half of them are written the other way round.
    draws = [[((h * (-1.0) ** i).tolist(), 2.0 * (-1.0) ** i)] for i, h in enumerate(planes)]
    found = find_jumps(data, [draws_of(*draws, width=4)])
    (jump,) = found
    assert jump.probability == 1.0
    assert jump.size == 4.0 * data.scaling.y_scale
    np.testing.assert_allclose(jump.direction / jump.direction[0], [1.0, 0.01, 0.0], atol=0.01)
    np.testing.assert_allclose(jump.location / jump.direction[0], 2.1, atol=0.02)
    assert jump.agreement > 0.98
    # Both inputs lie far from zero, in units of their spread, so that they are written from their centre.
    assert f"(x1 - {found.centre[0]:g}" in str(found)
    assert f"(x2 + {-found.centre[1]:g})/60" in str(found)
    assert "1 small weight left out" in str(found)
    assert "x3" in found.describe(jump, full=True)
    assert found.to_dict()["jumps"][0]["size"] == jump.size


def test_distance_is_small_between_like_splits_only(rng: np.random.Generator) -> None:
    weight = np.full(40, 1 / 40)
    at = np.arange(40)
    sides = np.array([at >= 20, at >= 22, at >= 38, at < 2, at < 20])
    d = split_distance(sides, sides, weight)
    np.testing.assert_allclose(d, d.T)
    np.testing.assert_allclose(np.diag(d), 0.0, atol=1e-12)
    np.testing.assert_allclose(d[0, 1], 2 / 20)
    # Two corners differ in four rows only, and are nothing alike; up is not down.
    assert d[2, 3] > 0.9
    assert d[0, 4] > 0.9


def test_many_jumps_are_clustered_from_a_part_of_the_draws(rng: np.random.Generator) -> None:
    n = 3000
    draws = [[step(c + rng.uniform(0.1, 0.9), 3.0) for c in (4, 9, 14, 19, 24, 29, 34, 37)] for _ in range(n)]
    found = find_jumps(LINE, [draws_of(*draws, width=2)])
    assert [round(j.location - 0.5) for j in found] == [4, 9, 14, 19, 24, 29, 34, 37]
    assert all(j.probability == 1.0 for j in found)
