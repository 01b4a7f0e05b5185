"""Noise with outliers, from fit to files and predictions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.checks import check_cdf
from tests.fits import fit, line, slow_quantile
from widestable import StableRegressor
from widestable.engine.watched import quantities
from widestable.predict.components import components, observed

ROWS = [12, 40]


def data() -> tuple[np.ndarray, np.ndarray]:
    """A jump, and two outliers of 12 and 40 standard deviations."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 10.0, 60)
    y = 3.0 * (x > 6.0) + 0.5 * rng.standard_normal(60)
    y[ROWS] += [6.0, -20.0]
    return x[:, None], y


@cache
def outliers() -> StableRegressor:
    return fit(*data(), noise="outliers", n_sweeps=900)


def test_outliers_are_found_and_are_no_jumps() -> None:
    model = outliers()
    probability = model.posterior_.outlier_probability
    assert probability[ROWS].min() > 0.95
    assert np.delete(probability, ROWS).max() < 0.5
    (jump,) = (jump for jump in model.jumps() if jump.probability > 0.8)
    assert jump.size == pytest.approx(3.0, abs=0.7)


def test_convergence_is_judged_by_the_number_of_outliers_too() -> None:
    posterior = outliers().posterior_
    place = posterior.names.index("number of outliers")
    assert posterior.names[place + 1].startswith("f at row ")
    watched = quantities(posterior.chains, posterior.model)
    assert watched.shape[2] == len(posterior.names)
    np.testing.assert_array_equal(watched[:, :, place], posterior.n_outliers)
    assert posterior.n_outliers.sum() == sum(draws.spike.size for draws in posterior.chains) > 0
    row = posterior.summary().loc["number of outliers"]
    assert row["median"] == np.median(posterior.n_outliers)
    assert (row["rhat"], row["ess"]) == (posterior.convergence().rhat[place], posterior.convergence().ess[place])
    # With normal noise there is nothing to watch.
    posterior = line().posterior_
    assert "number of outliers" not in [*posterior.names, *posterior.summary().index]
    assert quantities(posterior.chains, posterior.model).shape[2] == len(posterior.names)
    assert not posterior.n_outliers.any()


@pytest.mark.parametrize(("changed", "has_converged"), [((), True), ((0,), False)])
def test_a_number_of_outliers_that_never_changes_is_no_error(changed: tuple[int, ...], has_converged: bool) -> None:
    """Every draw has two outliers, or a third in one of the chains only."""
    posterior = outliers().posterior_
    chains = []
    for c, draws in enumerate(posterior.chains):
        n = 3 if c in changed else 2
        n_spikes, spike = np.full(len(draws), n), np.tile(np.arange(n), len(draws))
        values = np.zeros(spike.size)
        chains.append(replace(draws, n_spikes=n_spikes, spike=spike, spike_log_c=values, spike_size=values))
    posterior = replace(posterior, sample=replace(posterior.sample, chains=tuple(chains)))
    row = posterior.summary().loc["number of outliers"]
    assert (row["rhat"] == 1.0) == has_converged
    assert (row["rhat"] > 1.5) != has_converged
    assert np.isfinite(row["ess"])


def test_rows_keep_their_place() -> None:
    X, y = data()
    order = np.random.default_rng(1).permutation(60)
    model = fit(np.vstack([X[order], [[3.0]]]), np.append(y[order], 1e6), [1.0] * 60 + [0.0], noise="outliers")
    probability = model.posterior_.outlier_probability
    assert np.isnan(probability[60])
    assert set(order[np.flatnonzero(probability[:60] > 0.9)]) >= set(ROWS)


def test_spikes_and_f_make_up_the_data() -> None:
    """What a draw leaves of an outlier is noise."""
    posterior = outliers().posterior_
    for draws in posterior.chains:
        of_draw = np.repeat(np.arange(len(draws)), draws.n_spikes)
        size = np.zeros(draws.f.shape)
        size[of_draw, posterior.data.obs_row[draws.spike]] = draws.spike_size
        left = (posterior.data.y - draws.f - size) / np.exp(0.5 * draws.log_sigma2)[:, None]
        assert np.abs(left).max() < 6.0
        assert np.abs(left).mean() == pytest.approx(np.sqrt(2.0 / np.pi), rel=0.3)


def test_predictions_are_one_mixture(rng: np.random.Generator) -> None:
    posterior = outliers().posterior_
    X = np.array([[2.2], [6.0]])
    rows = posterior.scale_rows(X)
    mean, sd, weight = observed(posterior._source, rows)
    scaling = posterior.data.scaling
    mean, sd = scaling.y_mean + scaling.y_scale * mean, scaling.y_scale * sd
    assert weight.sum() == pytest.approx(components(posterior._source, rows, True)[0].shape[1])

    def cdf(x: np.ndarray, r: int) -> np.ndarray:
        return stats.norm.cdf(np.atleast_1d(x)[:, None], mean[r], sd[r]) @ weight / weight.sum()

    q = np.array([0.002, 0.05, 0.5, 0.9, 0.999])
    found = posterior.quantiles(X, q)
    for r in range(2):
        np.testing.assert_allclose(cdf(found[r], r), q, atol=1e-12)
        density = stats.norm.pdf(30.0, mean[r], sd[r]) @ weight / weight.sum()
        assert posterior.log_score(X[r : r + 1], [30.0])[0] == pytest.approx(np.log(density))
    # The integral of F^2 below y and of (1 - F)^2 above it, on nodes that are dense near the draws and sparse far away.
    far = np.arcsinh(20.0 * (np.abs(mean).max() + 9.0 * sd.max()))
    grid = np.sort(np.append(np.sinh(np.linspace(-far, far, 20_001)) / 20.0, 30.0))
    F = np.concatenate([cdf(part, 0) for part in np.array_split(grid, 10)])
    below, above = grid <= 30.0, grid >= 30.0
    expected = np.trapezoid(F[below] ** 2, grid[below]) + np.trapezoid((1.0 - F[above]) ** 2, grid[above])
    assert posterior.crps(X[:1], [30.0])[0] == pytest.approx(expected, rel=1e-4)
    draws = posterior.sample_y(X[:1], 4000, random_state=rng)[0]
    check_cdf(draws, lambda x: cdf(x, 0))
    assert slow_quantile(mean[0, : len(weight) - 128], sd[0, : len(weight) - 128], 0.999) < found[0, -1]


@pytest.mark.filterwarnings("ignore:The chains have not converged")
def test_files_keep_outliers(tmp_path: Path) -> None:
    model = fit(*data(), noise="outliers", n_sweeps=60)
    model.save(tmp_path / "model")
    again = StableRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.posterior_.outlier_probability, model.posterior_.outlier_probability)
    X = np.array([[2.0], [9.0]])
    assert np.array_equal(again.predict_interval(X), model.predict_interval(X))
    assert np.array_equal(again.continue_sampling(40).predict(X), model.continue_sampling(40).predict(X))
    assert again.posterior_.chains[0].spike.size > 0


@pytest.mark.parametrize("y", [np.ones(12), np.append(np.ones(11), 5.0)])
def test_constant_outputs_are_no_error(y: np.ndarray) -> None:
    model = fit(np.arange(12.0)[:, None], y, noise="outliers", n_sweeps=40)
    assert np.isfinite(model.predict([[3.0]])).all()


def test_smooth_units_with_inferred_law() -> None:
    model = fit(*data(), noise="outliers", sharpness=None, relevance=None, n_sweeps=120)
    assert model.posterior_.outlier_probability[ROWS].min() > 0.9


def test_outliers_are_listed_by_given_row() -> None:
    model = outliers()
    X, y = data()
    found = model.outliers()
    probability = model.posterior_.outlier_probability
    assert [item.row for item in found] == np.flatnonzero(probability >= 0.5).tolist()
    assert len(found) > 0
    rows = [item.row for item in found]
    np.testing.assert_allclose([item.residual for item in found], y[rows] - model.predict(X[rows]))
    # What is beyond the noise is most of the residual.
    assert all(abs(item.size - item.residual) < 4.0 * model.sigma_ for item in found)
    frame = found.to_frame()
    assert list(frame.columns) == ["row", "probability", "residual", "size"]
    assert str(found).startswith(f"{len(found)} of {len(y)} rows are outliers with probability 0.5 or more")
    assert len(model.outliers(0.0)) == len(y)
    assert np.isnan(model.outliers(0.0)[int(np.argmin(probability))].size) or probability.min() > 0.0


def test_normal_noise_knows_no_outliers() -> None:
    found = line().outliers()
    assert len(found) == 0
    assert "fit with noise=" in str(found)


@pytest.mark.parametrize("probability", [-0.1, 1.1, "much", None])
def test_a_wrong_probability_is_refused(probability: object) -> None:
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        line().outliers(probability)
