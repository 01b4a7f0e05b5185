"""A loose atom: one taken out of the system, moved freely against the others, and put back.

`work.tau`, `work.t`, `work.c`, `work.s`, `work.number` describe it where it is; the same names with `_new` where a move
proposes to put it. `work.number` holds (t'Pt, t'Py, a, b), a and b with the other atoms integrated out; it and `work.c`
also hold inner products over the rows, which only a low-rank remainder needs.
"""

from __future__ import annotations

import math

from .._algebra import dot, row_dot
from .._jit import inner_kernel
from .jump_measure import log_scale_of_mark
from .names import ALPHA, ATOMS, GROUPS, LOG_NU, N_NUMBERS, T_T, T_Y, W_T, W_Y, A, B
from .system import inverse_scale, invert_again, log_sum, put_in, take_out

# Below this part of t'Pt the subtraction that makes `a` loses digits, and a sum of squares takes its place.
SUSPICIOUS = 1e-3
# Below this one nothing is left.
LOST = 1e-24


@inner_kernel
def log_gain(log_v, a, b):
    """What an atom of scale v adds to the log likelihood: -log(1 + v a)/2 + b^2 v / (2 (1 + v a))."""
    if log_v == -math.inf or a <= 0.0:
        return 0.0
    x = log_v + math.log(a)
    log1p_va = x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))
    return -0.5 * log1p_va + 0.5 * b * b / (inverse_scale(log_v) + a)


@inner_kernel
def equal_group(chain, tau, s, number):
    """The group with exactly this pattern (up to its sign), or -1."""
    n = tau.size
    total = number[T_T]
    for g in range(chain.counts[GROUPS]):
        # Equal patterns have equal inner products, so this filter is cheap and misses none.
        if abs(abs(s[g]) - total) > 1e-8 * total or abs(chain.S[g, g] - total) > 1e-8 * total:
            continue
        sign = 1.0 if s[g] >= 0.0 else -1.0
        i = 0
        while i < n and chain.tau[g, i] == sign * tau[i]:
            i += 1
        if i == n:
            return g
    return -1


@inner_kernel
def evaluate(chain, model, work, tau, t, c, s, number):
    """Fill `s` and `number` for pattern tau (t in the eigenbasis); False when its digits are lost.

    Its inner products over the rows must be in `c` and `number` already, unless the remainder has full rank.
    """
    n = t.size
    n_groups = chain.counts[GROUPS]
    scaled = work.scaled_row
    for i in range(n):
        scaled[i] = t[i] * chain.precision[i]
    rest = chain.rest_precision[0]
    number[T_T] = dot(scaled, t, n) + rest * number[W_T]
    number[T_Y] = dot(scaled, model.y, n) + rest * number[W_Y]
    for g in range(n_groups):
        s[g] = row_dot(chain.T, g, scaled, n) + rest * c[g]
    return integrate_others(chain, model, work, tau, t, c, s, number)


@inner_kernel
def integrate_others(chain, model, work, tau, t, c, s, number):
    """a = t'Pt - s'Rs and b = t'Py - s'Ru; False when the first is lost to rounding."""
    n_groups = chain.counts[GROUPS]
    p = work.p
    for g in range(n_groups):
        p[g] = row_dot(chain.R, g, s, n_groups)
    number[A] = number[T_T] - dot(s, p, n_groups)
    number[B] = number[T_Y] - dot(chain.u, p, n_groups)
    if number[A] > SUSPICIOUS * number[T_T] or number[T_T] == 0.0:
        return True
    g = equal_group(chain, tau, s, number)
    if g >= 0:
        return beside_equal_group(chain, g, s, number)
    refine(chain, s, p, work.r, n_groups)
    for g in range(n_groups):
        work.q[g] = row_dot(chain.R, g, chain.u, n_groups)
    refine(chain, chain.u, work.q, work.r, n_groups)
    add_squares(chain, model, t, c, p, work.q, number)
    return number[A] > LOST * number[T_T]


@inner_kernel
def refine(chain, s, p, r, n_groups):
    """One step of iterative refinement of the solution p of (V^-1 + S) p = s."""
    for g in range(n_groups):
        r[g] = s[g] - inverse_scale(chain.log_group_scale[g]) * p[g] - row_dot(chain.S, g, p, n_groups)
    for g in range(n_groups):
        p[g] += row_dot(chain.R, g, r, n_groups)


@inner_kernel
def add_squares(chain, model, t, c, p, q, number):
    """a = |t - T'p|_P^2 + |p|_V^2 and b = (t - T'p, y - T'q)_P + (p, q)_V.

    With p = R s and q = R u these are the a and b above, and errors of p and q enter multiplied by each other only:
    nearly dependent patterns, which smooth units have, keep their digits.
    """
    n_groups = chain.counts[GROUPS]
    a, b = 0.0, 0.0
    for i in range(t.size):
        left, residual = t[i], model.y[i]
        for g in range(n_groups):
            left -= p[g] * chain.T[g, i]
            residual -= q[g] * chain.T[g, i]
        a += left * left * chain.precision[i]
        b += left * residual * chain.precision[i]
    for g in range(n_groups):
        inverse_v = inverse_scale(chain.log_group_scale[g])
        a += p[g] * p[g] * inverse_v
        b += p[g] * q[g] * inverse_v
    if model.n_rest > 0:
        a_rest, b_rest = squares_over_rows(chain, c, p, q, number)
        a += chain.rest_precision[0] * a_rest
        b += chain.rest_precision[0] * b_rest
    number[A] = a
    number[B] = b


@inner_kernel
def squares_over_rows(chain, c, p, q, number):
    """|tau - p'tau|_W^2 and (tau - p'tau, y - q'tau)_W from inner products over the rows."""
    n_groups = chain.counts[GROUPS]
    a, b = number[W_T], number[W_Y]
    for g in range(n_groups):
        Cp = row_dot(chain.C, g, p, n_groups)
        a += p[g] * (Cp - 2.0 * c[g])
        b += q[g] * (Cp - c[g]) - p[g] * chain.w_y[g]
    return a, b


@inner_kernel
def beside_equal_group(chain, g, s, number):
    """Exact a and b for the pattern that group g has already, with a large scale."""
    # a_g = 1/R_gg - 1/V_g is safe because V_g is large; then a = a_g / (1 + V_g a_g) and b = E[size_g] / V_g.
    inverse_V = inverse_scale(chain.log_group_scale[g])
    a_g = 1.0 / chain.R[g, g] - inverse_V
    sign = 1.0 if s[g] >= 0.0 else -1.0
    if not a_g > 0.0:
        return False
    number[A] = inverse_V * a_g / (inverse_V + a_g)
    number[B] = sign * inverse_V * row_dot(chain.R, g, chain.u, chain.counts[GROUPS])
    return True


@inner_kernel
def without_atom(chain, k):
    """log of the summed scales of the other atoms in the group of atom k."""
    total = -math.inf
    for j in range(chain.counts[ATOMS]):
        if j != k and chain.group[j] == chain.group[k]:
            total = log_sum(total, log_scale_of_mark(chain.log_mark[j], chain.theta[ALPHA], chain.theta[LOG_NU]))
    return total


@inner_kernel
def drop_group(chain, g):
    """Forget group g (already out of the inverse) by moving the last group into its place."""
    last = chain.counts[GROUPS] - 1
    chain.counts[GROUPS] = last
    if g == last:
        return
    for k in range(chain.counts[ATOMS]):
        if chain.group[k] == last:
            chain.group[k] = g
    for i in range(chain.tau.shape[1]):
        chain.tau[g, i] = chain.tau[last, i]
    for i in range(chain.T.shape[1]):
        chain.T[g, i] = chain.T[last, i]
    chain.log_group_scale[g] = chain.log_group_scale[last]
    chain.u[g] = chain.u[last]
    chain.w_y[g] = chain.w_y[last]
    chain.members[g] = chain.members[last]
    for M in (chain.S, chain.R, chain.C):
        for j in range(last):
            M[g, j] = M[last, j]
        M[g, g] = M[last, last]
        for j in range(last):
            M[j, g] = M[g, j]


@inner_kernel
def detach(chain, model, work, k):
    """Take atom k out of the system; its pattern and its numbers are left in `work`."""
    g = chain.group[k]
    for i in range(work.tau.size):
        work.tau[i] = chain.tau[g, i]
    for i in range(work.t.size):
        work.t[i] = chain.T[g, i]
    for j in range(chain.counts[GROUPS]):
        work.s[j] = chain.S[g, j]
        work.c[j] = chain.C[g, j]
    work.number[T_T] = chain.S[g, g]
    work.number[T_Y] = chain.u[g]
    work.number[W_T] = chain.C[g, g]
    work.number[W_Y] = chain.w_y[g]
    is_safe = take_out(chain.R, g, chain.counts[GROUPS])
    chain.members[g] -= 1
    if chain.members[g] > 0:
        chain.log_group_scale[g] = without_atom(chain, k)
        put_in(chain.R, chain.S, chain.log_group_scale[g], g, chain.counts[GROUPS], work.p, 0.0)
    chain.group[k] = -1
    if chain.members[g] == 0:
        work.s[g] = work.s[chain.counts[GROUPS] - 1]
        work.c[g] = work.c[chain.counts[GROUPS] - 1]
        drop_group(chain, g)
    if not is_safe:
        invert_again(chain, work)
    if not integrate_others(chain, model, work, work.tau, work.t, work.c, work.s, work.number):
        work.number[A] = max(work.number[A], LOST * work.number[T_T])


@inner_kernel
def orient(chain, work, k):
    """Turn atom k so that the first row is on its positive side (h and -h are one hyperplane)."""
    n = work.tau.size
    if n == 0 or work.tau[0] >= 0.0:
        return
    for j in range(chain.h.shape[1]):
        chain.h[k, j] = -chain.h[k, j]
    for i in range(n):
        work.tau[i] = -work.tau[i]
    for i in range(work.t.size):
        work.t[i] = -work.t[i]
    for g in range(chain.counts[GROUPS]):
        work.s[g] = -work.s[g]
        work.c[g] = -work.c[g]
    for j in (T_Y, B, W_Y):
        work.number[j] = -work.number[j]


@inner_kernel
def attach(chain, work, k):
    """Put the loose atom back into the system as atom k, in the group of its pattern or in a new one."""
    orient(chain, work, k)
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    g = equal_group(chain, work.tau, work.s, work.number)
    if g >= 0:
        take_out(chain.R, g, chain.counts[GROUPS])
        chain.log_group_scale[g] = log_sum(chain.log_group_scale[g], log_v)
        chain.members[g] += 1
        a = 0.0
    else:
        g = chain.counts[GROUPS]
        append_group(chain, work, g)
        chain.log_group_scale[g] = log_v
        a = work.number[A]
    chain.group[k] = g
    put_in(chain.R, chain.S, chain.log_group_scale[g], g, chain.counts[GROUPS], work.p, a)


@inner_kernel
def append_group(chain, work, g):
    """Make group g out of the loose atom, with zeros in the inverse."""
    for i in range(work.tau.size):
        chain.tau[g, i] = work.tau[i]
    for i in range(work.t.size):
        chain.T[g, i] = work.t[i]
    for j in range(g):
        chain.S[g, j] = work.s[j]
        chain.S[j, g] = work.s[j]
        chain.C[g, j] = work.c[j]
        chain.C[j, g] = work.c[j]
        chain.R[g, j] = 0.0
        chain.R[j, g] = 0.0
    chain.S[g, g] = work.number[T_T]
    chain.C[g, g] = work.number[W_T]
    chain.R[g, g] = 0.0
    chain.u[g] = work.number[T_Y]
    chain.w_y[g] = work.number[W_Y]
    chain.members[g] = 1
    chain.counts[GROUPS] = g + 1


@inner_kernel
def accept_new(chain, work, h, k):
    """Make the proposed place of the loose atom its place."""
    for i in range(work.tau.size):
        work.tau[i] = work.tau_new[i]
        work.projection[i] = work.projection_new[i]
    accept_products(chain, work, h, k)


@inner_kernel
def accept_products(chain, work, h, k):
    """The same but for the pattern over the rows, which the caller has changed."""
    for j in range(h.size):
        chain.h[k, j] = h[j]
    for i in range(work.t.size):
        work.t[i] = work.t_new[i]
    for g in range(chain.counts[GROUPS]):
        work.s[g] = work.s_new[g]
        work.c[g] = work.c_new[g]
    for j in range(N_NUMBERS):
        work.number[j] = work.number_new[j]
