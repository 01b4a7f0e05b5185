"""Theorem 1 and its corollaries, with the constants put right (docs/design.md, section 1)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from tests.checks import QUADRATURE, check_characteristic_function, check_mean, check_same_law
from tests.twins import levy_density, process_characteristic_function, voigt_density
from widestable.exact import build_partition
from widestable.exact.target import Target, build_target, covariance, factor, log_marginal
from widestable.inputs import check_training
from widestable.network import arcsine_kernel, draw_network
from widestable.stable import draw_log_positive

X = np.array([[-0.8, 0.1], [0.2, 0.5], [1.0, -0.4]])
NU = 2.0


def target_at(X: np.ndarray, alpha: float, nu: float = NU, y: np.ndarray | None = None) -> Target:
    data = check_training(X, np.zeros(len(X)) if y is None else y, standardize=False)
    return build_target(build_partition(X), data, alpha=alpha, nu=nu, sigma2=None)


def draws_of_covariance(X: np.ndarray, alpha: float, n: int, rng: np.random.Generator) -> np.ndarray:
    target = target_at(X, alpha)
    scales = draw_log_positive(alpha, (n, len(target.cells.log_size)), rng)
    return np.array([covariance(target, log_s) for log_s in scales])


@pytest.mark.parametrize("y", [0.0, 0.7, 12.0])
def test_theorem_1_one_observation_at_alpha_one_is_a_voigt_density(y: float) -> None:
    target = target_at(np.array([[0.4]]), 1.0, y=np.array([y]))
    log_s = np.linspace(-8.0, 80.0, 2001)
    log_normal = [
        log_marginal(target, factor(target, covariance(target, np.array([x])), 0.3), 0.3) - 0.5 * np.log(2 * np.pi)
        for x in log_s
    ]
    # The trapezoidal rule is as good as exact: the integrand falls off at both ends.
    density = integrate.trapezoid(np.exp(log_normal + log_s) * levy_density(np.exp(log_s)), log_s)
    assert density == pytest.approx(voigt_density(y, nu=NU, sigma2=0.3), rel=QUADRATURE)


def test_corollary_1_the_covariance_is_fixed_at_alpha_two_only(rng: np.random.Generator) -> None:
    K = NU * arcsine_kernel(np.unique(X, axis=0))
    for Q in draws_of_covariance(X, 2.0, 3, rng):
        np.testing.assert_allclose(Q, K, atol=1e-12)
    assert draws_of_covariance(X, 1.99, 100, rng).std(axis=0).min() > 0.0


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.7])
class TestCorollary2:
    def test_diagonal_is_positive_stable(self, alpha: float, rng: np.random.Generator) -> None:
        diagonal = draws_of_covariance(X, alpha, 20_000, rng)[:, 0, 0]
        t = np.array([0.1, 0.5, 2.0]) / NU
        check_mean(np.exp(-np.outer(diagonal, t)), np.exp(-((NU * t) ** (alpha / 2))))

    def test_off_diagonal_is_skewed_stable_with_the_corrected_scale(
        self, alpha: float, rng: np.random.Generator
    ) -> None:
        Q = draws_of_covariance(X, alpha, 20_000, rng)[:, 0, 2]
        skewness = arcsine_kernel(np.unique(X, axis=0))[0, 2]  # 2 p - 1, p the probability of equal signs
        scale = NU * np.cos(np.pi * alpha / 4) ** (2 / alpha)
        t = np.array([0.2, 0.7, 2.0]) / NU
        waves = np.concatenate([np.cos(np.outer(Q, t)), np.sin(np.outer(Q, t))], axis=1)
        check_mean(waves, self.characteristic_function(t, alpha / 2, scale, skewness))
        with pytest.raises(AssertionError):  # the printed scale
            check_mean(waves, self.characteristic_function(t, alpha / 2, NU, skewness))

    @staticmethod
    def characteristic_function(t: np.ndarray, a: float, scale: float, skewness: float) -> np.ndarray:
        """Real, then imaginary parts of exp(-|scale t|**a (1 - i skewness tan(pi a / 2))), t > 0."""
        values = np.exp(-((scale * t) ** a) * (1 - 1j * skewness * np.tan(np.pi * a / 2)))
        return np.concatenate([values.real, values.imag])


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.8, 1.4])
class TestProcess:
    def draws(self, X: np.ndarray, alpha: float, n: int, rng: np.random.Generator) -> np.ndarray:
        partition = build_partition(X)
        log_v = np.log(NU) + 2 / alpha * np.log(partition.q) + draw_log_positive(alpha, (n, len(partition.q)), rng)
        return np.exp(log_v / 2) * rng.standard_normal(log_v.shape) @ partition.signs

    def test_partition_has_the_law_of_a_wide_network(self, alpha: float, rng: np.random.Generator) -> None:
        network = draw_network(X, 10_000, alpha=alpha, nu=NU, random_state=rng, size=1500)
        check_same_law(self.draws(X, alpha, 20_000, rng), network)
        with pytest.raises(AssertionError):
            check_same_law(self.draws(X, alpha, 20_000, rng) * np.sqrt(2.0), network)  # nu doubled

    def test_characteristic_function_on_a_line(self, alpha: float, rng: np.random.Generator) -> None:
        x = np.array([-1.0, 0.2, 0.9])
        draws = self.draws(x[:, None], alpha, 50_000, rng)
        check_characteristic_function(draws, lambda c: process_characteristic_function(c, x, alpha, NU))


@pytest.mark.parametrize("c", [3.0, 0.01])
def test_scaling(c: float, rng: np.random.Generator) -> None:
    """p(c y | c**2 nu, c**2 sigma2) = c**-n p(y | nu, sigma2), scale by scale."""
    y = rng.normal(size=3)
    log_s = draw_log_positive(1.2, 4, rng)
    values = []
    for k in (1.0, c):
        target = target_at(X, 1.2, nu=k**2, y=k * y)
        lower = factor(target, covariance(target, log_s), 0.5 * k**2)
        values.append(log_marginal(target, lower, 0.5 * k**2))
    assert values[1] == pytest.approx(values[0] - 3 * np.log(c), rel=1e-10)
