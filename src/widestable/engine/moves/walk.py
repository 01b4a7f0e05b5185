"""A walk of many turns that are judged roughly, and then as a whole exactly (a surrogate transition, Liu 2001).

Judging a turn exactly costs n times the rows that change sides, and n G. Nearly all of that goes into eigenvectors
that the remainder hardly changes. The rough judgement follows the leading ones only, takes their mean precision for all
others, and sees those through inner products over the rows. It is a function of the place alone, so the walk leaves
a density near the posterior invariant, and the ratio of the two at both of its ends decides on all of it.
"""

from __future__ import annotations

import math

from ..._algebra import copy, dot, times
from ..._jit import inner_kernel, summing_kernel
from ..chain import WALK
from ..groups import weighted_dot, weighted_row_dot
from ..kernel import project
from ..loose import log_gain, log_scale
from ..model import WALK_RANK
from .accept import accept, count
from .hyperplane import try_hyperplane
from .rotation import combine, smallest_turn

# With fewer rows the exact judgement is as cheap.
LEAST_ROWS = 2 * WALK_RANK
# The rough a of a pattern that depends on the others may be negative.
LEAST_PART = 1e-3


@inner_kernel
def may_walk(chain, model):
    """Whether walks are worth it: those of sign units, with more than a few rows and fewer than have a tree."""
    kernel = chain.kernel
    return model.n_rest == 0 and kernel.Z.shape[0] >= LEAST_ROWS and math.isinf(kernel.sharpness)


@inner_kernel
def walk(chain, model, work, rng, k, largest, n_ellipses, n_steps):
    """Walk the loose atom k along some ellipses, each as in `rotation.rotate`, and accept or reject where it ends."""
    kernel, old, new, axes, projections = chain.kernel, work.loose, work.proposed, work.axes, work.axis_projection
    n, width = kernel.Z.shape
    first = n - WALK_RANK
    log_v = log_scale(chain, k)
    rest = mean(chain.precision, first)
    here, there = work.rough, work.rough_proposed
    for j in range(WALK_RANK):
        here.t[j] = old.t[first + j]
    for g in range(chain.n_groups):
        here.c[g] = weighted_row_dot(model.weight, chain.tau, g, old.tau)
    here.w_y = weighted_dot(model.weight, model.row_y, old.tau)
    judge(chain, model, work, here, rest, log_v)
    start = here.log_gain
    work.n_walks += 1
    copy(old.tau, new.tau)
    copy(old.projection, projections[0])
    for j in range(width):
        axes[0, j] = chain.h[k, j]
    log_smallest = math.log(smallest_turn(chain))
    log_range = math.log(largest) - log_smallest
    for _ in range(n_ellipses):
        for j in range(width):
            axes[1, j] = rng.standard_normal()
        project(axes[1], kernel.columns, projections[1])
        n_near = list_near(projections, n, n_steps * largest, work.near)
        at, way = 0.0, 1.0
        for _ in range(n_steps):
            to = at + way * math.exp(log_smallest + log_range * rng.random())
            n_flipped = list_flips(projections, math.cos(to), math.sin(to), new.tau, work.near, n_near, work.passed)
            if n_flipped == 0:
                at = to
                continue
            flip(chain, model, work, n_flipped, new.tau, here, there, first)
            judge(chain, model, work, there, rest, log_v)
            if accept(rng, there.log_gain - here.log_gain):
                for f in range(n_flipped):
                    new.tau[work.passed[f]] = -new.tau[work.passed[f]]
                here, there = there, here
                at = to
            else:
                way = -way
        cosine, sine = math.cos(at), math.sin(at)
        for j in range(width):
            axes[0, j] = cosine * axes[0, j] + sine * axes[1, j]
        combine(cosine, sine, projections, projections[0], n)
    for j in range(width):
        new.h[j] = axes[0, j]
    copy(projections[0], new.projection)
    count(chain, WALK, try_hyperplane(chain, model, work, rng, k, start - here.log_gain, False))


@inner_kernel
def list_near(projections, n, farthest, near):
    """List the rows that a turn by at most `farthest` may pass; returns their number."""
    n_near = 0
    bound = math.tan(farthest) if farthest < 1.5 else math.inf
    for i in range(n):
        if abs(projections[0, i]) <= bound * abs(projections[1, i]):
            near[n_near] = i
            n_near += 1
    return n_near


@inner_kernel
def list_flips(projections, cosine, sine, tau, near, n_near, flipped):
    """List the rows that are on the other side of cos(t) h + sin(t) xi; returns their number."""
    n_flipped = 0
    for r in range(n_near):
        i = near[r]
        side = 1.0 if cosine * projections[0, i] + sine * projections[1, i] >= 0.0 else -1.0
        if side != tau[i]:
            flipped[n_flipped] = i
            n_flipped += 1
    return n_flipped


@inner_kernel
def flip(chain, model, work, n_flipped, tau, here, there, first):
    """What is known of the pattern with the rows `work.passed` on the other side."""
    basis, weight, row_y, flipped = chain.kernel.basis, model.weight, model.row_y, work.passed
    by_row, last_walk, this_walk = work.by_row, work.last_walk, work.n_walks
    t, c, n_groups = there.t, there.c, chain.n_groups
    copy(here.t, t)
    for g in range(n_groups):
        c[g] = here.c[g]
    w_y = here.w_y
    for f in range(n_flipped):
        i = flipped[f]
        change = -2.0 * tau[i]
        for j in range(t.size):
            t[j] += change * basis[i, first + j]
        if last_walk[i] != this_walk:
            last_walk[i] = this_walk
            copy_column(chain.tau, i, by_row, n_groups)
        change *= weight[i]
        for g in range(n_groups):
            c[g] += change * by_row[i, g]
        w_y += change * row_y[i]
    there.w_y = w_y


@inner_kernel
def copy_column(M, i, by_row, n):
    """by_row[i] = M[:, i]."""
    for g in range(n):
        by_row[i, g] = M[g, i]


@inner_kernel
def judge(chain, model, work, place, rest, log_v):
    """The rough log likelihood of a place."""
    n_groups, s, p, scaled = chain.n_groups, work.z, work.residual, work.scaled_t
    precision, T, y, t = chain.precision, chain.T, chain.kernel.y, place.t
    first = precision.size - t.size
    t_t, t_y = rest * model.total_weight, rest * place.w_y
    for j in range(t.size):
        scaled[j] = t[j] * (precision[first + j] - rest)
        t_t += scaled[j] * t[j]
        t_y += scaled[j] * y[first + j]
    for g in range(n_groups):
        s[g] = rest * place.c[g] + shifted_row_dot(T, g, first, scaled, t.size)
    times(chain.R, s, n_groups, n_groups, p)
    a = max(t_t - dot(s, p, n_groups), LEAST_PART * t_t)
    place.log_gain = log_gain(log_v, a, t_y - dot(chain.u, p, n_groups))


@summing_kernel
def shifted_row_dot(M, row, first, x, n):
    """Sum of M[row, first + j] x_j over the first n entries of x."""
    total = 0.0
    for j in range(n):
        total += M[row, first + j] * x[j]
    return total


@summing_kernel
def mean(x, n):
    """Mean of the first n entries."""
    total = 0.0
    for i in range(n):
        total += x[i]
    return total / n
