from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from tests import fits
from tests.checks import check_mean
from tests.conftest import ROOT
from widestable import StableRegressor
from widestable.engine.draws import ChainDraws
from widestable.inputs import check_new_rows
from widestable.network import arcsine_kernel
from widestable.posterior import Posterior
from widestable.predict import components as parts
from widestable.predict import joint, mixture
from widestable.predict.components import Source, components


def new_rows(model: StableRegressor, n: int = 9) -> np.ndarray:
    """Scaled rows inside and outside the data, and one of the training rows."""
    X = model.posterior_.data.X
    rng = np.random.default_rng(5)
    return np.vstack([X[:1], 3.0 * rng.standard_normal((n - 1, X.shape[1]))])


def with_chain(posterior: Posterior, draws: ChainDraws) -> Posterior:
    """The posterior with the draws of a single chain."""
    return replace(posterior, sample=replace(posterior.sample, chains=(draws,)))


def quantiles_of(mean: np.ndarray, sd: np.ndarray, q: np.ndarray) -> np.ndarray:
    out = np.empty((len(mean), q.size))
    weight = np.ones(mean.shape[1])
    mixture.fill_quantiles(mean, sd, weight, q, *mixture._brackets(mean, sd, weight, q), out)
    return out


def crps_of(mean: np.ndarray, sd: np.ndarray, y: np.ndarray, max_nodes: float = mixture.MAX_NODES) -> np.ndarray:
    out = np.empty(len(mean))
    mixture.fill_crps(mean, sd, np.ones(mean.shape[1]), y, max_nodes, out)
    return out


# --- Components ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [fits.line, fits.plane, fits.smooth, fits.relevant_steps, fits.relevant])
def test_components_are_those_of_a_gaussian_process_on_what_the_atoms_leave(which) -> None:
    model = which()
    X, posterior = new_rows(model), model.posterior_
    source = parts.prepare(posterior.model, posterior.chains, np.abs(posterior.data.y).max(), n_laws=np.inf)
    mean, sd = components(source, X, noise=False)
    slow_mean, slow_variance = fits.slow_components(model.posterior_, X)
    np.testing.assert_allclose(mean, slow_mean, rtol=1e-8, atol=1e-8)
    sigma2 = np.concatenate([chain.sigma2 for chain in source.chains])
    error = np.abs(sd**2 - np.maximum(slow_variance, 0.0))
    assert np.all(error <= 1e-6 * slow_variance + parts.NEGLIGIBLE * sigma2 + 1e-9)


def test_directions_that_do_not_matter_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far fewer than there are rows when the kernel is smooth; with a coarse bound, the variance would tell."""
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    posterior = fits.fit(X, X[:, 0], sharpness=0.5, alpha=2.0, nu=1.0, sigma2=0.1).posterior_
    (basis,) = posterior._source.bases
    assert basis.basis.shape == (40, basis.eigenvalues.size)
    assert 2 <= basis.eigenvalues.size < 12
    X_new = posterior.scale_rows([[0.3]])
    sd = components(posterior._source, X_new, noise=False)[1]
    monkeypatch.setattr(parts, "NEGLIGIBLE", 1e3)
    coarse = parts.prepare(posterior.model, posterior.chains, 1.0)
    assert np.all(components(coarse, X_new, noise=False)[1] > 1.05 * sd)


def test_predictions_use_an_even_selection_of_the_laws_of_a_chain() -> None:
    draws = fits.smooth().posterior_.chains[0]
    stretch = np.cumsum(np.append(False, np.diff(draws.sharpness) != 0.0))
    kept = parts._with_few_laws(draws, 4)
    of_kept = np.unique(stretch[np.isin(draws.sharpness, kept.sharpness)])
    assert len(of_kept) == 4
    assert (of_kept[0], of_kept[-1]) == (0, stretch[-1])
    assert np.diff(of_kept).max() <= np.diff(of_kept).min() + 1
    # Of each law, all its draws and their atoms.
    whole = draws.where(np.isin(stretch, of_kept))
    np.testing.assert_array_equal(kept.sharpness, whole.sharpness)
    np.testing.assert_array_equal(kept.h, whole.h)


def test_noise_adds_its_variance() -> None:
    model = fits.line()
    X, source = new_rows(model), model.posterior_._source
    mean, sd = components(source, X, noise=False)
    mean_y, sd_y = components(source, X, noise=True)
    np.testing.assert_array_equal(mean, mean_y)
    sigma2 = np.concatenate([chain.sigma2 for chain in source.chains])
    np.testing.assert_allclose(sd_y**2, sd**2 + sigma2, rtol=1e-12)


@pytest.mark.parametrize("which", [fits.plane, fits.relevant])
def test_huge_atoms_that_cancel_change_nothing(which) -> None:
    """Two atoms beyond all rows, sizes 1e150 and -1e150: their sum is zero, and must not hide the others."""
    posterior = which().posterior_
    draws = posterior.chains[0]
    first = np.concatenate([[0], np.cumsum(draws.n_atoms)])
    at = np.repeat(first[:-1], 2)
    huge = replace(
        draws,
        n_atoms=draws.n_atoms + 2,
        h=np.insert(draws.h, at, [50.0, 1.0, -1.0], axis=0),
        log_mark=np.insert(draws.log_mark, at, 0.0),
        size=np.insert(draws.size, at, np.tile([1e150, -1e150], len(draws))),
    )
    X = new_rows(which())
    expected, _ = components(with_chain(posterior, draws)._source, X, noise=False)
    found, _ = components(with_chain(posterior, huge)._source, X, noise=False)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_read_only_arrays_are_copied_once_not_compiled_for() -> None:
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    assert parts._writeable(frozen).flags.writeable
    assert parts._writeable(thawed := np.arange(3.0)) is thawed


# --- Quantiles -------------------------------------------------------------------------------------------


def test_quantiles_solve_for_the_distribution_function(rng: np.random.Generator) -> None:
    mean, sd = rng.standard_cauchy((5, 40)), rng.exponential(size=(5, 40))
    q = np.array([0.001, 0.06, 0.51, 0.91])  # no multiples of 1/40, where F may be flat
    slow = [[fits.slow_quantile(m, s, p) for p in q] for m, s in zip(mean, sd, strict=True)]
    np.testing.assert_allclose(quantiles_of(mean, sd, q), slow, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_survive_astronomical_spread(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal((4, 301)) * 10.0 ** rng.uniform(-150.0, 150.0, size=(4, 301))
    sd = 10.0 ** rng.uniform(-160.0, 150.0, size=(4, 301))
    sd[:, ::3] = 0.0
    q = np.array([0.05, 0.25, 0.5, 0.95])
    found = quantiles_of(mean, sd, q)
    assert np.all(np.isfinite(found))
    with np.errstate(divide="ignore", over="ignore"):
        for r in range(4):
            for x, p in zip(found[r], q, strict=True):
                step = 1e-9 * abs(x) + 1e-290
                below, above = (np.where(sd[r] > 0.0, stats.norm.cdf((t - mean[r]) / np.where(sd[r] > 0.0, sd[r], 1.0)),
                                         t >= mean[r]).mean() for t in (x - step, x + step))  # fmt: skip
                assert below - 1e-9 <= p <= above + 1e-9


def test_quantile_of_points_is_one_of_them() -> None:
    mean = np.array([[3.0, -7.0, 0.0, 1e100, 5.0]])
    found = quantiles_of(mean, np.zeros((1, 5)), np.array([0.1, 0.3, 0.5, 0.7, 0.9]))
    np.testing.assert_allclose(found[0], [-7.0, 0.0, 3.0, 5.0, 1e100], rtol=1e-11, atol=1e-290)


def test_quantiles_of_one_normal_are_its_own() -> None:
    q = np.array([1e-6, 0.3, 0.999])
    found = quantiles_of(np.full((1, 7), 2.0), np.full((1, 7), 3.0), q)
    np.testing.assert_allclose(found[0], stats.norm.ppf(q, 2.0, 3.0), rtol=1e-9)


def test_quantiles_never_cross(rng: np.random.Generator) -> None:
    mean, sd = np.round(2.0 * rng.standard_normal((20, 50))), rng.exponential(0.01, size=(20, 50))
    found = quantiles_of(mean, sd, np.linspace(0.01, 0.99, 99))
    assert np.all(np.diff(found, axis=1) >= -1e-11 * np.abs(found[:, 1:]))


@pytest.mark.parametrize("which", [fits.line, fits.plane, fits.relevant_steps, fits.relevant])
@pytest.mark.parametrize("noise", [True, False])
def test_a_row_gets_the_same_bits_in_any_company(which, noise: bool) -> None:
    model = which()
    rng, n = np.random.default_rng(3), 2 * mixture.BLOCK + 10
    scaling = model.posterior_.data.scaling
    X = scaling.x_mean + scaling.x_scale * rng.standard_normal((n, model.n_features_in_))
    together = model.predict_quantiles(X, [0.1, 0.5], noise=noise)
    order = rng.permutation(n)
    np.testing.assert_array_equal(model.predict_quantiles(X[order], [0.1, 0.5], noise=noise), together[order])
    alone = [model.predict_quantiles(X[i : i + 1], [0.1, 0.5], noise=noise)[0] for i in range(0, n, 7)]
    np.testing.assert_array_equal(alone, together[::7])
    np.testing.assert_array_equal(model.predict_quantiles(X, [0.5, 0.1], noise=noise)[:, ::-1], together)


def test_threads_and_bars_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    posterior = fits.plane().posterior_
    n = 3 * mixture.BLOCK
    X = np.random.default_rng(4).standard_normal((n, 2))
    one = posterior.quantiles(X, 0.5)
    np.testing.assert_array_equal(posterior.quantiles(X, 0.5, n_jobs=2, progress=True), one)
    assert f"{n}/{n} rows" in capsys.readouterr().err


# --- Scores ----------------------------------------------------------------------------------------------


def brute_crps(mean: np.ndarray, sd: np.ndarray, y: float) -> float:
    """Integral of (F - 1{x >= y})**2 on a fine grid, split at y."""
    low, high = (mean - 9.0 * sd).min(), (mean + 9.0 * sd).max()
    total = 0.0
    for a, b, step in ((min(low, y), y, 0.0), (y, max(high, y), 1.0)):
        x = np.linspace(a, b, 40_001)
        F = stats.norm.cdf((x[:, None] - mean) / sd).mean(axis=1)
        total += np.trapezoid((F - step) ** 2, x)
    return total


def test_crps_equals_the_integral(rng: np.random.Generator) -> None:
    mean, sd = 2.0 * rng.standard_normal((4, 15)), rng.uniform(0.3, 2.0, size=(4, 15))
    y = np.array([0.0, -3.0, 1.5, 12.0])
    brute = [brute_crps(m, s, v) for m, s, v in zip(mean, sd, y, strict=True)]
    np.testing.assert_allclose(crps_of(mean, sd, y), brute, rtol=1e-6)


def test_crps_on_a_grid_and_by_pairs_agree_to_rounding(rng: np.random.Generator) -> None:
    mean, sd = rng.standard_cauchy((6, 200)), rng.uniform(0.05, 1.0, size=(6, 200))
    y = rng.standard_normal(6)
    np.testing.assert_allclose(crps_of(mean, sd, y), crps_of(mean, sd, y, max_nodes=0.0), rtol=1e-10)


def test_crps_of_outliers_needs_few_nodes(rng: np.random.Generator) -> None:
    """A thousand times as wide as the other components, they would need thousands of equally spaced nodes."""
    mean = rng.uniform(-3.0, 3.0, size=(3, 200))
    sd = np.hstack([rng.uniform(0.9, 1.2, size=(3, 168)), np.tile(np.geomspace(3.0, 1000.0, 32), (3, 1))])
    weight, y = np.append(np.full(168, 0.97), np.full(32, 0.03)), np.array([0.0, 40.0, -5000.0])
    by_pairs, on_grid = np.empty((2, 3))
    mixture.fill_crps(mean, sd, weight, y, 0.0, by_pairs)
    mixture.fill_crps(mean, sd, weight, y, 1500.0, on_grid)
    np.testing.assert_allclose(on_grid, by_pairs, rtol=1e-12)
    # Rounding tells that the grid was used.
    assert np.any(on_grid != by_pairs)
    assert mixture.even_grid(mean, sd, 0, sd[0].min())[2] > 20_000.0


def test_crps_of_points_is_that_of_a_sample(rng: np.random.Generator) -> None:
    points = rng.standard_normal((1, 30))
    slow = np.abs(points - 0.4).mean() - 0.5 * np.abs(points[0] - points.T).mean()
    np.testing.assert_allclose(crps_of(points, np.zeros((1, 30)), np.array([0.4])), slow, rtol=1e-12)


def test_crps_of_a_far_observation_is_its_distance() -> None:
    found = crps_of(np.array([[0.0, 1e150]]), np.array([[1.0, 0.0]]), np.array([0.0]))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, 1e150 / 4.0, rtol=1e-12)


def test_log_density_does_not_underflow(rng: np.random.Generator) -> None:
    mean, sd = rng.standard_normal((4, 20)), rng.uniform(0.1, 2.0, size=(4, 20))
    y = np.array([0.0, 3.0, -200.0, 1e5])
    out = np.empty(4)
    mixture.fill_log_density(mean, sd, np.ones(20), y, out)
    slow = logsumexp(stats.norm.logpdf(y[:, None], mean, sd), axis=1) - math.log(20)
    np.testing.assert_allclose(out, slow, rtol=1e-12)


def test_scores_scale_with_y() -> None:
    model = fits.line()
    posterior, y_scale = model.posterior_, model.posterior_.data.scaling.y_scale
    X, y = 100.0 + np.array([[0.5], [-1.0]]), np.array([34.0, 29.0])
    rows = check_new_rows(X, columns=posterior.data.columns, scaling=posterior.data.scaling)
    mean, sd = components(posterior._source, rows, noise=True)
    mean = posterior.data.scaling.y_mean + y_scale * mean
    density = stats.norm.pdf(y[:, None], mean, y_scale * sd).mean(axis=1)
    np.testing.assert_allclose(posterior.log_score(X, y), np.log(density), rtol=1e-9)
    np.testing.assert_allclose(posterior.crps(X, y), crps_of(mean, y_scale * sd, y), rtol=1e-9)


# --- Joint draws -----------------------------------------------------------------------------------------


def one_draw(which, draw: int = 7) -> tuple[Source, np.ndarray, np.ndarray]:
    """A source with a single draw, rows, and the exact mean of f there."""
    model = which()
    posterior, X = model.posterior_, new_rows(model, 5)
    draws = posterior.chains[0].where(np.arange(posterior.sample.n_draws) == draw)
    return with_chain(posterior, draws)._source, X, fits.slow_components(posterior, X)[0][:, draw]


@pytest.mark.parametrize("which", [fits.line, fits.plane, fits.smooth, fits.relevant_steps, fits.relevant])
def test_joint_draws_have_the_mean_and_covariance_of_the_draw(which, rng: np.random.Generator) -> None:
    source, X, mean = one_draw(which)
    (chain,), (law,), (train,) = source.chains, source.laws, source.bases
    f = joint.joint_draws(source, X, 4000, False, rng).T
    check_mean(f, mean)
    seen, seen_in_training = X * law.relevance, source.X * law.relevance
    k = arcsine_kernel(seen, seen_in_training, law.sharpness) @ train.basis
    precision = 1.0 / (chain.g * train.eigenvalues + chain.sigma2)
    covariance = chain.g * arcsine_kernel(seen, sharpness=law.sharpness) - chain.g**2 * (k * precision) @ k.T
    products = (f - mean)[:, :, None] * (f - mean)[:, None, :]
    check_mean(products, covariance)
    y = joint.joint_draws(source, X, 4000, True, rng).T
    check_mean((y - mean) ** 2, np.diag(covariance) + chain.sigma2)


def test_joint_draws_give_repeated_rows_one_value(rng: np.random.Generator) -> None:
    source, X, _ = one_draw(fits.plane)
    f = joint.joint_draws(source, np.vstack([X, X]), 20, False, rng)
    np.testing.assert_allclose(f[:5], f[5:], atol=1e-6)


def test_joint_draws_use_every_stored_draw_before_any_twice(rng: np.random.Generator) -> None:
    counts = np.bincount(joint._shuffled(7, 17, rng), minlength=7)
    assert set(counts) == {2, 3}
    assert np.bincount(joint._shuffled(7, 3, rng), minlength=7).max() == 1
    assert joint._shuffled(7, 0, rng).size == 0


def test_too_many_joint_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widestable.predict.joint.MAX_JOINT_ROWS", 3)
    with pytest.raises(ValueError, match="Got 4 rows to draw jointly, expected at most 3"):
        fits.line().sample_y(np.zeros((4, 1)))


# --- Without the compiler --------------------------------------------------------------------------------


def test_kernels_are_plain_python_too() -> None:
    """What numba compiles and what Python runs are the same numbers."""
    code = (
        "import numpy as np; from tests.predict.test_mixture import quantiles_of, crps_of\n"
        "mean, sd = np.array([[0.0, 1.0, -3.0, 1e20]]), np.array([[1.0, 0.0, 0.5, 1e10]])\n"
        "q = quantiles_of(mean, sd, np.array([0.1, 0.4, 0.9])).tolist()\n"
        "print(q, crps_of(mean, sd, np.ones(1)).tolist(), crps_of(mean[:, :1], sd[:, :1], np.ones(1)).tolist())"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", code]
    plain = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    mean, sd = np.array([[0.0, 1.0, -3.0, 1e20]]), np.array([[1.0, 0.0, 0.5, 1e10]])
    compiled = np.concatenate(
        [
            quantiles_of(mean, sd, np.array([0.1, 0.4, 0.9])).ravel(),
            crps_of(mean, sd, np.ones(1)),
            crps_of(mean[:, :1], sd[:, :1], np.ones(1)),
        ]
    )
    numbers = np.array([float(word) for word in plain.replace("[", " ").replace("]", " ").replace(",", " ").split()])
    np.testing.assert_allclose(numbers, compiled, rtol=1e-10)
