"""Birth of an atom from the prior, death of one drawn uniformly; attempted equally often."""

from __future__ import annotations

import math

from ..._jit import inline_kernel
from ..jump_measure import log_scale_of_mark
from ..loose import attach, detach, evaluate, log_gain
from ..names import ALPHA, ATOMS, LOG_NU, A, B
from ..row_products import weigh_pattern
from ..tree import has_tree, plant_pattern
from ..unit import pattern_of, rotate_pattern


@inline_kernel
def birth(chain, model, work, rng):
    """Add an atom with probability L'/L * N/(k+1); returns 1 when it is added."""
    k = chain.counts[ATOMS]
    if k == chain.log_mark.size:
        return 0
    for j in range(model.Z.shape[1]):
        chain.h[k, j] = rng.standard_normal()
    chain.log_mark[k] = math.log(model.n_atoms) + math.log(1.0 - rng.random())
    if has_tree(model):
        plant_pattern(model, work, chain.h[k])
    else:
        pattern_of(chain.h[k], model.Z, model.sharpness, work.projection, work.tau)
        rotate_pattern(work.tau, model.basis, work.t)
    weigh_pattern(chain, model, work.tau, work.c, work.number)
    if not evaluate(chain, model, work, work.tau, work.t, work.c, work.s, work.number):
        return 0
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    log_ratio = log_gain(log_v, work.number[A], work.number[B]) + math.log(model.n_atoms / (k + 1.0))
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0
    chain.counts[ATOMS] = k + 1
    attach(chain, work, k)
    return 1


@inline_kernel
def death(chain, model, work, rng):
    """Remove an atom drawn uniformly with probability L'/L * k/N; returns 1 when it is removed."""
    n_before = chain.counts[ATOMS]
    if n_before == 0:
        return 0
    k = int(n_before * rng.random())
    detach(chain, model, work, k)
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    log_ratio = math.log(n_before / model.n_atoms) - log_gain(log_v, work.number[A], work.number[B])
    if not math.log(1.0 - rng.random()) < log_ratio:
        attach(chain, work, k)
        return 0
    last = n_before - 1
    chain.counts[ATOMS] = last
    if k != last:
        for j in range(chain.h.shape[1]):
            chain.h[k, j] = chain.h[last, j]
        chain.log_mark[k] = chain.log_mark[last]
        chain.group[k] = chain.group[last]
    return 1
