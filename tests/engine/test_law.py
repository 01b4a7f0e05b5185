"""The prior of relevance and sharpness: normalised, the density of its draws, with the right gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from tests.checks import QUADRATURE, check_cdf, check_mean
from widestable.engine.law import (
    LOG_RELEVANCE_LIMIT,
    LOG_SHARPNESS_HIGH,
    LOG_SHARPNESS_LOW,
    draw_log_relevance,
    draw_log_sharpness,
    log_prior_log_relevance,
    log_prior_log_sharpness,
    slope_log_prior_log_relevance,
    slope_log_prior_log_sharpness,
)

Density = Callable[[np.ndarray], float]


def slow_log_density(log_r: np.ndarray, scale: float) -> float:
    """The definition, with scipy's quadrature and log(eta) from scipy's half-Cauchy."""

    def log_product(m: float) -> float:
        return float(np.sum(stats.halfcauchy.logpdf(np.exp(log_r + m)) + log_r + m))

    edges = np.linspace(-11.0 - 25.0 / log_r.size, 11.0 + 25.0 / log_r.size, 61)
    highest = max(map(log_product, np.linspace(-12.0, 12.0, 481)))
    pieces = [
        integrate.quad(lambda m: math.exp(log_product(m) - highest), *ends, epsabs=1e-14, epsrel=1e-11)[0]
        for ends in pairwise(edges)
    ]
    R = 0.5 * math.log(np.sum(np.exp(2.0 * log_r)))
    return float(stats.norm.logpdf(R, scale=scale) + highest + math.log(sum(pieces)))


def slope(function: Density, x: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """Central differences of fourth order."""
    steps = step * np.eye(x.size)
    near = np.array([function(x + e) - function(x - e) for e in steps])
    far = np.array([function(x + 2.0 * e) - function(x - 2.0 * e) for e in steps])
    return (8.0 * near - far) / (12.0 * step)


@pytest.mark.parametrize("d", [1, 2, 10, 50])
def test_relevance_density_equals_its_definition(d: int, rng: np.random.Generator) -> None:
    limit = LOG_RELEVANCE_LIMIT
    corners = [np.zeros(d), np.full(d, limit), np.full(d, -limit), np.where(np.arange(d) % 2 == 0, limit, -limit)]
    for log_r in [*corners, rng.uniform(-limit, limit, d), 0.3 * rng.standard_normal(d)]:
        expected = slow_log_density(log_r, 1.3)
        assert log_prior_log_relevance(log_r, 1.3) == pytest.approx(expected, abs=QUADRATURE)


def test_jacobian_is_one(rng: np.random.Generator) -> None:
    """Of the map (log eta, log rho) -> (log r, log |eta|)."""
    for d in (1, 2, 5):
        point = 2.0 * rng.standard_normal(d + 1)

        def image(at: np.ndarray) -> np.ndarray:
            length = 0.5 * np.logaddexp.reduce(2.0 * at[:-1])
            return np.append(at[-1] + at[:-1] - length, length)

        rows = [slope(lambda at, i=i: image(at)[i], point) for i in range(d + 1)]
        assert abs(np.linalg.det(rows)) == pytest.approx(1.0, abs=1e-8)


def inside_in_two_inputs(scale: float) -> float:
    """P(|log r_1|, |log r_2| <= 9): the log ratio x of two half-Cauchy variables has density 2 x / (pi^2 sinh x)."""

    def given(x: float) -> float:
        log_first, log_second = -0.5 * np.logaddexp(0.0, -2.0 * x), -0.5 * np.logaddexp(0.0, 2.0 * x)
        low, high = -LOG_RELEVANCE_LIMIT - min(log_first, log_second), LOG_RELEVANCE_LIMIT - max(log_first, log_second)
        mass = stats.norm.cdf(high / scale) - stats.norm.cdf(low / scale) if high > low else 0.0
        return 2.0 / math.pi**2 * (x / math.sinh(x) if x != 0.0 else 1.0) * mass

    return 2.0 * integrate.quad(given, 0.0, 30.0, points=[9.0, 18.0], epsabs=1e-12, limit=200)[0]


def nodes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights of [-9, 9]."""
    x, weight = np.polynomial.legendre.leggauss(n)
    return LOG_RELEVANCE_LIMIT * x, LOG_RELEVANCE_LIMIT * weight


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_relevance_density_integrates_to_one(scale: float) -> None:
    """Up to the mass beyond the truncation, which is known in two inputs."""
    x, weight = nodes(100)
    one = sum(w * math.exp(log_prior_log_relevance(np.array([a]), scale)) for a, w in zip(x, weight, strict=True))
    expected = 1.0 - 2.0 * stats.norm.sf(LOG_RELEVANCE_LIMIT / scale)
    assert one == pytest.approx(expected, abs=1e-8)
    table = np.array([[math.exp(log_prior_log_relevance(np.array([a, b]), scale)) for b in x] for a in x])
    inside = inside_in_two_inputs(scale)
    assert 1e-4 < 1.0 - inside < 1e-2
    assert weight @ table @ weight == pytest.approx(inside, abs=1e-6)


def test_relevance_draws_in_two_inputs_follow_the_density(rng: np.random.Generator) -> None:
    draws = np.array([draw_log_relevance(2, 1.0, rng) for _ in range(4000)])
    x, weight = nodes(100)
    grid = np.linspace(-LOG_RELEVANCE_LIMIT, LOG_RELEVANCE_LIMIT, 181)

    def cdf_of(scale: float) -> Callable[[np.ndarray], np.ndarray]:
        table = np.array([[math.exp(log_prior_log_relevance(np.array([a, b]), scale)) for b in x] for a in grid])
        mass = integrate.cumulative_trapezoid(table @ weight, grid, initial=0.0)
        return lambda at: np.interp(at, grid, mass / mass[-1])

    check_cdf(draws[:, 0], cdf_of(1.0))
    check_cdf(0.5 * np.logaddexp.reduce(2.0 * draws, axis=1), stats.norm.cdf)
    with pytest.raises(AssertionError, match="do not follow"):
        check_cdf(draws[:, 0], cdf_of(1.3))


@pytest.mark.parametrize("d", [5, 20])
def test_relevance_draws_in_many_inputs_follow_the_density(d: int, rng: np.random.Generator) -> None:
    """The mean of p(x + shift) / p(x) over draws x is the mass that is still inside when the law moves by -shift."""
    draws = np.array([draw_log_relevance(d, 0.7, rng) for _ in range(20_000)])
    assert np.abs(draws).max() <= LOG_RELEVANCE_LIMIT
    log_p = np.array([log_prior_log_relevance(draw, 0.7) for draw in draws])
    shift = 0.3 * rng.standard_normal(d) / math.sqrt(d)
    log_p_there = np.array([log_prior_log_relevance(draw + shift, 0.7) for draw in draws])
    stays = np.mean(np.all(np.abs(draws - shift) <= LOG_RELEVANCE_LIMIT, axis=1))
    check_mean(np.exp(log_p_there - log_p), stays)
    of_r_itself = np.exp(log_p_there - log_p - shift.sum())  # without the Jacobian of the logarithm
    with pytest.raises(AssertionError, match="standard errors off"):
        check_mean(of_r_itself, stays)


def test_relevance_is_truncated() -> None:
    assert math.isfinite(log_prior_log_relevance(np.array([9.0, -9.0]), 1.0))
    for bad in (9.01, -9.01, math.inf, -math.inf, math.nan):
        assert log_prior_log_relevance(np.array([0.0, bad]), 1.0) == -math.inf


@pytest.mark.parametrize("d", [1, 3, 50])
def test_gradient_of_relevance_prior(d: int, rng: np.random.Generator) -> None:
    log_r = rng.uniform(-8.0, 8.0, d)
    expected = slope(lambda at: log_prior_log_relevance(at, 0.8), log_r)
    np.testing.assert_allclose(slope_log_prior_log_relevance(log_r, 0.8), expected, rtol=1e-6, atol=1e-6)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(slope_log_prior_log_relevance(log_r, 0.9), expected, rtol=1e-6, atol=1e-6)


def test_prior_keeps_offsets_in_any_dimension(rng: np.random.Generator) -> None:
    """The median distance of a hyperplane from the centre of standardised inputs: 0.8, not 0.15, with twenty inputs."""
    for d in (1, 5, 20):
        h = rng.standard_normal((4000, d + 1))
        r = np.exp([draw_log_relevance(d, 1.0, rng) for _ in range(4000)])
        offset = np.median(np.abs(h[:, 0]) / np.linalg.norm(r * h[:, 1:], axis=1))
        assert 0.6 < offset < 1.1


def test_sharpness_density_integrates_to_one() -> None:
    x, weight = np.polynomial.legendre.leggauss(200)
    half = 0.5 * (LOG_SHARPNESS_HIGH - LOG_SHARPNESS_LOW)
    values = [math.exp(log_prior_log_sharpness(LOG_SHARPNESS_LOW + half * (a + 1.0))) for a in x]
    assert half * weight @ values == pytest.approx(1.0, abs=QUADRATURE)
    for bad in (LOG_SHARPNESS_LOW - 1e-9, LOG_SHARPNESS_HIGH + 1e-9, math.inf, math.nan):
        assert log_prior_log_sharpness(bad) == -math.inf


def test_sharpness_density_is_half_uniform_half_cauchy() -> None:
    bump, ends = stats.cauchy(0.3, 0.6), [LOG_SHARPNESS_LOW, LOG_SHARPNESS_HIGH]
    for log_w in (-2.0, 0.3, 0.9, 5.0):
        expected = 0.5 / np.ptp(ends) + 0.5 * bump.pdf(log_w) / np.ptp(bump.cdf(ends))
        assert log_prior_log_sharpness(log_w) == pytest.approx(math.log(expected), abs=1e-12)


def test_sharpness_draws_follow_the_density(rng: np.random.Generator) -> None:
    draws = np.array([draw_log_sharpness(rng) for _ in range(20_000)])
    grid = np.linspace(LOG_SHARPNESS_LOW, LOG_SHARPNESS_HIGH, 2001)
    density = np.exp([log_prior_log_sharpness(a) for a in grid])
    cdf = integrate.cumulative_trapezoid(density, grid, initial=0.0)
    check_cdf(draws, lambda at: np.interp(at, grid, cdf))
    with pytest.raises(AssertionError, match="do not follow"):
        check_cdf(draws, lambda at: 0.5 * np.interp(at, grid, cdf) + 0.5 * stats.cauchy.cdf(at, 0.3, 0.6))


def test_slope_of_sharpness_prior() -> None:
    for log_w in (-2.2, 0.0, 0.3, 1.0, 6.8):
        expected = slope(lambda at: log_prior_log_sharpness(at[0]), np.array([log_w]))[0]
        assert slope_log_prior_log_sharpness(log_w) == pytest.approx(expected, rel=1e-7, abs=1e-9)
