"""The network and its limit: kernel, patterns of the units, and draws from the prior.

A network is `f(x) = sum_j w_j sign(h_j . z)` with `z = (1, x)`, `h_j ~ N(0, I)` and heavy-tailed `w_j`. Its
limit is `sum_k sqrt(v_k) G_k sign(h_k . z)` over the atoms of a Poisson process (its measure is in `stable`).
Smooth units have `erf(sharpness * h . z)` in place of the sign.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, gammaln

from widestable.stable import draw_log_positive, log_remainder, log_scale_of_mark

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


def arcsine_kernel(X: ArrayLike, X2: ArrayLike | None = None, sharpness: float = np.inf) -> Floats:
    """`K(x, x') = E[unit(h.z) unit(h.z')]` of sign units, or of erf units of the given sharpness, shape (n, n2).

    `(2/pi) arcsin(c)` with c the cosine `z.z' / (|z| |z'|)` for sign units and
    `2 w^2 z.z' / sqrt((1 + 2 w^2 |z|^2)(1 + 2 w^2 |z'|^2))` for `erf(w h.z)`. Computed as `1 - (2/pi) arccos(c)` from
    `1 - c` and `1 + c`, which are sums of squares: exact on the diagonal of sign units, accurate for rows that nearly
    coincide, and each entry depends on its two rows only, to the last bit.

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
    apart2 = np.add.outer(gap, gap2)
    along2 = apart2.copy()
    for column, column2 in zip(E.T, E2.T, strict=True):
        apart2 += np.subtract.outer(column, column2) ** 2
        along2 += np.add.outer(column, column2) ** 2
    return np.asarray(1.0 - (4.0 / np.pi) * np.arctan2(np.sqrt(apart2), np.sqrt(along2)))


def kernel_diagonal(X: ArrayLike, sharpness: float = np.inf) -> Floats:
    """`K(x, x)` of `arcsine_kernel` at each row, shape (n,): 1 for sign units, less for smooth ones.

    Examples
    --------
    >>> kernel_diagonal([[-1.0], [0.0]]), kernel_diagonal([[-1.0], [0.0]], sharpness=1.0).round(3)
    (array([1., 1.]), array([0.59 , 0.465]))
    """
    E, gap = _rows_in_ball(X, sharpness)
    along2 = 2.0 * gap + 4.0 * np.sum(E**2, axis=1)
    return np.asarray(1.0 - (4.0 / np.pi) * np.arctan2(np.sqrt(2.0 * gap), np.sqrt(along2)))


def _rows_in_ball(X: ArrayLike, sharpness: float) -> tuple[Floats, Floats]:
    """`e = z / sqrt(|z|^2 + 1/(2 w^2))` and `1 - |e|^2` for each row; on the unit sphere for sign units."""
    if not sharpness > 0.0:
        raise ValueError(f"Got sharpness = {sharpness}, expected a number above 0: pass inf for sign units.")
    Z = add_constant(X)
    largest = np.abs(Z).max(axis=1)  # squares of large inputs would overflow
    Z /= largest[:, None]
    inside = 0.5 * ((1.0 / sharpness) / largest) ** 2
    norm2 = (Z**2).sum(axis=1) + inside
    return np.asarray(Z / np.sqrt(norm2)[:, None]), np.asarray(inside / norm2)


def draw_hyperplanes(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Draws `h ~ N(0, I)` in d + 1 dimensions, shape (n, d + 1).

    Examples
    --------
    >>> draw_hyperplanes(5, d=2, rng=np.random.default_rng(0)).shape
    (5, 3)
    """
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


def unit_patterns(hyperplanes: ArrayLike, X: ArrayLike, sharpness: float = np.inf) -> Floats:
    """Values of the units at each row: `erf(sharpness h . (1, x))`, or the sign when sharpness is infinite.

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
    rng: np.random.Generator,
    weights: Weights = "stable",
    size: int = 1,
    sharpness: float = np.inf,
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
            block += _sum_of_units(X, log_share + log_s, sharpness, rng)
    return f


def _log_nu(nu: float) -> float:
    if not 0.0 < nu < np.inf:
        raise ValueError(
            f"nu, the squared scale of the prior, must be positive and finite, got {nu}: pass 1.0, as the paper does."
        )
    return float(np.log(nu))


def _log_weight_variances(weights: Weights, alpha: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """`log s_j` with tail `P(s > t) ~ t**-a / Gamma(1-a)`, a = alpha/2, which is all that the limit sees."""
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
    # s = c / Gamma(a) variate, P(s > t) ~ (c/t)**a / Gamma(1+a), so c**a = Gamma(1+a) / Gamma(1-a). The gamma
    # variate of a small shape underflows: it is Gamma(1+a) variate * uniform**(1/a).
    log_c = (gammaln(1.0 + a) - gammaln(1.0 - a)) / a
    log_gamma = np.log(rng.standard_gamma(1.0 + a, shape)) + np.log1p(-rng.random(shape)) / a
    return np.asarray(log_c - log_gamma)


def _sum_of_units(X: Floats, log_v: Floats, sharpness: float, rng: np.random.Generator) -> Floats:
    """`sum_k sqrt(v_k) G_k unit(h_k . z)` for each row of log_v, shape (len(log_v), n)."""
    values = unit_patterns(rng.standard_normal((*log_v.shape, X.shape[1] + 1)), X, sharpness)
    beta = np.exp(log_v / 2.0) * rng.standard_normal(log_v.shape)
    return np.asarray(np.matmul(beta[:, None, :], values)[:, 0, :])


def draw_process(
    X: ArrayLike,
    *,
    alpha: float,
    nu: float,
    rng: np.random.Generator,
    n_atoms: float = 1000.0,
    size: int = 1,
    sharpness: float = np.inf,
) -> Floats:
    """Prior draws of the limit at the rows of X, from its jumps, shape (size, n).

    Atoms above the threshold (`n_atoms` on average) are drawn one by one; the rest enter as a Gaussian
    process with their mean covariance `g K`. At alpha = 2 that is all there is: a Gaussian process with
    covariance `nu K`. Repeated rows get equal values.

    Examples
    --------
    >>> f = draw_process([[0.0], [1.0], [0.0]], alpha=1.5, nu=1.0, rng=np.random.default_rng(0), size=4)
    >>> bool((f[:, 0] == f[:, 2]).all())
    True
    """
    X, inverse = np.unique(np.asarray(X, dtype=np.float64), axis=0, return_inverse=True)
    log_nu = _log_nu(nu)
    f = rng.standard_normal((size, len(X))) @ _root(arcsine_kernel(X, sharpness=sharpness))
    f *= np.exp(log_remainder(alpha, log_nu, n_atoms) / 2.0)
    per_block = max(1, int(BLOCK / ((n_atoms + 10.0) * (len(X) + X.shape[1] + 1))))
    for first in range(0, size, per_block):
        block = f[first : first + per_block]
        count = rng.poisson(n_atoms, (len(block), 1))
        log_mark = np.log(n_atoms) + np.log1p(-rng.random((len(block), count.max())))
        log_v = log_scale_of_mark(log_mark, alpha, log_nu)
        log_v[np.arange(count.max()) >= count] = -np.inf
        block += _sum_of_units(X, log_v, sharpness, rng)
    return np.asarray(f[:, inverse.ravel()])


def _root(K: Floats) -> Floats:
    """A matrix R with `R' R = K`, also when K is singular."""
    eigenvalues, U = np.linalg.eigh(K)
    return np.asarray((U * np.sqrt(np.maximum(eigenvalues, 0.0))).T)
