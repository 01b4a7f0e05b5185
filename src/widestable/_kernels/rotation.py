"""Rotation of a hyperplane: h' = cos(t) h + sin(t) xi leaves N(0, I) invariant."""

from __future__ import annotations

import math

from .jit import inner_kernel
from .propose import try_hyperplane

# The angle is log-uniform between a fraction of a data spacing and the largest turn that is asked for.
LOG_SMALLEST = math.log(1e-3)
QUARTER_TURN = 0.5 * math.pi


@inner_kernel
def rotate(chain, model, work, rng, k, largest):
    """One rotation of the loose atom k by at most `largest`; returns 1 when accepted."""
    n, width = model.Z.shape
    angle = math.exp(LOG_SMALLEST + (math.log(largest) - LOG_SMALLEST) * rng.random())
    cosine, sine = math.cos(angle), math.sin(angle)
    for j in range(width):
        work.xi[j] = rng.standard_normal()
        work.h_new[j] = cosine * chain.h[k, j] + sine * work.xi[j]
    for i in range(n):
        total = 0.0
        for j in range(width):
            total += work.h_new[j] * model.Z[i, j]
        work.projection_new[i] = total
    return try_hyperplane(chain, model, work, rng, k, 0.0)
