"""Scale of an atom: a slice on its log mark with its size integrated out."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ...stable import log_scale_of_one
from ..loose import log_gain

# Marks below N exp(-60) have prior probability 1e-26. The slice starts from all others, so it can change mode.
SPAN = 60.0


@inner_kernel
def log_target(log_mark, chain, atom):
    """Density of the log mark: uniform mark (factor gamma) times the likelihood."""
    log_v = log_scale_of_one(log_mark, chain.alpha, chain.log_nu)
    return log_mark + log_gain(log_v, atom.a, atom.b)


@inner_kernel
def update_scale(chain, model, atom, rng, k):
    """Shrinkage slice sampling (Neal 2003) of log gamma of the loose atom k on (log N - 60, log N)."""
    high = math.log(model.n_atoms)
    low = high - SPAN
    level = log_target(chain.log_mark[k], chain, atom) + math.log(1.0 - rng.random())
    while True:
        proposal = low + (high - low) * rng.random()
        if log_target(proposal, chain, atom) >= level:
            chain.log_mark[k] = proposal
            return
        if proposal < chain.log_mark[k]:
            low = proposal
        else:
            high = proposal
        if high - low < 1e-12:
            return
