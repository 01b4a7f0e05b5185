"""Scale of an atom: a slice on its log mark with its size integrated out."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..jump_measure import log_scale_of_mark
from ..loose import log_gain
from ..names import ALPHA, LOG_NU, A, B

# Marks below N exp(-60) have prior probability 1e-26: the slice starts from all others, so it can change mode.
SPAN = 60.0


@inner_kernel
def log_target(log_mark, chain, work):
    """Density of the log mark: uniform mark (factor gamma) times the likelihood."""
    log_v = log_scale_of_mark(log_mark, chain.theta[ALPHA], chain.theta[LOG_NU])
    return log_mark + log_gain(log_v, work.number[A], work.number[B])


@inner_kernel
def update_scale(chain, model, work, rng, k):
    """Shrinkage slice sampling (Neal 2003) of log gamma_k on (log N - 60, log N)."""
    high = math.log(model.n_atoms)
    low = high - SPAN
    level = log_target(chain.log_mark[k], chain, work) + math.log(1.0 - rng.random())
    while True:
        proposal = low + (high - low) * rng.random()
        if log_target(proposal, chain, work) >= level:
            chain.log_mark[k] = proposal
            return
        if proposal < chain.log_mark[k]:
            low = proposal
        else:
            high = proposal
        if high - low < 1e-12:
            return
