"""Reflect two hyperplanes in the same rows.

Rows between two hyperplanes, in a strip or a wedge, can be cut off from the others in two ways: above one and below the
other, or the reverse, with sizes of opposite sign. Changing one atom at a time, a chain would have to give the rows up
on the way. Reflected together in rows near both, the two change sides at once. A reflection in the span of some
rows changes the side of each row in the span, is an isometry, and so leaves the prior as it is.
"""

from __future__ import annotations

import math

from ..._algebra import dot, dot3, row_dot, rows_dot
from ..._jit import inline_kernel, inner_kernel
from ..jump_measure import log_scale_of_mark
from ..large import draw_weighted, list_large
from ..loose import SUSPICIOUS, attach, detach, evaluate
from ..names import ALPHA, GROUPS, LOG_NU, T_T, A, B
from ..unit import add_row, project, unit
from .pair_scale import log_gain_of_two
from .reflection import NEAR, nearness

# Rows of `work.pair_*`: the two atoms where they are, and where they are proposed to be.
OLD_ONE, OLD_TWO, NEW_ONE, NEW_TWO = 0, 1, 2, 3


@inner_kernel
def closeness(chain, model, k, i):
    """1 / (|h.z_i| / (|h| |z_i|) + 0.02) of atom k and row i."""
    product, norm2 = 0.0, 0.0
    for j in range(chain.h.shape[1]):
        product += chain.h[k, j] * model.Z[i, j]
        norm2 += chain.h[k, j] ** 2
    return 1.0 / (abs(product) / (math.sqrt(norm2) * model.row_norm[i]) + NEAR)


@inner_kernel
def sum_of_nearness(model, work, h, norm):
    """Fill `work.projection` and the weights of all rows for a hyperplane; returns the sum of the weights."""
    project(h, model.Z, work.projection)
    return nearness(work.projection, model.row_norm, norm, work.weights)


@inner_kernel
def take_axes(work, x, y):
    """Orthonormal axes of the span of two vectors; returns their number."""
    one, two = work.pair_axes[0], work.pair_axes[1]
    norm = math.sqrt(dot(x, x, x.size))
    for j in range(x.size):
        one[j] = x[j] / norm
    along = dot(one, y, y.size)
    for j in range(x.size):
        two[j] = y[j] - along * one[j]
    norm = math.sqrt(dot(two, two, x.size))
    if norm < 1e-9 * math.sqrt(dot(y, y, y.size)):
        return 1
    for j in range(x.size):
        two[j] /= norm
    return 2


@inner_kernel
def reflect_in_axes(h, axes, n_axes, h_new):
    """The mirror image of h: its part along each axis changes sign."""
    for c in range(h.size):
        h_new[c] = h[c]
    for axis in range(n_axes):
        along = row_dot(axes, axis, h, h.size)
        for c in range(h.size):
            h_new[c] -= 2.0 * along * axes[axis, c]


@inline_kernel
def reflect_pair(chain, model, work, rng):
    """Two atoms reflected in the span of two rows (or in one row): every row of the span changes sides in both."""
    n_large = list_large(chain, work)
    if n_large < 2:
        return 0
    k = work.large[int(n_large * rng.random())]
    n = model.Z.shape[0]
    norm = math.sqrt(rows_dot(chain.h, k, k, 0, chain.h.shape[1]))
    total = sum_of_nearness(model, work, chain.h[k], norm)
    i = draw_weighted(work.weights, n, total, rng)
    j, n_drawn = i, 1
    if rng.random() < 0.5:
        j, n_drawn = draw_weighted(work.weights, n, total, rng), 2
    total_two = 0.0
    for r in range(n_large):
        other = work.large[r]
        work.z[r] = closeness(chain, model, other, i) * closeness(chain, model, other, j) if other != k else 0.0
        total_two += work.z[r]
    second = work.large[draw_weighted(work.z, n_large, total_two, rng)]
    if second == k:
        return 0
    n_axes = take_axes(work, model.Z[i], model.Z[j])
    reflect_in_axes(chain.h[k], work.pair_axes, n_axes, work.pair_h[0])
    reflect_in_axes(chain.h[second], work.pair_axes, n_axes, work.pair_h[1])
    # Distances to the two rows are the same on both sides, so only the sums of the weights of rows differ.
    total_new = sum_of_nearness(model, work, work.pair_h[0], norm)
    return try_pair(chain, model, work, rng, k, second, n_drawn * math.log(total / total_new))


@inner_kernel
def copy_loose(work, slot):
    """Keep the pattern of the loose atom."""
    for i in range(work.tau.size):
        work.pair_tau[slot, i] = work.tau[i]
    for i in range(work.t.size):
        work.pair_t[slot, i] = work.t[i]


@inner_kernel
def pattern_of_new(model, work, old, new, h):
    """The pattern of a proposed hyperplane, from that of the old one."""
    for r in range(work.t.size):
        work.pair_t[new, r] = work.pair_t[old, r]
    for i in range(work.tau.size):
        value = unit(dot(h, model.Z[i], h.size), model.sharpness)
        work.pair_tau[new, i] = value
        if value != work.pair_tau[old, i]:
            add_row(model.basis, i, value - work.pair_tau[old, i], work.pair_t[new])


@inner_kernel
def gain_of_slots(chain, model, work, one, two, log_v, log_w):
    """What two loose atoms add to the log likelihood together; -inf when digits are lost."""
    for slot in (two, one):
        t, number = work.pair_t[slot], work.pair_number[slot]
        ok = evaluate(chain, model, work, work.pair_tau[slot], t, work.c, work.pair_s[slot], number)
        if not ok or not number[A] > SUSPICIOUS * number[T_T]:
            return -math.inf
    # integrate_others left R s of the first in work.p.
    cross = dot3(work.pair_t[one], work.pair_t[two], chain.precision, work.t.size)
    cross -= dot(work.pair_s[two], work.p, chain.counts[GROUPS])
    a, b = work.pair_number[one], work.pair_number[two]
    return log_gain_of_two(log_v, log_w, a[A], b[A], cross, a[B], b[B])


@inner_kernel
def put_back(chain, model, work, k, slot):
    """Put the pattern in a slot into the system as atom k."""
    for i in range(work.tau.size):
        work.tau[i] = work.pair_tau[slot, i]
    for i in range(work.t.size):
        work.t[i] = work.pair_t[slot, i]
    evaluate(chain, model, work, work.tau, work.t, work.c, work.s, work.number)
    attach(chain, work, k)


@inline_kernel
def try_pair(chain, model, work, rng, k, second, log_ratio):
    """Accept or reject `work.pair_h` for two atoms; returns 1 when accepted."""
    alpha, log_nu = chain.theta[ALPHA], chain.theta[LOG_NU]
    log_v = log_scale_of_mark(chain.log_mark[k], alpha, log_nu)
    log_w = log_scale_of_mark(chain.log_mark[second], alpha, log_nu)
    detach(chain, model, work, k)
    copy_loose(work, OLD_ONE)
    detach(chain, model, work, second)
    copy_loose(work, OLD_TWO)
    pattern_of_new(model, work, OLD_ONE, NEW_ONE, work.pair_h[0])
    pattern_of_new(model, work, OLD_TWO, NEW_TWO, work.pair_h[1])
    after = gain_of_slots(chain, model, work, NEW_ONE, NEW_TWO, log_v, log_w)
    before = gain_of_slots(chain, model, work, OLD_ONE, OLD_TWO, log_v, log_w)
    accepted = before > -math.inf and math.log(1.0 - rng.random()) < after - before + log_ratio
    if accepted:
        for j in range(chain.h.shape[1]):
            chain.h[k, j], chain.h[second, j] = work.pair_h[0, j], work.pair_h[1, j]
    put_back(chain, model, work, second, NEW_TWO if accepted else OLD_TWO)
    put_back(chain, model, work, k, NEW_ONE if accepted else OLD_ONE)
    return 1 if accepted else 0
