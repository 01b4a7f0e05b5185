"""Birth of an atom from the prior, death of one drawn uniformly; attempted equally often."""

from __future__ import annotations

import math

from ..._jit import inline_kernel
from ..groups import rotate_from_nearest, weigh_pattern
from ..kernel import set_pattern
from ..loose import attach, detach, evaluate, log_gain, log_scale
from ..tree import has_tree, plant_pattern
from .accept import accept


@inline_kernel
def birth(chain, model, work, rng):
    """Add an atom with probability L'/L * N/(k+1); returns 1 when it is added."""
    k = chain.n_atoms
    if k == chain.log_mark.size:
        return 0
    kernel, atom = chain.kernel, work.loose
    for j in range(chain.h.shape[1]):
        chain.h[k, j] = rng.standard_normal()
    chain.log_mark[k] = math.log(model.n_atoms) + math.log(1.0 - rng.random())
    if has_tree(kernel):
        plant_pattern(kernel, model, work, chain.h[k], atom.tau, atom.t)
    else:
        set_pattern(chain.h[k], kernel, atom.projection, atom.tau)
        rotate_from_nearest(chain, atom.tau, atom.t)
    weigh_pattern(chain, model, atom)
    if not evaluate(chain, model, work, atom):
        return 0
    log_ratio = log_gain(log_scale(chain, k), atom.a, atom.b) + math.log(model.n_atoms / (k + 1.0))
    if not accept(rng, log_ratio):
        return 0
    chain.n_atoms = k + 1
    attach(chain, work, atom, k)
    return 1


@inline_kernel
def death(chain, model, work, rng):
    """Remove an atom drawn uniformly with probability L'/L * k/N; returns 1 when it is removed."""
    n_before = chain.n_atoms
    if n_before == 0:
        return 0
    atom = work.loose
    k = int(n_before * rng.random())
    detach(chain, model, work, atom, k)
    log_ratio = math.log(n_before / model.n_atoms) - log_gain(log_scale(chain, k), atom.a, atom.b)
    if not accept(rng, log_ratio):
        attach(chain, work, atom, k)
        return 0
    last = n_before - 1
    chain.n_atoms = last
    if k != last:
        for j in range(chain.h.shape[1]):
            chain.h[k, j] = chain.h[last, j]
        chain.log_mark[k] = chain.log_mark[last]
        chain.group[k] = chain.group[last]
    return 1
