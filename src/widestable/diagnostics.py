"""Convergence of chains, from plain arrays: R-hat, effective sample size, and warnings that say what to do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from ._types import FloatArray

MAX_RHAT = 1.01
TARGET_ESS = 400.0
LEAST_ESS_A_CHAIN = 100.0
LEAST_DRAWS = 8
TAILS = (0.05, 0.95)
# Quantities examined together while searching for one that has not converged.
BLOCK = 16
# Chains so far apart have not found the same place, and how long that takes cannot be told.
HOPELESS_RHAT = 1.2


class Standard(NamedTuple):
    """What counts as converged, for each quantity.

    Attributes
    ----------
    max_rhat : ndarray
        The largest R-hat.
    ess_part : ndarray
        The least effective sample size, in parts of the usual one (400, or 100 per chain).
    """

    max_rhat: FloatArray
    ess_part: FloatArray

    @classmethod
    def of(cls, n: int) -> Standard:
        """The usual one, for n quantities."""
        return cls(np.full(n, MAX_RHAT), np.ones(n))

    def at(self, some: npt.NDArray[np.intp]) -> Standard:
        """That of some of the quantities."""
        return Standard(self.max_rhat[some], self.ess_part[some])


class Convergence(NamedTuple):
    """R-hat and effective sample size of each quantity.

    Attributes
    ----------
    rhat : ndarray
        Rank-normalised split R-hat.
    ess : ndarray
        Effective sample size, the smaller of bulk and tail.
    standard : Standard or None
        What is wanted of each; None is an R-hat of at most 1.01 and the usual effective sample size for all.

    Examples
    --------
    >>> Convergence(rhat=np.array([1.0, 1.2]), ess=np.array([900.0, 20.0])).rhat.max()
    np.float64(1.2)
    """

    rhat: FloatArray
    ess: FloatArray
    standard: Standard | None = None

    @property
    def wanted(self) -> Standard:
        """What is wanted of each quantity."""
        return Standard.of(np.size(self.rhat)) if self.standard is None else self.standard

    @property
    def worst(self) -> int:
        """The quantity whose R-hat is furthest from what is wanted."""
        return int(np.argmax((self.rhat - 1.0) / (self.wanted.max_rhat - 1.0)))

    @property
    def slowest(self) -> int:
        """The quantity whose effective sample size is furthest from what is wanted."""
        return int(np.argmin(self.ess / self.wanted.ess_part))

    @property
    def are_bad(self) -> npt.NDArray[np.bool_]:
        """Which quantities have not converged."""
        return (self.rhat > self.wanted.max_rhat) | (self.ess < TARGET_ESS * self.wanted.ess_part)


def _array_stats() -> Any:
    """Return the functions of ArviZ for plain arrays; they are imported on first use because that is slow."""
    from arviz_stats.base import array_stats

    return array_stats


def _check(draws: npt.ArrayLike) -> FloatArray:
    """Return the draws as floats; raise when they are too few or have no axis of chains."""
    values = np.asarray(draws, dtype=float)
    if values.ndim < 2 or values.shape[1] < LEAST_DRAWS:
        raise ValueError(
            f"Got draws of shape {values.shape}; expected (chains, draws, ...) with at least {LEAST_DRAWS} draws "
            "per chain. Run the chains for longer."
        )
    return values


def rhat(draws: npt.ArrayLike) -> FloatArray:
    """Return the rank-normalised split R-hat; it is 1 where every draw is the same.

    Parameters
    ----------
    draws : array_like of shape (chains, draws, ...)
        Draws of one or more quantities.

    Returns
    -------
    ndarray of shape (...)
        R-hat of each quantity.

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((4, 1000))
    >>> bool(rhat(draws) < 1.01)
    True
    """
    values = _check(draws)
    constant = np.ptp(values, axis=(0, 1)) == 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        result = np.asarray(_array_stats().rhat(values, chain_axis=0, draw_axis=1), dtype=float)
    return np.where(constant, 1.0, result)


def ess(draws: npt.ArrayLike) -> FloatArray:
    """Return the effective sample size, the smaller of bulk and tail.

    Parameters
    ----------
    draws : array_like of shape (chains, draws, ...)
        Draws of one or more quantities.

    Returns
    -------
    ndarray of shape (...)
        Effective sample size of each quantity; the number of draws where every draw is the same.

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((4, 1000))
    >>> bool(ess(draws) > 3000)
    True
    """
    values = _check(draws)
    constant = np.ptp(values, axis=(0, 1)) == 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        bulk = _array_stats().ess(values, chain_axis=0, draw_axis=1, method="bulk")
        tail = _array_stats().ess(values, chain_axis=0, draw_axis=1, method="tail", prob=TAILS)
    return np.where(constant, float(values.shape[0] * values.shape[1]), np.fmin(bulk, tail))


def convergence(draws: npt.ArrayLike) -> Convergence:
    """Return R-hat and effective sample size together.

    Parameters
    ----------
    draws : array_like of shape (chains, draws, ...)
        Draws of one or more quantities.

    Returns
    -------
    Convergence
        Both, for each quantity.

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((4, 1000, 2))
    >>> draws[0, :, 1] += 3.0  # one of the four chains has the second quantity elsewhere
    >>> print(convergence(draws).rhat > 1.01)
    [False  True]
    """
    return Convergence(rhat(draws), ess(draws))


def has_converged(
    draws: FloatArray, suspects: npt.NDArray[np.intp], standard: Standard
) -> tuple[bool, npt.NDArray[np.intp]]:
    """Return whether all quantities have converged.

    The search stops at the first block of suspects that fails, since most calls happen before convergence.

    Parameters
    ----------
    draws : ndarray of shape (chains, draws, quantities)
        Draws of all quantities.
    suspects : ndarray of int
        Order in which to examine the quantities.
    standard : Standard
        What is wanted of them.

    Returns
    -------
    good : bool
        Whether all have converged.
    suspects : ndarray of int
        Order to use next time, with those that failed first.
    """
    for start in range(0, suspects.size, BLOCK):
        block = suspects[start : start + BLOCK]
        bad = convergence(draws[:, :, block])._replace(standard=standard.at(block)).are_bad
        if bad.any():
            return False, np.concatenate([block[bad], np.setdiff1d(suspects, block[bad], assume_unique=True)])
    return True, suspects


def missing_part(found: Convergence) -> float:
    """How much longer a run should be to converge, in parts of its length; 0 or less when done.

    R-hat - 1 and 1 / ESS both fall as 1 / length. Infinite where R-hat is so large that nothing can be said.

    Parameters
    ----------
    found : Convergence
        R-hat and effective sample size of all quantities.

    Returns
    -------
    float

    Examples
    --------
    >>> missing_part(Convergence(np.array([1.005, 1.02]), np.array([800.0, 500.0])))
    1.0
    """
    if not np.max(found.rhat) <= HOPELESS_RHAT:
        return math.inf
    max_rhat, ess_part = found.wanted
    longer = np.maximum((found.rhat - 1.0) / (max_rhat - 1.0), TARGET_ESS * ess_part / found.ess)
    return round(float(np.max(longer)) - 1.0, 6)


def warn_unless_converged(
    names: Sequence[str], found: Convergence, n_chains: int, remedy: str, *, stacklevel: int = 2
) -> None:
    """Warn when an R-hat is too large or an ESS too small, with the names and values of the worst quantities.

    Parameters
    ----------
    names : sequence of str
        Names of the quantities.
    found : Convergence
        Their R-hat and effective sample size.
    n_chains : int
        Number of chains.
    remedy : str
        What to do about it, in a sentence.
    stacklevel : int, default=2
        As in `warnings.warn`, counted from the caller.
    """
    problems = []
    worst, slowest = found.worst, found.slowest
    max_rhat = found.wanted.max_rhat[worst]
    if found.rhat[worst] > max_rhat:
        problems.append(f"R-hat of {names[worst]} is {found.rhat[worst]:.3f} (should be at most {max_rhat})")
    least = LEAST_ESS_A_CHAIN * found.wanted.ess_part[slowest]
    if found.ess[slowest] < least * n_chains:
        problems.append(
            f"effective sample size of {names[slowest]} is {found.ess[slowest]:.0f} "
            f"(should be at least {least:.0f} per chain, {least * n_chains:.0f} in all)"
        )
    if problems:
        warnings.warn(
            f"The chains have not converged: {'; '.join(problems)}. {remedy}",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
