"""The network and its limit: kernel, sign patterns, and draws from the prior.

A network is `f(x) = sum_j w_j sign(h_j . z)` with `z = (1, x)`, `h_j ~ N(0, I)` and heavy-tailed `w_j`. Its
limit is `sum_k sqrt(v_k) G_k sign(h_k . z)` over the atoms of a Poisson process (its measure is in `stable`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from widestable.stable import draw_log_positive, log_remainder, log_scale_of_mark

__all__ = [
    "add_constant",
    "arcsine_kernel",
    "draw_hyperplanes",
    "draw_network",
    "draw_process",
    "sign_patterns",
]

Floats = NDArray[np.float64]
Weights = Literal["stable", "student"]

# Hidden units times rows held in memory at once (32 MB of float64).
BLOCK = 1 << 22


def add_constant(X: ArrayLike) -> Floats:
    """Rows `z = (1, x)`, shape (n, d + 1).

    Examples
    --------
    >>> add_constant([[0.5], [2.0]])
    array([[1. , 0.5],
           [1. , 2. ]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, columns), got shape {X.shape}: reshape it.")
    return np.hstack([np.ones((len(X), 1)), X])


def arcsine_kernel(X: ArrayLike, X2: ArrayLike | None = None) -> Floats:
    """`K0(x, x') = E[sign(h.z) sign(h.z')] = (2/pi) arcsin(z.z' / (|z| |z'|))`, shape (n, n2).

    Computed as `1 - (2/pi) angle(z, z')` with the angle from chords of the unit sphere: exact on the
    diagonal, accurate for rows that nearly coincide, and each entry depends on its two rows only, to the last
    bit.

    Examples
    --------
    >>> arcsine_kernel([[-1.0], [1.0]])  # (1, -1) and (1, 1) are orthogonal
    array([[1., 0.],
           [0., 1.]])
    """
    E = _unit_rows(X)
    E2 = E if X2 is None else _unit_rows(X2)
    apart2, along2 = np.zeros((2, len(E), len(E2)))
    for column, column2 in zip(E.T, E2.T, strict=True):
        apart2 += np.subtract.outer(column, column2) ** 2
        along2 += np.add.outer(column, column2) ** 2
    return np.asarray(1.0 - (4.0 / np.pi) * np.arctan2(np.sqrt(apart2), np.sqrt(along2)))


def _unit_rows(X: ArrayLike) -> Floats:
    Z = add_constant(X)
    Z /= np.abs(Z).max(axis=1, keepdims=True)  # squares of large inputs would overflow
    return np.asarray(Z / np.sqrt((Z**2).sum(axis=1, keepdims=True)))


def draw_hyperplanes(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Draws `h ~ N(0, I)` in d + 1 dimensions, shape (n, d + 1)."""
    return rng.standard_normal((n, d + 1))


def sign_patterns(hyperplanes: ArrayLike, X: ArrayLike) -> NDArray[np.int8]:
    """Which side of each hyperplane each row is on: +1 where `h . (1, x) >= 0`, otherwise -1.

    Parameters
    ----------
    hyperplanes : shape (..., d + 1).
    X : shape (n, d).

    Returns
    -------
    Signs, shape (..., n).

    Examples
    --------
    >>> sign_patterns([[-1.0, 1.0], [0.0, -2.0]], [[0.0], [1.0], [2.0]])
    array([[-1,  1,  1],
           [ 1, -1, -1]], dtype=int8)
    """
    side = np.asarray(hyperplanes, dtype=np.float64) @ add_constant(X).T
    return np.where(side >= 0.0, np.int8(1), np.int8(-1))


def draw_network(
    X: ArrayLike,
    width: int,
    *,
    alpha: float,
    nu: float,
    rng: np.random.Generator,
    weights: Weights = "stable",
    size: int = 1,
) -> Floats:
    """Prior draws of a network with `width` hidden units at the rows of X, shape (size, n).

    Output weights are `sqrt(nu s_j) * width**(-1/alpha) * G_j` with s_j positive stable, which makes them
    symmetric stable with scale `sqrt(nu/2) * width**(-1/alpha)`, or with s_j inverse gamma, which makes them
    Student-t with alpha degrees of freedom, scaled to reach the same limit as the width grows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draw_network([[-1.0], [0.0], [1.0]], 1000, alpha=1.0, nu=1.0, rng=rng, size=5).shape
    (5, 3)
    """
    X = np.asarray(X, dtype=np.float64)
    n_units = max(1, BLOCK // (len(X) + X.shape[-1] + 1))
    per_block = max(1, n_units // width)
    log_share = _log_nu(nu) - 2.0 / alpha * np.log(width)
    f = np.zeros((size, len(X)))
    for first in range(0, size, per_block):
        block = f[first : first + per_block]
        for start in range(0, width, n_units):
            shape = (len(block), min(n_units, width - start))
            log_s = _log_weight_variances(weights, alpha, shape, rng)
            block += _sum_of_units(X, log_share + log_s, rng)
    return f


def _log_nu(nu: float) -> float:
    if not 0.0 < nu < np.inf:
        raise ValueError(f"nu, the squared scale of the prior, must be positive and finite, got {nu}.")
    return float(np.log(nu))


def _log_weight_variances(weights: Weights, alpha: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """`log s_j` with tail `P(s > t) ~ t**-a / Gamma(1-a)`, a = alpha/2, which is all that the limit sees."""
    if weights == "stable":
        return draw_log_positive(alpha, shape, rng)
    if weights != "student":
        raise ValueError(f"weights must be 'stable' or 'student', got {weights!r}.")
    if not 0.0 < alpha < 2.0:
        raise ValueError(
            f"Student-t weights need 0 < alpha < 2, got {alpha}: at 2 their sums, over sqrt(width), diverge. "
            "Use weights='stable' for the Gaussian limit."
        )
    a = alpha / 2.0
    # s = c / Gamma(a) variate, P(s > t) ~ (c/t)**a / Gamma(1+a), so c**a = Gamma(1+a) / Gamma(1-a). The gamma
    # variate of a small shape underflows: it is Gamma(1+a) variate * uniform**(1/a).
    log_c = (gammaln(1.0 + a) - gammaln(1.0 - a)) / a
    log_gamma = np.log(rng.standard_gamma(1.0 + a, shape)) + np.log1p(-rng.random(shape)) / a
    return np.asarray(log_c - log_gamma)


def _sum_of_units(X: Floats, log_v: Floats, rng: np.random.Generator) -> Floats:
    """`sum_k sqrt(v_k) G_k sign(h_k . z)` for each row of log_v, shape (len(log_v), n)."""
    signs = sign_patterns(rng.standard_normal((*log_v.shape, X.shape[1] + 1)), X)
    beta = np.exp(log_v / 2.0) * rng.standard_normal(log_v.shape)
    return np.asarray(np.matmul(beta[:, None, :], signs.astype(np.float64))[:, 0, :])


def draw_process(
    X: ArrayLike,
    *,
    alpha: float,
    nu: float,
    rng: np.random.Generator,
    n_atoms: float = 1000.0,
    size: int = 1,
) -> Floats:
    """Prior draws of the limit at the rows of X, from its jumps, shape (size, n).

    Atoms above the threshold (`n_atoms` on average) are drawn one by one; the rest enter as a Gaussian
    process with their mean covariance `g K0`. At alpha = 2 that is all there is: a Gaussian process with
    covariance `nu K0`. Repeated rows get equal values.

    Examples
    --------
    >>> f = draw_process([[0.0], [1.0], [0.0]], alpha=1.5, nu=1.0, rng=np.random.default_rng(0), size=4)
    >>> bool((f[:, 0] == f[:, 2]).all())
    True
    """
    X, inverse = np.unique(np.asarray(X, dtype=np.float64), axis=0, return_inverse=True)
    log_nu = _log_nu(nu)
    f = rng.standard_normal((size, len(X))) @ _root(arcsine_kernel(X))
    f *= np.exp(log_remainder(alpha, log_nu, n_atoms) / 2.0)
    per_block = max(1, int(BLOCK / ((n_atoms + 10.0) * (len(X) + X.shape[1] + 1))))
    for first in range(0, size, per_block):
        block = f[first : first + per_block]
        count = rng.poisson(n_atoms, (len(block), 1))
        log_mark = np.log(n_atoms) + np.log1p(-rng.random((len(block), count.max())))
        log_v = log_scale_of_mark(log_mark, alpha, log_nu)
        log_v[np.arange(count.max()) >= count] = -np.inf
        block += _sum_of_units(X, log_v, rng)
    return np.asarray(f[:, inverse.ravel()])


def _root(K: Floats) -> Floats:
    """A matrix R with `R' R = K`, also when K is singular."""
    eigenvalues, U = np.linalg.eigh(K)
    return np.asarray((U * np.sqrt(np.maximum(eigenvalues, 0.0))).T)
