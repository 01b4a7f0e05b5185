"""Smooth units: their posterior against closed forms, the exact engine and brute force.

The posterior of an inferred sharpness is in `test_law_posterior.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor

from tests import fits
from tests.checks import check_mean
from tests.engine.chains import new_sample, start_chain, sweep
from tests.engine.gaussian_process import Arcsine
from tests.engine.test_agreement import TRUNCATION
from tests.exact.agreement import EXAMPLES, Draws, check_agreement, posterior_draws
from widestable import StableRegressor
from widestable.engine.draws import pack
from widestable.engine.kernel import Law, make_kernel
from widestable.engine.model import make_model
from widestable.engine.run import Setup, extend, warm_up
from widestable.inputs import check_training
from widestable.network import arcsine_kernel, unit_patterns
from widestable.stable import log_remainder, log_scale_of_mark

X = np.array([[-1.7], [-0.9], [-0.6], [0.1], [0.4], [1.1], [1.8]])
Y = np.array([0.3, -0.2, 0.1, 1.9, 2.3, 2.0, 1.6])


# --- A Gaussian process: alpha = 2 -----------------------------------------------------------------------


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 8.0, math.inf])
def test_alpha_two_is_gaussian_process_regression(sharpness: float, rng: np.random.Generator) -> None:
    """In three inputs of different relevance."""
    rows, new, relevance = rng.standard_normal((14, 3)), 2.0 * rng.standard_normal((9, 3)), (0.4, 1.0, 2.5)
    y = np.sin(2.0 * rows[:, 2]) + rows[:, 0]
    given = {"alpha": 2.0, "nu": 2.5, "sigma2": 0.3, "sharpness": sharpness, "standardize": False}
    model = fits.fit(rows, y, n_sweeps=24, relevance=relevance, **given)
    gp = GaussianProcessRegressor(Arcsine(2.5, relevance, sharpness), alpha=0.3, optimizer=None).fit(rows, y)
    mean, sd = gp.predict(new, return_std=True)
    np.testing.assert_allclose(model.predict(new), mean, atol=1e-8)
    half = norm.ppf(0.95) * np.sqrt(sd**2 + 0.3)
    np.testing.assert_allclose(model.predict_interval(new, 0.9), np.column_stack([mean - half, mean + half]), atol=1e-8)
    other = fits.fit(rows, y, n_sweeps=24, relevance=relevance[::-1], **given)
    assert np.abs(other.predict(new) - mean).max() > 1e-2


# --- Sign units: a large sharpness -----------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["three_jumps", "quadrants"])
def test_a_large_sharpness_has_the_posterior_of_sign_units(name: str) -> None:
    """Against the exact partition, which knows nothing of atoms or smooth units."""
    rows, y, alpha, nu = EXAMPLES[name]()
    data = check_training(rows, y, standardize=False)
    fixed = {"alpha": alpha, "nu": nu, "sigma2": None}
    for sharpness, agrees in ((1e5, True), (10.0, False)):
        model, law = make_model(data, **fixed, n_atoms=30, sharpness=sharpness), Law(np.ones(rows.shape[1]), sharpness)
        setup = Setup(model, make_kernel(model, law), n_jobs=1)
        chains = extend(warm_up(new_sample(model, 8, 7, law, **fixed), setup, 500), setup, 800).chains
        f = np.stack([draws.f[:, data.index] for draws in chains])
        found = Draws(f, np.exp([draws.log_sigma2 for draws in chains]))
        if agrees:
            check_agreement(posterior_draws(name, "gibbs"), found, bias=TRUNCATION)
        else:
            with pytest.raises(AssertionError, match="posteriors differ"):
                check_agreement(posterior_draws(name, "gibbs"), found, bias=TRUNCATION)


# --- Between the two: brute force ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("sharpness", [0.5, 3.0])
def test_posterior_is_that_of_weighted_prior_draws(sharpness: float, rng: np.random.Generator) -> None:
    """Three rows: half a million prior draws of f, weighted by the likelihood."""
    rows, y = np.array([[-1.0], [0.2], [0.9]]), np.array([0.1, 1.4, 1.0])
    fixed = {"alpha": 1.3, "nu": 1.0, "sigma2": 0.2}
    model = make_model(check_training(rows, y, standardize=False), **fixed, n_atoms=20, sharpness=sharpness)
    law = Law(np.ones(1), sharpness)
    setup = Setup(model, make_kernel(model, law))
    chains = extend(warm_up(new_sample(model, 500, 11, law, **fixed), setup, 80), setup, 2).chains
    found = np.array([chain.f[-1] for chain in chains])
    expected = weighted_means(rows, y, sharpness, rng)
    check_mean(found, expected)
    with pytest.raises(AssertionError):
        check_mean(found, expected + 0.15)


def weighted_means(rows: np.ndarray, y: np.ndarray, sharpness: float, rng: np.random.Generator) -> np.ndarray:
    """Posterior means of f by importance sampling."""
    n_draws, N = 500_000, 20
    g = math.exp(log_remainder(1.3, 0.0, N))
    f = rng.standard_normal((n_draws, 3)) @ np.linalg.cholesky(g * arcsine_kernel(rows, sharpness=sharpness)).T
    owner = np.repeat(np.arange(n_draws), rng.poisson(N, n_draws))
    log_mark = math.log(N) + np.log1p(-rng.random(owner.size))
    size = np.exp(0.5 * log_scale_of_mark(log_mark, 1.3, 0.0)) * rng.standard_normal(owner.size)
    steps = size[:, None] * unit_patterns(rng.standard_normal((owner.size, 2)), rows, sharpness)
    for j in range(3):
        f[:, j] += np.bincount(owner, steps[:, j], n_draws)
    weight = np.exp(-0.5 * np.sum((y - f) ** 2, axis=1) / 0.2)
    return np.asarray(weight @ f / weight.sum())


@pytest.mark.parametrize("sharpness", [0.1, 0.3, 2.0])
def test_patterns_that_depend_on_each_other_do_not_break_the_system(sharpness: float, rng: np.random.Generator) -> None:
    """At a small sharpness thirty patterns have rank three; scales must not run away along what rounding hides."""
    rows = rng.standard_normal((25, 2))
    data = check_training(rows, rows @ [1.0, -0.5] + 0.1 * rng.standard_normal(25), standardize=False)
    model = make_model(data, alpha=None, nu=None, sigma2=None, n_atoms=30, sharpness=sharpness)
    law = Law(np.ones(2), sharpness)
    for _ in range(4):
        chain, out = sweep(start_chain(model, rng, law), model, 600, rng, thin=2)
        draws = pack(out, law.relevance, sharpness, 0.0)
        assert chain.n_failures == 0
        assert np.isfinite(draws.f).all()
        assert np.quantile(draws.log_scale, 0.999) < 25.0
        assert np.isfinite(draws.log_density).all()


# --- The estimator ---------------------------------------------------------------------------------------


def test_same_seed_gives_the_same_draws_for_any_number_of_jobs() -> None:
    first, second = (fits.fit(X, Y, sharpness=None, n_jobs=n, n_chains=3) for n in (1, 2))
    np.testing.assert_array_equal(first.posterior_.sharpness, second.posterior_.sharpness)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    assert np.unique(first.posterior_.sharpness).size > 2


def test_sharpness_is_reported_where_it_is_inferred() -> None:
    model = fits.smooth()
    assert model.sharpness_ == np.median(model.posterior_.sharpness)
    assert model.posterior_.inferred == ("alpha", "nu", "sigma2", "sharpness")
    tree = model.posterior_.to_arviz()
    np.testing.assert_array_equal(tree["posterior"]["sharpness"], model.posterior_.sharpness)
    fixed = fits.fit(X, Y, sharpness=1.5)
    assert fixed.sharpness_ == 1.5
    assert "sharpness" not in fixed.posterior_.to_arviz()["posterior"]
    assert fits.line().sharpness_ == math.inf
    assert fits.line().posterior_.summary().loc["sharpness", "median"] == math.inf


@pytest.mark.parametrize("sharpness", [0, -1.0, math.nan, "sharp", True])
def test_a_wrong_sharpness_is_refused(sharpness: object) -> None:
    with pytest.raises(ValueError, match="expected None, a number above 0, or infinity"):
        StableRegressor(sharpness=sharpness).fit(X, Y)
