"""Rotation of a hyperplane: h' = cos(t) h + sin(t) xi leaves N(0, I) invariant."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..kernel import project
from ..loose import is_large, log_strength
from ..tree import has_tree
from .hyperplane import try_flips, try_hyperplane

QUARTER_TURN = 0.5 * math.pi
# Smooth units of atoms that matter: the angle is log-uniform between these, or from 1/n.
SMALLEST, SMALL_TURN = 1e-3, 0.3
# Sign units: turns up to this, over the strength of the atom, and up to so many n-ths.
TURN, ROWS = 30.0, 10.0


@inner_kernel
def largest_turn(chain, k):
    """The largest useful turn of atom k.

    A row that changes sides costs the likelihood about 2 v / sigma2, and a turn by t flips about t n / 3 rows. With the
    strength v trace(P), about v n / sigma2, turns beyond 30 / strength are hardly ever accepted, unless they flip one
    or two rows. Rotations leave the strength alone.
    """
    if not is_large(chain, k):
        return QUARTER_TURN
    if not math.isinf(chain.kernel.sharpness):
        return SMALL_TURN
    return min(QUARTER_TURN, TURN * math.exp(-log_strength(chain, k)) + ROWS / max(chain.kernel.Z.shape[0], 1))


@inner_kernel
def smallest_turn(chain):
    """Turns by less than 1/n flip hardly any row."""
    reciprocal = 1.0 / max(chain.kernel.Z.shape[0], 1)
    return reciprocal if math.isinf(chain.kernel.sharpness) else min(SMALLEST, reciprocal)


@inner_kernel
def rotate(chain, model, work, rng, k, largest, passes):
    """One rotation of the loose atom k by an angle that is log-uniform up to `largest`; returns 1 when accepted."""
    width = chain.kernel.Z.shape[1]
    h_new = work.proposed.h
    log_smallest = math.log(smallest_turn(chain))
    angle = math.exp(log_smallest + (math.log(largest) - log_smallest) * rng.random())
    cosine, sine = math.cos(angle), math.sin(angle)
    for j in range(width):
        h_new[j] = cosine * chain.h[k, j] + sine * rng.standard_normal()
    if has_tree(chain.kernel):
        return try_flips(chain, model, work, rng, k)
    project(h_new, chain.kernel.columns, work.proposed.projection)
    return try_hyperplane(chain, model, work, rng, k, 0.0, passes)
