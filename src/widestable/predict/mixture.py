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

from .._jit import allocating_kernel, inner_kernel, kernel, summing_kernel
from .._types import FloatArray
from ..progress import row_bar
from .components import Source, components, observed
from .normal import FAR, bell, upper_tail

# New rows computed together by one thread.
BLOCK = 128
# Nodes of the grid for the CRPS of one row (0.5 MB); beyond it, pairs of components.
MAX_NODES = 65_536.0
# A quantile is found when its probability is right to this, or its value relative to itself.
PROBABILITY_ERROR = 1e-14
RELATIVE_ERROR = 1e-12
MAX_STEPS = 200
TINY = 1e-300
# The trapezoidal rule for F (1 - F) is exact to rounding with two nodes per standard deviation.
NODES_PER_SD = 2.0
# How much denser than that a grid is in its middle if it gets coarser outwards.
DENSER = 1.2

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


@summing_kernel
def distribution(mean, sd, weight, total_weight, r, x):
    """F(x) and its density at x, for the mixture in row r; a component without spread is a step."""
    total, density = 0.0, 0.0
    for i in range(mean.shape[1]):
        away = x - mean[r, i]
        is_near = abs(away) < FAR * sd[r, i]
        z = abs(away) / sd[r, i] if is_near else FAR
        height = bell(z)
        above = upper_tail(z, height) if is_near else 0.0
        total += weight[i] * (above if away < 0.0 else 1.0 - above)
        density += weight[i] * height / sd[r, i] if is_near else 0.0
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
def even_grid(mean, sd, r, smallest):
    """First node and step of equally spaced nodes, and their number."""
    low, high = math.inf, -math.inf
    for i in range(mean.shape[1]):
        low = min(low, mean[r, i] - FAR * sd[r, i])
        high = max(high, mean[r, i] + FAR * sd[r, i])
    step = smallest / NODES_PER_SD
    return low, step, (high - low) / step + 2.0


@inner_kernel
def stretched_grid(mean, sd, r, smallest):
    """Centre, bend and step of the nodes `centre + bend sinh(step i / bend)`, i = -k, ..., k, and their number 2 k + 1.

    Outliers are up to a thousand times wider than all else, and would need as many more nodes with equal steps. A step
    grows by the factor `sqrt(1 + (x - centre)^2 / bend^2)`. The bend is such that it is never too long for a component
    within its reach.
    """
    total, centre = 0.0, 0.0
    for i in range(mean.shape[1]):
        total += smallest / sd[r, i]
        centre += mean[r, i] * (smallest / sd[r, i])
    centre /= total
    bend, reach = 0.0, 0.0
    for i in range(mean.shape[1]):
        end = abs(mean[r, i] - centre) + FAR * sd[r, i]
        growth = DENSER * sd[r, i] / smallest
        bend = max(bend, end / math.sqrt(growth * growth - 1.0))
        reach = max(reach, end)
    step = smallest / (NODES_PER_SD * DENSER)
    return centre, bend, step, 2.0 * math.ceil(bend * math.asinh(reach / bend) / step) + 1.0


@inner_kernel
def first_node(x, value):
    """Index of the first of the increasing nodes x that is at least `value`; their number if none is."""
    low, high = 0, x.size
    while low < high:
        middle = (low + high) // 2
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def add_component(x, mean, sd, weight, below, above):
    """Add P(X < x) and P(X > x) of a component at nodes within its reach."""
    for i in range(x.size):
        z = (x[i] - mean) / sd
        beyond = upper_tail(abs(z), bell(z))
        below[i] += weight * (beyond if z < 0.0 else 1.0 - beyond)
        above[i] += weight * (1.0 - beyond if z < 0.0 else beyond)


@allocating_kernel
def half_gini_on_grid(mean, sd, weight, W, r, x, width):
    """E|X - X'| / 2 = integral of F (1 - F), by the trapezoidal rule on the nodes x with their widths.

    Components that lie on one side of a node altogether are counted through running sums. F and 1 - F are summed apart,
    so that both are accurate where they are small.
    """
    n = x.size
    below, above, ended, not_begun = np.zeros(n), np.zeros(n), np.zeros(n + 1), np.zeros(n + 1)
    for i in range(mean.shape[1]):
        begin = first_node(x, mean[r, i] - FAR * sd[r, i])
        end = first_node(x, mean[r, i] + FAR * sd[r, i])
        add_component(x[begin:end], mean[r, i], sd[r, i], weight[i], below[begin:end], above[begin:end])
        ended[end] += weight[i]
        not_begun[begin] += weight[i]
    total, so_far = 0.0, 0.0
    for node in range(n):
        so_far += ended[node]
        below[node] += so_far
    so_far = 0.0
    for node in range(n - 1, -1, -1):
        so_far += not_begun[node + 1]
        total += (below[node] / W) * ((above[node] + so_far) / W) * width[node]
    return total


@allocating_kernel
def half_gini(mean, sd, weight, W, r, max_nodes):
    """E|X - X'| / 2 on the smaller of two grids, or by pairs where both have more than `max_nodes` nodes."""
    smallest = math.inf
    for i in range(mean.shape[1]):
        smallest = min(smallest, sd[r, i])
    if smallest > 0.0:
        low, even_step, n_even = even_grid(mean, sd, r, smallest)
        centre, bend, step, n_stretched = stretched_grid(mean, sd, r, smallest)
        if n_even <= min(n_stretched, max_nodes):
            x = low + even_step * np.arange(int(n_even))
            return half_gini_on_grid(mean, sd, weight, W, r, x, np.full(x.size, even_step))
        if n_stretched <= max_nodes:
            t = (np.arange(int(n_stretched)) - int(n_stretched) // 2) * (step / bend)
            return half_gini_on_grid(mean, sd, weight, W, r, centre + bend * np.sinh(t), step * np.cosh(t))
    return half_gini_by_pairs(mean, sd, weight, W, r)


@kernel
def fill_crps(mean, sd, weight, y, max_nodes, out):
    """Continuous ranked probability score E|X - y| - E|X - X'| / 2 of each row's mixture, exact to rounding."""
    n_rows, M = mean.shape
    W = np.sum(weight)
    for r in range(n_rows):
        distance = 0.0
        for i in range(M):
            distance += weight[i] * mean_distance(mean[r, i] - y[r], sd[r, i]) / W
        out[r] = distance - half_gini(mean, sd, weight, W, r, max_nodes)


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
