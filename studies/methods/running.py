"""Methods with draws as runs that go on: make more draws, look at f, forecast, and make more again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from studies.forecasts import LEVELS
from studies.problems import Floats, Problem
from widestable.inputs import check_training, spread_indices

Indices = NDArray[np.intp]

N_CHAINS = 4
# Iterations that gradient-based and particle samplers adapt for; no draw is taken from them.
N_WARM = 300
# A run is judged by the last part of its iterations: by the larger one, or by the smaller where that has not converged.
KEPT_PART, LATE_PART = 0.9, 2.0 / 3.0
# Draws that are kept of each chain: the last two thirds of a run are then about as many as our engine keeps.
MAX_KEPT = 1536
# Draws of each chain that make a forecast, and observations that are drawn from all of them together.
N_SHOWN = 100
N_OBSERVED = 4000
# The shortest stretch: with many rows a few iterations of NUTS take minutes.
FEW = 2
# The engine stores f at no more rows; the judged ones are an even selection of those.
MAX_STORED, MAX_JUDGED = 500, 200


class Run(Protocol):
    """Four chains on one thread. Only what has been asked for is done, so the time of each part can be told.

    Attributes
    ----------
    n_iterations : int
        Iterations of each chain so far, warm-up included.
    seconds : float
        Their processor seconds, with all preparation. Compiling is left out, and so is everything that only a forecast
        needs.
    """

    n_iterations: int
    seconds: float

    def advance(self, n_iterations: int) -> None:
        """Make at least so many more iterations of each chain."""

    def f(self, part: float = LATE_PART) -> Floats:
        """Return f at the judged rows, (chains, draws, rows), from this last part of the iterations."""

    def quantiles(self) -> Floats:
        """Return quantiles of a new observation at LEVELS, (m, 100), from the last two thirds."""


class RunWithNoise(Run, Protocol):
    """A run whose observations are f plus normal noise."""

    def at_new(self) -> tuple[Floats, Floats]:
        """Return an even selection of draws of f at the new rows, (..., m), and of the noise s.d., (...)."""


def judged_rows(problem: Problem) -> Indices:
    """Return which training rows convergence is judged at: all distinct ones, or 200 that are spread over them."""
    place = check_training(problem.X, problem.y).index
    n_distinct = int(place.max()) + 1
    stored = spread_indices(n_distinct, MAX_STORED)
    judged = stored[spread_indices(stored.size, MAX_JUDGED)]
    _, first = np.unique(place, return_index=True)
    return np.asarray(first[judged])


def advance_to(run: Run, goal: float) -> None:
    """Advance until a time, in stretches as long as the seconds per iteration so far tell."""
    while run.seconds < goal:
        rate = max(run.seconds, 1e-6) / run.n_iterations
        run.advance(max(FEW, math.ceil((goal - run.seconds) / rate)))


class Records:
    """Something of every so many iterations: when there are too many, every second one is dropped.

    Examples
    --------
    >>> records = Records(most=4)
    >>> for i in range(1, 11):
    ...     records.add(i, str(i))
    >>> records.every, records.last(2 / 3, 10)
    (4, ['4', '8'])
    """

    def __init__(self, most: int = MAX_KEPT) -> None:
        self.every = 1
        self._most = most
        self._items: list[tuple[int, Any]] = []

    def add(self, iteration: int, item: Any) -> None:
        """Keep the item of an iteration, counted from 1, unless it lies between those that are kept."""
        if iteration % self.every:
            return
        self._items.append((iteration, item))
        if len(self._items) > self._most:
            self.every *= 2
            self._items = [(i, kept) for i, kept in self._items if i % self.every == 0]

    def last(self, part: float, n_iterations: int) -> list[Any]:
        """Return what is kept of the last part of so many iterations."""
        return [item for i, item in self._items if i > (1.0 - part) * n_iterations]


def spread(items: Sequence[Any], most: int = N_SHOWN) -> list[Any]:
    """Return at most so many of the items, evenly spread."""
    return [items[i] for i in spread_indices(len(items), most)]


def quantiles_from(f: Floats, noise_sd: Floats, rng: np.random.Generator) -> Floats:
    """Return quantiles of a new observation at LEVELS, shape (m, 100), from draws of f and of the noise.

    Parameters
    ----------
    f : ndarray of shape (..., m)
        Few draws are enough: each of them gets as many draws of the noise as make about 4000 observations.
    noise_sd : ndarray of shape (...)
    rng : numpy.random.Generator
        Source of the noise.
    """
    f, noise_sd = f.reshape(-1, f.shape[-1]), noise_sd.ravel()
    n_each = max(1, N_OBSERVED // len(f))
    y = f[:, None, :] + noise_sd[:, None, None] * rng.standard_normal((len(f), n_each, f.shape[1]))
    return np.asarray(np.quantile(y.reshape(-1, f.shape[1]), LEVELS, axis=0).T)
