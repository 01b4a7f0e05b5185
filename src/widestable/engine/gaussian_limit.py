"""The Gaussian limit (alpha = 2) given the law of the hyperplanes: its log posterior and the gradient of it.

`y ~ N(0, nu K + sigma2 W^-1)` with K the arcsine kernel of the rows `S z` (`law`) and W the weights of the rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from .._arcsine import fill_kernel_and_slope
from .._types import FloatArray, IntArray
from .law import (
    log_prior_log_relevance,
    log_prior_log_sharpness,
    slope_log_prior_log_relevance,
    slope_log_prior_log_sharpness,
)
from .priors import log_prior_log_sigma2

# Places in the vector of parameters, behind the d log relevances.
LOG_SHARPNESS, LOG_NU, LOG_SIGMA2 = -3, -2, -1
# What a covariance that cannot be factored counts as; finite, for the line search.
FAILED = -1e10


class Rows(NamedTuple):
    """The data, in scaled units: `TrainingData` has these numbers.

    Attributes
    ----------
    X : FloatArray, shape (n, columns)
        Distinct rows.
    y : FloatArray, shape (n,)
        Mean output of each row.
    weight : FloatArray, shape (n,)
        Number of observations of each row, or their total weight.
    n_extra : float
        Number of observations beyond one per row.
    ss_within : float
        Sum of squares of the outputs around the mean of their row.
    group : IntArray, shape (columns of X,)
        Which of the d relevances each column of X has.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray
    n_extra: float
    ss_within: float
    group: IntArray

    @property
    def d(self) -> int:
        """Number of relevances."""
        return int(self.group.max(initial=-1)) + 1


class Known(NamedTuple):
    """Values of the parameters that are fixed; None stands for one that is inferred.

    Attributes
    ----------
    log_relevance : FloatArray, shape (d,), or None
    log_sharpness : float or None
        Infinite for sign units.
    log_nu : float or None
    log_sigma2 : float or None
    """

    log_relevance: FloatArray | None = None
    log_sharpness: float | None = math.inf
    log_nu: float | None = None
    log_sigma2: float | None = None


class Scales(NamedTuple):
    """Scales of the priors.

    Attributes
    ----------
    relevance : float
        Standard deviation of log rho, the log length of the vector of relevances.
    log_nu : float
        Standard deviation of log(nu k), with k the mean of K(x, x) over the rows.
    log_sigma2_floor : float
        The prior of log sigma2 is truncated here.
    """

    relevance: float = 1.0
    log_nu: float = 1.5
    log_sigma2_floor: float = -math.inf


def log_posterior(theta: FloatArray, rows: Rows, known: Known, scales: Scales) -> tuple[float, FloatArray]:
    """Log posterior of the Gaussian limit, and its gradient; only inferred parameters have a prior.

    Parameters
    ----------
    theta : FloatArray, shape (d + 3,)
        Log relevances, log sharpness, log nu, log sigma2. Entries of the gradient for fixed ones mean nothing.
    rows : Rows
    known : Known
    scales : Scales

    Returns
    -------
    tuple of float and FloatArray, shape (d + 3,)
    """
    d = rows.d
    E, gap = rows_in_ball(rows.X, theta[rows.group], theta[LOG_SHARPNESS])
    K, cosine, slope = arcsine_and_slope(E, gap)
    gradient = np.zeros(d + 3)
    value, G = _log_likelihood(K, theta, rows, gradient)
    if known.log_nu is None and len(K) > 0:
        k = np.trace(K) / len(K)
        deviation = (theta[LOG_NU] + math.log(k)) / scales.log_nu
        value -= 0.5 * deviation**2
        gradient[LOG_NU] -= deviation / scales.log_nu
        G[np.diag_indices_from(G)] -= deviation / (scales.log_nu * len(K) * k)
    if known.log_sigma2 is None:
        value += log_prior_log_sigma2(theta[LOG_SIGMA2])
        gradient[LOG_SIGMA2] -= math.tanh(theta[LOG_SIGMA2])
    by_column, gradient[LOG_SHARPNESS] = pull_back(G, E, gap, cosine, slope)
    gradient[:d] = np.bincount(rows.group, by_column, d)
    if known.log_relevance is None:
        value += log_prior_log_relevance(theta[:d], scales.relevance)
        gradient[:d] += slope_log_prior_log_relevance(theta[:d], scales.relevance)
    if known.log_sharpness is None:
        value += log_prior_log_sharpness(theta[LOG_SHARPNESS])
        gradient[LOG_SHARPNESS] += slope_log_prior_log_sharpness(theta[LOG_SHARPNESS])
    return value, gradient


def _log_likelihood(K: FloatArray, theta: FloatArray, rows: Rows, gradient: FloatArray) -> tuple[float, FloatArray]:
    """log p(y | K, nu, sigma2) and its derivative in K; those in log nu and log sigma2 are written to `gradient`."""
    n = len(K)
    nu, sigma2 = math.exp(theta[LOG_NU]), math.exp(theta[LOG_SIGMA2])
    value = -0.5 * (rows.n_extra * (math.log(2.0 * math.pi) + theta[LOG_SIGMA2]) + rows.ss_within / sigma2)
    gradient[LOG_SIGMA2] = -0.5 * (rows.n_extra - rows.ss_within / sigma2)
    if n == 0:
        return value, K
    Q = nu * K
    Q[np.diag_indices(n)] += sigma2 / rows.weight
    L, failed = dpotrf(Q, lower=1)
    if failed:
        gradient[LOG_SIGMA2] = 0.0
        return FAILED, np.zeros_like(K)
    inverse, _ = dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    weighted_y = inverse @ rows.y
    value -= np.log(np.diag(L)).sum() + 0.5 * (rows.y @ weighted_y + n * math.log(2.0 * math.pi))
    G = 0.5 * (np.outer(weighted_y, weighted_y) - inverse)
    gradient[LOG_NU] = nu * np.sum(G * K)
    gradient[LOG_SIGMA2] += sigma2 * np.sum(np.diag(G) / rows.weight)
    return float(value), nu * G


def rows_in_ball(X: FloatArray, log_relevance: FloatArray, log_sharpness: float) -> tuple[FloatArray, FloatArray]:
    """`e = z / sqrt(|z|^2 + 1/(2 w^2))` with `z = (1, r x)`, and `1 - |e|^2`, for each row.

    Their inner products are the arguments of the arcsine kernel.
    """
    Z = np.hstack([np.ones((len(X), 1)), X * np.exp(log_relevance)])
    largest = np.abs(Z).max(axis=1)  # squares of large inputs would overflow
    Z /= largest[:, None]
    inside = 0.5 * (math.exp(-log_sharpness) / largest) ** 2
    norm2 = np.sum(Z**2, axis=1) + inside
    return Z / np.sqrt(norm2)[:, None], inside / norm2


def arcsine_and_slope(E: FloatArray, gap: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """K, its argument c, and the derivative of K in it, each of shape (n, n)."""
    K, cosine, slope = np.empty((3, len(E), len(E)))
    fill_kernel_and_slope(E, gap, np.ascontiguousarray(E.T), K, cosine, slope)
    return K, cosine, slope


def pull_back(
    G: FloatArray, E: FloatArray, gap: FloatArray, cosine: FloatArray, slope: FloatArray
) -> tuple[FloatArray, float]:
    """Gradient in the log relevances and the log sharpness of a function with derivative G in K.

    `dc_ab / dlog r_j = 2 e_aj e_bj - c_ab (e_aj^2 + e_bj^2)` and `dc_ab / dlog w = c_ab (gap_a + gap_b)`.
    """
    D = G * slope
    row_sums = np.einsum("ab,ab->a", D, cosine)
    inputs = E[:, 1:]
    by_relevance = 2.0 * (np.sum(inputs * (D @ inputs), axis=0) - row_sums @ inputs**2)
    return by_relevance, float(2.0 * row_sums @ gap)
