"""Rotation of a hyperplane: h' = cos(t) h + sin(t) xi leaves N(0, I) invariant."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..tree import has_tree
from ..unit import project
from .hyperplane import try_flips, try_hyperplane

# The angle is log-uniform between a fraction of a data spacing and the largest turn that is asked for.
SMALLEST = 1e-3
QUARTER_TURN = 0.5 * math.pi


@inner_kernel
def rotate(chain, model, work, rng, k, largest):
    """One rotation of the loose atom k by at most `largest`; returns 1 when accepted."""
    n, width = model.Z.shape
    log_smallest = math.log(min(SMALLEST, 1.0 / max(n, 1)))
    angle = math.exp(log_smallest + (math.log(largest) - log_smallest) * rng.random())
    cosine, sine = math.cos(angle), math.sin(angle)
    for j in range(width):
        work.xi[j] = rng.standard_normal()
        work.h_new[j] = cosine * chain.h[k, j] + sine * work.xi[j]
    if has_tree(model):
        return try_flips(chain, model, work, rng, k)
    project(work.h_new, model.Z, work.projection_new)
    return try_hyperplane(chain, model, work, rng, k, 0.0)
