"""Move the loose atom to another hyperplane: the step all geometric moves share."""

from __future__ import annotations

import math

from .jit import inner_kernel
from .jump_measure import log_scale_of_mark
from .loose import accept_new, evaluate, log_gain
from .names import ALPHA, LOG_NU, A, B
from .unit import add_row, unit


@inner_kernel
def try_hyperplane(chain, model, work, rng, k, log_ratio):
    """Accept or reject `work.h_new`, whose projections are in `work.projection_new`.

    Only rows whose unit value changes cost anything: O(n F) for F changed rows, and nothing when F = 0.
    `log_ratio` is the proposal's correction. Returns 1 when accepted.
    """
    n = work.tau.size
    changed = False
    for i in range(n):
        work.tau_new[i] = unit(work.projection_new[i], model.sharpness)
        changed = changed or work.tau_new[i] != work.tau[i]
    if not changed:
        if log_ratio < 0.0 and rng.random() >= math.exp(log_ratio):
            return 0
        for j in range(work.h_new.size):
            chain.h[k, j] = work.h_new[j]
        for i in range(n):
            work.projection[i] = work.projection_new[i]
        return 1
    for i in range(n):
        work.t_new[i] = work.t[i]
    for i in range(n):
        if work.tau_new[i] != work.tau[i]:
            add_row(model.basis, i, work.tau_new[i] - work.tau[i], work.t_new)
    if not evaluate(chain, model, work, work.tau_new, work.t_new, work.s_new, work.number_new):
        return 0
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    log_ratio += log_gain(log_v, work.number_new[A], work.number_new[B])
    log_ratio -= log_gain(log_v, work.number[A], work.number[B])
    if not math.log(1.0 - rng.random()) < log_ratio:
        return 0
    accept_new(chain, work, work.h_new, k)
    return 1
