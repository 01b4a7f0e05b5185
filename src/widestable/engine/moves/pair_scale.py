"""Scales of two atoms together: two near-parallel hyperplanes of opposite size make a strip.

One alone would shift half the space, so a strip cannot grow or vanish one atom at a time. Two can, in one slice.
"""

from __future__ import annotations

import math

from ..._algebra import dot, dot3, rows_dot
from ..._jit import inline_kernel, inner_kernel
from ...stable import log_scale_of_one
from ..loose import SUSPICIOUS, attach, detach, evaluate
from ..system import LOG_TINY, inverse_scale
from .scale import SPAN

# Pairs whose hyperplanes are farther than this from parallel (1 - |cos|) are drawn rarely.
PARALLEL = 0.003


@inner_kernel
def draw_partner(chain, rng, k, chances):
    """Another atom, with chance 1 / (1 - |cos angle| + 0.003) of its hyperplane to that of atom k.

    The chances do not involve the marks, so choosing by them leaves the slice on the marks correct.
    """
    h, width = chain.h, chain.h.shape[1]
    n_atoms = chain.n_atoms
    total = 0.0
    norm2 = rows_dot(h, k, k, 0, width)
    for j in range(n_atoms):
        cosine = abs(rows_dot(h, j, k, 0, width)) / math.sqrt(norm2 * rows_dot(h, j, j, 0, width))
        chances[j] = 1.0 / (1.0 - cosine + PARALLEL) if j != k else 0.0
        total += chances[j]
    left = total * rng.random()
    partner = n_atoms - 1 if k != n_atoms - 1 else n_atoms - 2
    for j in range(n_atoms):
        left -= chances[j]
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
    n_atoms = chain.n_atoms
    if n_atoms < 2:
        return
    one, two = work.loose, work.other
    k = int(n_atoms * rng.random())
    j = draw_partner(chain, rng, k, work.chances)
    detach(chain, model, work, one, k)
    cross_rows = detach_second(chain, model, work, one, two, j)
    evaluate(chain, model, work, one)
    cross = dot3(two.t, one.t, chain.precision, one.t.size) - dot(two.s, one.p, chain.n_groups)
    cross += chain.rest_precision * cross_rows
    # Where patterns nearly depend on others the cross term has no digits; that does not involve these two marks.
    if one.a > SUSPICIOUS * one.t_t and two.a > SUSPICIOUS * two.t_t:
        shift_marks(chain, model, work, rng, k, j, cross)
    n_groups = chain.n_groups
    attach(chain, work, two, j)
    if chain.n_groups > n_groups:
        one.c[n_groups] = cross_rows
    evaluate(chain, model, work, one)
    attach(chain, work, one, k)


@inline_kernel
def detach_second(chain, model, work, one, two, j):
    """Take out atom j as well; returns its product over the rows with `one`, whose other products are kept."""
    g, last = chain.group[j], chain.n_groups - 1
    cross_rows = one.c[g]
    detach(chain, model, work, two, j)
    if chain.n_groups == last:
        one.c[g] = one.c[last]
    return cross_rows


@inner_kernel
def log_target_of_two(chain, work, k, j, cross, shift):
    """Density of the common shift: uniform marks give a factor exp(2 shift)."""
    log_v = log_scale_of_one(chain.log_mark[k] + shift, chain.alpha, chain.log_nu)
    log_w = log_scale_of_one(chain.log_mark[j] + shift, chain.alpha, chain.log_nu)
    one, two = work.loose, work.other
    return 2.0 * shift + log_gain_of_two(log_v, log_w, one.a, two.a, cross, one.b, two.b)


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
