from __future__ import annotations

import numpy as np
from scipy.stats import norm

from studies.forecasts import crps, from_draws, from_normal, from_observations, mixing, scale, score
from studies.problems import Problem


def test_crps_of_a_normal_is_the_closed_form() -> None:
    mean, sd, y = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.5, 3.0]), np.array([0.3, 2.5, -9.0])
    z = (y - mean) / sd
    exact = sd * (z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi))
    np.testing.assert_allclose(crps(from_normal(mean, sd).quantiles, y), exact, rtol=0.01)


def test_draws_and_normal_agree(rng: np.random.Generator) -> None:
    mean, f_sd, noise_sd = np.array([0.0, 4.0]), 1.0, 0.5
    f = mean + f_sd * rng.standard_normal((4, 5000, 2))
    drawn = from_draws(f, np.full((4, 5000), noise_sd), rng)
    exact = from_normal(mean, np.full(2, np.hypot(f_sd, noise_sd)))
    np.testing.assert_allclose(drawn.point, mean, atol=0.05)
    np.testing.assert_allclose(drawn.ends, exact.ends, atol=0.08)
    np.testing.assert_allclose(drawn.quantiles[:, 10:-10], exact.quantiles[:, 10:-10], atol=0.08)


def test_scores_by_hand() -> None:
    forecast = from_observations(np.array([[0.0, 0.0], [2.0, 2.0]]), np.array([1.0, 1.0]))
    problem = Problem(*np.zeros((3, 1, 1)), np.array([[1.0, 3.0], [1.5, 0.0]]), np.array([1.0, 2.0]))
    found = score(forecast, problem)
    np.testing.assert_allclose(found["mae_sets"], [1.0, 0.75])
    assert found["mae_truth"] == 0.5
    assert found["coverage"] == 0.5  # the 90% interval is (0.1, 1.9): 1 and 1.5 are inside, 3 and 0 are not
    np.testing.assert_allclose(found["width"], 1.8)


def test_scaling_is_undone(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((30, 2)) * [1.0, 50.0] + 7.0, 100.0 + 20.0 * rng.standard_normal(30)
    data = scale(X, y, X)
    np.testing.assert_allclose(data.X.std(axis=0), 1.0)
    back = data.undo(from_normal(data.y, np.full(30, 0.1)))
    np.testing.assert_allclose(back.point, y)
    np.testing.assert_allclose(np.diff(back.ends, axis=1)[:, 0], 2.0 * norm.ppf(0.95) * 0.1 * y.std())


def test_mixing_sees_chains_that_disagree(rng: np.random.Generator) -> None:
    f = rng.standard_normal((4, 200, 3))
    good = mixing(from_draws(f, np.ones((4, 200)), rng))
    bad = mixing(from_draws(f + np.arange(4)[:, None, None], np.ones((4, 200)), rng))
    assert good["rhat"] < 1.02 < bad["rhat"]
    assert bad["ess"] < good["ess"]
    assert mixing(from_normal(np.zeros(2), np.ones(2))) == {}
