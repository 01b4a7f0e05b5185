from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

from tests.jumps.draws import data_of, draws_of
from widestable.jumps import find_jumps
from widestable.jumps.steps import step_width

LINE = data_of([[0.0], [1.0], [2.0]])
PLANE = data_of([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]])


def test_a_step_goes_from_minus_a_half_to_a_half_over_its_width(rng: np.random.Generator) -> None:
    h, sharpness = rng.standard_normal((5, 4)), rng.uniform(0.1, 10.0, size=5)
    width = step_width(h, sharpness)
    normal = h[:, 1:] / np.linalg.norm(h[:, 1:], axis=1, keepdims=True)
    foot = -h[:, :1] * h[:, 1:] / np.sum(h[:, 1:] ** 2, axis=1, keepdims=True)  # a point on the plane
    for side in (-0.5, 0.5):
        z = np.column_stack([np.ones(5), foot + side * width[:, None] * normal])
        np.testing.assert_allclose(erf(sharpness * np.sum(h * z, axis=1)), side, atol=1e-12)


def test_steps_on_a_line_are_found_where_they_are() -> None:
    """Steps at 0.5 (up by 4), 1.5 (down by 2: a negative slope), 7 (outside); in the second draw two nearly cancel."""
    chain = draws_of(
        [([-0.5, 1.0], 2.0), ([1.5, -1.0], 1.0), ([-7.0, 1.0], 9.0)],
        [([-0.5, 1.0], 1.0), ([0.4, -1.0], 0.9)],
        width=2,
    )
    found = find_jumps(LINE, [chain], 0.5)
    assert found.n_jumps.tolist() == [2, 0]
    assert found.gaps is not None
    np.testing.assert_allclose(found.gaps.probability, [0.5, 0.5])
    np.testing.assert_allclose(found.gaps.size, [4.0, -2.0])
    np.testing.assert_allclose([found.gaps.low, found.gaps.high], [[0.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(found.count_probability, [0.5, 0.0, 0.5])
    assert [(jump.location, jump.size) for jump in found] == [(0.5, 4.0), (1.5, -2.0)]
    assert str(found).splitlines() == [
        "2 jumps larger than 0.5, with 90% intervals:",
        "  f rises by 4 (4 to 4) at 0.5 (0.5 to 0.5); probability 0.50",
        "  f falls by 2 (2 to 2) at 1.5 (1.5 to 1.5); probability 0.50",
        "Jumps per draw: 0 with probability 0.50, 2 with 0.50",
    ]
    assert not found.has_widths


def test_steps_that_split_the_rows_alike_are_one_jump() -> None:
    same = [([-0.5, 1.0, 0.0], 1.0), ([0.6, -1.0, 0.0], 1.0)]  # both between the first row and the others
    opposite = [same[0], (same[1][0], -1.0)]
    other, outside = ([-1.5, 1.0, 0.0], 3.0), ([5.0, 1.0, 0.0], 8.0)
    chain = draws_of(same, [*opposite, other], [outside], [], width=3)
    found = find_jumps(PLANE, [chain, chain], 0.5)
    assert found.n_jumps.tolist() == [0, 2, 0, 0] * 2
    assert found.gaps is None


def test_only_steps_narrower_than_the_limit_count() -> None:
    """A unit of sharpness 2 and slope 1 is 0.477 wide."""
    chain = draws_of([([-0.5, 1.0], 2.0)], [([-0.5, 1.0], 2.0)], width=2, sharpness=[2.0, np.inf])
    assert find_jumps(LINE, [chain], 0.5, max_width=0.47).n_jumps.tolist() == [0, 1]
    assert find_jumps(LINE, [chain], 0.5, max_width=0.48).n_jumps.tolist() == [1, 1]
    default = find_jumps(LINE, [chain], 0.5)
    assert "larger than 0.5 and narrower than 0.204" in str(default)
    assert default.max_width == pytest.approx(0.25 * np.std([0.0, 1.0, 2.0]))
    assert default.n_jumps.tolist() == [0, 1]
    assert find_jumps(LINE, [chain], 0.5, max_width=np.inf)[0].width == pytest.approx(0.5 * 0.4769, abs=1e-3)


def test_a_run_without_steps_has_no_jumps() -> None:
    found = find_jumps(LINE, [draws_of([], [], width=2)])
    assert found.n_jumps.tolist() == [0, 0]
    assert len(found) == 0
    assert found.min_size == 1.0
    assert found.gaps is not None
    assert np.isnan(found.gaps.size).all()


@pytest.mark.parametrize("limits", [{"size": -1.0}, {"size": np.nan}, {"max_width": -0.1}])
def test_wrong_limits_are_refused(limits: dict[str, float]) -> None:
    (name,) = limits
    with pytest.raises(ValueError, match=f"Got {name} = "):
        find_jumps(LINE, [draws_of([], width=2)], **limits)
