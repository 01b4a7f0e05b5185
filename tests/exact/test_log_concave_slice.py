"""Started from its own law a slice move must stay in it; the laws are known where one exponential is alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from tests.checks import check_cdf
from widestable.exact import log_concave_slice as kernels

N = 2500


def moved(x: np.ndarray, *parameters: float, rng: np.random.Generator) -> np.ndarray:
    return np.array([kernels.slice_two_exponentials(xi, *parameters, np.inf, rng) for xi in x])


@pytest.mark.parametrize("n_moves", [1, 4])
def test_inverse_gamma_at_alpha_one(n_moves: int, rng: np.random.Generator) -> None:
    """alpha = 1: r = 1, and s given u and beta is inverse gamma(3/2, A + c)."""
    A, c = 0.7, 2.0
    law = stats.invgamma(1.5, scale=A + c)
    x = np.log(law.rvs(N, random_state=rng))
    for _ in range(n_moves):
        x = moved(x, 1.5, np.log(A), 1.0, np.log(c), rng=rng)
    check_cdf(np.exp(x), law.cdf)
    x = np.zeros(N)
    for _ in range(8):  # and it gets there from elsewhere
        x = moved(x, 1.5, np.log(A), 1.0, np.log(c), rng=rng)
    check_cdf(np.exp(x), law.cdf)


@pytest.mark.parametrize("rate", [0.02, 0.6, 30.0])
def test_power_of_a_gamma_when_the_coefficient_is_zero(rate: float, rng: np.random.Generator) -> None:
    """c = 0: A s**-r is gamma((r + 1/2)/r), at any alpha."""
    A, slope = 1.3, rate + 0.5
    y = rng.gamma(slope / rate, size=N)
    x = (np.log(A) - np.log(y)) / rate
    for _ in range(3):
        x = moved(x, slope, np.log(A), rate, -np.inf, rng=rng)
    check_cdf(A * np.exp(-rate * x), stats.gamma(slope / rate).cdf)


def test_a_wrong_slope_is_seen(rng: np.random.Generator) -> None:
    law = stats.invgamma(1.5, scale=2.7)
    x = np.log(law.rvs(N, random_state=rng))
    for _ in range(4):  # without the 1/2 that beta contributes
        x = moved(x, 1.0, np.log(0.7), 1.0, np.log(2.0), rng=rng)
    with pytest.raises(AssertionError):
        check_cdf(np.exp(x), law.cdf)


def test_the_upper_end_is_kept(rng: np.random.Generator) -> None:
    law = stats.invgamma(1.5, scale=2.7)
    x = np.zeros(N)
    for _ in range(8):
        x = np.array([kernels.slice_two_exponentials(xi, 1.5, np.log(2.7), 1.0, -np.inf, 1.0, rng) for xi in x])
    assert x.max() < 1.0
    check_cdf(x, lambda t: law.cdf(np.exp(t)) / law.cdf(np.e))


@pytest.mark.parametrize(("n", "sum_of_squares"), [(4.0, 0.5), (40.0, 300.0)])
def test_noise_given_residuals(n: float, sum_of_squares: float, rng: np.random.Generator) -> None:
    def density(sigma2: float) -> float:
        return sigma2 ** (-n / 2) * np.exp(-sum_of_squares / (2 * sigma2)) / (1 + sigma2**2)

    total = integrate.quad(density, 0, np.inf, points=None, epsabs=0)[0]
    x = np.full(N, 1.0)
    for _ in range(10):
        x = np.array([kernels.slice_noise(xi, n, sum_of_squares, -np.inf, rng) for xi in x])
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
        x = kernels.slice_noise(x, 4.0, 0.01, 0.0, rng)
        assert x > 0.0


def test_a_start_beyond_the_end_terminates(rng: np.random.Generator) -> None:
    for _ in range(50):
        assert kernels.slice_two_exponentials(2.0, 1.5, 0.0, 1.0, 0.0, -5.0, rng) <= 2.0
        assert kernels.slice_noise(-2.0, 4.0, 1.0, 5.0, rng) >= -2.0
