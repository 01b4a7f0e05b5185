"""Rotation of a hyperplane: h' = cos(t) h + sin(t) xi leaves N(0, I) invariant."""

from __future__ import annotations

import math

from ..._algebra import copy
from ..._jit import inner_kernel
from ..chain import ROTATION
from ..kernel import project
from ..loose import is_large, log_strength
from ..tree import has_tree
from .accept import count
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
def rotate(chain, model, work, rng, k, largest, passes, n_steps):
    """Some turns of the loose atom k along one ellipse, by angles that are log-uniform up to `largest`.

    The ellipse is `cos(t) h + sin(t) xi`, with xi from N(0, I). After a rejected turn the next one goes the other way,
    and after an accepted one it goes on (a guided walk): two turns then take the atom farther than a random walk would.
    """
    kernel, axes, projections = chain.kernel, work.axes, work.axis_projection
    n, width, on_tree = kernel.Z.shape[0], kernel.Z.shape[1], has_tree(kernel)
    for j in range(width):
        axes[0, j] = chain.h[k, j]
        axes[1, j] = rng.standard_normal()
    if not on_tree:
        copy(work.loose.projection, projections[0])
        project(axes[1], kernel.columns, projections[1])
    log_smallest = math.log(smallest_turn(chain))
    log_range = math.log(largest) - log_smallest
    at, way = 0.0, 1.0
    for _ in range(n_steps):
        to = at + way * math.exp(log_smallest + log_range * rng.random())
        cosine, sine = math.cos(to), math.sin(to)
        new = work.proposed
        combine(cosine, sine, axes, new.h, width)
        if on_tree:
            accepted = try_flips(chain, model, work, rng, k)
        else:
            combine(cosine, sine, projections, new.projection, n)
            accepted = try_hyperplane(chain, model, work, rng, k, 0.0, passes)
        count(chain, ROTATION, accepted)
        if accepted:
            at = to
        else:
            way = -way


@inner_kernel
def combine(cosine, sine, axes, x, n):
    """x = cos(t) axes[0] + sin(t) axes[1]."""
    for i in range(n):
        x[i] = cosine * axes[0, i] + sine * axes[1, i]
