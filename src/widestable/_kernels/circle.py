"""Draw a place for a loose atom among all places on a random great circle through it.

On the circle cos(t) h + sin(t) xi every row is passed once in half a turn. Walking from row to row, the
likelihood of the arc between two rows costs O(n); an arc is drawn with probability proportional to its length times that.
Groups with scales too small to matter are left out of the walk; what that changes is put right by accepting or
rejecting the place drawn. Sign units with a remainder of full rank only.
"""

from __future__ import annotations

import math

from .algebra import cholesky, dot, row_dot, solve_lower
from .jit import inner_kernel
from .jump_measure import log_scale_of_mark
from .loose import log_gain
from .names import ALPHA, GROUPS, LOG_NU, T_T, T_Y
from .propose import try_hyperplane
from .system import inverse_scale

# Groups with a smaller v t'Pt than this are left out of the walk.
LEFT_OUT = math.log(1e-4)
# Part of t'Pt below which the walk takes `a` for this part: it has few digits there.
FLOOR = 1e-6


@inner_kernel
def has_circles(model):
    """Whether patterns change row by row, and products with rows are at hand."""
    return model.row_y.size > 0 and model.n_rest == 0 and math.isinf(model.sharpness)


@inner_kernel
def forget_products(model, work):
    """Products with the rows are of another precision: compute them anew when needed."""
    if not has_circles(model):
        return
    for g in range(work.is_known.size):
        work.is_known[g] = 0


@inner_kernel
def multiply_rows(chain, model, work, t, g):
    """at_rows[g, i] = b_i' P t for every row b_i of the basis."""
    n = t.size
    for j in range(n):
        work.scaled_row[j] = chain.precision[j] * t[j]
    for i in range(n):
        work.at_rows[g, i] = row_dot(model.basis, i, work.scaled_row, n)
    work.is_known[g] = 1


@inner_kernel
def know_rows(chain, model, work):
    """b_i' P y and b_i' P b_i, in the two last rows of `at_rows`."""
    last = work.is_known.size - 1
    if work.is_known[last] == 1:
        return
    multiply_rows(chain, model, work, model.y, last - 1)
    n = model.y.size
    for i in range(n):
        for j in range(n):
            work.scaled_row[j] = chain.precision[j] * model.basis[i, j]
        work.at_rows[last, i] = row_dot(model.basis, i, work.scaled_row, n)
    work.is_known[last] = 1


@inner_kernel
def factor_large(chain, model, work):
    """Factor the system of the groups that matter; returns their number, -1 when that fails."""
    n_large = 0
    for g in range(chain.counts[GROUPS]):
        if chain.log_group_scale[g] + math.log(chain.S[g, g]) > LEFT_OUT:
            work.large[n_large] = g
            n_large += 1
            if work.is_known[g] == 0:
                multiply_rows(chain, model, work, chain.T[g], g)
    for i in range(n_large):
        g = work.large[i]
        work.E[i] = 1.0 / math.sqrt(inverse_scale(chain.log_group_scale[g]) + chain.S[g, g])
        for j in range(i):
            work.scaled[i, j] = chain.S[g, work.large[j]] * work.E[i] * work.E[j]
        work.scaled[i, i] = 1.0
    return n_large if cholesky(work.scaled, work.L, n_large) else -1


@inner_kernel
def solve_large(work, x, n_large, out):
    """out = L^-1 E x for the entries of x that belong to groups that matter."""
    for i in range(n_large):
        out[i] = work.E[i] * x[work.large[i]]
    solve_lower(work.L, out, out, n_large)


@inner_kernel
def slopes(chain, model, work, n_large):
    """Per row: L^-1 E of its products with the groups in `solved`, and in `weights` how b grows with its sign."""
    solve_large(work, chain.u, n_large, work.q)
    y_rows = work.is_known.size - 2
    for i in range(model.row_y.size):
        for k in range(n_large):
            total = work.E[k] * work.at_rows[work.large[k], i]
            for j in range(k):
                total -= work.L[k, j] * work.solved[i, j]
            work.solved[i, k] = total / work.L[k, k]
        work.weights[i] = work.at_rows[y_rows, i] - row_dot(work.solved, i, work.q, n_large)


@inner_kernel
def lay_circle(model, work, rng):
    """Draw xi, and put the rows in the order in which a turn from h to xi passes them."""
    n, width = model.Z.shape
    for j in range(width):
        work.xi[j] = rng.standard_normal()
    for i in range(n):
        total = 0.0
        for j in range(width):
            total += work.xi[j] * model.Z[i, j]
        work.projection_new[i] = total
        angle = math.atan2(-work.projection[i], total)
        if angle < 0.0:
            angle += math.pi
        work.angle[i] = min(angle, math.pi)
        work.order[i] = i
    sort_by(work.angle, work.order)


@inner_kernel
def sort_by(key, order):
    """Shell sort of `order` by its keys: short to compile, and fast for some hundred rows."""
    gap = order.size // 2
    while gap > 0:
        for i in range(gap, order.size):
            row = order[i]
            j = i
            while j >= gap and key[order[j - gap]] > key[row]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = row
        gap = 1 if gap == 2 else int(gap / 2.2)


@inner_kernel
def walk(chain, model, work, log_v):
    """gain[m] of the arc after m rows, for a loose atom of scale v; False when the system cannot be factored."""
    know_rows(chain, model, work)
    n_large = factor_large(chain, model, work)
    if n_large < 0:
        return False
    slopes(chain, model, work, n_large)
    n = work.t.size
    own = work.is_known.size - 1
    solve_large(work, work.s, n_large, work.p)
    for j in range(n):
        work.scaled_row[j] = chain.precision[j] * work.t[j]
    total, b = work.number[T_T], work.number[T_Y] - dot(work.p, work.q, n_large)
    work.gain[0] = walked_gain(log_v, total, work.p, n_large, b)
    for m in range(n):
        i = work.order[m]
        step = -2.0 * work.tau[i]
        total += 2.0 * step * row_dot(model.basis, i, work.scaled_row, n) + 4.0 * work.at_rows[own, i]
        b += step * work.weights[i]
        for j in range(n):
            work.scaled_row[j] += step * chain.precision[j] * model.basis[i, j]
        for k in range(n_large):
            work.p[k] += step * work.solved[i, k]
        work.gain[m + 1] = walked_gain(log_v, total, work.p, n_large, b)
    return True


@inner_kernel
def walked_gain(log_v, total, p, n_large, b):
    """The gain at one arc."""
    return log_gain(log_v, max(total - dot(p, p, n_large), FLOOR * total), b)


@inner_kernel
def weigh_arcs(work):
    """weight[m] = length of arc m times exp(its gain - the largest); returns (their sum, the largest gain)."""
    n = work.order.size
    largest = work.gain[0]
    for m in range(1, n + 1):
        largest = max(largest, work.gain[m])
    total, start = 0.0, 0.0
    for m in range(n + 1):
        end = work.angle[work.order[m]] if m < n else math.pi
        work.arc_weight[m] = (end - start) * math.exp(work.gain[m] - largest)
        total += work.arc_weight[m]
        start = end
    return total, largest


@inner_kernel
def draw_arc(work, rng, total):
    """An arc with probability proportional to its weight."""
    n = work.order.size
    left = total * rng.random()
    m = 0
    while m < n and left >= work.arc_weight[m]:
        left -= work.arc_weight[m]
        m += 1
    return m


@inner_kernel
def go_to_arc(chain, work, rng, k, m):
    """Put a place drawn uniformly on arc m into `work.h_new`, with its projections."""
    n = work.order.size
    start = work.angle[work.order[m - 1]] if m > 0 else 0.0
    end = work.angle[work.order[m]] if m < n else math.pi
    angle = start + (end - start) * rng.random()
    # h and -h are one hyperplane: go the way that passes fewer rows.
    if 2 * m > n:
        angle -= math.pi
    cosine, sine = math.cos(angle), math.sin(angle)
    for j in range(work.xi.size):
        work.h_new[j] = cosine * chain.h[k, j] + sine * work.xi[j]
    for i in range(n):
        work.projection_new[i] = cosine * work.projection[i] + sine * work.projection_new[i]


@inner_kernel
def turn_on_circle(chain, model, work, rng, k):
    """Draw a new place for the loose atom k on a random circle; returns 1 when accepted."""
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    lay_circle(model, work, rng)
    if not walk(chain, model, work, log_v):
        return 0
    total, _ = weigh_arcs(work)
    m = draw_arc(work, rng, total)
    go_to_arc(chain, work, rng, k, m)
    return try_hyperplane(chain, model, work, rng, k, work.gain[0] - work.gain[m])
