from __future__ import annotations

import numpy as np
import pytest

from tests import fits
from tests.jumps.draws import data_of, draws_of, slow_probability
from widestable.jumps import jump_probability


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


def test_the_map_holds_the_probabilities_between_its_cells() -> None:
    posterior = fits.plane().posterior_
    found = posterior.jumps().boundaries
    assert (found.across_x.shape, found.across_y.shape) == ((12, 11), (11, 12))
    left, right = [[found.x[1], found.y[3]]], [[found.x[2], found.y[3]]]
    assert found.across_x[3, 1] == pytest.approx(posterior.jump_probability(left, right)[0])
    upper = [[found.x[1], found.y[4]]]
    assert found.across_y[3, 1] == pytest.approx(posterior.jump_probability(left, upper)[0])
    sides = [found.across_x[3, 0], found.across_x[3, 1], found.across_y[2, 1], found.across_y[3, 1]]
    assert found.cells[3, 1] == max(sides)
