"""Change points of a series by four methods: (y, seed, **settings) -> indices of first observations after a change."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from studies.problems import Floats
from studies.sampling import fit

# Half of the draws or more have the change.
LIKELY = 0.5
# The median absolute deviation of a normal distribution with s.d. 1.
MAD_OF_NORMAL = 0.6745


def ours(y: Floats, seed: int, **settings: Any) -> list[int]:
    """Return where the jumps are that at least half of the draws have; pairs that look like outliers are left out.

    Parameters
    ----------
    y : ndarray of shape (n,)
    seed : int
    **settings : Any
        Of StableRegressor.
    """
    time = np.arange(len(y), dtype=float)
    jumps = fit(time[:, None], y, seed, **settings).jumps().likely
    places = [jump.location for jump in jumps if not jump.possible_outliers]
    return sorted({int(np.searchsorted(time, place)) for place in places})


def pelt(y: Floats, seed: int) -> list[int]:
    """Return the optimal changes of the mean by ruptures, with the penalty `2 sigma**2 log n` of BIC.

    The noise variance is estimated from differences of neighbours: by their median absolute deviation, which changes
    and outliers do not move.
    """
    import ruptures

    steps = np.diff(y)
    sigma = np.median(np.abs(steps - np.median(steps))) / (MAD_OF_NORMAL * np.sqrt(2.0))
    search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(y)
    *points, _ = search.predict(pen=2.0 * sigma**2 * np.log(len(y)))
    return [int(point) for point in points]


def beast(y: Floats, seed: int, *, period: int | None = None, outliers: bool = False) -> list[int]:
    """Return the change points of the trend that Rbeast gives a probability of at least a half.

    Parameters
    ----------
    y : ndarray of shape (n,)
    seed : int
    period : int or None
        Observations per season; None for series without one.
    outliers : bool
        Whether the model has outliers.
    """
    import Rbeast

    how: dict[str, Any] = {"season": "none"} if period is None else {"season": "harmonic", "period": float(period)}
    silent = {"quiet": True, "print_progress": False, "print_param": False, "print_warning": False}
    found = Rbeast.beast(y, mcmc_seed=seed + 1, hasOutlier=outliers, **how, **silent)
    places, probability = np.ravel(found.trend.cp), np.ravel(found.trend.cpPr)
    # Times count from 1. There are as many places as there may be changes; those that are not there are NaN.
    return sorted(int(place) - 1 for place, p in zip(places, probability, strict=True) if p >= LIKELY)


def online(y: Floats, seed: int, *, expected_length: float) -> list[int]:
    """Return the most probable segmentation in the model of Adams and MacKay (2007).

    A change comes at each time with probability `1 / expected_length`. Between changes observations are normal with a
    mean and variance of their own, a normal-inverse-gamma prior with all parameters 1 on the standardised series and
    mean 0. Like the probabilities of run lengths, the best segmentation so far is updated with each observation.

    Parameters
    ----------
    y : ndarray of shape (n,)
    seed : int
        Not used: nothing is random.
    expected_length : float
        Of a segment.
    """
    z = (y - y.mean()) / (y.std() or 1.0)
    n = len(z)
    go_on, change = np.log1p(-1.0 / expected_length), -np.log(expected_length)
    # For each start of the segment under way: its posterior parameters, and the log density of the best path.
    mean, kappa, alpha, beta = np.zeros(n), np.ones(n), np.ones(n), np.ones(n)
    path = np.full(n, -np.inf)
    starts = np.zeros(n, dtype=int)
    best = 0.0
    for t, value in enumerate(z):
        now = slice(0, t + 1)
        path[:t] += go_on
        path[t] = best + (change if t else 0.0)
        path[now] += _log_student(value, mean[now], kappa[now], alpha[now], beta[now])
        starts[t], best = int(np.argmax(path[now])), float(np.max(path[now]))
        beta[now] += 0.5 * kappa[now] * (value - mean[now]) ** 2 / (kappa[now] + 1.0)
        mean[now] = (kappa[now] * mean[now] + value) / (kappa[now] + 1.0)
        kappa[now] += 1.0
        alpha[now] += 0.5
    points, end = [], n
    while (start := int(starts[end - 1])) > 0:
        points.append(start)
        end = start
    return points[::-1]


def _log_student(value: float, mean: Floats, kappa: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Return the log predictive density of the next observation, Student's t with 2 alpha degrees of freedom."""
    scale2 = beta * (kappa + 1.0) / (alpha * kappa)
    constant = gammaln(alpha + 0.5) - gammaln(alpha) - 0.5 * np.log(2.0 * np.pi * alpha * scale2)
    return np.asarray(constant - (alpha + 0.5) * np.log1p((value - mean) ** 2 / (2.0 * alpha * scale2)))
