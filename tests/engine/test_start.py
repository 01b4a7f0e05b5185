"""Starting values: the log posterior of the Gaussian limit, its gradient, its optima, and one start per chain."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from threadpoolctl import threadpool_limits

from tests.engine.gaussian_process import Arcsine
from widestable.engine import gaussian_limit
from widestable.engine.gaussian_limit import (
    FAILED,
    LOG_SHARPNESS,
    Known,
    Rows,
    Scales,
    arcsine_and_slope,
    log_posterior,
    rows_in_ball,
)
from widestable.engine.law import LOG_RELEVANCE_LIMIT, log_prior_log_relevance, log_prior_log_sharpness
from widestable.engine.start import (
    MAX_LOSS,
    MAX_ROWS,
    Optimum,
    as_vector,
    gaussian_limit_optima,
    optimum_of_equal_relevance,
    spread,
    thin_rows,
    wake_inputs,
)
from widestable.inputs import TrainingData, check_training
from widestable.network import arcsine_kernel

SMOOTH = Known(log_sharpness=None)
SIGN = Known()
UNITS = pytest.mark.parametrize("known", [SIGN, SMOOTH], ids=["sign", "smooth"])


def rows_of(data: TrainingData) -> Rows:
    return Rows(
        data.X,
        data.y,
        data.weight,
        float(data.n_observations - data.y.size),
        data.ss_within,
        np.arange(data.X.shape[1]),
    )


def repeated_data(rng: np.random.Generator, n: int = 20, d: int = 3) -> TrainingData:
    """Weighted rows, some of them repeated."""
    X = rng.standard_normal((n, d))
    X = np.vstack([X, X[:5], X[:2]])
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(len(X))
    return check_training(X, y, rng.integers(1, 4, len(X)), standardize=False)


def friedman(n: int, d: int, rng: np.random.Generator) -> TrainingData:
    """Friedman's function of the first five of d inputs, noise of standard deviation 1."""
    X = rng.random((n, d))
    f = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]
    return check_training(X, f + rng.standard_normal(n))


def wave(n: int, d: int, rng: np.random.Generator) -> Rows:
    """A sine of the first input with noise, one observation per row."""
    X = rng.standard_normal((n, d))
    return Rows(X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(n), np.ones(n), 0.0, 0.0, np.arange(X.shape[1]))


def parameters(d: int, known: Known, rng: np.random.Generator) -> np.ndarray:
    log_w = rng.uniform(-1.0, 3.0) if known.log_sharpness is None else known.log_sharpness
    return np.array([*rng.standard_normal(d), log_w, 0.4, -1.5])


def independent_process(theta: np.ndarray) -> tuple[Arcsine, float]:
    """scikit-learn's kernel and the variance of the noise."""
    relevance, (sharpness, nu, sigma2) = np.exp(theta[:-3]), np.exp(theta[-3:])
    return Arcsine(nu, tuple(relevance), sharpness), sigma2


def independent_log_posterior(theta: np.ndarray, rows: Rows, known: Known) -> float:
    """Up to a constant, from densities as written in books and the formula of the kernel; one observation per row."""
    covariance, sigma2 = independent_process(theta)
    K = covariance(rows.X)
    Q = K + sigma2 * np.eye(len(K))
    value = -0.5 * (np.linalg.slogdet(Q)[1] + rows.y @ np.linalg.solve(Q, rows.y))
    value -= 0.5 * (math.log(np.mean(np.diag(K))) / 1.5) ** 2
    value += math.log(sigma2 / (1.0 + sigma2**2))
    value += log_prior_log_relevance(theta[:-3], 1.0)
    return value + (log_prior_log_sharpness(theta[LOG_SHARPNESS]) if known.log_sharpness is None else 0.0)


def all_known(theta: np.ndarray) -> Known:
    """Everything fixed, so that the log posterior is the log likelihood."""
    return Known(theta[:-3], *theta[-3:])


def finite_differences(theta: np.ndarray, rows: Rows, known: Known, step: float = 1e-4) -> np.ndarray:
    def value(at: np.ndarray) -> float:
        return log_posterior(at, rows, known, Scales(1.2, 0.9))[0]

    steps = step * np.eye(theta.size)
    near = np.array([value(theta + e) - value(theta - e) for e in steps])
    far = np.array([value(theta + 2.0 * e) - value(theta - 2.0 * e) for e in steps])
    return (8.0 * near - far) / (12.0 * step)


def check_gradient(theta: np.ndarray, rows: Rows, known: Known) -> None:
    gradient = log_posterior(theta, rows, known, Scales(1.2, 0.9))[1]
    np.testing.assert_allclose(gradient, finite_differences(theta, rows, known), rtol=1e-6, atol=1e-6)


def test_an_input_that_a_search_missed_is_found(rng: np.random.Generator) -> None:
    """The third input of Friedman's function acts evenly to both sides of its mean: ignored, it has no gradient."""
    rows, scales = rows_of(friedman(80, 6, rng)), Scales()
    found = gaussian_limit_optima(rows, SMOOTH, scales, rng)[0]
    asleep = np.where(np.isin(np.arange(6), [2, 3]), -8.0, found.log_relevance)
    value = log_posterior(np.array([*asleep, *found[1:4]]), rows, SMOOTH, scales)[0]
    assert value < found.log_posterior - 20.0
    woken = wake_inputs(found._replace(log_relevance=asleep, log_posterior=value), rows, SMOOTH, scales)
    np.testing.assert_allclose(woken.log_posterior, found.log_posterior, atol=0.5)
    np.testing.assert_allclose(woken.log_relevance[2:4], found.log_relevance[2:4], atol=0.5)


@UNITS
def test_kernel_equals_the_library_s(known: Known, rng: np.random.Generator) -> None:
    X, theta = rng.standard_normal((30, 4)), parameters(4, known, rng)
    K, cosine, _ = arcsine_and_slope(*rows_in_ball(X, theta[:4], theta[LOG_SHARPNESS]))
    expected = arcsine_kernel(X * np.exp(theta[:4]), sharpness=np.exp(theta[LOG_SHARPNESS]))
    np.testing.assert_allclose(K, expected, atol=1e-14)
    np.testing.assert_allclose(2.0 / np.pi * np.arcsin(cosine), expected, atol=1e-7)


@UNITS
def test_gradient_of_log_posterior(known: Known, rng: np.random.Generator) -> None:
    rows = rows_of(repeated_data(rng))
    assert rows.n_extra > 0.0
    assert rows.weight.max() > rows.weight.min()
    for _ in range(3):
        check_gradient(parameters(3, known, rng), rows, known)


@UNITS
def test_gradient_where_some_parameters_are_fixed(known: Known, rng: np.random.Generator) -> None:
    """Fixed parameters have no prior; with everything fixed it is the likelihood's gradient."""
    rows, theta = rows_of(repeated_data(rng)), parameters(3, known, rng)
    check_gradient(theta, rows, known._replace(log_nu=theta[-2]))
    check_gradient(theta, rows, all_known(theta))


@pytest.mark.parametrize("slip", ["no norms", "no diagonal", "twice the slope", "no prior of the kernel's mean"])
def test_gradient_check_sees_a_slip(slip: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, theta = rows_of(repeated_data(rng)), parameters(3, SMOOTH, rng)
    pull_back = gaussian_limit.pull_back

    def wrong(G, E, gap, cosine, slope):  # type: ignore[no-untyped-def]
        if slip == "no norms":
            cosine = np.zeros_like(cosine)
        elif slip == "no diagonal":
            slope = slope * (1.0 - np.eye(len(slope)))
        elif slip == "twice the slope":
            slope = 2.0 * slope
        else:
            G = G.copy()
            k = np.trace(arcsine_and_slope(E, gap)[0]) / len(G)
            G[np.diag_indices_from(G)] += (theta[-2] + math.log(k)) / (0.9**2 * len(G) * k)
        return pull_back(G, E, gap, cosine, slope)

    monkeypatch.setattr(gaussian_limit, "pull_back", wrong)
    with pytest.raises(AssertionError):
        check_gradient(theta, rows, SMOOTH)


def test_coinciding_rows_have_a_finite_gradient(rng: np.random.Generator) -> None:
    """Rows that differ in nothing, or in an input of no relevance, and inputs whose squares overflow."""
    X = rng.standard_normal((12, 2))
    for rows_x in (np.repeat(X[:4], 3, axis=0), X * [1.0, 1e-300], X * [1.0, 1e170]):
        rows = Rows(rows_x, rng.standard_normal(12), np.ones(12), 0.0, 0.0, np.arange(rows_x.shape[1]))
        for known in (SIGN, SMOOTH):
            value, gradient = log_posterior(parameters(2, known, rng), rows, known, Scales())
            assert math.isfinite(value)
            assert np.all(np.isfinite(gradient))


def test_covariance_that_cannot_be_factored_counts_as_very_bad(rng: np.random.Generator) -> None:
    rows = Rows(np.zeros((3, 1)), rng.standard_normal(3), np.full(3, 1e20), 0.0, 0.0, np.arange(1))
    value, gradient = log_posterior(np.array([0.0, 0.0, 5.0, -18.0]), rows, SMOOTH, Scales())
    assert value < 0.5 * FAILED
    assert np.all(np.isfinite(gradient))


@UNITS
def test_columns_of_one_input_share_a_relevance(known: Known, rng: np.random.Generator) -> None:
    """The density is that of equal relevances, without a second prior, and the gradient fits it."""
    data = repeated_data(rng)
    rows = rows_of(data)._replace(group=np.array([0, 1, 1]))
    theta = parameters(2, known, rng)
    apart = rows._replace(group=np.arange(3))
    spread = np.insert(theta, 1, theta[1])
    given = all_known(theta)
    value = log_posterior(theta, rows, given, Scales())[0]
    assert value == pytest.approx(log_posterior(spread, apart, all_known(spread), Scales())[0], abs=1e-9)
    check_gradient(theta, rows, known)


@UNITS
def test_likelihood_equals_scikit_learn_s(known: Known, rng: np.random.Generator) -> None:
    """Repeated rows there are rows of their own; here they are a mean and a sum of squares."""
    X = rng.standard_normal((15, 3))
    X = np.vstack([X, X[:6]])
    y = rng.standard_normal(len(X))
    data, theta = check_training(X, y, standardize=False), parameters(3, known, rng)
    covariance, sigma2 = independent_process(theta)
    process = GaussianProcessRegressor(covariance, alpha=sigma2, optimizer=None).fit(X, y)
    value = log_posterior(theta, rows_of(data), all_known(theta), Scales())[0]
    # The engine leaves out what depends on the weights alone.
    value -= 0.5 * np.sum(np.log(data.weight))
    assert value == pytest.approx(process.log_marginal_likelihood_value_, abs=1e-8)


@UNITS
def test_optimum_agrees_with_scikit_learn(known: Known, rng: np.random.Generator) -> None:
    """Same likelihood and same mean of f there."""
    rows = wave(30, 2, rng)
    best = gaussian_limit_optima(rows, known, Scales(), rng)[0]
    theta = as_vector(best)
    covariance, sigma2 = independent_process(theta)
    process = GaussianProcessRegressor(covariance, alpha=sigma2, optimizer=None).fit(rows.X, rows.y)
    likelihood = log_posterior(theta, rows, all_known(theta), Scales())[0]
    assert likelihood == pytest.approx(process.log_marginal_likelihood_value_, abs=1e-8)
    K = math.exp(best.log_nu) * arcsine_and_slope(*rows_in_ball(rows.X, best.log_relevance, best.log_sharpness))[0]
    mean = K @ np.linalg.solve(K + sigma2 * np.eye(30), rows.y)
    np.testing.assert_allclose(mean, process.predict(rows.X), atol=1e-8)


@UNITS
def test_optimum_is_the_best_of_a_grid(known: Known, rng: np.random.Generator) -> None:
    """And lies where the independent log posterior is stationary, which the best point of the grid does not."""
    rows = wave(12, 1, rng)
    theta = as_vector(gaussian_limit_optima(rows, known, Scales(), rng)[0])
    log_w = np.log([0.1, 0.3, 1.0, 3.0, 10.0, 1000.0]) if known.log_sharpness is None else [math.inf]
    axes = (np.linspace(-4.0, 4.0, 9), log_w, np.linspace(-4.0, 5.0, 10), np.linspace(-7.0, 2.0, 10))
    grid = np.array(list(product(*axes)))
    values = np.array([independent_log_posterior(point, rows, known) for point in grid])
    best = independent_log_posterior(theta, rows, known)
    assert best >= values.max() - 1e-6
    assert best < values.max() + 1.0  # no other target
    moves = 0.01 * np.vstack([np.eye(4), -np.eye(4)])
    if known.log_sharpness is not None:
        moves = moves[moves[:, 1] == 0.0]

    def is_stationary(at: np.ndarray) -> bool:
        here = independent_log_posterior(at, rows, known)
        return max(independent_log_posterior(at + move, rows, known) - here for move in moves) < 1e-3

    assert is_stationary(theta)
    assert not is_stationary(grid[values.argmax()])


@UNITS
def test_optimum_is_a_stationary_point_in_three_inputs(known: Known, rng: np.random.Generator) -> None:
    """Of the independent log posterior, by finite differences; what sits at a bound may still want to go on."""
    rows = wave(25, 3, rng)
    theta = as_vector(gaussian_limit_optima(rows, known, Scales(), rng)[0])
    is_free = np.append(np.abs(theta[:3]) < 0.99 * LOG_RELEVANCE_LIMIT, [known.log_sharpness is None, True, True])
    steps = 1e-3 * np.eye(6)[is_free]

    def slope(at: np.ndarray) -> np.ndarray:
        ends = [[independent_log_posterior(at + sign * e, rows, known) for sign in (1.0, -1.0)] for e in steps]
        return np.array([up - down for up, down in ends]) / 2e-3

    np.testing.assert_allclose(slope(theta), 0.0, atol=0.02)
    assert np.abs(slope(theta + 0.1 * steps.sum(axis=0) / 1e-3)).max() > 0.2


@UNITS
def test_relevance_finds_the_inputs_of_friedman_s_function(known: Known, rng: np.random.Generator) -> None:
    best = gaussian_limit_optima(rows_of(friedman(200, 10, rng)), known, Scales(), rng, n_starts=3)[0]
    assert best.log_relevance[:5].min() > best.log_relevance[5:].max() + 0.5


def test_two_optima_are_found(rng: np.random.Generator) -> None:
    """A step on a slope: sharp units, or moderately smooth ones."""
    X = np.sort(np.random.default_rng(5).random((100, 1)), axis=0)
    y = 1.0 * (X[:, 0] > 0.4) + 2.0 * X[:, 0] + 0.1 * np.random.default_rng(100).standard_normal(100)
    optima = gaussian_limit_optima(rows_of(check_training(X, y)), SMOOTH, Scales(), rng)
    assert len(optima) > 1
    assert np.all(np.diff([optimum.log_posterior for optimum in optima]) <= 0.0)
    assert np.ptp([optimum.log_sharpness for optimum in optima]) > 1.0


def test_parameters_that_are_fixed_stay(rng: np.random.Generator) -> None:
    rows = wave(30, 2, rng)
    given = Known(np.array([0.3, -0.2]), math.log(2.0), math.log(1.5), math.log(0.2))
    (only,) = gaussian_limit_optima(rows, given, Scales(), rng)
    for name in given._fields:
        np.testing.assert_array_equal(getattr(only, name), getattr(given, name))
        free = given._replace(**{name: None})
        best = gaussian_limit_optima(rows, free, Scales(), rng)[0]
        is_equal = {other: np.array_equal(getattr(best, other), getattr(given, other)) for other in given._fields}
        assert [other for other in given._fields if not is_equal[other]] == [name]


def test_search_is_deterministic(rng: np.random.Generator) -> None:
    rows = rows_of(friedman(250, 5, rng))
    with threadpool_limits(limits=2, user_api="blas"):
        first = gaussian_limit_optima(rows, SMOOTH, Scales(), np.random.default_rng(1), n_starts=3)
    second = gaussian_limit_optima(rows, SMOOTH, Scales(), np.random.default_rng(1), n_starts=3)
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(as_vector(one), as_vector(other))


def test_many_rows_are_thinned(rng: np.random.Generator) -> None:
    rows = wave(1203, 2, rng)._replace(n_extra=7.0, ss_within=0.5)
    thin = thin_rows(rows, MAX_ROWS)
    assert thin.X.shape == (MAX_ROWS, 2)
    assert thin.y.shape == thin.weight.shape == (MAX_ROWS,)
    assert (thin.n_extra, thin.ss_within) == (7.0, 0.5)
    np.testing.assert_array_equal(thin.X[[0, -1]], rows.X[[0, -1]])


@pytest.mark.parametrize("n", [0, 1, 2])
@UNITS
def test_hardly_any_rows(known: Known, n: int, rng: np.random.Generator) -> None:
    rows = Rows(rng.standard_normal((n, 2)), rng.standard_normal(n), np.ones(n), 0.0, 0.0, np.arange(2))
    best = gaussian_limit_optima(rows, known, Scales(), rng, n_starts=3)[0]
    assert math.isfinite(best.log_posterior)
    assert np.all(np.abs(best.log_relevance) <= LOG_RELEVANCE_LIMIT)


def test_data_without_noise_stop_at_the_bound(rng: np.random.Generator) -> None:
    rows = wave(60, 1, rng)
    best = gaussian_limit_optima(rows._replace(y=np.sin(rows.X[:, 0])), SMOOTH, Scales(), rng, n_starts=3)[0]
    assert best.log_sigma2 < math.log(1e-5)
    assert math.isfinite(best.log_posterior)


def test_equal_relevance_optimises_the_rest(rng: np.random.Generator) -> None:
    rows = wave(40, 3, rng)
    equal = optimum_of_equal_relevance(rows, SMOOTH, Scales(), rng)
    assert equal is not None
    np.testing.assert_allclose(np.exp(equal.log_relevance), 1.0 / math.sqrt(3.0))
    given = SMOOTH._replace(log_relevance=equal.log_relevance)
    gradient = log_posterior(as_vector(equal), rows, given, Scales())[1]
    np.testing.assert_allclose(gradient[3:], 0.0, atol=0.05)
    assert optimum_of_equal_relevance(rows, given, Scales(), rng) is None


def optimum(level: float, log_posterior: float) -> Optimum:
    return Optimum(np.full(4, level), level, level, level, log_posterior)


def test_chains_start_apart(rng: np.random.Generator) -> None:
    """Good optima in turn, the trap left out, the last chain at equal relevance."""
    optima = [optimum(0.0, 10.0), optimum(2.0, 9.0), optimum(4.0, 10.1 - MAX_LOSS - 1.0)]
    starts = spread(optima, optimum(-2.0, 0.0), SMOOTH, 4, rng)
    middles = [as_vector(start).mean() for start in starts]
    np.testing.assert_allclose(middles, [0.0, 2.0, 0.0, -2.0], atol=0.3)
    assert [start.log_posterior for start in starts] == [10.0, 9.0, 10.0, 0.0]
    assert not np.array_equal(starts[0].log_relevance, starts[2].log_relevance)
    assert as_vector(spread(optima, optimum(-2.0, 0.0), SMOOTH, 1, rng)[0]).mean() == pytest.approx(0.0, abs=0.3)


def test_jitter_leaves_fixed_parameters_alone_and_keeps_the_bounds(rng: np.random.Generator) -> None:
    edge = Optimum(np.full(50, LOG_RELEVANCE_LIMIT), math.log(1000.0), 0.5, -1.0, 0.0)
    for start_of_chain in spread([edge], None, Known(None, None, 0.5, -1.0), 5, rng):
        assert math.isfinite(log_prior_log_relevance(start_of_chain.log_relevance, 1.0))
        assert math.isfinite(log_prior_log_sharpness(start_of_chain.log_sharpness))
        assert (start_of_chain.log_nu, start_of_chain.log_sigma2) == (0.5, -1.0)
    (fixed,) = spread([edge], None, Known(edge.log_relevance, math.inf), 1, rng)
    np.testing.assert_array_equal(fixed.log_relevance, edge.log_relevance)
    assert fixed.log_sharpness == edge.log_sharpness
    assert fixed.log_nu != 0.5
    assert fixed.log_sigma2 != -1.0
