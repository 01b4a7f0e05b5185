"""Which observations are outliers: each is taken out in turn and drawn anew, off or on with some c.

Given all others this is a Gibbs step, because the size of a spike is integrated out and c is on a grid. The probability
p of an outlier is integrated out too: with k other spikes the odds are `(k + a) / (n - 1 - k + b)`. An observation is
judged by the system as it is now, with all earlier changes in it: two of one row would otherwise both explain the same
deviation.
"""

from __future__ import annotations

import math

from ..._algebra import draw_weighted, row_dot
from ..._jit import inline_kernel, inner_kernel
from ..chain import SPIKE
from ..loose import append_group, drop_group, evaluate, swap_groups
from ..system import invert_again, put_in, take_out
from .accept import count

# Residuals below so many standard deviations are no reason for a spike; `screen` uses the same number.
NEAR = 5.0


@inline_kernel
def update_spikes(chain, model, work, rng, n_visits):
    """Visit `n_visits` observations from a random one on, all of them where they are fewer."""
    n = model.obs_row.size
    first = int(n * rng.random())
    for step in range(min(n, n_visits)):
        i = (first + step) % n
        count(chain, SPIKE, update_spike(chain, model, work, rng, i))


@inner_kernel
def update_spike(chain, model, work, rng, i):
    """Draw anew whether observation i is an outlier, and its c; returns 1 when it has changed."""
    atom = work.spike
    g = find_spike(chain, i)
    log_c = -math.inf
    if g >= 0:
        log_c = chain.log_c[g]
        take_out_spike(chain, work, g)
    set_loose_spike(chain, model, atom, i)
    new = log_c
    if evaluate(chain, model, work, atom):
        new = draw_log_c(chain, model, work, rng, atom.a, atom.b)
    if new > -math.inf:
        put_in_spike(chain, work, atom, i, new)
    atom.tau[model.obs_row[i]] = 0.0
    return 1 if new != log_c else 0


@inner_kernel
def find_spike(chain, i):
    """The spike of observation i, or -1."""
    for g in range(chain.n_spikes):
        if chain.spike[g] == i:
            return g
    return -1


@inner_kernel
def set_loose_spike(chain, model, atom, i):
    """The pattern of a spike at observation i, and its products over the rows; all other rows of it are 0 already."""
    row, weight = model.obs_row[i], model.obs_weight[i]
    share = weight / model.weight[row]
    atom.observation = i
    atom.tau[row] = share
    t, basis = atom.t, chain.kernel.basis
    for j in range(t.size):
        t[j] = share * basis[row, j]
    if model.n_rest > 0:
        atom.w_t = weight * share
        atom.w_y = weight * model.row_y[row]
        for g in range(chain.n_groups):
            atom.c[g] = weight * chain.tau[g, row]


@inner_kernel
def weigh_spike(chain, model, a, b, chances):
    """Fill in the chances of each c of a loose spike with these a and b.

    Returns the chance of none, to the same scale, and the log of the likelihood that the spike adds with all of that
    integrated out.
    """
    n_others, n_values = chain.n_spikes, chances.size
    if n_others >= model.max_spikes:
        chances[:] = 0.0
        return 1.0, 0.0
    odds = (n_others + model.spike_a) / (model.obs_row.size - 1 - n_others + model.spike_b)
    # The largest exponent, so that no gross outlier overflows.
    most = 0.5 * b * b / (math.exp(-chain.log_sigma2 - model.spike_log_c[n_values - 1]) + a)
    none = math.exp(-most)
    total = none
    for j in range(n_values):
        inverse_v = math.exp(-chain.log_sigma2 - model.spike_log_c[j])
        gain = 0.5 * b * b / (inverse_v + a) - most
        chances[j] = odds / n_values * math.exp(gain) / math.sqrt(1.0 + a / inverse_v)
        total += chances[j]
    return none, most + math.log(total)


@inner_kernel
def draw_log_c(chain, model, work, rng, a, b):
    """log c of the loose spike given all others, with these a and b; -inf when it is none."""
    chances = work.chances_of_c
    none, _ = weigh_spike(chain, model, a, b, chances)
    total = 0.0
    for j in range(chances.size):
        total += chances[j]
    if rng.random() * (none + total) < none or total == 0.0:
        return -math.inf
    return model.spike_log_c[draw_weighted(chances, chances.size, total, rng)]


@inner_kernel
def take_out_spike(chain, work, g):
    """Take spike g out of the system: it and then the last group of all change places with the last spike."""
    is_safe = take_out(chain.R, g, chain.n_groups)
    last = chain.n_spikes - 1
    swap_groups(chain, g, last)
    chain.spike[g], chain.log_c[g] = chain.spike[last], chain.log_c[last]
    chain.n_spikes = last
    drop_group(chain, last)
    if not is_safe:
        invert_again(chain, work)


@inner_kernel
def put_in_spike(chain, work, atom, i, log_c):
    """Put a loose spike into the system, behind the other spikes and before the atoms."""
    g, first = chain.n_groups, chain.n_spikes
    append_group(chain, atom, g)
    chain.log_group_scale[g] = chain.log_sigma2 + log_c
    put_in(chain.R, chain.S, chain.log_group_scale[g], g, chain.n_groups, work.put_in, atom.a)
    swap_groups(chain, first, g)
    chain.spike[first], chain.log_c[first] = i, log_c
    chain.n_spikes = first + 1


# --- A challenge -----------------------------------------------------------------------------------------


@inner_kernel
def challenge_spikes(chain, model, work):
    """Take out the spikes of observations that would be in place on the other side of a hyperplane; for warm-up only.

    A spike frees its observation. Where a hyperplane is on the wrong side of some, nothing draws it to the right side
    any more, and chains would keep both the spikes and the wrong place for thousands of sweeps.
    """
    spike = work.spike
    for g in range(chain.n_spikes - 1, -1, -1):
        i, log_c = chain.spike[g], chain.log_c[g]
        take_out_spike(chain, work, g)
        set_loose_spike(chain, model, spike, i)
        if not (evaluate(chain, model, work, spike) and is_displaced(chain, model, spike, i)):
            put_in_spike(chain, work, spike, i, log_c)
        spike.tau[model.obs_row[i]] = 0.0


@inner_kernel
def is_displaced(chain, model, spike, i):
    """Whether the other side of a hyperplane would bring the observation of a loose spike within NEAR s.d. of f."""
    residual, row, n_groups = spike.b / spike.a, model.obs_row[i], chain.n_groups
    for g in range(chain.n_spikes, n_groups):
        # The mean size, with this observation left out.
        size = row_dot(chain.R, g, chain.u, n_groups) - spike.p[g] * residual
        if abs(residual + 2.0 * size * chain.tau[g, row]) * math.sqrt(spike.a) < NEAR:
            return True
    return False
