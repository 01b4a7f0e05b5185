"""Atoms whose scale explains enough of the noise to matter: where their hyperplanes are is worth some work."""

from __future__ import annotations

import math

from .._jit import inner_kernel
from .jump_measure import log_scale_of_mark
from .names import ALPHA, ATOMS, LOG_NU

# An atom whose scale explains less than this part of the noise hardly matters.
MATTERS = math.log(0.1)


@inner_kernel
def is_large(chain, work, k):
    """Whether atom k matters. It depends on its scale and on the noise, which moves of hyperplanes leave alone."""
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    return log_v + math.log(work.total_precision[0]) > MATTERS


@inner_kernel
def list_large(chain, work):
    """Put the atoms that matter into `work.large`; returns their number."""
    n_large = 0
    for k in range(chain.counts[ATOMS]):
        if is_large(chain, work, k):
            work.large[n_large] = k
            n_large += 1
    return n_large


@inner_kernel
def draw_weighted(weights, n, total, rng):
    """An index below n, with probability proportional to its weight."""
    left = total * rng.random()
    i = 0
    while i < n - 1 and left >= weights[i]:
        left -= weights[i]
        i += 1
    return i
