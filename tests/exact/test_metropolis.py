from __future__ import annotations

import numpy as np
import pytest

from tests.exact.agreement import quadrants, three_jumps
from tests.exact.joint import After, Parameters, check_joint_law, replicates, small_target
from tests.twins import log_normal_density
from widestable.exact import build_partition, metropolis
from widestable.exact.metropolis import MetropolisState
from widestable.exact.target import Target, build_target, covariance, factor, log_limit, log_marginal
from widestable.inputs import check_training
from widestable.stable import draw_log_positive_one


def target_of(X: np.ndarray, y: np.ndarray, alpha: float, **settings: float | None) -> Target:
    data = check_training(X, y, standardize=False)
    settings = {"nu": 1.0, "sigma2": None} | settings
    return build_target(build_partition(X, n_directions=20), data, alpha=alpha, **settings)


def state_at(target: Target, log_s: np.ndarray, sigma2: float) -> MetropolisState:
    lower = factor(target, covariance(target, log_s), sigma2)
    return MetropolisState(log_s, sigma2, lower, log_marginal(target, lower, sigma2))


# Independent replicates in checks of the joint law.
N = 1500


def a_few_steps(rng: np.random.Generator, parameters: Parameters, target: Target) -> After:
    state = state_at(target, parameters.log_s, parameters.sigma2)
    for _ in range(5):
        state, _ = metropolis.step(rng, state, target)
    return After(target, state.log_s, state.sigma2, metropolis.draw_f(rng, state, target), None)


def test_log_gain_is_the_change_of_the_density(rng: np.random.Generator) -> None:
    root = rng.normal(size=(6, 6))
    Q, y, tau = root @ root.T + np.eye(6), rng.normal(size=6), rng.choice([-1.0, 1.0], 6)
    P = np.linalg.inv(Q)
    for change in (0.7, 40.0, -0.5 / (tau @ P @ tau)):
        expected = log_normal_density(y, Q + change * np.outer(tau, tau)) - log_normal_density(y, Q)
        assert metropolis.log_gain(change, tau @ P @ tau, tau @ P @ y) == pytest.approx(expected, rel=1e-10)
    assert metropolis.log_gain(-2.0 / (tau @ P @ tau), tau @ P @ tau, 1.0) == -np.inf


@pytest.mark.parametrize("example", [three_jumps, quadrants])
def test_rank_one_updates_drift_little_in_a_sweep(example, rng: np.random.Generator) -> None:
    """The inverse that a sweep leaves behind is that of the covariance from scratch."""
    X, y, alpha, _ = example()
    target = target_of(X, y, alpha)
    state = metropolis.initial_state(target, rng)
    for _ in range(10):
        state, _ = metropolis.step(rng, state, target)
    log_s, P = state.log_s.copy(), metropolis._inverse(state.lower)
    py, precision = P @ target.y, len(y) / state.sigma2
    last, n_accepted = metropolis.update_scales(
        target.cells,
        log_s,
        P,
        py,
        precision,
        log_limit(target, state.sigma2),
        alpha,
        0,
        len(target.cells.patterns),
        False,
        rng,
    )
    assert last == len(target.cells.patterns)
    assert n_accepted > 0.5 * len(log_s)
    scratch = np.linalg.inv(covariance(target, log_s) + state.sigma2 * np.eye(len(y)))
    np.testing.assert_allclose(P, scratch, atol=1e-8 * np.abs(scratch).max())
    np.testing.assert_allclose(py, scratch @ target.y, atol=1e-7 * np.abs(scratch @ target.y).max())


def test_a_scale_too_large_for_the_inverse_is_left_out_from_scratch(rng: np.random.Generator) -> None:
    X, y, alpha, _ = three_jumps()
    target = target_of(X, y, alpha, sigma2=0.25)
    log_s = metropolis.initial_state(target, rng).log_s
    log_s[7] = np.log(1e8) - target.cells.log_size[7]
    state = state_at(target, log_s, 0.25)
    stopped, _ = metropolis.update_scales(
        target.cells, log_s.copy(), metropolis._inverse(state.lower), np.zeros(40), 160.0,
        log_limit(target, 0.25), alpha, 7, 8, False, rng,
    )  # fmt: skip
    assert stopped == 7
    for _ in range(50):
        state, _ = metropolis.step(rng, state, target)
    # The data want no jump of 10 000 there: the chain comes down as soon as a proposal does.
    assert state.log_s[7] + target.cells.log_size[7] < np.log(1e3)


def test_leaving_out_gives_the_same_gain_as_the_inverse(rng: np.random.Generator) -> None:
    X, y, alpha, _ = three_jumps()
    target = target_of(X, y, alpha, sigma2=0.25)
    log_s = metropolis.initial_state(target, rng).log_s
    tau, v = target.cells.patterns[5], float(np.exp(target.cells.log_size[5] + log_s[5]))
    P = metropolis._inverse(factor(target, covariance(target, log_s), 0.25))
    without = metropolis._inverse(factor(target, covariance(target, log_s, without=5), 0.25))
    for proposed in (0.1, 30.0):
        direct = metropolis.log_gain(proposed - v, tau @ P @ tau, tau @ P @ y)
        a, b = tau @ without @ tau, tau @ without @ y
        assert direct == pytest.approx(metropolis.log_gain(proposed, a, b) - metropolis.log_gain(v, a, b), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_small_alpha_stays_finite(alpha: float, rng: np.random.Generator) -> None:
    """Scales span hundreds of orders of magnitude."""
    X, y, _, _ = three_jumps()
    target = target_of(X, y, alpha)
    state = metropolis.initial_state(target, rng)
    for _ in range(200):
        state, info = metropolis.step(rng, state, target)
        assert np.isfinite(state.log_s).all()
        assert 0.0 < state.sigma2 < np.inf
        assert state.log_likelihood == pytest.approx(
            log_normal_density(y, covariance(target, state.log_s) + state.sigma2 * np.eye(40)) + 20 * np.log(2 * np.pi),
            rel=1e-6,
        )
    assert np.ptp(state.log_s) > 100.0
    assert info.share_accepted > 0.5
    assert np.isfinite(metropolis.draw_f(rng, state, target)).all()


def test_alpha_two_leaves_the_scales_alone(rng: np.random.Generator) -> None:
    X, y, _, _ = three_jumps()
    target = target_of(X, y, 2.0)
    state, _ = metropolis.step(rng, metropolis.initial_state(target, rng), target)
    assert not state.log_s.any()


def test_a_fixed_sigma2_stays(rng: np.random.Generator) -> None:
    X, y, alpha, _ = three_jumps()
    target = target_of(X, y, alpha, sigma2=0.3)
    state, info = metropolis.step(rng, metropolis.initial_state(target, rng), target)
    assert state.sigma2 == 0.3
    assert not info.sigma2_accepted


def test_batches_do_not_change_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, alpha, _ = three_jumps()
    target = target_of(X, y, alpha)
    start = metropolis.initial_state(target, np.random.default_rng(0))
    whole, _ = metropolis.step(np.random.default_rng(1), start, target)
    monkeypatch.setattr(metropolis, "_ARITHMETIC", 3 * 40 * 40 * 4)
    parts, _ = metropolis.step(np.random.default_rng(1), start, target)
    np.testing.assert_allclose(parts.log_s, whole.log_s, rtol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.6])
def test_joint_law_is_invariant(alpha: float, rng: np.random.Generator) -> None:
    check_joint_law(replicates(a_few_steps, alpha, N, rng), alpha, rng)


@pytest.mark.statistical
class TestBrokenSamplersAreSeen:
    def test_accept_everything(self, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
        def accept_all(cells, log_s, P, *rest):
            for j in range(len(log_s)):
                log_s[j] = draw_log_positive_one(rest[3], rest[-1])
            return rest[5], len(log_s)

        monkeypatch.setattr(metropolis, "update_scales", accept_all)
        with pytest.raises(AssertionError, match=r"sigma2|y given"):
            check_joint_law(replicates(a_few_steps, 1.0, N, rng), 1.0, rng)

    def test_nu_ignored_in_the_scale_update(self, rng: np.random.Generator) -> None:
        def without_nu(rng, parameters, target):
            cells = target.cells._replace(log_size=target.cells.log_size - np.log(6.0))
            return a_few_steps(rng, parameters, target._replace(cells=cells))

        with pytest.raises(AssertionError, match=r"scale|sigma2|y given"):
            check_joint_law(replicates(without_nu, 1.0, N, rng), 1.0, rng)

    def test_half_cauchy_proposal_without_its_root(
        self, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
    ) -> None:
        class Squared:
            def __init__(self, rng):
                self.rng = rng

            def standard_cauchy(self):
                return self.rng.standard_cauchy() ** 2

            def random(self):
                return self.rng.random()

        step_sigma2 = metropolis._step_sigma2
        monkeypatch.setattr(metropolis, "_step_sigma2", lambda rng, *rest: step_sigma2(Squared(rng), *rest))
        with pytest.raises(AssertionError, match=r"sigma2|y given"):
            check_joint_law(replicates(a_few_steps, 1.0, N, rng), 1.0, rng)

    def test_repeated_rows_counted_once(self, rng: np.random.Generator) -> None:
        def once(rng, parameters, target):
            after = a_few_steps(rng, parameters, target._replace(n_observations=3.0, ss_within=0.0))
            return after._replace(target=target)

        with pytest.raises(AssertionError, match=r"sigma2|y given"):
            check_joint_law(replicates(once, 1.0, N, rng), 1.0, rng)


def test_small_target_groups_cells() -> None:
    target = small_target(np.zeros(4), 1.0)
    assert target.cells.patterns.shape == (3, 3)
    assert target.cells.signs.shape == (5, 5)
