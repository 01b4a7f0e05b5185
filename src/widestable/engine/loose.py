"""A loose atom: taken out of the system, moved freely against the others, and put back.

What an atom of scale v adds to the log likelihood is `-log(1 + v a)/2 + b^2 v / (2 (1 + v a))`, with numbers a and b of
its pattern. The other atoms are integrated out in them. All quantities are fields of `Loose`.
"""

from __future__ import annotations

import math

from .._algebra import copy, dot, row_dot, times
from .._jit import inner_kernel
from ..stable import log_scale_of_one
from .observations import add_within_of_loose, squares_within
from .system import inverse_scale, invert_again, log_sum, put_in, take_out

# Below this part of t'Pt the subtraction that makes `a` loses digits, and a sum of squares takes its place.
SUSPICIOUS = 1e-3
# Below this part nothing is left.
LOST = 1e-24
# An atom whose scale explains less than this part of the noise hardly matters.
MATTERS = math.log(0.1)
# An atom whose scale explains so many times the noise is tied to its place: a large turn is hardly ever accepted.
TIED = math.log(20.0)


# --- Which atoms matter ----------------------------------------------------------------------------------


@inner_kernel
def log_scale(chain, k):
    """log v of atom k."""
    return log_scale_of_one(chain.log_mark[k], chain.alpha, chain.log_nu)


@inner_kernel
def log_strength(chain, k):
    """log of the scale of atom k beside the noise. Moves of hyperplanes leave both alone, so it may decide on them."""
    return log_scale(chain, k) + math.log(chain.total_precision)


@inner_kernel
def is_large(chain, k):
    """Whether atom k matters."""
    return log_strength(chain, k) > MATTERS


@inner_kernel
def is_strong(chain, k):
    """Whether atom k is tied to its place, so that it takes many small turns to move it."""
    return log_strength(chain, k) > TIED


@inner_kernel
def list_large(chain, large):
    """List the atoms that matter in `large`; returns their number."""
    n_large = 0
    for k in range(chain.n_atoms):
        if is_large(chain, k):
            large[n_large] = k
            n_large += 1
    return n_large


# --- What an atom adds -----------------------------------------------------------------------------------


@inner_kernel
def log_gain(log_v, a, b):
    """What an atom of scale v adds to the log likelihood: -log(1 + v a)/2 + b^2 v / (2 (1 + v a))."""
    if log_v == -math.inf or a <= 0.0:
        return 0.0
    x = log_v + math.log(a)
    log1p_va = x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))
    return -0.5 * log1p_va + 0.5 * b * b / (inverse_scale(log_v) + a)


@inner_kernel
def evaluate(chain, model, work, atom):
    """Fill in the products of a loose atom, and its a and b; False when their digits are lost.

    Its pattern must be there, also in the eigenbasis, and so must its products over the rows unless r = n.
    """
    t, n = atom.t, atom.t.size
    precision, rest, scaled = chain.precision, chain.rest_precision, work.scaled_t
    for i in range(n):
        scaled[i] = t[i] * precision[i]
    atom.t_t = dot(scaled, t, n) + rest * atom.w_t
    atom.t_y = dot(scaled, chain.kernel.y, n) + rest * atom.w_y
    times(chain.T, scaled, chain.n_groups, n, atom.s)
    if model.n_rest > 0:
        for g in range(chain.n_groups):
            atom.s[g] += rest * atom.c[g]
    add_within_of_loose(chain, model, atom)
    return integrate_others(chain, model, work, atom)


@inner_kernel
def integrate_others(chain, model, work, atom):
    """a = t'Pt - s'Rs and b = t'Py - s'Ru, and p = R s; False when a is lost to rounding."""
    n_groups = chain.n_groups
    s, p = atom.s, atom.p
    times(chain.R, s, n_groups, n_groups, p)
    atom.a = atom.t_t - dot(s, p, n_groups)
    atom.b = atom.t_y - dot(chain.u, p, n_groups)
    if atom.a > SUSPICIOUS * atom.t_t or atom.t_t == 0.0:
        return True
    g = equal_group(chain, atom)
    if g >= 0:
        return stand_beside(chain, g, atom)
    refine(chain, s, p, work.residual, n_groups)
    times(chain.R, chain.u, n_groups, n_groups, work.q)
    refine(chain, chain.u, work.q, work.residual, n_groups)
    add_squares(chain, model, atom, work.q)
    return atom.a > LOST * atom.t_t


@inner_kernel
def equal_group(chain, atom):
    """The group of atoms with exactly this pattern (up to its sign), or -1."""
    n, s = atom.tau.size, atom.s
    total = atom.t_t
    for g in range(chain.n_spikes, chain.n_groups):
        # Equal patterns have equal inner products, so this filter is cheap and misses none.
        if abs(abs(s[g]) - total) > 1e-8 * total or abs(chain.S[g, g] - total) > 1e-8 * total:
            continue
        sign = 1.0 if s[g] >= 0.0 else -1.0
        i = 0
        while i < n and chain.tau[g, i] == sign * atom.tau[i]:
            i += 1
        if i == n:
            return g
    return -1


@inner_kernel
def stand_beside(chain, g, atom):
    """Exact a and b for the pattern that group g has already, with a large scale."""
    # a_g = 1/R_gg - 1/V_g is safe because V_g is large; then a = a_g / (1 + V_g a_g) and b = E[size_g] / V_g.
    inverse_V = inverse_scale(chain.log_group_scale[g])
    a_g = 1.0 / chain.R[g, g] - inverse_V
    sign = 1.0 if atom.s[g] >= 0.0 else -1.0
    if not a_g > 0.0:
        return False
    atom.a = inverse_V * a_g / (inverse_V + a_g)
    atom.b = sign * inverse_V * row_dot(chain.R, g, chain.u, chain.n_groups)
    return True


@inner_kernel
def refine(chain, s, p, residual, n_groups):
    """One step of iterative refinement of the solution p of (V^-1 + S) p = s."""
    for g in range(n_groups):
        residual[g] = s[g] - inverse_scale(chain.log_group_scale[g]) * p[g] - row_dot(chain.S, g, p, n_groups)
    for g in range(n_groups):
        p[g] += row_dot(chain.R, g, residual, n_groups)


@inner_kernel
def add_squares(chain, model, atom, q):
    """a = |t - T'p|_P^2 + |p|_V^2 and b = (t - T'p, y - T'q)_P + (p, q)_V.

    With p = R s and q = R u these are the a and b above, and errors of p and q enter multiplied by each other only. So
    nearly dependent patterns, which smooth units have, keep their digits.
    """
    n_groups = chain.n_groups
    t, p, y = atom.t, atom.p, chain.kernel.y
    a, b = 0.0, 0.0
    for i in range(t.size):
        left, residual = t[i], y[i]
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
        a_rest, b_rest = squares_over_rows(chain, atom, q)
        a += chain.rest_precision * a_rest
        b += chain.rest_precision * b_rest
    if model.has_spikes:
        a_within, b_within = squares_within(chain, model, atom, q)
        a += a_within
        b += b_within
    atom.a = a
    atom.b = b


@inner_kernel
def squares_over_rows(chain, atom, q):
    """|tau - p'tau|_W^2 and (tau - p'tau, y - q'tau)_W from products over the rows."""
    n_groups = chain.n_groups
    p, c = atom.p, atom.c
    a, b = atom.w_t, atom.w_y
    for g in range(n_groups):
        Cp = row_dot(chain.C, g, p, n_groups)
        a += p[g] * (Cp - 2.0 * c[g])
        b += q[g] * (Cp - c[g]) - p[g] * chain.w_y[g]
    return a, b


# --- Out of the system and back --------------------------------------------------------------------------


@inner_kernel
def detach(chain, model, work, atom, k):
    """Take atom k out of the system into `atom`."""
    g = chain.group[k]
    copy(chain.tau[g], atom.tau)
    copy(chain.T[g], atom.t)
    for j in range(chain.n_groups):
        atom.s[j] = chain.S[g, j]
        atom.c[j] = chain.C[g, j]
    atom.t_t = chain.S[g, g]
    atom.t_y = chain.u[g]
    atom.w_t = chain.C[g, g]
    atom.w_y = chain.w_y[g]
    is_safe = take_out(chain.R, g, chain.n_groups)
    chain.members[g] -= 1
    if chain.members[g] > 0:
        chain.log_group_scale[g] = log_scale_of_others(chain, k)
        put_in(chain.R, chain.S, chain.log_group_scale[g], g, chain.n_groups, work.put_in, 0.0)
    chain.group[k] = -1
    if chain.members[g] == 0:
        atom.s[g] = atom.s[chain.n_groups - 1]
        atom.c[g] = atom.c[chain.n_groups - 1]
        drop_group(chain, g)
    if not is_safe:
        invert_again(chain, work)
    if not integrate_others(chain, model, work, atom):
        atom.a = max(atom.a, LOST * atom.t_t)


@inner_kernel
def log_scale_of_others(chain, k):
    """log of the summed scales of the other atoms in the group of atom k."""
    total = -math.inf
    for j in range(chain.n_atoms):
        if j != k and chain.group[j] == chain.group[k]:
            total = log_sum(total, log_scale(chain, j))
    return total


@inner_kernel
def drop_group(chain, g):
    """Forget group g (already out of the inverse) by moving the last group into its place."""
    last = chain.n_groups - 1
    chain.n_groups = last
    if g == last:
        return
    for k in range(chain.n_atoms):
        if chain.group[k] == last:
            chain.group[k] = g
    copy(chain.tau[last], chain.tau[g])
    copy(chain.T[last], chain.T[g])
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
def swap_groups(chain, g, j):
    """Let two groups change places."""
    if g == j:
        return
    for k in range(chain.n_atoms):
        if chain.group[k] == g:
            chain.group[k] = j
        elif chain.group[k] == j:
            chain.group[k] = g
    for M in (chain.tau, chain.T):
        for i in range(M.shape[1]):
            M[g, i], M[j, i] = M[j, i], M[g, i]
    for x in (chain.log_group_scale, chain.u, chain.w_y):
        x[g], x[j] = x[j], x[g]
    chain.members[g], chain.members[j] = chain.members[j], chain.members[g]
    for M in (chain.S, chain.R, chain.C):
        for i in range(chain.n_groups):
            M[g, i], M[j, i] = M[j, i], M[g, i]
        for i in range(chain.n_groups):
            M[i, g], M[i, j] = M[i, j], M[i, g]


@inner_kernel
def attach(chain, work, atom, k):
    """Put a loose atom back into the system as atom k, in the group of its pattern or in a new one."""
    orient(chain, atom, k)
    log_v = log_scale(chain, k)
    g = equal_group(chain, atom)
    if g >= 0:
        take_out(chain.R, g, chain.n_groups)
        chain.log_group_scale[g] = log_sum(chain.log_group_scale[g], log_v)
        chain.members[g] += 1
        a = 0.0
    else:
        g = chain.n_groups
        append_group(chain, atom, g)
        chain.log_group_scale[g] = log_v
        a = atom.a
    chain.group[k] = g
    put_in(chain.R, chain.S, chain.log_group_scale[g], g, chain.n_groups, work.put_in, a)


@inner_kernel
def orient(chain, atom, k):
    """Turn atom k so that the first row is on its positive side (h and -h are one hyperplane)."""
    n = atom.tau.size
    if n == 0 or atom.tau[0] >= 0.0:
        return
    for j in range(chain.h.shape[1]):
        chain.h[k, j] = -chain.h[k, j]
    for i in range(n):
        atom.tau[i] = -atom.tau[i]
    for i in range(atom.t.size):
        atom.t[i] = -atom.t[i]
    for g in range(chain.n_groups):
        atom.s[g] = -atom.s[g]
        atom.c[g] = -atom.c[g]
    atom.t_y = -atom.t_y
    atom.b = -atom.b
    atom.w_y = -atom.w_y


@inner_kernel
def append_group(chain, atom, g):
    """Make group g out of a loose atom, with zeros in the inverse."""
    copy(atom.tau, chain.tau[g])
    copy(atom.t, chain.T[g])
    for j in range(g):
        chain.S[g, j] = atom.s[j]
        chain.S[j, g] = atom.s[j]
        chain.C[g, j] = atom.c[j]
        chain.C[j, g] = atom.c[j]
        chain.R[g, j] = 0.0
        chain.R[j, g] = 0.0
    chain.S[g, g] = atom.t_t
    chain.C[g, g] = atom.w_t
    chain.R[g, g] = 0.0
    chain.u[g] = atom.t_y
    chain.w_y[g] = atom.w_y
    chain.members[g] = 1
    chain.n_groups = g + 1
