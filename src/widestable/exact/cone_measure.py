"""Probability of a cone of hyperplanes by integration along great circles from a point inside it."""

from __future__ import annotations

import math

import numpy as np

from .._jit import kernel


@kernel
def sine_power_integral(t, k):
    """Integral of sin(x)**k over (0, t), 0 <= t <= pi, by the usual recursion; a series near zero."""
    if t < 1e-2:
        t2 = t * t
        second = k * (5.0 * k - 2.0) * t2 * t2 / (360.0 * (k + 5.0))
        return t ** (k + 1) * (1.0 / (k + 1.0) - k * t2 / (6.0 * (k + 3.0)) + second)
    sine, cosine = math.sin(t), math.cos(t)
    value = t if k % 2 == 0 else 1.0 - cosine
    for j in range(2 + k % 2, k + 1, 2):
        value = ((j - 1.0) * value - sine ** (j - 1) * cosine) / j
    return value


@kernel
def largest_cotangent(height, slope, walls, direction):
    """Cotangent of the distance at which a great circle leaves the cone: the largest over its walls."""
    largest = -math.inf
    for i in walls:
        rise = 0.0
        for c in range(direction.shape[0]):
            rise += slope[i, c] * direction[c]
        largest = max(largest, -rise / height[i])
    return largest


@kernel
def one_direction(height, slope, walls, factor, log_det, g, sign, direction):
    """Importance-weighted share of the sphere in the cone along the direction `sign * factor g`."""
    d = g.shape[0]
    length2, g2 = 0.0, 0.0
    for c in range(d):
        direction[c] = 0.0
        for e in range(c + 1):
            direction[c] += factor[c, e] * g[e]
        length2 += direction[c] * direction[c]
        g2 += g[c] * g[c]
    for c in range(d):
        direction[c] *= sign / math.sqrt(length2)
    reach = math.atan2(1.0, largest_cotangent(height, slope, walls, direction))
    # One over the angular central Gaussian density of the direction.
    weight = math.exp(log_det + 0.5 * d * math.log(g2 / length2))
    return weight * sine_power_integral(reach, d - 1) / sine_power_integral(math.pi, d - 1)


@kernel
def measure_cones(heights, slopes, is_wall, factors, n_pairs, rng, q, variance):
    """Fill `q` and `variance` for every cone, from `n_pairs` pairs of opposite random directions each.

    Seen from a unit vector c inside the cone, wall i is at `heights[l, i] cos t + slopes[l, i].w sin t = 0`
    along the great circle that leaves c in direction w; rows not marked as walls never stop it. `factors[l]`
    is the Cholesky factor of the directions' covariance. Both orientations of a hyperplane are counted.
    """
    d = slopes.shape[2]
    g, direction = np.empty(d), np.empty(d)
    for cone in range(q.shape[0]):
        height, slope, factor = heights[cone], slopes[cone], factors[cone]
        walls = np.flatnonzero(is_wall[cone])
        log_det = 0.0
        for c in range(d):
            log_det += math.log(factor[c, c])
        total, total2 = 0.0, 0.0
        for _ in range(n_pairs):
            for c in range(d):
                g[c] = rng.standard_normal()
            pair = one_direction(height, slope, walls, factor, log_det, g, 1.0, direction)
            pair += one_direction(height, slope, walls, factor, log_det, g, -1.0, direction)
            total += pair
            total2 += pair * pair
        q[cone] = total / n_pairs
        variance[cone] = max(total2 / n_pairs - q[cone] ** 2, 0.0) / max(n_pairs - 1, 1)
