"""The network and its limit: covariance kernel, patterns of the units, and draws from the prior.

A network is `f(x) = sum_j w_j sign(h_j . z)` with `z = (1, x)`, `h_j ~ N(0, I)` and heavy-tailed `w_j`. Its limit is
`sum_k sqrt(v_k) G_k sign(h_k . z)` over the atoms of a Poisson process, whose measure is in `stable`. Smooth units have
`erf(sharpness * h . z)` in place of the sign. With relevances r, units see `(1, r * x)` in place of z.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, gammaln

from ._arcsine import kernel_between
from ._types import FloatArray
from .random_state import RandomStateLike, make_rng
from .stable import draw_log_positive, log_remainder, log_scale_of_mark

__all__ = [
    "add_constant",
    "arcsine_kernel",
    "draw_hyperplanes",
    "draw_network",
    "draw_process",
    "kernel_diagonal",
    "sign_patterns",
    "unit_patterns",
]

Weights = Literal["stable", "student"]

# Values (hidden units times rows) held in memory at once: 32 MB of float64.
BLOCK = 1 << 22


def add_constant(X: ArrayLike) -> FloatArray:
    """Return the rows `z = (1, x)`.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.

    Returns
    -------
    ndarray of shape (n, d + 1)
        Inputs with a column of ones in front.

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


def arcsine_kernel(X: ArrayLike, X2: ArrayLike | None = None, sharpness: float = np.inf) -> FloatArray:
    """Return the covariance kernel `K(x, x') = E[unit(h.z) unit(h.z')]` of sign units, or of erf units.

    `K = (2/pi) arcsin(c)`, where c is the cosine `z.z' / (|z| |z'|)` for sign units and
    `2 w^2 z.z' / sqrt((1 + 2 w^2 |z|^2)(1 + 2 w^2 |z'|^2))` for units `erf(w h.z)`.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    X2 : array_like of shape (n2, d) or None, default=None
        Other inputs; None means X itself.
    sharpness : float, default=inf
        Sharpness w of the units; infinity means sign units.

    Returns
    -------
    ndarray of shape (n, n2)
        The kernel. Each entry depends on its two rows only, to the last bit.

    Examples
    --------
    >>> arcsine_kernel([[-1.0], [1.0]])  # (1, -1) and (1, 1) are orthogonal
    array([[1., 0.],
           [0., 1.]])
    >>> arcsine_kernel([[-1.0], [1.0]], sharpness=1.0).round(3)
    array([[0.59, 0.  ],
           [0.  , 0.59]])
    """
    E, gap = _rows_in_ball(X, sharpness)
    E2, gap2 = (E, gap) if X2 is None else _rows_in_ball(X2, sharpness)
    return kernel_between(E, gap, E2, gap2)


def kernel_diagonal(X: ArrayLike, sharpness: float = np.inf) -> FloatArray:
    """Return `K(x, x)` of `arcsine_kernel` at each row: 1 for sign units, less for smooth ones.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    sharpness : float, default=inf
        Sharpness w of the units; infinity means sign units.

    Returns
    -------
    ndarray of shape (n,)
        Diagonal of the kernel.

    Examples
    --------
    >>> kernel_diagonal([[-1.0], [0.0]]), kernel_diagonal([[-1.0], [0.0]], sharpness=1.0).round(3)
    (array([1., 1.]), array([0.59 , 0.465]))
    """
    E, gap = _rows_in_ball(X, sharpness)
    along2 = 2.0 * gap + 4.0 * np.sum(E**2, axis=1)
    return np.asarray(1.0 - (4.0 / np.pi) * np.arctan2(np.sqrt(2.0 * gap), np.sqrt(along2)))


def _rows_in_ball(X: ArrayLike, sharpness: float) -> tuple[FloatArray, FloatArray]:
    """Return `e = z / sqrt(|z|^2 + 1/(2 w^2))` and `1 - |e|^2` for each row; e is on the unit sphere for sign units."""
    if not sharpness > 0.0:
        raise ValueError(f"Got sharpness = {sharpness}, expected a number above 0: pass inf for sign units.")
    Z = add_constant(X)
    largest = np.abs(Z).max(axis=1)  # squares of large inputs would overflow
    Z /= largest[:, None]
    inside = 0.5 * ((1.0 / sharpness) / largest) ** 2
    norm2 = (Z**2).sum(axis=1) + inside
    return np.asarray(Z / np.sqrt(norm2)[:, None]), np.asarray(inside / norm2)


def draw_hyperplanes(
    n: int, d: int, random_state: RandomStateLike = None, relevance: ArrayLike | None = None
) -> FloatArray:
    """Draw n hyperplanes `h ~ N(0, diag(1, r^2))` in d + 1 dimensions.

    Parameters
    ----------
    n : int
        Number of hyperplanes.
    d : int
        Number of input columns.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.
    relevance : array_like of shape (d,) or None, default=None
        Relevance r of each input, an inverse length scale; None means ones.

    Returns
    -------
    ndarray of shape (n, d + 1)
        The hyperplanes; the first number of each belongs to the constant.

    Examples
    --------
    >>> draw_hyperplanes(5, d=2, random_state=0).shape
    (5, 3)
    """
    h = make_rng(random_state).standard_normal((n, d + 1))
    h[:, 1:] *= _check_relevance(relevance, d)
    return h


def _check_relevance(relevance: ArrayLike | None, d: int) -> FloatArray:
    """Check the relevances and return them; ones for None."""
    r = np.ones(d) if relevance is None else np.asarray(relevance, dtype=np.float64)
    if r.shape != (d,) or not np.all((r > 0.0) & (r < np.inf)):
        raise ValueError(f"Got relevance = {relevance!r}, expected {d} positive numbers: pass one per input column.")
    return r


def sign_patterns(hyperplanes: ArrayLike, X: ArrayLike) -> NDArray[np.int8]:
    """Return which side of each hyperplane each row is on: +1 where `h . (1, x) >= 0`, otherwise -1.

    Parameters
    ----------
    hyperplanes : array_like of shape (..., d + 1)
        Hyperplanes.
    X : array_like of shape (n, d)
        Inputs.

    Returns
    -------
    ndarray of int8, shape (..., n)
        The sides.

    Examples
    --------
    >>> sign_patterns([[-1.0, 1.0], [0.0, -2.0]], [[0.0], [1.0], [2.0]])
    array([[-1,  1,  1],
           [ 1, -1, -1]], dtype=int8)
    """
    side = np.asarray(hyperplanes, dtype=np.float64) @ add_constant(X).T
    return np.where(side >= 0.0, np.int8(1), np.int8(-1))


def unit_patterns(hyperplanes: ArrayLike, X: ArrayLike, sharpness: float = np.inf) -> FloatArray:
    """Return the values of the units at each row: `erf(sharpness h . (1, x))`, or the sign for infinite sharpness.

    Parameters
    ----------
    hyperplanes : array_like of shape (..., d + 1)
        Hyperplanes.
    X : array_like of shape (n, d)
        Inputs.
    sharpness : float, default=inf
        Sharpness w of the units; infinity means sign units.

    Returns
    -------
    ndarray of shape (..., n)
        The values.

    Examples
    --------
    >>> unit_patterns([[-1.0, 1.0]], [[0.0], [1.0], [2.0]], sharpness=0.5).round(2)
    array([[-0.52,  0.  ,  0.52]])
    """
    if np.isinf(sharpness):
        return sign_patterns(hyperplanes, X).astype(np.float64)
    return np.asarray(erf(sharpness * (np.asarray(hyperplanes, dtype=np.float64) @ add_constant(X).T)))


def draw_network(
    X: ArrayLike,
    width: int,
    *,
    alpha: float,
    nu: float,
    random_state: RandomStateLike = None,
    weights: Weights = "stable",
    size: int = 1,
    sharpness: float = np.inf,
    relevance: ArrayLike | None = None,
) -> FloatArray:
    """Draw networks with `width` hidden units from the prior, at the rows of X.

    Output weights are `sqrt(nu s_j) * width**(-1/alpha) * G_j`. Positive stable s_j make them symmetric stable with
    scale `sqrt(nu/2) * width**(-1/alpha)`. Inverse gamma s_j make them Student-t with alpha degrees of freedom, scaled
    to reach the same limit as the width grows.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    width : int
        Number of hidden units.
    alpha : float
        Stability index in (0, 2], or the degrees of freedom in (0, 2) of Student-t weights.
    nu : float
        Squared scale of the prior.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.
    weights : {"stable", "student"}, default="stable"
        Law of the output weights.
    size : int, default=1
        Number of networks.
    sharpness : float, default=inf
        Sharpness w of the units; infinity means sign units.
    relevance : array_like of shape (d,) or None, default=None
        Relevance r of each input, an inverse length scale; None means ones.

    Returns
    -------
    ndarray of shape (size, n)
        One network per row.

    Examples
    --------
    >>> draw_network([[-1.0], [0.0], [1.0]], 1000, alpha=1.0, nu=1.0, random_state=0, size=5, relevance=[2.0]).shape
    (5, 3)
    """
    rng = make_rng(random_state)
    X = np.asarray(X, dtype=np.float64)
    X = X * _check_relevance(relevance, X.shape[-1])
    # Small networks are drawn many at a time, large ones in several parts.
    n_units = max(1, BLOCK // (len(X) + X.shape[-1] + 1))
    per_block = max(1, n_units // width)
    log_share = _log_nu(nu) - 2.0 / alpha * np.log(width)
    f = np.zeros((size, len(X)))
    for first in range(0, size, per_block):
        block = f[first : first + per_block]
        for start in range(0, width, n_units):
            shape = (len(block), min(n_units, width - start))
            log_s = _log_weight_variances(weights, alpha, shape, rng)
            block += _sum_of_units(X, log_share + log_s, sharpness, rng)
    return f


def _log_nu(nu: float) -> float:
    """Check nu and return its logarithm."""
    if not 0.0 < nu < np.inf:
        raise ValueError(f"The squared scale nu must be positive and finite, got {nu}: pass 1.0, as the paper does.")
    return float(np.log(nu))


def _log_weight_variances(
    weights: Weights, alpha: float, shape: tuple[int, ...], rng: np.random.Generator
) -> FloatArray:
    """Draw `log s_j` with tail `P(s > t) ~ t**-a / Gamma(1-a)`, a = alpha/2; the limit depends on that tail only."""
    if weights == "stable":
        return draw_log_positive(alpha, shape, rng)
    if weights != "student":
        raise ValueError(f"weights must be 'stable' or 'student', got {weights!r}: pass 'stable', the paper's.")
    if not 0.0 < alpha < 2.0:
        raise ValueError(
            f"Student-t weights need 0 < alpha < 2, got {alpha}: at 2 their sums, over sqrt(width), diverge. "
            "Use weights='stable' for the Gaussian limit."
        )
    a = alpha / 2.0
    # With g ~ Gamma(a), s = c / g has P(s > t) ~ (c/t)**a / Gamma(1+a), so c**a = Gamma(1+a) / Gamma(1-a). For
    # small a, g underflows: draw its logarithm, as Gamma(1+a) times uniform**(1/a).
    log_c = (gammaln(1.0 + a) - gammaln(1.0 - a)) / a
    log_gamma = np.log(rng.standard_gamma(1.0 + a, shape)) + np.log1p(-rng.random(shape)) / a
    return np.asarray(log_c - log_gamma)


def _sum_of_units(X: FloatArray, log_v: FloatArray, sharpness: float, rng: np.random.Generator) -> FloatArray:
    """Draw `sum_k sqrt(v_k) G_k unit(h_k . z)` for each row of log_v, shape (len(log_v), n)."""
    values = unit_patterns(rng.standard_normal((*log_v.shape, X.shape[1] + 1)), X, sharpness)
    beta = np.exp(log_v / 2.0) * rng.standard_normal(log_v.shape)
    return np.asarray(np.matmul(beta[:, None, :], values)[:, 0, :])


def draw_process(
    X: ArrayLike,
    *,
    alpha: float,
    nu: float,
    random_state: RandomStateLike = None,
    n_atoms: float = 1000.0,
    size: int = 1,
    sharpness: float = np.inf,
    relevance: ArrayLike | None = None,
) -> FloatArray:
    """Draw the limit of wide networks from the prior, at the rows of X.

    Atoms above the threshold are drawn one by one. The others enter as a Gaussian process with their mean covariance
    `g K`. At alpha = 2 that is all there is: a Gaussian process with covariance `nu K`. Repeated rows get equal values.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    alpha, nu : float
        Stability index in (0, 2], and squared scale of the prior.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.
    n_atoms : float, default=1000.0
        Expected number of atoms drawn one by one.
    size : int, default=1
        Number of draws.
    sharpness : float, default=inf
        Sharpness w of the units; infinity means sign units.
    relevance : array_like of shape (d,) or None, default=None
        Relevance r of each input, an inverse length scale; None means ones.

    Returns
    -------
    ndarray of shape (size, n)
        One draw per row.

    Examples
    --------
    >>> f = draw_process([[0.0], [1.0], [0.0]], alpha=1.5, nu=1.0, random_state=0, size=4)
    >>> bool((f[:, 0] == f[:, 2]).all())
    True
    >>> f = draw_process([[0.0, 1.0], [2.0, 3.0]], alpha=2.0, nu=1.0, size=10_000, random_state=0, relevance=[2.0, 0.5])
    >>> round(float(np.cov(f.T)[0, 1]), 2), round(float(arcsine_kernel([[0.0, 0.5], [4.0, 1.5]])[0, 1]), 2)
    (0.23, 0.23)
    """
    rng = make_rng(random_state)
    X, inverse = np.unique(np.asarray(X, dtype=np.float64), axis=0, return_inverse=True)
    X *= _check_relevance(relevance, X.shape[1])
    log_nu = _log_nu(nu)
    f = rng.standard_normal((size, len(X))) @ _root(arcsine_kernel(X, sharpness=sharpness))
    f *= np.exp(log_remainder(alpha, log_nu, n_atoms) / 2.0)
    per_block = max(1, int(BLOCK / ((n_atoms + 10.0) * (len(X) + X.shape[1] + 1))))
    for first in range(0, size, per_block):
        block = f[first : first + per_block]
        count = rng.poisson(n_atoms, (len(block), 1))
        log_mark = np.log(n_atoms) + np.log1p(-rng.random((len(block), count.max())))
        log_v = log_scale_of_mark(log_mark, alpha, log_nu)
        log_v[np.arange(count.max()) >= count] = -np.inf  # rows have different numbers of atoms
        block += _sum_of_units(X, log_v, sharpness, rng)
    return np.asarray(f[:, inverse.ravel()])


def _root(K: FloatArray) -> FloatArray:
    """Return a matrix R with `R' R = K`, also when K is singular."""
    eigenvalues, U = np.linalg.eigh(K)
    return np.asarray((U * np.sqrt(np.maximum(eigenvalues, 0.0))).T)
