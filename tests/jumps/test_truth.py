"""Jumps are found where they are in simulated data, and not where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from widestable import StableRegressor
from widestable.cli.demo import simulate

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]


SHARPNESS = pytest.mark.parametrize("sharpness", [np.inf, None], ids=["sign units", "inferred sharpness"])


@SHARPNESS
def test_each_of_three_jumps(sharpness: float | None) -> None:
    example = simulate(np.random.default_rng(0))
    model = StableRegressor(random_state=0, sharpness=sharpness, max_sweeps=3000).fit(example.x[:, None], example.y)
    sure = [jump for jump in model.jumps() if jump.probability > 0.95]
    assert len(sure) == 3
    for jump, truth, size in zip(sure, (-1.0, 0.0, 1.0), (5.0, -5.0, 5.0), strict=True):
        low, high = jump.location_interval
        assert low <= truth <= high
        assert high - low < 0.2
        assert jump.size_interval[0] < size < jump.size_interval[1]
        assert jump.width < 0.1 if sharpness is None else jump.width == 0.0
    ends = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    assert np.all(model.jump_probability(ends[:-1], ends[1:], size=2.5) > 0.95)


@SHARPNESS
def test_no_jump_in_a_smooth_function(sharpness: float | None) -> None:
    x = np.linspace(-2.0, 2.0, 40)
    truth = -2.0 * np.cos(x) ** 2 + 3.0 * np.tanh(x) - 2.0 * x
    y = truth + 0.5 * np.random.default_rng(1).standard_normal(40)
    model = StableRegressor(random_state=0, sharpness=sharpness, max_sweeps=3000).fit(x[:, None], y)
    places = x[:, None]
    assert model.jump_probability(places[:-1], places[1:], size=2.0 * model.sigma_).max() < 0.5
    assert all(jump.probability < 0.5 for jump in model.jumps(2.0 * model.sigma_))


def test_a_diagonal_line_in_the_plane() -> None:
    side = np.linspace(-1.0, 1.0, 7)
    X = np.array([(a, b) for a in side for b in side])
    y = 5.0 * (X.sum(axis=1) > 0.0) + 0.5 * np.random.default_rng(2).standard_normal(49)
    model = StableRegressor(random_state=0, max_sweeps=6000).fit(X, y)
    found = model.jumps()
    jump = found[0]
    assert jump.probability > 0.95
    assert jump.direction[1] / jump.direction[0] == pytest.approx(1.0, abs=0.15)
    # The line lies between the rows with x1 + x2 = 0 and those with 1/3.
    assert -0.05 < jump.location / jump.direction.mean() < 0.36
    assert jump.size_interval[0] < 5.0 < jump.size_interval[1]
    cells, (x, y_) = found.boundaries.probability, np.meshgrid(found.boundaries.x, found.boundaries.y)
    assert cells[np.abs(x + y_ - 1 / 6) > 0.6].max() < 0.3
    assert cells[np.abs(x + y_ - 1 / 6) < 0.1].min() > 0.3


def test_an_oblique_plane_in_four_inputs() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 4))
    w = np.array([1.0, -1.0, 0.5, 0.0]) / 1.5
    y = 4.0 * (X @ w > 0.2) + 0.5 * rng.standard_normal(150)
    model = StableRegressor(random_state=0, max_sweeps=4000).fit(X, y)
    jump = model.jumps(2.0)[0]
    assert jump.probability > 0.95
    assert jump.direction @ w / np.linalg.norm(jump.direction) > 0.98
    assert jump.location / np.linalg.norm(jump.direction) == pytest.approx(0.2, abs=0.15)
    assert jump.size == pytest.approx(4.0, abs=0.4)
    assert model.jump_probability([2.0 * w], [-2.0 * w], size=2.0)[0] > 0.95


@pytest.mark.parametrize(("n_rows", "expected"), [(1, (20,)), (5, ())], ids=["an outlier", "a plateau"])
def test_outliers_are_marked_and_plateaus_are_not(n_rows: int, expected: tuple[int, ...]) -> None:
    """Eight noise s.d. above the others; the example of docs/jumps.md."""
    x, rows = np.linspace(0.0, 10.0, 80), np.arange(80)
    y = 3.0 * (x > 6.0) + 4.0 * ((rows >= 20) & (rows < 20 + n_rows))
    y = y + 0.5 * np.random.default_rng(0).standard_normal(80)
    model = StableRegressor.paper(random_state=0, n_sweeps=1500, n_chains=2).fit(x[:, None], y)
    sure = [jump for jump in model.jumps() if jump.probability > 0.9]
    assert [jump.possible_outliers for jump in sure] == [expected, expected, ()]
