"""Predictive mixtures of Gaussians, one row at a time: components, distribution function, quantiles, CRPS.

Every row is computed by the same instructions whatever rows stand beside it, so its answer is the same to the
last bit in any company.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._jit import inner_kernel, kernel, summing_kernel
from .._types import FloatArray, IntArray
from ..engine.unit import unit

# Beyond this many standard deviations the normal distribution function is 0 or 1 to machine precision.
FAR = 8.3
# A quantile is found when its probability is right to this, or its value relative to itself.
PROBABILITY_ERROR = 1e-14
RELATIVE_ERROR = 1e-12
MAX_STEPS = 200
TINY = 1e-300
# The trapezoidal rule for F (1 - F) is exact to rounding with two nodes a standard deviation.
NODES_A_SD = 2.0


class Components(NamedTuple):
    """What prediction needs of one chain: M draws over n training rows."""

    g: FloatArray  # (M,) scale of the remainder
    sigma2: FloatArray  # (M,)
    coefficient: FloatArray  # (M, m)
    first: IntArray  # (M + 1,) where the atoms of each draw begin
    h: FloatArray  # (atoms, d + 1)
    size: FloatArray  # (atoms,)
    anchor: IntArray  # (M,) row of `at_rows` of a draw whose atoms nearly cancel, otherwise -1
    at_rows: FloatArray  # (anchored draws, n) its atoms' sum at the training rows


class Basis(NamedTuple):
    """The training rows, or m landmarks that stand for them, and the eigenbasis of the kernel."""

    Z: FloatArray  # (m, d + 1)
    basis: FloatArray  # (m, r)
    eigenvalues: FloatArray  # (r,)
    sharpness: float


@inner_kernel
def project(h, k, Z, row):
    """h_k . z_row."""
    total = 0.0
    for j in range(Z.shape[1]):
        total += h[k, j] * Z[row, j]
    return total


@inner_kernel
def atom_sum(chain, draw, Z, row, train, nearest):
    """Sum of the atoms of a draw at a new row.

    Where sizes are so large that their sum would lose digits, it starts from the known sum at the nearest training
    row and adds only the atoms that tell the two rows apart.
    """
    anchor = chain.anchor[draw]
    total = 0.0 if anchor < 0 else chain.at_rows[anchor, nearest]
    for k in range(chain.first[draw], chain.first[draw + 1]):
        value = unit(project(chain.h, k, Z, row), train.sharpness)
        if anchor >= 0:
            value -= unit(project(chain.h, k, train.Z, nearest), train.sharpness)
        total += chain.size[k] * value
    return total


@inner_kernel
def rotate_rows(k, basis, q):
    """q = k B: covariances with the training rows, in the eigenbasis."""
    for r in range(k.shape[0]):
        for j in range(q.shape[1]):
            q[r, j] = 0.0
        for i in range(basis.shape[0]):
            for j in range(q.shape[1]):
                q[r, j] += k[r, i] * basis[i, j]


@inner_kernel
def nearest_row(k, r):
    """The training row with the largest covariance."""
    best = 0
    for i in range(1, k.shape[1]):
        if k[r, i] > k[r, best]:
            best = i
    return best


@summing_kernel
def pull_of(k, r, coefficient, draw):
    """k_r . c: what the remainder's mean is, over g."""
    total = 0.0
    for i in range(k.shape[1]):
        total += k[r, i] * coefficient[draw, i]
    return total


@summing_kernel
def explained_by(q, r, precision):
    """Sum of q_j**2 p_j over the eigenbasis: the variance that the data explain, over g**2."""
    total = 0.0
    for j in range(precision.size):
        total += q[r, j] * q[r, j] * precision[j]
    return total


@kernel
def fill_components(Z, k, k_self, train, chain, draws, offset, noise, mean, sd):
    """Mean and s.d. of f (or of an observation) at B new rows given each of `draws`, into columns from `offset` on."""
    n = train.eigenvalues.size
    q = np.empty((Z.shape[0], n))
    precision = np.empty(n)
    nearest = np.empty(Z.shape[0], np.int64)
    rotate_rows(k, train.basis, q)
    for r in range(Z.shape[0]):
        nearest[r] = nearest_row(k, r)
    for draw in draws:
        g, sigma2 = chain.g[draw], chain.sigma2[draw]
        for j in range(n):
            precision[j] = 1.0 / (g * train.eigenvalues[j] + sigma2)
        for r in range(Z.shape[0]):
            explained = explained_by(q, r, precision)
            variance = max(g * (k_self[r] - g * explained), 0.0) + (sigma2 if noise else 0.0)
            atoms = atom_sum(chain, draw, Z, r, train, nearest[r])
            mean[r, offset + draw] = atoms + g * pull_of(k, r, chain.coefficient, draw)
            sd[r, offset + draw] = math.sqrt(variance)


@kernel
def fill_atom_sums(Z, nearest, train, chain, draw, out):
    """Sum of the atoms of one draw at every new row."""
    for r in range(Z.shape[0]):
        out[r] = atom_sum(chain, draw, Z, r, train, nearest[r])


# --- Distribution function and quantiles -----------------------------------------------------------------


@inner_kernel
def distribution(mean, sd, r, x):
    """F(x) and its density at x, for the mixture in row r; a component without spread is a step."""
    total, density = 0.0, 0.0
    for i in range(mean.shape[1]):
        away = x - mean[r, i]
        if away >= FAR * sd[r, i]:
            total += 1.0
        elif away > -FAR * sd[r, i]:
            z = away / sd[r, i]
            total += 0.5 * math.erfc(-z * math.sqrt(0.5))
            density += math.exp(-0.5 * z * z) / sd[r, i]
    return total / mean.shape[1], density / (mean.shape[1] * math.sqrt(2.0 * math.pi))


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
def solve(mean, sd, r, probability, low, high):
    """Where F reaches `probability` in [low, high]: Newton's steps while they halve the error, else bisection."""
    x = 0.5 * low + 0.5 * high
    last_error = math.inf
    for _ in range(MAX_STEPS):
        p, density = distribution(mean, sd, r, x)
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
def fill_quantiles(mean, sd, probabilities, low, high, out):
    """Quantiles of the mixture in each row, each inside its bracket `low`, `high` (rows, probabilities)."""
    for r in range(mean.shape[0]):
        for j in range(probabilities.size):
            out[r, j] = solve(mean, sd, r, probabilities[j], low[r, j], high[r, j])


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
def half_gini_by_pairs(mean, sd, r):
    """E|X - X'| / 2 over all pairs of components: exact, O(M**2)."""
    M = mean.shape[1]
    total = 0.0
    for i in range(M):
        row = 0.5 * mean_distance(0.0, math.sqrt(2.0) * sd[r, i])
        for j in range(i):
            row += mean_distance(mean[r, i] - mean[r, j], math.hypot(sd[r, i], sd[r, j]))
        total += row / M
    return total / M


@inner_kernel
def half_gini_on_grid(mean, sd, r, low, step, F):
    """E|X - X'| / 2 = integral of F (1 - F), by the trapezoidal rule on the nodes `low + step * i`, from zeros F.

    A component is evaluated at the nodes within its reach only; beyond it adds 1, through a running sum.
    """
    M = mean.shape[1]
    for i in range(M):
        begin = math.ceil((mean[r, i] - FAR * sd[r, i] - low) / step)
        end = int((mean[r, i] + FAR * sd[r, i] - low) / step) + 1
        last = 0.0
        for node in range(begin, end):
            value = 0.5 * math.erfc((mean[r, i] - low - step * node) / sd[r, i] * math.sqrt(0.5))
            F[node] += value - last
            last = value
        F[end] += 1.0 - last
    total, p = 0.0, 0.0
    for node in range(F.size):
        p += F[node] / M
        total += p * (1.0 - p)
    return step * total


@kernel
def fill_crps(mean, sd, y, max_nodes, out):
    """Continuous ranked probability score E|X - y| - E|X - X'| / 2 of each row's mixture.

    On a grid when it has at most `max_nodes` nodes, otherwise by pairs; both exact to rounding.
    """
    n_rows, M = mean.shape
    for r in range(n_rows):
        low, high, smallest, distance = math.inf, -math.inf, math.inf, 0.0
        for i in range(M):
            low = min(low, mean[r, i] - FAR * sd[r, i])
            high = max(high, mean[r, i] + FAR * sd[r, i])
            smallest = min(smallest, sd[r, i])
            distance += mean_distance(mean[r, i] - y[r], sd[r, i]) / M
        step = smallest / NODES_A_SD
        n_nodes = (high - low) / step if step > 0.0 else math.inf
        if n_nodes <= max_nodes:
            spread = half_gini_on_grid(mean, sd, r, low, step, np.zeros(int(n_nodes) + 3))
        else:
            spread = half_gini_by_pairs(mean, sd, r)
        out[r] = distance - spread


@kernel
def fill_log_density(mean, sd, y, out):
    """Log density of each row's mixture at y, without underflow far away."""
    n_rows, M = mean.shape
    for r in range(n_rows):
        largest, total = -math.inf, 0.0
        for i in range(M):
            z = (y[r] - mean[r, i]) / sd[r, i]
            value = -0.5 * z * z - math.log(sd[r, i])
            if value > largest:
                total = total * math.exp(largest - value) + 1.0 if total > 0.0 else 1.0
                largest = value
            elif value > -math.inf:
                total += math.exp(value - largest)
        out[r] = largest + math.log(total / M) - 0.5 * math.log(2.0 * math.pi)
