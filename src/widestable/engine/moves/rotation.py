"""Rotation of a hyperplane: h' = cos(t) h + sin(t) xi leaves N(0, I) invariant."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..kernel import project
from ..tree import has_tree
from .hyperplane import try_flips, try_hyperplane

# The angle is log-uniform between a fraction of a data spacing and the largest turn that is asked for.
SMALLEST = 1e-3
QUARTER_TURN = 0.5 * math.pi


@inner_kernel
def rotate(chain, model, work, rng, k, largest):
    """One rotation of the loose atom k by at most `largest`; returns 1 when accepted."""
    n, width = chain.kernel.Z.shape
    h_new = work.proposed.h
    log_smallest = math.log(min(SMALLEST, 1.0 / max(n, 1)))
    angle = math.exp(log_smallest + (math.log(largest) - log_smallest) * rng.random())
    cosine, sine = math.cos(angle), math.sin(angle)
    for j in range(width):
        h_new[j] = cosine * chain.h[k, j] + sine * rng.standard_normal()
    if has_tree(chain.kernel):
        return try_flips(chain, model, work, rng, k)
    project(h_new, chain.kernel.Z, work.proposed.projection)
    return try_hyperplane(chain, model, work, rng, k, 0.0)
