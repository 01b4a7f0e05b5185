"""What both samplers share: cells grouped by training pattern, the data, and the marginal likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from .._jit import kernel
from .._types import FloatArray
from ..inputs import TrainingData
from ..stable import draw_log_positive
from .cells import Partition

# Largest v times total precision of the data that float64 can follow; the prior is cut off there.
SIGNAL_TO_NOISE = 1e13


class Cells(NamedTuple):
    """Cells in the order of their training patterns."""

    signs: NDArray[np.int8]  # (L, n + m) sides of training and new rows; the first training row is positive
    log_size: FloatArray  # (L,) log(nu q**(2/alpha)), so that v = exp(log_size + log_s)
    patterns: FloatArray  # (U, n) distinct training patterns
    starts: NDArray[np.int64]  # (U + 1,) group g holds cells starts[g] .. starts[g + 1] - 1


class Target(NamedTuple):
    """The posterior of the scales s and of sigma2, given data at n distinct rows."""

    cells: Cells
    alpha: float
    y: FloatArray  # (n,) mean output at each distinct row
    weight: FloatArray  # (n,) number of observations at each distinct row
    n_observations: float
    ss_within: float  # sum of squares within repeated rows
    sigma2: float | None  # None: half-Cauchy(0, 1) prior on sigma2


def build_target(partition: Partition, data: TrainingData, *, alpha: float, nu: float, sigma2: float | None) -> Target:
    """Return the posterior on a partition whose first columns are the given training rows, repeats included.

    Parameters
    ----------
    partition : Partition
        Partition of the training rows as given, followed by the new rows.
    data : TrainingData
        The training data, not standardised.
    alpha : float
        Stability index in (0, 2].
    nu : float
        Squared scale of the prior.
    sigma2 : float or None
        Noise variance; None infers it.

    Returns
    -------
    Target
        The posterior.
    """
    _, first = np.unique(data.index, return_index=True)
    columns = np.concatenate([first, np.arange(len(data.index), partition.signs.shape[1])])
    return Target(
        cells=group_cells(partition.signs[:, columns], partition.q, len(first), alpha, nu),
        alpha=alpha,
        y=data.y,
        weight=data.weight,
        n_observations=data.n_observations,
        ss_within=data.ss_within,
        sigma2=sigma2,
    )


def group_cells(signs: NDArray[np.int8], q: FloatArray, n_train: int, alpha: float, nu: float) -> Cells:
    """Sort cells by how they split the first `n_train` columns, orientation aside.

    Cells whose probability underflows to zero are left out.
    """
    signs, q = signs[q > 0.0], q[q > 0.0]
    signs = signs * signs[:, :1]
    packed = np.packbits(signs[:, :n_train] > 0, axis=1)
    _, first, group, sizes = np.unique(packed, axis=0, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(group.ravel(), kind="stable")
    return Cells(
        signs=np.ascontiguousarray(signs[order]),
        log_size=np.log(nu) + 2.0 / alpha * np.log(q[order]),
        patterns=signs[first, :n_train].astype(np.float64),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
    )


def log_limit(target: Target, sigma2: float) -> float:
    """Return the logarithm of the largest v that the samplers visit at this noise."""
    return float(np.log(SIGNAL_TO_NOISE * sigma2 / target.n_observations))


def covariance(target: Target, log_s: FloatArray, without: int | None = None) -> FloatArray:
    """Return `sum_l v_l tau_l tau_l'` at the training rows, from scratch; one group may be left out."""
    cells = target.cells
    v = np.add.reduceat(np.exp(cells.log_size + log_s), cells.starts[:-1])
    if without is not None:
        v[without] = 0.0
    return np.asarray((cells.patterns.T * v) @ cells.patterns)


def factor(target: Target, K: FloatArray, sigma2: float) -> FloatArray | None:
    """Return the lower Cholesky factor of `Q = K + sigma2 W**-1`, or None when Q is numerically singular."""
    Q = K + np.diag(sigma2 / target.weight)
    lower, info = lapack.dpotrf(Q, lower=1)
    return np.asarray(lower) if info == 0 else None


def factor_or_raise(target: Target, K: FloatArray, sigma2: float) -> FloatArray:
    """Return the lower Cholesky factor of Q; raise when Q is singular, for a chain with nowhere else to go."""
    lower = factor(target, K, sigma2)
    if lower is None:
        raise ValueError(
            f"The covariance of y is singular to machine precision at sigma2 = {sigma2:.3g}: nu, or y, is too large "
            "for this noise. Rescale y, pass a smaller nu, or raise sigma2."
        )
    return lower


def log_marginal(target: Target, lower: FloatArray, sigma2: float) -> float:
    """Return log p(y | s, sigma2) up to a constant; repeated rows enter through their mean and their spread."""
    half, _ = lapack.dtrtrs(lower, target.y, lower=1)
    n_repeats = target.n_observations - len(target.y)
    return float(
        -np.log(np.diag(lower)).sum()
        - 0.5 * half @ half
        - 0.5 * n_repeats * np.log(sigma2)
        - 0.5 * target.ss_within / sigma2
    )


def initial_scales(target: Target, sigma2: float, rng: np.random.Generator) -> FloatArray:
    """Draw log s from the prior, with the largest brought down to the size of y and to what float64 can follow."""
    log_size = target.cells.log_size
    log_s = draw_log_positive(target.alpha, len(log_size), rng)
    if target.alpha == 2.0:
        return log_s
    size_of_y = np.log(np.maximum(sigma2, np.mean(target.y**2)))
    return np.asarray(np.minimum(log_s, min(size_of_y, log_limit(target, sigma2)) - log_size))


def draw_coefficients(
    target: Target, log_s: FloatArray, lower: FloatArray, sigma2: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw `z = beta / sqrt(v)`, shape (L,), and f, shape (n + m,), jointly given the scales (Proposition 2).

    Coefficients and noise are drawn from the prior, and `V T' Q**-1 (y - T beta0 - eps0)` is added.
    """
    cells = target.cells
    root_v = np.exp(0.5 * (cells.log_size + log_s))
    z = rng.standard_normal(len(log_s))
    f0 = np.add.reduceat(root_v * z, cells.starts[:-1]) @ cells.patterns
    noise = np.sqrt(sigma2 / target.weight) * rng.standard_normal(len(target.y))
    residual, _ = lapack.dpotrs(lower, target.y - f0 - noise, lower=1)
    z += root_v * np.repeat(cells.patterns @ residual, np.diff(cells.starts))
    return z, np.asarray(signed_sums(cells.signs, z * root_v))


@kernel
def signed_sums(signs, beta):
    """Return f_i = sum_l beta_l tau_l(x_i) for every column of the table of signs."""
    f = np.zeros(signs.shape[1])
    for cell in range(signs.shape[0]):
        b = beta[cell]
        for i in range(signs.shape[1]):
            f[i] += b * signs[cell, i]
    return f
