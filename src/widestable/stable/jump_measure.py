"""The jump measure: scales and marks of atoms, threshold, expected number above it and remainder below."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from .arguments import Floats, floats, halves


def log_scale_of_mark(log_mark: ArrayLike, alpha: ArrayLike, log_nu: ArrayLike) -> Floats:
    """`log v = log nu - (log Gamma(1-a) + log gamma) / a`: the scale of an atom from its mark gamma.

    The mark of v is the expected number of atoms with scales above v. At alpha = 2 there are no atoms: -inf.

    Examples
    --------
    >>> print(log_scale_of_mark(np.log(3.0), alpha=2.0, log_nu=0.0))
    -inf
    """
    a, b = halves(alpha)
    return np.asarray(floats(log_nu) - (gammaln(b) + floats(log_mark)) / a)


def log_mark_of_scale(log_scale: ArrayLike, alpha: ArrayLike, log_nu: ArrayLike) -> Floats:
    """`log gamma = a (log nu - log v) - log Gamma(1-a)`: the inverse of `log_scale_of_mark`.

    At alpha = 2 no atoms lie above any v > 0, and the answer is -inf.

    Examples
    --------
    >>> print(log_mark_of_scale(log_scale_of_mark(1.5, 1.2, 0.3), 1.2, 0.3).round(10))
    1.5
    """
    a, b = halves(alpha)
    return np.asarray(a * (floats(log_nu) - floats(log_scale)) - gammaln(b))


def log_threshold(alpha: ArrayLike, log_nu: ArrayLike, n_atoms: ArrayLike) -> Floats:
    """`log v0`, `v0 = nu * (Gamma(1-a) N)**(-1/a)`: above it lie N atoms on average.

    Examples
    --------
    >>> log_v0 = log_threshold(1.3, log_nu=0.2, n_atoms=30)
    >>> print(n_atoms_of_threshold(1.3, 0.2, log_v0).round(10))
    30.0
    """
    return log_scale_of_mark(np.log(floats(n_atoms)), alpha, log_nu)


def n_atoms_of_threshold(alpha: ArrayLike, log_nu: ArrayLike, log_v0: ArrayLike) -> Floats:
    """`N = (nu / v0)**a / Gamma(1-a)`: the expected number of atoms above the threshold v0.

    Examples
    --------
    >>> print(n_atoms_of_threshold(1.0, log_nu=0.0, log_v0=np.log(1e-4)).round(1))  # 100 / sqrt(pi)
    56.4
    """
    return np.exp(log_mark_of_scale(log_v0, alpha, log_nu))


def log_remainder(alpha: ArrayLike, log_nu: ArrayLike, n_atoms: ArrayLike) -> Floats:
    """`log g`, `g = N v0 alpha / (2 - alpha)`: the expected sum of all scales below the threshold.

    Written with `Gamma(2-a)`, so that alpha -> 2 is smooth and alpha = 2 gives exactly `log nu`.

    Examples
    --------
    >>> print(log_remainder(2.0, log_nu=0.7, n_atoms=30))
    0.7
    """
    a, b = halves(alpha)
    return floats(log_nu) + _log_remainder_at_one(a, b) - (b / a) * np.log(floats(n_atoms))


def n_atoms_of_remainder(alpha: ArrayLike, log_nu: ArrayLike, log_g: ArrayLike) -> Floats:
    """The expected number of atoms N that leaves the remainder g: the inverse of `log_remainder`.

    Examples
    --------
    >>> print(n_atoms_of_remainder(1.2, 0.0, log_remainder(1.2, 0.0, n_atoms=30)).round(10))
    30.0
    """
    a, b = halves(alpha)
    if np.any(b == 0.0):
        raise ValueError("Got alpha = 2, where the remainder is nu whatever the number of atoms: use alpha < 2.")
    return np.exp((floats(log_nu) + _log_remainder_at_one(a, b) - floats(log_g)) * a / b)


def _log_remainder_at_one(a: Floats, b: Floats) -> Floats:
    """`log(g / nu)` at N = 1."""
    return np.asarray(np.log(a) + xlogy(b / a, b) - gammaln(1.0 + b) / a)


def relative_sd_ignored(alpha: ArrayLike, n_atoms: ArrayLike) -> Floats:
    """`(1-a) / sqrt(N a (2-a))`: s.d. over mean of the sum of scales below the threshold, which is ignored.

    Examples
    --------
    >>> print(relative_sd_ignored(1.0, n_atoms=30).round(3))
    0.105
    """
    a, b = halves(alpha)
    return b / np.sqrt(floats(n_atoms) * a * (1.0 + b))
