"""Observations far from their neighbours, from which chains start as outliers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from .._types import FloatArray, IntArray
from .chain import Spikes, no_spikes
from .model import Model

# Observations in a neighbourhood, its centre included: at a step or on a narrow plateau most are on its own side.
N_NEIGHBOURS = 9
# Residuals beyond so many robust standard deviations are outliers at the start.
FAR = 5.0
# Median absolute deviation of a standard normal variable.
MAD_OF_NORMAL = 0.6745


class Screen(NamedTuple):
    """Observations that look like outliers."""

    observation: IntArray  # (outliers,)
    residual: FloatArray  # (outliers,) from the median of the neighbourhood
    log_variance: float  # robust, of all residuals


def find_outliers(model: Model) -> Screen:
    """Compare each observation with the median of its neighbourhood; those farthest off first.

    Nothing is found where the noise is normal by assumption. Chains are free to leave where they start.

    Parameters
    ----------
    model : Model
        The observations.

    Returns
    -------
    Screen
    """
    n = model.obs_row.size
    if not model.has_spikes or n < N_NEIGHBOURS:
        return Screen(np.empty(0, np.int64), np.empty(0), 0.0)
    X = model.X[model.obs_row]
    _, near = cKDTree(X).query(X, k=N_NEIGHBOURS)
    residual = model.obs_y - np.median(model.obs_y[near], axis=1)
    sd = float(np.median(np.abs(residual))) / MAD_OF_NORMAL
    order = np.argsort(-np.abs(residual), kind="stable")[: model.max_spikes]
    found = order[np.abs(residual[order]) > FAR * sd] if sd > 0.0 else order[:0]
    return Screen(found.astype(np.int64), residual[found], 2.0 * math.log(sd) if sd > 0.0 else 0.0)


def spikes_at(model: Model, screen: Screen, log_sigma2: float) -> Spikes:
    """Spikes of the outliers of a screen, with the c on the grid that is nearest to their size."""
    if screen.observation.size == 0:
        return no_spikes()
    log_c = 2.0 * np.log(np.abs(screen.residual)) - log_sigma2
    nearest = np.abs(log_c[:, None] - model.spike_log_c).argmin(axis=1)
    return Spikes(screen.observation.copy(), model.spike_log_c[nearest])
