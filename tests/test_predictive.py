"""Predictions at new rows agree with the exact engine, which has them in its partition."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.stats import norm

from tests import fits
from tests.checks import check_p_value
from widestable.exact import posterior_predictive

# Share of probability that keeping 100 atoms one by one, and the rest as their mean, may move.
TRUNCATION = 0.01
PROBABILITIES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def data_on_a_line() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One jump; new rows beyond the data, between points, on a point's other side of the jump."""
    rng = np.random.default_rng(0)
    x = np.linspace(-2.0, 2.0, 10)
    return x[:, None], 4.0 * (x > 0.3) + 0.5 * rng.standard_normal(10), np.array([[-3.0], [-0.7], [0.3], [1.0], [6.0]])


def data_in_the_plane() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One jump and few points: at one of the new rows the posterior has two modes."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 2))
    return X, 4.0 * (X[:, 0] > 0.3) + 0.5 * rng.standard_normal(12), rng.standard_normal((4, 2))


def check_shares(drawn: np.ndarray, quantiles: np.ndarray, own_ess: float) -> None:
    """Draws (chains, draws, rows) fall below the quantiles as often as these say, given both Monte Carlo errors."""
    below = (drawn[..., None] <= quantiles).astype(float)
    share = below.mean(axis=(0, 1))
    ess = array_stats.ess(below, chain_axis=0, draw_axis=1, method="mean")
    error = np.sqrt(PROBABILITIES * (1.0 - PROBABILITIES) * (1.0 / ess + 1.0 / own_ess))
    z = np.maximum(np.abs(share - PROBABILITIES) - TRUNCATION, 0.0) / error
    check_p_value(2.0 * norm.sf(z.max()), f"shares below our quantiles: {share.round(3)}", z.size)


@pytest.mark.statistical
@pytest.mark.parametrize("data", [data_on_a_line, data_in_the_plane])
def test_quantiles_at_new_rows_are_those_of_the_exact_engine(data) -> None:
    X, y, X_new = data()
    fixed = {"alpha": 1.1, "nu": 1.0}
    model = fits.fit(X, y, **fixed, standardize=False, n_atoms=100, n_chains=4, n_sweeps=4000)
    settings = {"sampler": "gibbs", "iterations": 3000, "burn_in": 300}
    exact = [posterior_predictive(X, y, X_new, **fixed, **settings, random_state=s) for s in range(4)]
    own_ess = model.posterior_.convergence().ess.min()
    of_f = model.predict_quantiles(X_new, PROBABILITIES, noise=False)
    check_shares(np.stack([draws.f_new for draws in exact]), of_f, own_ess)
    of_y = model.predict_quantiles(X_new, PROBABILITIES)
    check_shares(np.stack([draws.y_new for draws in exact]), of_y, own_ess)
    # The check can fail: noise is seen where there should be none.
    with pytest.raises(AssertionError, match="shares below our quantiles"):
        check_shares(np.stack([draws.y_new for draws in exact]), of_f, own_ess)
