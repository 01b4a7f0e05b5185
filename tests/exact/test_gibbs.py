from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.checks import check_cdf
from tests.exact.agreement import three_jumps
from tests.exact.joint import After, Parameters, check_joint_law, replicates
from widestable.exact import build_partition, gibbs
from widestable.exact.gibbs import GibbsState
from widestable.exact.partition_gibbs import signed_sums, update_scales_given_coefficients
from widestable.exact.target import Target, build_target
from widestable.inputs import check_training

# Independent replicates in checks of the joint law.
N = 1500


def a_few_steps(rng: np.random.Generator, parameters: Parameters, target: Target) -> After:
    state = GibbsState(*parameters, f=np.empty(0))
    for _ in range(5):
        state, _ = gibbs.step(rng, state, target)
    return After(target, state.log_s, state.sigma2, state.f, state.angle)


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.6])
def test_joint_law_is_invariant(alpha: float, rng: np.random.Generator) -> None:
    check_joint_law(replicates(a_few_steps, alpha, N, rng), alpha, rng)


@pytest.mark.statistical
class TestBrokenSamplersAreSeen:
    def test_coefficients_half_as_large(self, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
        right = gibbs.update_scales_given_coefficients
        monkeypatch.setattr(
            gibbs, "update_scales_given_coefficients", lambda size, z, *rest: right(size, z / 2.0, *rest)
        )
        with pytest.raises(AssertionError):
            check_joint_law(replicates(a_few_steps, 1.0, N, rng), 1.0, rng)

    def test_one_degree_of_freedom_too_many(self, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
        right = gibbs.slice_noise
        monkeypatch.setattr(gibbs, "slice_noise", lambda x, n, *rest: right(x, n + 1.0, *rest))
        with pytest.raises(AssertionError):
            check_joint_law(replicates(a_few_steps, 1.0, N, rng), 1.0, rng)

    def test_angles_never_moved(self, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
        right = gibbs.update_scales_given_coefficients

        def fresh_angles(size, z, limit, alpha, log_s, angle, rng):
            angle[:] = np.pi * (1.0 - rng.random(len(angle)))
            right(size, z, limit, alpha, log_s, angle, rng)

        monkeypatch.setattr(gibbs, "update_scales_given_coefficients", fresh_angles)
        with pytest.raises(AssertionError):
            check_joint_law(replicates(a_few_steps, 1.0, N, rng), 1.0, rng)


def test_scales_given_coefficients_at_alpha_one(rng: np.random.Generator) -> None:
    """Without u: s given beta is inverse gamma(1, 1/4 + c), c = beta**2 / (2 nu q**2)."""
    n, c = 4000, 1.7
    law = stats.invgamma(1.0, scale=0.25 + c)
    log_s, angle = np.zeros(n), np.full(n, 1.0)
    for _ in range(25):
        z = np.sqrt(2.0 * c * np.exp(-log_s))  # the coefficient stays, its ratio to the scale does not
        update_scales_given_coefficients(np.zeros(n), z, np.inf, 1.0, log_s, angle, rng)
    check_cdf(np.exp(log_s), law.cdf)
    with pytest.raises(AssertionError):
        check_cdf(np.exp(log_s), stats.invgamma(1.0, scale=0.5 + c).cdf)


def test_signed_sums_is_a_matrix_product(rng: np.random.Generator) -> None:
    signs, beta = rng.choice(np.array([-1, 1], dtype=np.int8), (30, 7)), rng.normal(size=30)
    np.testing.assert_allclose(signed_sums(signs, beta), beta @ signs, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.02, 0.1, 1.99])
def test_extreme_alpha_stays_finite(alpha: float, rng: np.random.Generator) -> None:
    X, y, _, _ = three_jumps()
    data = check_training(X, y, standardize=False)
    target = build_target(build_partition(X), data, alpha=alpha, nu=1.0, sigma2=None)
    state = gibbs.initial_state(target, rng)
    for _ in range(200):
        state, info = gibbs.step(rng, state, target)
        assert info.moved
        assert np.isfinite(state.log_s).all()
        assert np.isfinite(state.f).all()
        assert 0.0 < state.sigma2 < np.inf
        assert ((state.angle > 0.0) & (state.angle <= np.pi)).all()


def test_batches_do_not_change_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, alpha, nu = three_jumps()
    target = build_target(build_partition(X), check_training(X, y, standardize=False), alpha=alpha, nu=nu, sigma2=None)
    start = gibbs.initial_state(target, np.random.default_rng(0))
    whole, _ = gibbs.step(np.random.default_rng(1), start, target)
    monkeypatch.setattr(gibbs, "_CELLS", 7)
    parts, _ = gibbs.step(np.random.default_rng(1), start, target)
    np.testing.assert_array_equal(parts.log_s, whole.log_s)


def three_jumps_target() -> Target:
    X, y, alpha, nu = three_jumps()
    return build_target(build_partition(X), check_training(X, y, standardize=False), alpha=alpha, nu=nu, sigma2=None)


@pytest.mark.parametrize("changes", [{"sigma2": np.inf}, {"sigma2": np.nan}, {"log_s": np.full(40, 2000.0)}], ids=str)
def test_numbers_outside_float64_leave_the_state_where_it_was(changes: dict[str, Any]) -> None:
    """A slice at NaN never ends: the step must not begin one."""
    target = three_jumps_target()
    bad = gibbs.initial_state(target, np.random.default_rng(0))._replace(**changes)
    with np.errstate(all="ignore"):
        state, info = gibbs.step(np.random.default_rng(1), bad, target)
    assert not info.moved
    assert state is bad


def test_a_chain_with_nowhere_to_go_says_so() -> None:
    target = three_jumps_target()
    stuck = gibbs.initial_state(target, np.random.default_rng(0))
    stuck = stuck._replace(log_s=np.where(np.arange(40) == 3, 100.0, stuck.log_s))
    with pytest.raises(ValueError, match=r"singular to machine precision at sigma2 = 1: .* Rescale y"):
        gibbs.step(np.random.default_rng(1), stuck, target)
