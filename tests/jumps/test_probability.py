from __future__ import annotations

import numpy as np
import pytest

from tests import fits
from tests.jumps.draws import data_of, draws_of, slow_probability
from widestable.jumps import find_jumps, jump_probability


@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_equals_counting_draw_by_draw(d: int, rng: np.random.Generator) -> None:
    X = rng.standard_normal((6, d))
    data = data_of(X.tolist())
    # Few planes, used again and again, so that splits repeat within a draw.
    planes = rng.standard_normal((5, d + 1))
    draws = [[(planes[rng.integers(5)].tolist(), rng.normal()) for _ in range(rng.integers(8))] for _ in range(60)]
    chain = draws_of(*draws, width=d + 1, sharpness=rng.choice([0.5, 2.0, np.inf], size=60).tolist())
    A, B = rng.standard_normal((2, 15, d))
    found = jump_probability(data, [chain], A, B, size=1.5, max_width=0.7)
    expected = [slow_probability(data, chain, a, b, 1.5, 0.7) for a, b in zip(A, B, strict=True)]
    np.testing.assert_allclose(found, expected)
    assert 0.0 < found.max() < 1.0


def test_only_steps_between_the_two_places_count() -> None:
    data = data_of([[0.0], [1.0]])
    chain = draws_of([([-0.3, 1.0], 2.0), ([-0.6, 1.0], 2.0)], [([-0.3, 1.0], 2.0)], width=2)
    places = np.array([[0.0], [0.4], [0.7]])
    # All steps split the two rows alike, so that 0 to 0.7 sees their sum; 0.4 to 0.7 sees only the second one.
    between = jump_probability(data, [chain], places[[0, 0, 1]], places[[2, 1, 2]], size=5.0)
    np.testing.assert_allclose(between, [0.5, 0.0, 0.0])
    np.testing.assert_allclose(jump_probability(data, [chain], places[[0, 1]], places[[1, 2]], size=3.0), [1.0, 0.5])


def test_pairs_are_symmetric_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = fits.plane().posterior_
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 20, 2))
    whole = posterior.jump_probability(A, B)
    np.testing.assert_array_equal(posterior.jump_probability(B, A), whole)
    np.testing.assert_array_equal(posterior.jump_probability(A, A), 0.0)
    monkeypatch.setattr("widestable.jumps.probability.BLOCK", 1)
    monkeypatch.setattr("widestable.jumps.steps.BLOCK", 100)
    np.testing.assert_array_equal(posterior.jump_probability(A, B), whole)
    assert whole.max() > 0.5


def test_units_are_the_users() -> None:
    """A jump of 5 at 100, of which the data lie 2 to each side."""
    model = fits.line()
    assert model.jump_probability([[99.0]], [[101.0]])[0] > 0.9
    assert model.jump_probability([[99.0]], [[101.0]], size=100.0)[0] == 0.0
    (jump,) = [jump for jump in model.jumps() if jump.probability > 0.9]
    assert jump.location == pytest.approx(100.0, abs=0.2)
    assert jump.size == pytest.approx(5.0, abs=1.0)
    assert model.jumps().min_size == pytest.approx(model.sigma_)
    assert model.jumps().max_width == pytest.approx(0.25 * np.std(fits.line_data()[0]))


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="Got 2 rows of A and 1 of B"):
        fits.line().jump_probability([[99.0], [100.0]], [[101.0]])


def test_the_map_holds_the_probabilities_across_its_points() -> None:
    posterior = fits.plane().posterior_
    found = posterior.jumps().boundaries
    assert found.probability.shape == (found.y.size, found.x.size)
    dx, dy = found.reach
    # Twelve cells along each input, the fewest there are; a map reaches half a cell to each side.
    assert dx == pytest.approx((found.x[-1] - found.x[0]) / 24.0)
    for i, j in ((3, 1), (40, 30), np.unravel_index(found.probability.argmax(), found.probability.shape)):
        x, y = found.x[j], found.y[i]
        across = posterior.jump_probability([[x - dx, y], [x, y - dy]], [[x + dx, y], [x, y + dy]])
        assert found.probability[i, j] == pytest.approx(across.max())
    assert found.probability.max() > 0.5
    assert repr(found).startswith("BoundaryMap(64 x 64 points, x1 ")


def test_a_straight_boundary_is_straight_on_the_map() -> None:
    """A line through the plane, the same in all draws: the map is 1 within reach of it, and 0 elsewhere."""
    rng = np.random.default_rng(0)
    data = data_of(rng.uniform(size=(100, 2)).tolist())
    chain = draws_of(*([([-0.9, 1.0, 0.8], 2.0)] for _ in range(50)), width=3)
    found = find_jumps(data, [chain], 0.5).boundaries
    x, y = np.meshgrid(found.x, found.y)
    away = np.abs(x + 0.8 * y - 0.9)
    near = np.maximum(found.reach[0], 0.8 * found.reach[1])
    clear = np.abs(away - near) > 1e-9
    np.testing.assert_array_equal(found.probability[clear], 1.0 * (away < near)[clear])


def test_the_map_makes_do_with_some_of_the_draws() -> None:
    """Every second of 4000 draws has the jump; the map uses 600 of them."""
    data = data_of([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    step = [([-0.5, 1.0, 0.0], 2.0)]
    has_jump = np.random.default_rng(1).random(4000) < 0.5
    chain = draws_of(*(step if has else [] for has in has_jump), width=3)
    found = find_jumps(data, [chain], 0.5).boundaries
    assert found.probability.max() == pytest.approx(0.5, abs=0.08)
