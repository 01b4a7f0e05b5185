from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import gammaln

from tests import checks, twins
from tests.stable_density import log_density_positive, log_density_symmetric
from widestable import stable

ALPHAS = [0.05, 0.5, 1.0, 1.5, 1.95]
EXTREMES = [0.01, 0.1, 1.0, 1.9, 1.998, 2.0 - 1e-9]
TEMPERED = np.array([0.03, 0.3, 1.0, 3.0, 30.0])


# --- Kanter's function -----------------------------------------------------------------------------------


def log_kanter(u: np.ndarray, alpha: float) -> np.ndarray:
    return stable._log_kanter(u, np.pi - u, *stable._halves(alpha))


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.7])
def test_kanter_function_as_printed(alpha: float) -> None:
    u = np.linspace(0.01, 3.1, 30)
    expected = np.log([twins.kanter(v, alpha) for v in u])
    np.testing.assert_allclose(log_kanter(u, alpha), expected, rtol=checks.ROUNDING, atol=1e-12)


def test_kanter_function_keeps_its_digits_as_alpha_goes_to_two() -> None:
    u, b = np.linspace(0.01, 3.1, 30), 1e-10
    limit = np.log(b * u) - u / np.tan(u) - np.log(np.sin(u))  # first order in b = 1 - alpha/2
    np.testing.assert_allclose(log_kanter(u, 2.0 - 2.0 * b), limit, atol=1e-5)


@pytest.mark.parametrize("alpha", EXTREMES)
def test_kanter_function_is_finite_and_increasing(alpha: float) -> None:
    u = np.concatenate([[1e-300, 1e-20], np.linspace(1e-3, np.pi - 1e-3, 50), [np.pi - 1e-15]])
    values = log_kanter(u, alpha)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) >= -1e-12)


# --- Draws -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ALPHAS)
def test_positive_draws_have_the_laplace_transform(alpha: float, rng: np.random.Generator) -> None:
    log_s = stable.draw_log_positive(alpha, 40_000, rng)
    values = np.exp(-np.exp(np.minimum(log_s[:, None] + np.log(TEMPERED), 700.0)))
    checks.check_mean(values, np.exp(-(TEMPERED ** (alpha / 2))))


def test_positive_draws_at_one_half_are_levy(rng: np.random.Generator) -> None:
    checks.check_cdf(stable.draw_positive(1.0, 40_000, rng), twins.levy_cdf)


def test_positive_draws_at_the_gaussian_limit_are_one(rng: np.random.Generator) -> None:
    assert stable.draw_positive(2.0, (3, 2), rng).tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize("alpha", EXTREMES)
def test_log_draws_are_finite_at_extreme_alpha(alpha: float, rng: np.random.Generator) -> None:
    log_s = stable.draw_log_positive(alpha, 40_000, rng)
    assert np.all(np.isfinite(log_s))
    if alpha < 1.999:  # closer to 2 the few draws that are not 1 do not show up
        # s**-a is Mittag-Leffler: E s**-a = 1 / Gamma(1 + a).
        checks.check_mean(np.exp(-alpha / 2 * log_s), np.exp(-gammaln(1 + alpha / 2)))


class Corner(np.random.Generator):
    """A generator at the ends of its ranges."""

    def __init__(self, uniform: float, exponential: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.uniform, self.exponential = uniform, exponential

    def random(self, size: int) -> np.ndarray:
        return np.full(size, self.uniform)

    def standard_exponential(self, size: int) -> np.ndarray:
        return np.full(size, self.exponential)


@pytest.mark.parametrize("alpha", EXTREMES)
@pytest.mark.parametrize("uniform", [0.0, 0.5, 1.0 - 2.0**-53])
@pytest.mark.parametrize("exponential", [0.0, 1.0, 40.0])
def test_log_draws_are_finite_at_the_ends_of_the_generator(alpha: float, uniform: float, exponential: float) -> None:
    assert np.all(np.isfinite(stable.draw_log_positive(alpha, 1, Corner(uniform, exponential))))


@pytest.mark.parametrize("alpha", [*ALPHAS, 2.0])
def test_symmetric_draws_have_the_characteristic_function(alpha: float, rng: np.random.Generator) -> None:
    x = stable.draw_symmetric(alpha, 40_000, rng)
    assert np.all(np.isfinite(x))
    checks.check_mean(np.cos(x[:, None] * TEMPERED), np.exp(-(TEMPERED**alpha)))
    checks.check_mean(np.sin(x[:, None] * TEMPERED), np.zeros(len(TEMPERED)))


def test_symmetric_draws_are_cauchy_at_one_and_normal_at_two(rng: np.random.Generator) -> None:
    checks.check_cdf(stable.draw_symmetric(1.0, 40_000, rng), stats.cauchy.cdf)
    checks.check_cdf(stable.draw_symmetric(2.0, 40_000, rng), stats.norm(scale=np.sqrt(2.0)).cdf)


@pytest.mark.parametrize("draw", [stable.draw_log_positive, stable.draw_positive, stable.draw_symmetric])
def test_draws_follow_their_random_state(draw: Callable[..., np.ndarray]) -> None:
    expected = draw(1.3, 5, np.random.default_rng(4))
    np.testing.assert_array_equal(draw(1.3, 5, random_state=4), expected)
    assert not np.array_equal(draw(1.3, 5), draw(1.3, 5))


# --- Densities, the oracle of some tests -----------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.2, 0.8, 1.3, 1.8])
def test_positive_density_equals_the_plain_integral(alpha: float) -> None:
    s = np.array([0.3, 0.7, 1.0, 1.5, 4.0])
    expected = [twins.positive_density(v, alpha) for v in s]
    np.testing.assert_allclose(np.exp(log_density_positive(np.log(s), alpha)), expected, rtol=checks.QUADRATURE)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.99, 1.0, 1.01, 1.6, 1.9, 1.998])
def test_symmetric_density_at_zero(alpha: float) -> None:
    """`f(0) = Gamma(1 + 1/alpha) / pi`."""
    expected = gammaln(1 + 1 / alpha) - np.log(np.pi)
    assert log_density_symmetric(0.0, alpha) == pytest.approx(expected, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("alpha", [0.6, 1.1, 1.5, 1.9])
def test_symmetric_density_inverts_the_characteristic_function(alpha: float) -> None:
    x = np.array([-0.1, 0.5, 1.3, 4.0])
    expected = [twins.symmetric_density(v, alpha) for v in x]
    np.testing.assert_allclose(np.exp(log_density_symmetric(x, alpha)), expected, rtol=checks.QUADRATURE)


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.3, 1.4, 1.9])
def test_draws_follow_the_densities(alpha: float, rng: np.random.Generator) -> None:
    r = np.linspace(-8.0, 40.0, 8001) / alpha
    mass = integrate.cumulative_simpson(np.exp(log_density_positive(r, alpha) + r), x=r, initial=0.0)
    checks.check_cdf(stable.draw_log_positive(alpha, 400_000, rng), lambda log_s: np.interp(log_s, r, mass))
    r = np.linspace(-60.0, 60.0, 4001) / alpha
    f = np.exp(log_density_symmetric(np.exp(r), alpha))
    mass = 2.0 * integrate.cumulative_simpson(f * np.exp(r), x=r, initial=0.0)
    log_x = np.log(np.abs(stable.draw_symmetric(alpha, 400_000, rng)))
    checks.check_cdf(log_x, lambda values: np.interp(values, r, mass))


# --- The jump measure ------------------------------------------------------------------------------------

NU, N_ATOMS = 1.7, 12.0


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.6])
def test_jump_measure_sums_to_a_positive_stable_law(alpha: float) -> None:
    """`E exp(-t sum v) = exp(-(nu t)**a)`: nu times S+(alpha/2), the convention of the draws."""
    for t in (0.4, 3.0):
        expected = (NU * t) ** (alpha / 2)
        assert twins.laplace_exponent(t, alpha, NU) == pytest.approx(expected, rel=checks.QUADRATURE)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.6, 1.95])
def test_threshold_and_remainder_are_integrals_of_the_jump_measure(alpha: float) -> None:
    v0 = stable.log_threshold(alpha, np.log(NU), N_ATOMS)
    above = twins.integral_of_jumps(0, alpha, NU, v0, v0 + 80 / alpha)
    assert above == pytest.approx(N_ATOMS, rel=checks.QUADRATURE)
    mean = twins.integral_of_jumps(1, alpha, NU, v0 - 80 / (2 - alpha), v0)
    assert np.exp(stable.log_remainder(alpha, np.log(NU), N_ATOMS)) == pytest.approx(mean, rel=1e-8)
    variance = twins.integral_of_jumps(2, alpha, NU, v0 - 60, v0)
    assert stable.relative_sd_ignored(alpha, N_ATOMS) == pytest.approx(np.sqrt(variance) / mean, rel=1e-8)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.6])
def test_mark_is_the_expected_number_above(alpha: float) -> None:
    log_v = np.array([-1.0, 0.5, 4.0])
    marks = [twins.integral_of_jumps(0, alpha, NU, v, v + 80 / alpha) for v in log_v]
    np.testing.assert_allclose(np.exp(stable.log_mark_of_scale(log_v, alpha, np.log(NU))), marks, rtol=1e-8)
    np.testing.assert_allclose(stable.log_scale_of_mark(np.log(marks), alpha, np.log(NU)), log_v, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 1.0, 1.99, 2.0 - 1e-9])
def test_inverses(alpha: float) -> None:
    log_mark = np.linspace(-20.0, 8.0, 7)
    log_v = stable.log_scale_of_mark(log_mark, alpha, 0.3)
    np.testing.assert_allclose(stable.log_mark_of_scale(log_v, alpha, 0.3), log_mark, rtol=1e-9)
    log_v0 = stable.log_threshold(alpha, 0.3, 30.0)
    np.testing.assert_allclose(np.exp(stable.log_mark_of_scale(log_v0, alpha, 0.3)), 30.0, rtol=1e-9)


def test_gaussian_limit_is_exact_and_smooth() -> None:
    log_nu = 0.7
    assert stable.log_remainder(2.0, log_nu, 30.0) == log_nu
    assert stable.log_threshold(2.0, log_nu, 30.0) == -np.inf
    assert stable.log_scale_of_mark(1.0, 2.0, log_nu) == -np.inf
    assert stable.log_mark_of_scale(-5.0, 2.0, log_nu) == -np.inf
    assert stable.relative_sd_ignored(2.0, 30.0) == 0.0
    gap = np.array([1e-2, 1e-5, 1e-8, 1e-11, 1e-14])
    difference = stable.log_remainder(2.0 - gap, log_nu, 30.0) - log_nu
    assert np.all(np.abs(difference) < 20.0 * gap * np.log(1.0 / gap))


def test_small_alpha_stays_finite_in_logs() -> None:
    assert np.isfinite(stable.log_threshold(0.01, 0.0, 1000.0))
    assert np.isfinite(stable.log_remainder(0.01, 0.0, 1000.0))
    assert np.isfinite(stable.log_scale_of_mark(-30.0, 0.01, 0.0))


def test_jump_measure_broadcasts() -> None:
    alpha, log_nu = np.array([[0.5], [1.5]]), np.array([0.0, 1.0, 2.0])
    for function in (stable.log_threshold, stable.log_remainder):
        values = function(alpha, log_nu, 30.0)
        assert values.shape == (2, 3)
        assert values[1, 2] == function(1.5, 2.0, 30.0)


@pytest.mark.parametrize("alpha", [0.6, 1.3, 1.8])
def test_atoms_and_remainder_add_up_to_a_positive_stable_draw(alpha: float, rng: np.random.Generator) -> None:
    n, n_atoms = 4000, 400
    log_marks = np.log(np.cumsum(rng.exponential(size=(n, 3 * n_atoms)), axis=1))
    log_v = np.where(log_marks < np.log(n_atoms), stable.log_scale_of_mark(log_marks, alpha, 0.0), -np.inf)
    total = np.exp(log_v).sum(axis=1) + np.exp(stable.log_remainder(alpha, 0.0, n_atoms))
    checks.check_same_law(total[:, None], stable.draw_positive(alpha, n, rng)[:, None])


# --- Compiled twins --------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 1.0, 1.5, 1.99])
def test_compiled_kanter_function_is_its_twin(alpha: float) -> None:
    u = np.linspace(0.001, np.pi - 0.001, 50)
    compiled = [stable.log_kanter_of_one(np.pi - t, alpha) for t in u]
    np.testing.assert_allclose(compiled, log_kanter(u, alpha), rtol=1e-9)


def test_compiled_kanter_function_at_both_ends_of_the_angle() -> None:
    assert stable.log_kanter_of_one(np.pi, 1.0) == pytest.approx(np.log(0.25))
    w = 1e-150
    assert stable.log_kanter_of_one(w, 1.0) == pytest.approx(-2.0 * np.log(w))


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.9])
def test_compiled_draws_follow_the_stable_law(alpha: float, rng: np.random.Generator) -> None:
    compiled = [stable.draw_log_positive_one(alpha, rng) for _ in range(20_000)]
    p_value = stats.ks_2samp(compiled, stable.draw_log_positive(alpha, 100_000, rng)).pvalue
    checks.check_p_value(p_value, "log s")
    wrong = stable.draw_log_positive(alpha * 0.94, 100_000, rng)
    with pytest.raises(AssertionError):
        checks.check_p_value(stats.ks_2samp(compiled, wrong).pvalue, "log s")


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 1.7, 1.999])
@pytest.mark.parametrize("log_nu", [-3.0, 0.7])
def test_compiled_jump_measure_is_its_twin(alpha: float, log_nu: float) -> None:
    log_v, log_g = stable.log_scale_of_mark(0.4, alpha, log_nu), stable.log_remainder(alpha, log_nu, 30.0)
    assert stable.log_scale_of_one(0.4, alpha, log_nu) == pytest.approx(float(log_v), rel=1e-12)
    assert stable.log_remainder_of_one(alpha, log_nu, 30.0) == pytest.approx(float(log_g), rel=1e-9, abs=1e-9)
    log_v0 = float(stable.log_threshold(alpha, log_nu, 30.0))
    assert log_nu - stable.log_nu_offset(alpha, 30.0) == pytest.approx(log_v0, rel=1e-12)


def test_compiled_remainder_at_alpha_two_is_nu() -> None:
    assert stable.log_remainder_of_one(2.0, 0.3, 30.0) == 0.3


# --- Errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, -1.0, 2.1, np.nan])
def test_alpha_outside_its_range_is_refused(alpha: float, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \(0, 2\]"):
        stable.draw_positive(alpha, 1, rng)
    with pytest.raises(ValueError, match=r"alpha must lie in \(0, 2\]"):
        stable.log_remainder([1.0, alpha], 0.0, 30.0)
