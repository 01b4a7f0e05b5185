from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import fits
from widestable.engine.chain import MOVES


def test_draws_have_a_chain_and_a_draw_axis_and_the_users_units() -> None:
    model = fits.line()
    posterior, scaling = model.posterior_, model.posterior_.data.scaling
    assert posterior.alpha.shape == posterior.nu.shape == posterior.sigma2.shape == (2, 40)
    assert posterior.f.shape == (2, 40, 14)
    np.testing.assert_allclose(posterior.nu[1], np.exp(posterior.chains[1].log_nu) * scaling.y_scale**2)
    np.testing.assert_allclose(posterior.sigma2[0], np.exp(posterior.chains[0].log_sigma2) * scaling.y_scale**2)
    assert 28.0 < np.median(posterior.f) < 37.0
    assert repr(posterior) == "Posterior(2 chains of 40 draws, 14 distinct rows, 1 input)"


def test_stored_function_values_follow_the_predictive_distribution() -> None:
    """Probability integral transform: each draw of f, given its own Gaussian, is standard normal."""
    posterior = fits.plane().posterior_
    mean, variance = fits.slow_components(posterior, posterior.data.X[posterior.model.rows])
    drawn = np.concatenate([draws.f for draws in posterior.chains]).T
    z = (drawn - mean) / np.sqrt(variance)
    # Draws are independent of each other given their Gaussians; rows of one draw are not: use one row per draw.
    one_per_draw = z[np.arange(z.shape[1]) % z.shape[0], np.arange(z.shape[1])]
    assert stats.kstest(one_per_draw, "norm").pvalue > 1e-4


# --- Ways out ------------------------------------------------------------------------------------------------


def test_arviz_gets_exactly_the_pinned_names_and_shapes() -> None:
    posterior = fits.line().posterior_
    tree = posterior.to_arviz()
    assert set(tree.posterior.data_vars) == {"alpha", "nu", "sigma2", "f"}
    assert tree.posterior["f"].dims == ("chain", "draw", "row")
    assert tree.posterior["nu"].dims == ("chain", "draw")
    np.testing.assert_array_equal(tree.posterior["f"], posterior.f)
    assert set(tree.sample_stats.data_vars) == {"lp", "n_atoms", "acceptance_rate"}
    assert tree.observed_data["y"].dims == ("observation",)
    assert tree.log_likelihood["y"].dims == tree.posterior_predictive["y"].dims == ("chain", "draw", "observation")


def test_arviz_names_the_inputs_of_the_relevances() -> None:
    posterior = fits.relevant().posterior_
    tree = posterior.to_arviz()
    assert set(tree.posterior.data_vars) == {"alpha", "nu", "sigma2", "sharpness", "relevance", "f"}
    assert tree.posterior["relevance"].dims == ("chain", "draw", "input")
    assert tree.posterior["input"].values.tolist() == ["x1", "x2"]
    np.testing.assert_array_equal(tree.posterior["relevance"], posterior.relevance)


def test_acceptance_rates_are_those_of_the_tallies() -> None:
    posterior = fits.relevant().posterior_
    rates = posterior.acceptance()
    tally = posterior.sample.states[1].tally[MOVES.index("law, one number")]
    assert 0 < tally[1] <= tally[0]
    assert rates.loc["law, one number", 1] == tally[1] / tally[0]
    assert "reflected pair" not in rates.index  # smooth units are not reflected in pairs
    in_arviz = posterior.to_arviz().sample_stats["acceptance_rate"]
    assert in_arviz.dims == ("chain", "move")
    np.testing.assert_array_equal(in_arviz.sel(move="sigma2"), rates.loc["sigma2"])
    in_summary = posterior.summary().loc["move: sigma2", "accepted"]
    assert in_summary == pytest.approx(rates.loc["sigma2"].mean())


def test_arviz_leaves_out_what_was_fixed() -> None:
    posterior = fits.fit(*fits.line_data(), alpha=1.5, sigma2=0.2).posterior_
    assert set(posterior.to_arviz().posterior.data_vars) == {"nu", "f"}
    assert posterior.inferred == ("nu",)


def test_at_most_500_rows_are_kept_evenly_spread() -> None:
    X = np.linspace(0.0, 1.0, 1003)[:, None]
    posterior = fits.fit(X, np.sin(6.0 * X[:, 0]), alpha=2.0, nu=1.0, sigma2=0.1, n_chains=1, n_sweeps=12).posterior_
    rows = np.asarray(posterior.to_arviz().posterior["row"])
    assert rows.size == 500
    assert rows[0] == 0
    assert rows[-1] == 1002
    assert np.diff(rows).max() <= 3


def test_summary_shows_medians_intervals_and_convergence() -> None:
    posterior = fits.fit(*fits.line_data(), nu=2.0).posterior_
    table = posterior.summary()
    parameters = ["alpha", "nu", "sigma2", "sharpness", "relevance of x1", "f (worst)"]
    assert list(table.index) == [*parameters, *(f"move: {move}" for move in posterior.acceptance().index)]
    assert list(table.columns) == ["median", "5%", "95%", "rhat", "ess", "accepted"]
    assert table.loc["alpha", "median"] == np.median(posterior.alpha)
    assert np.isnan(table.loc["nu", "rhat"])  # fixed
    found = posterior.convergence()
    assert table.loc["alpha", "rhat"] == found.rhat[0]
    assert table.loc["f (worst)", "ess"] == found.ess[2:].min()
    assert posterior.names[:3] == ["alpha", "sigma2", "f at row 0 (x1 = 98)"]
    # An inferred law is part of what convergence is judged by.
    posterior = fits.relevant().posterior_
    assert posterior.names[3:6] == ["sharpness", "relevance of x1", "relevance of x2"]
    assert posterior.summary().loc["relevance of x2", "rhat"] == posterior.convergence().rhat[5]
