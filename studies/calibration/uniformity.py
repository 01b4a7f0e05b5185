"""Are ranks uniform? Chi-square, Kolmogorov-Smirnov, and simultaneous bands around the distribution function."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from studies.problems import Floats

Ints = NDArray[np.int64]

N_BINS = 20
N_REFERENCE = 1000


class Verdict(NamedTuple):
    """p-values of three tests of uniformity."""

    chi_square: float
    kolmogorov_smirnov: float
    bands: float

    @property
    def least(self) -> float:
        """The smallest, times three for having looked three times."""
        return min(1.0, 3.0 * min(self))


def rank(truth: float, draws: Floats, rng: np.random.Generator) -> int:
    """Return how many draws lie below the truth, 0 to len(draws); ties are broken at random.

    Parameters
    ----------
    truth : float
    draws : ndarray of shape (n,)
    rng : numpy.random.Generator
        Breaks ties.

    Examples
    --------
    >>> rank(2.5, np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
    2
    """
    n_ties = int(np.sum(draws == truth))
    return int(np.sum(draws < truth)) + int(rng.integers(n_ties + 1))


def judge(ranks: Ints, n_draws: int) -> Verdict:
    """Return the p-values of the hypothesis that ranks are uniform on 0, ..., n_draws.

    Parameters
    ----------
    ranks : ndarray of int
        Ranks, each among `n_draws` draws.
    n_draws : int
        One less than a multiple of 20, so that the bins are equal.
    """
    counts = np.bincount(ranks * N_BINS // (n_draws + 1), minlength=N_BINS)
    places = (ranks + np.random.default_rng(0).random(ranks.size)) / (n_draws + 1)
    reference = reference_gaps(ranks.size, n_draws)
    extreme = np.mean(reference <= gap(ranks, n_draws))
    return Verdict(float(stats.chisquare(counts).pvalue), float(stats.kstest(places, "uniform").pvalue), float(extreme))


def pointwise(ranks: Ints, n_draws: int) -> tuple[Ints, Floats]:
    """Return the number of ranks up to each value but the last, and the probability of such a rank."""
    below = np.cumsum(np.bincount(ranks, minlength=n_draws + 1))[:-1]
    return below, np.arange(1, n_draws + 1) / (n_draws + 1)


def gap(ranks: Ints, n_draws: int) -> float:
    """Return the smallest two-sided pointwise p-value of the distribution function (Säilynoja et al. 2022)."""
    below, probability = pointwise(ranks, n_draws)
    law = stats.binom(ranks.size, probability)
    return float(np.min(2.0 * np.minimum(law.cdf(below), law.sf(below - 1))))


@cache
def reference_gaps(n_ranks: int, n_draws: int) -> Floats:
    """Return the gaps of 1000 sets of uniform ranks, sorted."""
    rng = np.random.default_rng([n_ranks, n_draws])
    return np.sort([gap(rng.integers(0, n_draws + 1, n_ranks), n_draws) for _ in range(N_REFERENCE)])


def band(n_ranks: int, n_draws: int, coverage: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return the band that contains a whole distribution function of uniform ranks with a given probability.

    Returns
    -------
    places, lower, upper : ndarray of shape (n_draws,)
    """
    level = float(np.quantile(reference_gaps(n_ranks, n_draws), 1.0 - coverage))
    probability = np.arange(1, n_draws + 1) / (n_draws + 1)
    law = stats.binom(n_ranks, probability)
    return probability, law.ppf(level / 2.0) / n_ranks, law.isf(level / 2.0) / n_ranks
