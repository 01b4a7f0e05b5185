"""Move the loose atom to another hyperplane: the step all geometric moves share."""

from __future__ import annotations

import math

from ..._jit import inner_kernel
from ..jump_measure import log_scale_of_mark
from ..loose import accept_new, accept_products, evaluate, log_gain
from ..names import ALPHA, LOG_NU, A, B
from ..row_products import weigh_pattern
from ..tree import find_flips, flip_products
from ..unit import add_row, unit


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
    for j in range(work.t.size):
        work.t_new[j] = work.t[j]
    for i in range(n):
        if work.tau_new[i] != work.tau[i]:
            add_row(model.basis, i, work.tau_new[i] - work.tau[i], work.t_new)
    weigh_pattern(chain, model, work.tau_new, work.c_new, work.number_new)
    if not evaluate(chain, model, work, work.tau_new, work.t_new, work.c_new, work.s_new, work.number_new):
        return 0
    if not is_accepted(chain, work, rng, k, log_ratio):
        return 0
    accept_new(chain, work, work.h_new, k)
    return 1


@inner_kernel
def is_accepted(chain, work, rng, k, log_ratio):
    """Metropolis-Hastings for the numbers of the loose atom, where it is and where it is proposed to be."""
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    log_ratio += log_gain(log_v, work.number_new[A], work.number_new[B])
    log_ratio -= log_gain(log_v, work.number[A], work.number[B])
    return math.log(1.0 - rng.random()) < log_ratio


@inner_kernel
def try_flips(chain, model, work, rng, k):
    """The same for sign units over many rows: only rows that a tree cannot rule out are looked at."""
    n_flipped = find_flips(model, work, chain.h[k], work.h_new)
    if n_flipped > 0:
        flip_products(chain, model, work, n_flipped)
        # The pattern itself is needed beside an equal one only: flipped here, and back when rejected.
        flip_rows(work.tau, work.flipped, n_flipped)
        ok = evaluate(chain, model, work, work.tau, work.t_new, work.c_new, work.s_new, work.number_new)
        if not ok or not is_accepted(chain, work, rng, k, 0.0):
            flip_rows(work.tau, work.flipped, n_flipped)
            return 0
        accept_products(chain, work, work.h_new, k)
        return 1
    for j in range(work.h_new.size):
        chain.h[k, j] = work.h_new[j]
    return 1


@inner_kernel
def flip_rows(tau, rows, n_rows):
    """Change the sign of a pattern at some rows."""
    for r in range(n_rows):
        tau[rows[r]] = -tau[rows[r]]
