"""Stable laws and the jump measure, computed in logs.

Conventions, used everywhere in the library (`alpha` in (0, 2], `a = alpha / 2`):

* positive stable `s ~ S+(alpha/2)` has Laplace transform `E exp(-t s) = exp(-t**a)`; `s = 1` at `alpha = 2`;
* symmetric stable `x` has characteristic function `E exp(i t x) = exp(-|t|**alpha)`: Cauchy at `alpha = 1`,
  N(0, 2) at `alpha = 2`, and `x = sqrt(2 s) G` with G standard normal at every `alpha`;
* the jump measure `rho(v) = nu**a * a / Gamma(1-a) * v**(-1-a)` has `E exp(-t sum v) = exp(-(nu t)**a)`.

The scales of these laws spread over about `1/alpha` orders of magnitude, so the functions that matter take and return
logarithms. `1 - a` is computed as `(2 - alpha) / 2`, which is exact near `alpha = 2`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from ._jit import inner_kernel, kernel
from ._types import FloatArray
from .random_state import RandomStateLike, make_rng

__all__ = [
    "draw_log_positive",
    "draw_positive",
    "draw_symmetric",
    "log_mark_of_scale",
    "log_remainder",
    "log_scale_of_mark",
    "log_threshold",
    "relative_sd_ignored",
]

Size = int | tuple[int, ...]
TINY = np.finfo(np.float64).tiny


def _halves(alpha: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Check alpha and return `a = alpha/2` and `1 - a`."""
    alpha = np.asarray(alpha, dtype=np.float64)
    if not np.all((alpha > 0.0) & (alpha <= 2.0)):
        raise ValueError(
            f"alpha must lie in (0, 2], got {alpha}: pass 1.0, the usual value, or 2 for the Gaussian limit."
        )
    return alpha / 2.0, (2.0 - alpha) / 2.0


# --- Draws -----------------------------------------------------------------------------------------------


def draw_log_positive(alpha: float, size: Size, random_state: RandomStateLike = None) -> FloatArray:
    """Draw logarithms of S+(alpha/2) by Kanter's formula; they are finite for every alpha in (0, 2].

    With u uniform on (0, pi) and e standard exponential, `s = (A(u) / e)**((1-a)/a)` is S+(alpha/2), where
    `A(u) = sin(a u)**(a/(1-a)) * sin((1-a) u) / sin(u)**(1/(1-a))`.

    Parameters
    ----------
    alpha : float
        Stability index in (0, 2].
    size : int or tuple of int
        Shape of the result.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.

    Returns
    -------
    ndarray of shape `size`
        Values of log s.

    Examples
    --------
    >>> log_s = draw_log_positive(1.2, 100_000, random_state=0)
    >>> print(np.exp(-np.exp(log_s)).mean().round(2), np.exp(-1.0).round(2))
    0.37 0.37
    """
    rng = make_rng(random_state)
    a, b = _halves(alpha)
    if b == 0.0:
        return np.zeros(size)
    # The heavy tail of s comes from u near pi, so w = pi - u is the one that needs fine spacing near zero.
    w = np.pi * (1.0 - rng.random(size))
    u = np.maximum(np.pi - w, TINY)
    e = np.maximum(rng.standard_exponential(size), TINY)
    return np.asarray((b / a) * (_log_kanter(u, w, a, b) - np.log(e)))


def _log_kanter(u: FloatArray, w: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return `log A(u)` from u and w = pi - u, each accurate near its own zero; b = 1 - a.

    `log A = log(sin(a u) / sin(u)) / b - log sin(a u) + log sin(b u)`, and `sin(a u) = sin(u - b u)`,
    which as `log1p` keeps every digit when b is tiny.
    """
    cot = np.cos(u) / np.sin(np.minimum(u, w))
    log_ratio = np.log1p(-2.0 * np.sin(b * u / 2.0) ** 2 - cot * np.sin(b * u))
    return np.asarray(log_ratio / b - np.log(np.sin(a * u)) + np.log(np.sin(b * u)))


def draw_positive(alpha: float, size: Size, random_state: RandomStateLike = None) -> FloatArray:
    """Draw from S+(alpha/2): `E exp(-t s) = exp(-t**(alpha/2))`; exactly 1 at alpha = 2.

    Values outside the range of float64 come back as 0 or inf (three draws in a hundred at alpha = 0.01).
    `draw_log_positive` has no such limit.

    Parameters
    ----------
    alpha : float
        Stability index in (0, 2].
    size : int or tuple of int
        Shape of the result.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.

    Returns
    -------
    ndarray of shape `size`
        Values of s.

    Examples
    --------
    >>> bool((draw_positive(0.8, 1000, random_state=0) > 0.0).all())
    True
    """
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(draw_log_positive(alpha, size, random_state))


def draw_symmetric(alpha: float, size: Size, random_state: RandomStateLike = None) -> FloatArray:
    """Draw from the standard symmetric stable law, `E exp(i t x) = exp(-|t|**alpha)`, as `sqrt(2 s) G`.

    Parameters
    ----------
    alpha : float
        Stability index in (0, 2].
    size : int or tuple of int
        Shape of the result.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.

    Returns
    -------
    ndarray of shape `size`
        Values of x.

    Examples
    --------
    >>> x = draw_symmetric(1.0, 100_000, random_state=0)  # standard Cauchy: half lies in (-1, 1)
    >>> print(np.mean(np.abs(x) < 1.0).round(2))
    0.5
    """
    rng = make_rng(random_state)
    log_s = draw_log_positive(alpha, size, rng)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(0.5 * (np.log(2.0) + log_s)) * rng.standard_normal(size))


# --- The jump measure ------------------------------------------------------------------------------------


def log_scale_of_mark(log_mark: ArrayLike, alpha: ArrayLike, log_nu: ArrayLike) -> FloatArray:
    """Return the scale of an atom from its mark gamma, `log v = log nu - (log Gamma(1-a) + log gamma) / a`.

    The mark of v is the expected number of atoms whose scales exceed v.

    Parameters
    ----------
    log_mark : array_like
        Logarithms of the marks.
    alpha : array_like
        Stability index in (0, 2]. At alpha = 2 there are no atoms, and the result is -inf.
    log_nu : array_like
        Logarithm of the squared scale of the prior.

    Returns
    -------
    ndarray
        Values of log v, in the shape to which the arguments broadcast.

    Examples
    --------
    >>> print(log_scale_of_mark(np.log(3.0), alpha=2.0, log_nu=0.0))
    -inf
    """
    a, b = _halves(alpha)
    return np.asarray(np.asarray(log_nu) - (gammaln(b) + np.asarray(log_mark)) / a)


def log_mark_of_scale(log_scale: ArrayLike, alpha: ArrayLike, log_nu: ArrayLike) -> FloatArray:
    """Return the mark of an atom from its scale, `log gamma = a (log nu - log v) - log Gamma(1-a)`.

    This is the inverse of `log_scale_of_mark`. Its exponential is the expected number of atoms above v.

    Parameters
    ----------
    log_scale : array_like
        Logarithms of the scales v.
    alpha : array_like
        Stability index in (0, 2]. At alpha = 2 no atom lies above any v > 0, and the result is -inf.
    log_nu : array_like
        Logarithm of the squared scale of the prior.

    Returns
    -------
    ndarray
        Values of log gamma, in the shape to which the arguments broadcast.

    Examples
    --------
    >>> print(log_mark_of_scale(log_scale_of_mark(1.5, 1.2, 0.3), 1.2, 0.3).round(10))
    1.5
    >>> print(np.exp(log_mark_of_scale(np.log(1e-4), 1.0, 0.0)).round(1))  # 100 / sqrt(pi) atoms above 1e-4
    56.4
    """
    a, b = _halves(alpha)
    return np.asarray(a * (np.asarray(log_nu) - np.asarray(log_scale)) - gammaln(b))


def log_threshold(alpha: ArrayLike, log_nu: ArrayLike, n_atoms: ArrayLike) -> FloatArray:
    """Return the threshold above which N atoms lie on average, `v0 = nu * (Gamma(1-a) N)**(-1/a)`.

    Parameters
    ----------
    alpha : array_like
        Stability index in (0, 2].
    log_nu : array_like
        Logarithm of the squared scale of the prior.
    n_atoms : array_like
        Expected number of atoms N above the threshold.

    Returns
    -------
    ndarray
        Values of log v0, in the shape to which the arguments broadcast.

    Examples
    --------
    >>> log_v0 = log_threshold(1.3, log_nu=0.2, n_atoms=30)
    >>> print(np.exp(log_mark_of_scale(log_v0, 1.3, 0.2)).round(10))
    30.0
    """
    return log_scale_of_mark(np.log(np.asarray(n_atoms, dtype=np.float64)), alpha, log_nu)


def log_remainder(alpha: ArrayLike, log_nu: ArrayLike, n_atoms: ArrayLike) -> FloatArray:
    """Return the expected sum of all scales below the threshold, `g = N v0 alpha / (2 - alpha)`, as log g.

    Parameters
    ----------
    alpha : array_like
        Stability index in (0, 2]. At alpha = 2 the result is exactly `log_nu`.
    log_nu : array_like
        Logarithm of the squared scale of the prior.
    n_atoms : array_like
        Expected number of atoms N above the threshold.

    Returns
    -------
    ndarray
        Values of log g, in the shape to which the arguments broadcast.

    Examples
    --------
    >>> print(log_remainder(2.0, log_nu=0.7, n_atoms=30))
    0.7
    """
    a, b = _halves(alpha)
    # (1-a) Gamma(1-a) = Gamma(2-a) has no pole at alpha = 2, so the limit is smooth.
    log_g_of_one_atom = np.log(a) + xlogy(b / a, b) - gammaln(1.0 + b) / a
    return np.asarray(np.asarray(log_nu) + log_g_of_one_atom - (b / a) * np.log(np.asarray(n_atoms, dtype=np.float64)))


def relative_sd_ignored(alpha: ArrayLike, n_atoms: ArrayLike) -> FloatArray:
    """Return the s.d. over the mean of the sum of scales below the threshold, `(1-a) / sqrt(N a (2-a))`.

    The library replaces that sum by its mean, so this says how much the truncation ignores.

    Parameters
    ----------
    alpha : array_like
        Stability index in (0, 2].
    n_atoms : array_like
        Expected number of atoms N above the threshold.

    Returns
    -------
    ndarray
        Ratios, in the shape to which the arguments broadcast.

    Examples
    --------
    >>> print(relative_sd_ignored(1.0, n_atoms=30).round(3))
    0.105
    """
    a, b = _halves(alpha)
    return np.asarray(b / np.sqrt(np.asarray(n_atoms, dtype=np.float64) * a * (1.0 + b)))


# --- Compiled twins, for one number at a time ------------------------------------------------------------


@kernel
def log_kanter_of_one(w, alpha):
    """Return log A(u) at u = pi - w, alpha < 2; the argument is w because it needs fine spacing near zero."""
    a, b = 0.5 * alpha, 0.5 * (2.0 - alpha)
    u = math.pi - w
    sine = math.sin(min(u, w))
    if not sine > 0.0:  # the limit u -> 0
        return math.log(b) + a / b * math.log(a)
    # sin(a u) / sin(u) = cos(b u) - cot(u) sin(b u)
    log_ratio = math.log1p(-2.0 * math.sin(0.5 * b * u) ** 2 - math.cos(u) / sine * math.sin(b * u))
    sine_au = math.sin(a * u) if u < w else math.sin(b * math.pi + a * w)
    return log_ratio / b - math.log(sine_au) + math.log(math.sin(b * u))


@kernel
def draw_log_positive_one(alpha, rng):
    """Draw the logarithm of one S+(alpha/2), alpha < 2."""
    w = math.pi * (1.0 - rng.random())
    e = rng.standard_exponential()
    while not e > 0.0:
        e = rng.standard_exponential()
    return (2.0 - alpha) / alpha * (log_kanter_of_one(w, alpha) - math.log(e))


@inner_kernel
def log_scale_of_one(log_mark, alpha, log_nu):
    """Return the scale of one atom: log v = log nu - (log Gamma(1 - a) + log gamma) / a."""
    a = 0.5 * alpha
    return log_nu - (math.lgamma(1.0 - a) + log_mark) / a


@kernel
def log_remainder_of_one(alpha, log_nu, n_atoms):
    """Return log g, the expected sum of all scales below the threshold; log nu when alpha = 2."""
    a = 0.5 * alpha
    if a >= 1.0:
        return log_nu
    return (
        log_nu
        + math.log(a)
        + (1.0 - 1.0 / a) * math.log(n_atoms)
        + (1.0 / a - 1.0) * math.log1p(-a)
        - math.lgamma(2.0 - a) / a
    )


@inner_kernel
def log_nu_offset(alpha, n_atoms):
    """Return c = log(Gamma(1 - a) N) / a; the threshold stays where it is when log nu - c does."""
    a = 0.5 * alpha
    return (math.lgamma(1.0 - a) + math.log(n_atoms)) / a
