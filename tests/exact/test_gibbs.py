from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from tests.checks import check_cdf
from tests.exact.agreement import three_jumps
from tests.exact.joint import After, Parameters, check_joint_law, replicates
from widestable.exact import build_partition, gibbs
from widestable.exact.gibbs import (
    GibbsState,
    slice_noise,
    slice_two_exponentials,
    update_scales_given_coefficients,
)
from widestable.exact.target import Target, build_target
from widestable.inputs import check_training

# Independent replicates in checks of the joint law, and of a slice move.
N, N_SLICES = 1500, 2500


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


# --- Slice moves -------------------------------------------------------------------------------------------
#
# Started from its own law, a slice move must stay in it; the laws are known where one exponential is alone.


def moved(x: np.ndarray, *parameters: float, rng: np.random.Generator) -> np.ndarray:
    return np.array([slice_two_exponentials(xi, *parameters, np.inf, rng) for xi in x])


@pytest.mark.parametrize("n_moves", [1, 4])
def test_inverse_gamma_at_alpha_one(n_moves: int, rng: np.random.Generator) -> None:
    """alpha = 1: r = 1, and s given u and beta is inverse gamma(3/2, A + c)."""
    A, c = 0.7, 2.0
    law = stats.invgamma(1.5, scale=A + c)
    x = np.log(law.rvs(N_SLICES, random_state=rng))
    for _ in range(n_moves):
        x = moved(x, 1.5, np.log(A), 1.0, np.log(c), rng=rng)
    check_cdf(np.exp(x), law.cdf)
    x = np.zeros(N_SLICES)
    for _ in range(8):  # and it gets there from elsewhere
        x = moved(x, 1.5, np.log(A), 1.0, np.log(c), rng=rng)
    check_cdf(np.exp(x), law.cdf)


@pytest.mark.parametrize("rate", [0.02, 0.6, 30.0])
def test_power_of_a_gamma_when_the_coefficient_is_zero(rate: float, rng: np.random.Generator) -> None:
    """c = 0: A s**-r is gamma((r + 1/2)/r), at any alpha."""
    A, slope = 1.3, rate + 0.5
    y = rng.gamma(slope / rate, size=N_SLICES)
    x = (np.log(A) - np.log(y)) / rate
    for _ in range(3):
        x = moved(x, slope, np.log(A), rate, -np.inf, rng=rng)
    check_cdf(A * np.exp(-rate * x), stats.gamma(slope / rate).cdf)


def test_a_wrong_slope_is_seen(rng: np.random.Generator) -> None:
    law = stats.invgamma(1.5, scale=2.7)
    x = np.log(law.rvs(N_SLICES, random_state=rng))
    for _ in range(4):  # without the 1/2 that beta contributes
        x = moved(x, 1.0, np.log(0.7), 1.0, np.log(2.0), rng=rng)
    with pytest.raises(AssertionError):
        check_cdf(np.exp(x), law.cdf)


def test_the_upper_end_is_kept(rng: np.random.Generator) -> None:
    law = stats.invgamma(1.5, scale=2.7)
    x = np.zeros(N_SLICES)
    for _ in range(8):
        x = np.array([slice_two_exponentials(xi, 1.5, np.log(2.7), 1.0, -np.inf, 1.0, rng) for xi in x])
    assert x.max() < 1.0
    check_cdf(x, lambda t: law.cdf(np.exp(t)) / law.cdf(np.e))


@pytest.mark.parametrize(("n", "sum_of_squares"), [(4.0, 0.5), (40.0, 300.0)])
def test_noise_given_residuals(n: float, sum_of_squares: float, rng: np.random.Generator) -> None:
    def density(sigma2: float) -> float:
        return sigma2 ** (-n / 2) * np.exp(-sum_of_squares / (2 * sigma2)) / (1 + sigma2**2)

    total = integrate.quad(density, 0, np.inf, points=None, epsabs=0)[0]
    x = np.full(N_SLICES, 1.0)
    for _ in range(10):
        x = np.array([slice_noise(xi, n, sum_of_squares, -np.inf, rng) for xi in x])
    sigma2 = np.sort(np.exp(x))
    grid = np.quantile(sigma2, np.linspace(0, 1, 60))
    below = [integrate.quad(density, 0, t, epsabs=0)[0] / total for t in grid]
    check_cdf(sigma2, lambda t: np.interp(t, grid, below))
    without_prior = stats.invgamma(n / 2 - 1, scale=sum_of_squares / 2)
    with pytest.raises(AssertionError):
        check_cdf(sigma2, without_prior.cdf)


def test_noise_keeps_its_lower_end(rng: np.random.Generator) -> None:
    x = 0.5
    for _ in range(200):
        x = slice_noise(x, 4.0, 0.01, 0.0, rng)
        assert x > 0.0


def test_a_start_beyond_the_end_terminates(rng: np.random.Generator) -> None:
    for _ in range(50):
        assert slice_two_exponentials(2.0, 1.5, 0.0, 1.0, 0.0, -5.0, rng) <= 2.0
        assert slice_noise(-2.0, 4.0, 1.0, 5.0, rng) >= -2.0
