"""Each observation by itself: its likelihood given a draw, and what a draw would have it be.

An *observation* is a distinct pair (x, y) with its total weight w. Given f, sigma2 and the probability p of an outlier,
observations are independent: the spikes of outliers are integrated out. Weight w means w copies of the pair,
each with noise of variance sigma2, which share one spike. Where the noise variance of each observation is known, the
weight is a precision instead: one observation with noise of variance sigma2 / w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._types import FloatArray, IntArray
from .inputs import unscale_outputs

if TYPE_CHECKING:
    from .posterior import Posterior


def stored_observations(posterior: Posterior) -> IntArray:
    """The observations at rows where f is stored: all, unless the distinct rows are more than 500."""
    return np.flatnonzero(np.isin(posterior.data.obs_row, posterior.model.rows))


def observed(posterior: Posterior) -> FloatArray:
    """Outputs of the stored observations, shape (observations,)."""
    return unscale_outputs(posterior.data.obs_y[stored_observations(posterior)], posterior.data.scaling)


def given_rows(posterior: Posterior) -> IntArray:
    """For each stored observation, the first row given to `fit` that has it, counting from 0."""
    observation = posterior.data.observation
    found, first = np.unique(observation, return_index=True)
    return np.asarray(first[found >= 0][stored_observations(posterior)], dtype=np.int64)


def log_likelihood(posterior: Posterior) -> FloatArray:
    """Log density of each stored observation given each draw, shape (chains, draws, observations)."""
    data, model, chosen = posterior.data, posterior.model, stored_observations(posterior)
    w, sigma2 = data.obs_weight[chosen], posterior.sigma2[:, :, None]
    squares = (observed(posterior) - _function(posterior)) ** 2 / sigma2
    n_copies = w if data.noise_variance is None else np.ones(w.size)
    found = -0.5 * n_copies * np.log(2.0 * np.pi * sigma2) - 0.5 * w * squares
    if data.noise_variance is not None:
        found += 0.5 * np.log(w)
    if not model.has_spikes:
        return np.asarray(found)
    p = posterior._stack("p_outlier")[:, :, None]
    total = found + np.log1p(-p)
    for c in np.exp(model.spike_log_c):
        # A spike of variance c sigma2, integrated out, takes the place of w by w / (1 + w c).
        shrink = 1.0 + w * c
        outlying = found + 0.5 * w * squares * (1.0 - 1.0 / shrink) - 0.5 * np.log(shrink)
        total = np.logaddexp(total, outlying + np.log(p / model.spike_log_c.size))
    return np.asarray(total)


def predictive(posterior: Posterior, rng: np.random.Generator) -> FloatArray:
    """A new observation in place of each stored one, shape (chains, draws, observations)."""
    data, model = posterior.data, posterior.model
    f, sigma2 = _function(posterior), posterior.sigma2[:, :, None]
    variance = np.ones(f.shape)
    if data.noise_variance is not None:
        variance /= data.obs_weight[stored_observations(posterior)]
    if model.has_spikes:
        is_outlier = rng.random(f.shape) < posterior._stack("p_outlier")[:, :, None]
        variance[is_outlier] += np.exp(rng.choice(model.spike_log_c, int(is_outlier.sum())))
    return np.asarray(f + np.sqrt(sigma2 * variance) * rng.standard_normal(f.shape))


def _function(posterior: Posterior) -> FloatArray:
    """f at each stored observation, shape (chains, draws, observations)."""
    place = np.searchsorted(posterior.model.rows, posterior.data.obs_row[stored_observations(posterior)])
    return posterior.f[:, :, place]
