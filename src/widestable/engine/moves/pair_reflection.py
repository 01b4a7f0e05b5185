"""Reflect two hyperplanes in the same rows.

Rows between two hyperplanes, in a strip or a wedge, can be cut off from the others in two ways: above one and below the
other, or the reverse, with sizes of opposite sign. Changing one atom at a time, a chain would have to give the rows up
on the way. Reflected together in rows near both, the two change sides at once. A reflection in the span of some
rows changes the side of each row in the span. It is an isometry, so it leaves the prior as it is.
"""

from __future__ import annotations

import math

from ..._algebra import dot, dot3, draw_weighted, row_dot, rows_dot
from ..._jit import inline_kernel, inner_kernel
from ..kernel import project, rotate_from
from ..loose import SUSPICIOUS, attach, detach, evaluate, list_large, log_scale
from .accept import accept
from .hyperplane import set_hyperplane, set_new_pattern
from .pair_scale import log_gain_of_two
from .reflection import NEAR, nearness


@inner_kernel
def is_possible(chain, model):
    """For sign units over rows so few that the remainder has full rank: the move looks at every row."""
    return model.row_y.size > 0 and model.n_rest == 0 and math.isinf(chain.kernel.sharpness)


@inner_kernel
def closeness(chain, k, i):
    """1 / (|h.z_i| / (|h| |z_i|) + 0.02)^2 of atom k and row i."""
    product, norm2 = 0.0, 0.0
    for j in range(chain.h.shape[1]):
        product += chain.h[k, j] * chain.kernel.Z[i, j]
        norm2 += chain.h[k, j] ** 2
    return 1.0 / (abs(product) / (math.sqrt(norm2) * chain.kernel.row_norm[i]) + NEAR) ** 2


@inner_kernel
def sum_of_nearness(kernel, work, h, norm):
    """Fill in the weights of all rows for a hyperplane; returns their sum."""
    projection = work.loose.projection
    project(h, kernel.columns, projection)
    return nearness(projection, kernel.row_norm, norm, work.weights)


@inner_kernel
def take_axes(axes, x, y):
    """Orthonormal axes of the span of two vectors; returns their number."""
    one, two = axes[0], axes[1]
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
    """Reflect two atoms in the span of two rows, or in one row; returns 1 when accepted."""
    n_large = list_large(chain, work.large)
    if n_large < 2:
        return 0
    kernel, Z = chain.kernel, chain.kernel.Z
    k = work.large[int(n_large * rng.random())]
    n = Z.shape[0]
    norm = math.sqrt(rows_dot(chain.h, k, k, 0, chain.h.shape[1]))
    total = sum_of_nearness(kernel, work, chain.h[k], norm)
    i = draw_weighted(work.weights, n, total, rng)
    j, n_drawn = i, 1
    if rng.random() < 0.5:
        j, n_drawn = draw_weighted(work.weights, n, total, rng), 2
    total_two = 0.0
    for r in range(n_large):
        other = work.large[r]
        work.chances[r] = closeness(chain, other, i) * closeness(chain, other, j) if other != k else 0.0
        total_two += work.chances[r]
    second = work.large[draw_weighted(work.chances, n_large, total_two, rng)]
    if second == k:
        return 0
    n_axes = take_axes(work.axes, Z[i], Z[j])
    reflect_in_axes(chain.h[k], work.axes, n_axes, work.proposed.h)
    reflect_in_axes(chain.h[second], work.axes, n_axes, work.other_proposed.h)
    # Distances to the two rows are the same on both sides, so only the sums of the weights of rows differ.
    total_new = sum_of_nearness(kernel, work, work.proposed.h, norm)
    return try_pair(chain, model, work, rng, k, second, n_drawn * math.log(total / total_new))


@inner_kernel
def reflect_pattern(kernel, old, new):
    """The pattern of the proposed hyperplane `new.h`, from that of the old one."""
    project(new.h, kernel.columns, new.projection)
    set_new_pattern(new.projection, kernel.sharpness, old.tau, new.tau)
    rotate_from(old.tau, old.t, 1.0, new.tau, kernel.basis, new.t)


@inner_kernel
def gain_of_two(chain, model, work, one, two, log_v, log_w):
    """What two loose atoms add to the log likelihood together; -inf when digits are lost."""
    for atom in (two, one):
        if not evaluate(chain, model, work, atom) or not atom.a > SUSPICIOUS * atom.t_t:
            return -math.inf
    cross = dot3(one.t, two.t, chain.precision, one.t.size) - dot(two.s, one.p, chain.n_groups)
    return log_gain_of_two(log_v, log_w, one.a, two.a, cross, one.b, two.b)


@inner_kernel
def put_back(chain, model, work, atom, k):
    """Put a loose atom into the system as atom k, its products with the others computed anew."""
    evaluate(chain, model, work, atom)
    attach(chain, work, atom, k)


@inline_kernel
def try_pair(chain, model, work, rng, k, second, log_ratio):
    """Accept or reject the proposed hyperplanes of two atoms; returns 1 when accepted."""
    one, two, one_new, two_new = work.loose, work.other, work.proposed, work.other_proposed
    log_v, log_w = log_scale(chain, k), log_scale(chain, second)
    detach(chain, model, work, one, k)
    detach(chain, model, work, two, second)
    reflect_pattern(chain.kernel, one, one_new)
    reflect_pattern(chain.kernel, two, two_new)
    after = gain_of_two(chain, model, work, one_new, two_new, log_v, log_w)
    before = gain_of_two(chain, model, work, one, two, log_v, log_w)
    if before > -math.inf and accept(rng, after - before + log_ratio):
        set_hyperplane(chain, k, one_new.h)
        set_hyperplane(chain, second, two_new.h)
        put_back(chain, model, work, two_new, second)
        put_back(chain, model, work, one_new, k)
        return 1
    put_back(chain, model, work, two, second)
    put_back(chain, model, work, one, k)
    return 0
