"""Scales of two atoms together: two near-parallel hyperplanes of opposite size make a strip.

One alone would shift half the space, so a strip cannot grow or vanish one atom at a time; two can, in one slice.
"""

from __future__ import annotations

import math

from ..._algebra import dot, dot3, rows_dot
from ..._jit import inline_kernel, inner_kernel
from ..jump_measure import log_scale_of_mark
from ..loose import SUSPICIOUS, attach, detach, evaluate
from ..names import ALPHA, ATOMS, GROUPS, LOG_NU, T_T, W_T, W_Y, A, B
from ..system import LOG_TINY, inverse_scale
from .scale import SPAN

# Pairs whose hyperplanes are farther than this from parallel (1 - |cos|) are drawn rarely.
PARALLEL = 0.003


@inner_kernel
def draw_partner(chain, rng, k, weights):
    """Another atom, with weight 1 / (1 - |cos angle| + 0.003) of its hyperplane to that of atom k.

    The weights do not involve the marks, so choosing by them leaves the slice on the marks correct.
    """
    h, width = chain.h, chain.h.shape[1]
    n_atoms = chain.counts[ATOMS]
    total = 0.0
    norm2 = rows_dot(h, k, k, 0, width)
    for j in range(n_atoms):
        cosine = abs(rows_dot(h, j, k, 0, width)) / math.sqrt(norm2 * rows_dot(h, j, j, 0, width))
        weights[j] = 1.0 / (1.0 - cosine + PARALLEL) if j != k else 0.0
        total += weights[j]
    left = total * rng.random()
    partner = n_atoms - 1 if k != n_atoms - 1 else n_atoms - 2
    for j in range(n_atoms):
        left -= weights[j]
        if left < 0.0:
            return j
    return partner


@inner_kernel
def log_gain_of_two(log_v, log_w, a, b, c, x, y):
    """What scales v and w add to the log likelihood, with tau' P tau = [[a, c], [c, b]] and tau' P y = (x, y)."""
    p, q = inverse_scale(log_v) + a, inverse_scale(log_w) + b
    determinant = p * q - c * c
    if not determinant > 1e-12 * p * q:
        return -math.inf
    log_det = math.log(determinant) + max(log_v, LOG_TINY) + max(log_w, LOG_TINY)
    return 0.5 * ((q * x * x - 2.0 * c * x * y + p * y * y) / determinant - log_det)


@inline_kernel
def update_pair(chain, model, work, rng):
    """Slice on a common shift of the log marks of two atoms, sizes of all integrated out."""
    n_atoms = chain.counts[ATOMS]
    if n_atoms < 2:
        return
    k = int(n_atoms * rng.random())
    j = draw_partner(chain, rng, k, work.s_new)
    detach(chain, model, work, k)
    set_aside(chain, work)
    cross_rows = detach_second(chain, model, work, j)
    evaluate(chain, model, work, work.tau_new, work.t_new, work.c_new, work.s_new, work.number_new)
    # integrate_others left R s of the atom k in work.p.
    cross = dot3(work.t, work.t_new, chain.precision, work.t.size) - dot(work.s, work.p, chain.counts[GROUPS])
    cross += chain.rest_precision[0] * cross_rows
    # Where patterns nearly depend on others the cross term has no digits; that does not involve these two marks.
    one, two = work.number_new, work.number
    if one[A] > SUSPICIOUS * one[T_T] and two[A] > SUSPICIOUS * two[T_T]:
        shift_marks(chain, model, work, rng, k, j, cross)
    n_groups = chain.counts[GROUPS]
    attach(chain, work, j)
    if chain.counts[GROUPS] > n_groups:
        work.c_new[n_groups] = cross_rows
    take_back(chain, work)
    evaluate(chain, model, work, work.tau, work.t, work.c, work.s, work.number)
    attach(chain, work, k)


@inner_kernel
def set_aside(chain, work):
    """Keep the pattern of the loose atom and its products over the rows while another one is loose."""
    for i in range(work.tau.size):
        work.tau_new[i] = work.tau[i]
    for i in range(work.t.size):
        work.t_new[i] = work.t[i]
    for g in range(chain.counts[GROUPS]):
        work.c_new[g] = work.c[g]
    for j in (W_T, W_Y):
        work.number_new[j] = work.number[j]


@inner_kernel
def take_back(chain, work):
    """The opposite of `set_aside`."""
    for i in range(work.tau.size):
        work.tau[i] = work.tau_new[i]
    for i in range(work.t.size):
        work.t[i] = work.t_new[i]
    for g in range(chain.counts[GROUPS]):
        work.c[g] = work.c_new[g]
    for j in (W_T, W_Y):
        work.number[j] = work.number_new[j]


@inline_kernel
def detach_second(chain, model, work, j):
    """Take out another atom; returns its product over the rows with the one set aside, whose others are kept."""
    g, last = chain.group[j], chain.counts[GROUPS] - 1
    cross_rows = work.c_new[g]
    detach(chain, model, work, j)
    if chain.counts[GROUPS] == last:
        work.c_new[g] = work.c_new[last]
    return cross_rows


@inner_kernel
def log_target_of_two(chain, work, k, j, cross, shift):
    """Density of the common shift: uniform marks give a factor exp(2 shift)."""
    alpha, log_nu = chain.theta[ALPHA], chain.theta[LOG_NU]
    log_v = log_scale_of_mark(chain.log_mark[k] + shift, alpha, log_nu)
    log_w = log_scale_of_mark(chain.log_mark[j] + shift, alpha, log_nu)
    one, two = work.number_new, work.number
    return 2.0 * shift + log_gain_of_two(log_v, log_w, one[A], two[A], cross, one[B], two[B])


@inner_kernel
def shift_marks(chain, model, work, rng, k, j, cross):
    """Shrinkage slice on the shift, from the whole span."""
    log_n = math.log(model.n_atoms)
    larger, smaller = max(chain.log_mark[k], chain.log_mark[j]), min(chain.log_mark[k], chain.log_mark[j])
    high, low = log_n - larger, log_n - SPAN - smaller
    now = log_target_of_two(chain, work, k, j, cross, 0.0)
    if now == -math.inf or low >= 0.0:
        return
    level = now + math.log(1.0 - rng.random())
    while high - low > 1e-12:
        shift = low + (high - low) * rng.random()
        if log_target_of_two(chain, work, k, j, cross, shift) >= level:
            chain.log_mark[k] += shift
            chain.log_mark[j] += shift
            return
        if shift < 0.0:
            low = shift
        else:
            high = shift
