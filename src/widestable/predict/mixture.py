"""Mixtures of Gaussians: distribution function, quantiles and scores, row by row.

Rows are cut into blocks of a fixed size, which bounds the memory and is what threads share. A row's answer does not
depend on the block it falls in. Components have the same weights in every row, which add up to the number of draws: all
are 1 unless the noise has outliers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from .._jit import inner_kernel, kernel
from .._types import FloatArray
from ..progress import row_bar
from .components import Source, components, observed

# New rows computed together by one thread.
BLOCK = 32
# Nodes of the grid for the CRPS of one row (0.5 MB); beyond it, pairs of components.
MAX_NODES = 65_536.0
# Beyond this many standard deviations the normal distribution function is 0 or 1 to machine precision.
FAR = 8.3
# A quantile is found when its probability is right to this, or its value relative to itself.
PROBABILITY_ERROR = 1e-14
RELATIVE_ERROR = 1e-12
MAX_STEPS = 200
TINY = 1e-300
# The trapezoidal rule for F (1 - F) is exact to rounding with two nodes per standard deviation.
NODES_PER_SD = 2.0

Fill = Callable[[FloatArray, FloatArray, FloatArray, slice, FloatArray], None]


class Job(NamedTuple):
    """How to go through the rows: threads, and whether to show a bar (None: in a terminal, when it takes long)."""

    n_jobs: int | None = None
    progress: bool | None = False


ONE_THREAD = Job()


def quantiles(
    source: Source, X: FloatArray, probabilities: FloatArray, noise: bool, job: Job = ONE_THREAD
) -> FloatArray:
    """Quantiles of the mixture at each row of X, shape (m, len(probabilities))."""

    def fill(mean: FloatArray, sd: FloatArray, weight: FloatArray, rows: slice, out: FloatArray) -> None:
        fill_quantiles(mean, sd, weight, probabilities, *_brackets(mean, sd, weight, probabilities), out)

    return _by_blocks(source, X, fill, probabilities.size, noise, job)


def _brackets(
    mean: FloatArray, sd: FloatArray, weight: FloatArray, probabilities: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Where each quantile must lie, shapes (m, len(probabilities)).

    Between the order statistics, of its own rank, of the components' far ends: components of astronomical spread then
    do not widen the bracket unless the quantile is among them.
    """
    if np.any(weight != 1.0):
        ends = [_weighted_ends(mean + side * FAR * sd, weight, probabilities, side) for side in (-1, 1)]
        return ends[0], ends[1]
    rank = probabilities * mean.shape[1]
    below = np.maximum(np.ceil(rank).astype(np.intp) - 2, 0)
    above = np.minimum(rank.astype(np.intp) + 1, mean.shape[1] - 1)
    low = np.partition(mean - FAR * sd, np.unique(below), axis=1)[:, below]
    high = np.partition(mean + FAR * sd, np.unique(above), axis=1)[:, above]
    return np.ascontiguousarray(low), np.ascontiguousarray(high)


def _weighted_ends(ends: FloatArray, weight: FloatArray, probabilities: FloatArray, side: int) -> FloatArray:
    """`_brackets` on one side, where components have different weights: one component further out than need be."""
    out = np.empty((len(ends), probabilities.size))
    for row, found in zip(ends, out, strict=True):
        order = np.argsort(row)
        below = np.cumsum(weight[order])
        place = np.searchsorted(below, probabilities * below[-1], side="left" if side < 0 else "right") + side
        found[:] = row[order[np.clip(place, 0, row.size - 1)]]
    return out


def crps(source: Source, X: FloatArray, y: FloatArray, noise: bool, job: Job = ONE_THREAD) -> FloatArray:
    """Continuous ranked probability score of the mixture at each row, shape (m,)."""

    def fill(mean: FloatArray, sd: FloatArray, weight: FloatArray, rows: slice, out: FloatArray) -> None:
        fill_crps(mean, sd, weight, y[rows], MAX_NODES, out[:, 0])

    return _by_blocks(source, X, fill, 1, noise, job)[:, 0]


def log_density(source: Source, X: FloatArray, y: FloatArray, job: Job = ONE_THREAD) -> FloatArray:
    """Log predictive density of an observation y at each row, shape (m,)."""

    def fill(mean: FloatArray, sd: FloatArray, weight: FloatArray, rows: slice, out: FloatArray) -> None:
        fill_log_density(mean, sd, weight, y[rows], out[:, 0])

    return _by_blocks(source, X, fill, 1, True, job)[:, 0]


def _by_blocks(source: Source, X: FloatArray, fill: Fill, width: int, noise: bool, job: Job) -> FloatArray:
    out = np.empty((len(X), width))

    def do(start: int, advance: Callable[[int], None]) -> None:
        rows = slice(start, min(start + BLOCK, len(X)))
        parts = observed(source, X[rows]) if noise else (*components(source, X[rows], False), np.ones(source.n_draws))
        fill(*parts, rows, out[rows])
        advance(rows.stop - rows.start)

    with row_bar(len(X), job.progress) as advance:
        tasks = (delayed(do)(start, advance) for start in range(0, len(X), BLOCK))
        Parallel(n_jobs=job.n_jobs, require="sharedmem")(tasks)
    return out


# --- Distribution function and quantiles -----------------------------------------------------------------


@inner_kernel
def distribution(mean, sd, weight, total_weight, r, x):
    """F(x) and its density at x, for the mixture in row r; a component without spread is a step."""
    total, density = 0.0, 0.0
    for i in range(mean.shape[1]):
        away = x - mean[r, i]
        if away >= FAR * sd[r, i]:
            total += weight[i]
        elif away > -FAR * sd[r, i]:
            z = away / sd[r, i]
            total += weight[i] * (0.5 * math.erfc(-z * math.sqrt(0.5)))
            density += weight[i] * (math.exp(-0.5 * z * z) / sd[r, i])
    return total / total_weight, density / (total_weight * math.sqrt(2.0 * math.pi))


@inner_kernel
def between(low, high):
    """A number inside (low, high): the middle, or of its order of magnitude when the two are far apart."""
    if low < 0.0 < high:
        return 0.0
    if low < 0.0:
        return -between_positive(-high, -low)
    return between_positive(low, high)


@inner_kernel
def between_positive(low, high):
    if high > 4.0 * low:
        return math.sqrt(max(low, TINY)) * math.sqrt(high)
    return 0.5 * low + 0.5 * high


@inner_kernel
def solve(mean, sd, weight, total_weight, r, probability, low, high):
    """Where F reaches `probability` in [low, high]: Newton's steps while they halve the error, else bisection."""
    x = 0.5 * low + 0.5 * high
    last_error = math.inf
    for _ in range(MAX_STEPS):
        p, density = distribution(mean, sd, weight, total_weight, r, x)
        error = p - probability
        if abs(error) <= PROBABILITY_ERROR:
            return x
        if error < 0.0:
            low = x
        else:
            high = x
        if high - low <= RELATIVE_ERROR * max(abs(low), abs(high)) or max(abs(low), abs(high)) <= TINY:
            return high
        x = x - error / density if density > 0.0 else low
        if not (low < x < high) or abs(error) > 0.5 * last_error:
            x = between(low, high)
        last_error = abs(error)
    return x


@kernel
def fill_quantiles(mean, sd, weight, probabilities, low, high, out):
    """Quantiles of the mixture in each row, each inside its bracket `low`, `high` (rows, probabilities)."""
    total_weight = np.sum(weight)
    for r in range(mean.shape[0]):
        for j in range(probabilities.size):
            out[r, j] = solve(mean, sd, weight, total_weight, r, probabilities[j], low[r, j], high[r, j])


# --- Scores ----------------------------------------------------------------------------------------------


@inner_kernel
def mean_distance(away, sd):
    """E|N(away, sd**2)|."""
    away = abs(away)
    if away >= FAR * sd:
        return away
    z = away / sd
    return away * math.erf(z * math.sqrt(0.5)) + sd * math.sqrt(2.0 / math.pi) * math.exp(-0.5 * z * z)


@inner_kernel
def half_gini_by_pairs(mean, sd, weight, W, r):
    """E|X - X'| / 2 over all pairs of components: exact, O(M**2)."""
    total = 0.0
    for i in range(mean.shape[1]):
        row = 0.5 * weight[i] * mean_distance(0.0, math.sqrt(2.0) * sd[r, i])
        for j in range(i):
            row += weight[j] * mean_distance(mean[r, i] - mean[r, j], math.hypot(sd[r, i], sd[r, j]))
        total += weight[i] * row / W
    return total / W


@inner_kernel
def half_gini_on_grid(mean, sd, weight, W, r, low, step, F):
    """E|X - X'| / 2 = integral of F (1 - F), by the trapezoidal rule on the nodes `low + step * i`, from zeros F.

    A component is evaluated at the nodes within its reach only; beyond it adds its weight, through a running sum.
    """
    for i in range(mean.shape[1]):
        begin = math.ceil((mean[r, i] - FAR * sd[r, i] - low) / step)
        end = int((mean[r, i] + FAR * sd[r, i] - low) / step) + 1
        last = 0.0
        for node in range(begin, end):
            value = 0.5 * math.erfc((mean[r, i] - low - step * node) / sd[r, i] * math.sqrt(0.5))
            F[node] += weight[i] * (value - last)
            last = value
        F[end] += weight[i] * (1.0 - last)
    total, p = 0.0, 0.0
    for node in range(F.size):
        p += F[node] / W
        total += p * (1.0 - p)
    return step * total


@kernel
def fill_crps(mean, sd, weight, y, max_nodes, out):
    """Continuous ranked probability score E|X - y| - E|X - X'| / 2 of each row's mixture.

    On a grid when it has at most `max_nodes` nodes, otherwise by pairs; both exact to rounding.
    """
    n_rows, M = mean.shape
    W = np.sum(weight)
    for r in range(n_rows):
        low, high, smallest, distance = math.inf, -math.inf, math.inf, 0.0
        for i in range(M):
            low = min(low, mean[r, i] - FAR * sd[r, i])
            high = max(high, mean[r, i] + FAR * sd[r, i])
            smallest = min(smallest, sd[r, i])
            distance += weight[i] * mean_distance(mean[r, i] - y[r], sd[r, i]) / W
        step = smallest / NODES_PER_SD
        n_nodes = (high - low) / step if step > 0.0 else math.inf
        if n_nodes <= max_nodes:
            spread = half_gini_on_grid(mean, sd, weight, W, r, low, step, np.zeros(int(n_nodes) + 3))
        else:
            spread = half_gini_by_pairs(mean, sd, weight, W, r)
        out[r] = distance - spread


@kernel
def fill_log_density(mean, sd, weight, y, out):
    """Log density of each row's mixture at y, without underflow far away."""
    n_rows, M = mean.shape
    W = np.sum(weight)
    for r in range(n_rows):
        largest, total = -math.inf, 0.0
        for i in range(M):
            z = (y[r] - mean[r, i]) / sd[r, i]
            value = -0.5 * z * z - math.log(sd[r, i])
            if value > largest:
                total = total * math.exp(largest - value) + weight[i] if total > 0.0 else weight[i]
                largest = value
            elif value > -math.inf:
                total += weight[i] * math.exp(value - largest)
        out[r] = largest + math.log(total / W) - 0.5 * math.log(2.0 * math.pi)
