"""Smooth units: their posterior against closed forms, brute force, the exact engine and the prior."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from widestable.engine.state import SHARPNESS_GRID, log_prior_sharpness, make_model

from tests import fits, twins
from tests.checks import check_frequencies, check_mean
from tests.engine.test_agreement import TRUNCATION, run
from tests.engine.test_run import no_data
from tests.exact.agreement import EXAMPLES, Draws, check_agreement, posterior_draws
from widestable import StableRegressor
from widestable.engine.kernel import with_sharpness
from widestable.engine.model import Plan
from widestable.engine.run import Setup, extend, sample_fixed, start, warm_up
from widestable.inputs import check_training
from widestable.network import arcsine_kernel, unit_patterns
from widestable.stable import log_remainder, log_scale_of_mark

X = np.array([[-1.7], [-0.9], [-0.6], [0.1], [0.4], [1.1], [1.8]])
Y = np.array([0.3, -0.2, 0.1, 1.9, 2.3, 2.0, 1.6])


# --- A Gaussian process: alpha = 2 -----------------------------------------------------------------------


class ErfNetwork(Kernel):
    """The kernel of a wide network of erf units (Williams 1998), written as scikit-learn would have it."""

    def __init__(self, variance: float, sharpness: float) -> None:
        self.variance = variance
        self.sharpness = sharpness

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None, eval_gradient: bool = False) -> np.ndarray:
        Y = X if Y is None else Y
        inner = 2.0 * self.sharpness**2 * (1.0 + X @ Y.T)
        left = 1.0 + 2.0 * self.sharpness**2 * (1.0 + np.sum(X * X, axis=1))
        right = 1.0 + 2.0 * self.sharpness**2 * (1.0 + np.sum(Y * Y, axis=1))
        return self.variance * 2.0 / np.pi * np.arcsin(inner / np.sqrt(np.outer(left, right)))

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.diag(self(X)).copy()

    def is_stationary(self) -> bool:
        return False


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 8.0])
def test_alpha_two_is_gaussian_process_regression(sharpness: float) -> None:
    given = {"alpha": 2.0, "nu": 2.5, "sigma2": 0.3, "sharpness": sharpness, "standardize": False}
    model = fits.fit(X, Y, n_sweeps=24, **given)
    gp = GaussianProcessRegressor(ErfNetwork(2.5, sharpness), alpha=0.3, optimizer=None).fit(X, Y)
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    mean, sd = gp.predict(new, return_std=True)
    np.testing.assert_allclose(model.predict(new), mean, atol=1e-9)
    half = norm.ppf(0.95) * np.sqrt(sd**2 + 0.3)
    np.testing.assert_allclose(model.predict_interval(new, 0.9), np.column_stack([mean - half, mean + half]), atol=1e-8)


def exact_probabilities(alpha_two_nu: float, sigma2: float) -> np.ndarray:
    """Posterior of the sharpness on its grid when f is a Gaussian process."""
    log_p = [
        twins.log_normal_density(Y, ErfNetwork(alpha_two_nu, w)(X) + sigma2 * np.eye(len(Y))) for w in SHARPNESS_GRID
    ]
    log_p = np.array(log_p) + log_prior_sharpness(SHARPNESS_GRID)
    return np.exp(log_p - logsumexp(log_p))


@pytest.mark.statistical
def test_posterior_of_the_sharpness_is_that_of_the_gaussian_process() -> None:
    """The last draws of many chains, started all over the grid, are independent."""
    fixed = {"alpha": 2.0, "nu": 2.5, "sigma2": 0.3}
    model = make_model(check_training(X, Y, standardize=False), **fixed, n_atoms=30, sharpness=None)
    setup = Setup(model, plan=Plan(n_sharpness=10))
    sample = extend(warm_up(start(model, np.random.SeedSequence(3).spawn(500), **fixed), setup, 60), setup, 2)
    values = np.array([chain.sharpness[-1] for chain in sample.chains])
    counts = np.bincount(np.searchsorted(SHARPNESS_GRID, values), minlength=SHARPNESS_GRID.size)
    check_frequencies(counts, exact_probabilities(2.5, 0.3))
    with pytest.raises(AssertionError):
        check_frequencies(counts, exact_probabilities(25.0, 0.3))


# --- Sign units: a large sharpness -----------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["three_jumps", "quadrants"])
def test_a_large_sharpness_has_the_posterior_of_sign_units(name: str) -> None:
    """Against the exact partition, which knows nothing of atoms or smooth units."""
    rows, y, alpha, nu = EXAMPLES[name]()
    data = check_training(rows, y, standardize=False)
    fixed = {"alpha": alpha, "nu": nu, "sigma2": None}
    for sharpness, agrees in ((1e5, True), (10.0, False)):
        setup = Setup(make_model(data, **fixed, n_atoms=30, sharpness=sharpness), n_jobs=1)
        chains = run(setup, 800, **fixed)
        f = np.stack([draws.f[:, data.index] for draws in chains])
        found = Draws(f, np.exp([draws.log_sigma2 for draws in chains]))
        if agrees:
            check_agreement(posterior_draws(name, "gibbs"), found, bias=TRUNCATION)
        else:
            with pytest.raises(AssertionError, match="posteriors differ"):
                check_agreement(posterior_draws(name, "gibbs"), found, bias=TRUNCATION)


# --- Between the two: brute force ------------------------------------------------------------------------


@pytest.mark.slow
def test_posterior_is_that_of_weighted_prior_draws(rng: np.random.Generator) -> None:
    """Three rows: a million prior draws of f, weighted by the likelihood, at one sharpness of two."""
    rows, y, grid = np.array([[-1.0], [0.2], [0.9]]), np.array([0.1, 1.4, 1.0]), SHARPNESS_GRID[[4, 8]]
    data = check_training(rows, y, standardize=False)
    fixed = {"alpha": 1.3, "nu": 1.0, "sigma2": 0.2}
    model = make_model(data, **fixed, n_atoms=20, sharpness=None)
    model = model._replace(
        grid=grid,
        grid_log_prior=np.log([0.4, 0.6]),
        grid_log_diagonal=np.zeros(2),
        grid_basis=np.empty((2, 3, 3)),
        grid_eigenvalues=np.empty((2, 3)),
        grid_y=np.empty((2, 3)),
        is_made=np.zeros(2, dtype=bool),
    )
    sample = start(model, np.random.SeedSequence(11).spawn(500), **fixed)
    chains = extend(warm_up(sample, Setup(model), 80), Setup(model), 2).chains
    found = np.array([[chain.sharpness[-1] == grid[1], *chain.f[-1]] for chain in chains])
    expected = weighted_means(rows, y, grid, rng)
    check_mean(found, expected)
    with pytest.raises(AssertionError):
        check_mean(found, expected + 0.15)


def weighted_means(rows: np.ndarray, y: np.ndarray, grid: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Posterior probability of the second sharpness, and posterior means of f, by importance sampling."""
    totals, n_draws, N = np.zeros(5), 500_000, 20
    g = math.exp(log_remainder(1.3, 0.0, N))
    for which, (sharpness, prior) in enumerate(zip(grid, (0.4, 0.6), strict=True)):
        f = rng.standard_normal((n_draws, 3)) @ np.linalg.cholesky(g * arcsine_kernel(rows, sharpness=sharpness)).T
        count = rng.poisson(N, n_draws)
        owner = np.repeat(np.arange(n_draws), count)
        log_mark = math.log(N) + np.log1p(-rng.random(owner.size))
        size = np.exp(0.5 * log_scale_of_mark(log_mark, 1.3, 0.0)) * rng.standard_normal(owner.size)
        steps = size[:, None] * unit_patterns(rng.standard_normal((owner.size, 2)), rows, sharpness)
        for j in range(3):
            f[:, j] += np.bincount(owner, steps[:, j], n_draws)
        weight = prior * np.exp(-0.5 * np.sum((y - f) ** 2, axis=1) / 0.2)
        totals += [weight.sum(), which * weight.sum(), *(weight @ f)]
    return totals[1:] / totals[0]


@pytest.mark.parametrize("place", [0, 2, 5])
def test_patterns_that_depend_on_each_other_do_not_break_the_system(place: int, rng: np.random.Generator) -> None:
    """At a small sharpness thirty patterns have rank three; scales must not run away along what rounding hides."""
    rows = rng.standard_normal((25, 2))
    data = check_training(rows, rows @ [1.0, -0.5] + 0.1 * rng.standard_normal(25), standardize=False)
    sharpness = float(SHARPNESS_GRID[place])
    model = make_model(data, alpha=None, nu=None, sigma2=None, n_atoms=30, sharpness=sharpness)
    sample = sample_fixed(start(model, np.random.SeedSequence(1).spawn(4)), Setup(model), 600)
    for state, draws in zip(sample.states, sample.chains, strict=True):
        assert state.chain.failures[0] == 0
        assert np.isfinite(draws.f).all()
        assert np.quantile(draws.log_scale.reshape(-1), 0.999) < 25.0
        assert np.isfinite(draws.log_density).all()


# --- The prior, and the estimator ------------------------------------------------------------------------


@pytest.mark.slow
def test_no_data_gives_the_prior_of_the_sharpness() -> None:
    model = make_model(no_data(), alpha=None, nu=None, sigma2=None, n_atoms=6, sharpness=None)
    setup = Setup(model, plan=Plan(n_sharpness=20, n_births=2, n_rotations=1, n_reflections=0, n_pairs=0))
    chains = sample_fixed(start(model, np.random.SeedSequence(5).spawn(500)), setup, 60).chains
    values = np.array([draws.sharpness[-1] for draws in chains])
    counts = np.bincount(np.searchsorted(SHARPNESS_GRID, values), minlength=SHARPNESS_GRID.size)
    check_frequencies(counts, np.exp(log_prior_sharpness(SHARPNESS_GRID)))


def test_prior_of_the_sharpness_is_half_uniform_half_cauchy() -> None:
    p = np.exp(log_prior_sharpness(np.exp([0.3, 0.9, -0.9])))  # Cauchy densities 1, 1/2 and 1/5 of the peak
    np.testing.assert_allclose(p, 0.5 / 3.0 + 0.5 * np.array([1.0, 0.5, 0.2]) / 1.7)
    assert log_prior_sharpness(np.array([math.inf])) == 0.0


def test_kernels_are_made_when_a_chain_comes_near_them() -> None:
    model = make_model(check_training(X, Y), alpha=None, nu=None, sigma2=None, n_atoms=10, sharpness=None)
    assert not model.is_made.any()
    state = start(model, np.random.SeedSequence(0).spawn(1))
    assert model.is_made.sum() == 1
    extend(state, Setup(model), 2)
    assert 2 <= model.is_made.sum() <= 5
    place = int(np.flatnonzero(model.is_made)[0])
    used = with_sharpness(model, place)
    K = used.basis * used.eigenvalues @ used.basis.T
    np.testing.assert_allclose(K, arcsine_kernel(model.Z[:, 1:], sharpness=SHARPNESS_GRID[place]), atol=1e-12)


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
