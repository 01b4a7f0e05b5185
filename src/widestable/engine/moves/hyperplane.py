"""Move the loose atom to another hyperplane: the step that all geometric moves share."""

from __future__ import annotations

from ..._algebra import copy
from ..._jit import inner_kernel
from ..groups import weigh_pattern
from ..kernel import rotate_from, unit
from ..loose import evaluate, log_gain, log_scale
from ..tree import find_flips, flip_products
from .accept import accept
from .passing import pass_observation


@inner_kernel
def try_hyperplane(chain, model, work, rng, k, log_ratio, passes):
    """Accept or reject `work.proposed.h`, whose projections are known, for the loose atom k; returns 1 when accepted.

    `log_ratio` is the correction for the proposal, and `passes` says whether the spike of an observation that changes
    sides is integrated out. Only rows where the unit changes its value cost anything: O(n F) for F such rows, and
    nothing when F = 0.
    """
    old, new, kernel = work.loose, work.proposed, chain.kernel
    if set_new_pattern(new.projection, kernel.sharpness, old.tau, new.tau) == 0:
        if log_ratio < 0.0 and not accept(rng, log_ratio):
            return 0
        set_hyperplane(chain, k, new.h)
        copy(new.projection, old.projection)
        return 1
    rotate_from(old.tau, old.t, 1.0, new.tau, kernel.basis, new.t)
    if passes:
        if pass_observation(chain, model, work, rng, k, log_ratio) == 0:
            return 0
        set_hyperplane(chain, k, new.h)
        return 1
    weigh_pattern(chain, model, new)
    if not evaluate(chain, model, work, new):
        return 0
    if not accept(rng, log_ratio + log_gain_of_proposal(chain, work, k)):
        return 0
    set_hyperplane(chain, k, new.h)
    # The two change places, so that the accepted one is where the loose atom is.
    work.loose, work.proposed = new, old
    return 1


@inner_kernel
def set_new_pattern(projection, sharpness, tau, tau_new):
    """Fill `tau_new` with the values of the unit; returns at how many rows they differ from `tau`."""
    n_changed = 0
    for i in range(tau.size):
        tau_new[i] = unit(projection[i], sharpness)
        n_changed += tau_new[i] != tau[i]
    return n_changed


@inner_kernel
def log_gain_of_proposal(chain, work, k):
    """Log likelihood of the loose atom k where it is proposed to be, less that where it is."""
    log_v = log_scale(chain, k)
    new, old = work.proposed, work.loose
    return log_gain(log_v, new.a, new.b) - log_gain(log_v, old.a, old.b)


@inner_kernel
def set_hyperplane(chain, k, h):
    """Put atom k at the hyperplane h."""
    for j in range(h.size):
        chain.h[k, j] = h[j]


@inner_kernel
def try_flips(chain, model, work, rng, k):
    """The same for sign units over many rows: only rows that the tree cannot rule out are looked at."""
    old, new = work.loose, work.proposed
    copy(old.t, new.t)
    n_flipped = find_flips(chain.kernel, model, work, chain.h[k], new.h, old.tau, new.t)
    if n_flipped == 0:
        set_hyperplane(chain, k, new.h)
        return 1
    flip_products(chain, model, work, n_flipped)
    # Copying whole patterns would cost O(n): flip the rows in place, and flip them back on rejection.
    tau = old.tau
    old.tau, new.tau = new.tau, tau
    flip_rows(tau, work.flipped, n_flipped)
    if not evaluate(chain, model, work, new) or not accept(rng, log_gain_of_proposal(chain, work, k)):
        flip_rows(tau, work.flipped, n_flipped)
        old.tau, new.tau = new.tau, old.tau
        return 0
    set_hyperplane(chain, k, new.h)
    work.loose, work.proposed = new, old
    return 1


@inner_kernel
def flip_rows(tau, rows, n_rows):
    """Change the sign of a pattern at some rows."""
    for r in range(n_rows):
        tau[rows[r]] = -tau[rows[r]]
