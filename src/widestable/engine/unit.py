"""The unit function: sign, or erf of a given sharpness. Patterns are its values in [-1, 1]."""

from __future__ import annotations

import math

from .._jit import inner_kernel


@inner_kernel
def unit(t, sharpness):
    """sign(t) (+1 at 0) when sharpness is infinite, erf(sharpness * t) otherwise."""
    if math.isinf(sharpness):
        return 1.0 if t >= 0.0 else -1.0
    return math.erf(sharpness * t)


@inner_kernel
def project(h, Z, projection):
    """Fill `projection` with h.z_i for every row z_i of Z."""
    n, width = Z.shape
    for i in range(n):
        total = 0.0
        for j in range(width):
            total += h[j] * Z[i, j]
        projection[i] = total


@inner_kernel
def pattern_of(h, Z, sharpness, projection, tau):
    """Fill `projection` with h.z_i and `tau` with the unit's values, for every row z_i of Z."""
    project(h, Z, projection)
    for i in range(tau.size):
        tau[i] = unit(projection[i], sharpness)


@inner_kernel
def rotate_pattern(tau, basis, t):
    """t = B' tau: the pattern in the eigenbasis, from scratch in O(n r)."""
    for j in range(t.size):
        t[j] = 0.0
    for i in range(tau.size):
        add_row(basis, i, tau[i], t)


@inner_kernel
def add_row(M, row, factor, t):
    """t += factor * M[row]."""
    for j in range(t.size):
        t[j] += factor * M[row, j]
