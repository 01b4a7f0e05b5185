"""Reflection of a hyperplane in a row near it: h' = h - 2 (h.z) z / |z|^2, which flips that row."""

from __future__ import annotations

import math

from ..._algebra import draw_weighted
from ..._jit import inner_kernel
from ..kernel import project
from .hyperplane import try_hyperplane

# Rows farther than this (in the cosine to the hyperplane) are drawn about as rarely as any.
NEAR = 0.02


@inner_kernel
def nearness(projection, row_norm, norm, weights):
    """Fill weights_i = 1 / (|h.z_i| / (|h| |z_i|) + 0.02)^2 and return their sum."""
    total = 0.0
    for i in range(projection.size):
        weights[i] = 1.0 / (abs(projection[i]) / (norm * row_norm[i]) + NEAR) ** 2
        total += weights[i]
    return total


@inner_kernel
def reflect(chain, model, work, rng, k, passes):
    """One reflection of the loose atom k in a row drawn near its hyperplane; returns 1 when accepted."""
    kernel, old, new = chain.kernel, work.loose, work.proposed
    n, width = kernel.Z.shape
    norm = 0.0
    for j in range(width):
        norm += chain.h[k, j] ** 2
    norm = math.sqrt(norm)
    total = nearness(old.projection, kernel.row_norm, norm, work.weights)
    i = draw_weighted(work.weights, n, total, rng)
    step = 2.0 * old.projection[i] / kernel.row_norm[i] ** 2
    for j in range(width):
        new.h[j] = chain.h[k, j] - step * kernel.Z[i, j]
    project(new.h, kernel.columns, new.projection)
    # |h.z_i| is the same on both sides, so only the sums of the weights differ.
    total_new = nearness(new.projection, kernel.row_norm, norm, work.weights)
    return try_hyperplane(chain, model, work, rng, k, math.log(total / total_new), passes)
