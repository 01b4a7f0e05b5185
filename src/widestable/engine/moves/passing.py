"""A hyperplane passes an observation, with the spike of that observation integrated out.

Beside a jump, an observation is on its own side of the hyperplane, or on the other side and an outlier. To get from one
to the other, the hyperplane would have to pass it in one of the few sweeps in which it has a spike that nothing asks
for. So the hyperplane is judged as if the spike were not known, and the spike is drawn anew afterwards.

The observation is any of those that change sides. The way back changes the same ones, so drawing it needs no
correction.
"""

from __future__ import annotations

import math

from ..._algebra import dot, dot3
from ..._jit import inner_kernel
from ..groups import weigh_pattern
from ..loose import LOST, evaluate, is_strong, log_gain, log_scale
from ..system import inverse_scale
from .accept import accept
from .spikes import draw_log_c, find_spike, put_in_spike, set_loose_spike, take_out_spike, weigh_spike

# Rounding must not make the precision of a spike negative.
LEAST_PART = 1e-13


@inner_kernel
def may_pass(chain, model, k, adapt):
    """Whether atom k is moved in this way: strong sign units are, once warm-up is over.

    Weak atoms pass any row as it is. In warm-up hyperplanes are still to be drawn to their places, by all observations.
    """
    return model.has_spikes and not adapt and math.isinf(chain.kernel.sharpness) and is_strong(chain, k)


@inner_kernel
def pass_observation(chain, model, work, rng, k, log_ratio):
    """Accept or reject the proposed place of the loose atom k, and draw a spike anew; returns 1 when accepted."""
    i = draw_passed(model.obs_row, work.loose.tau, work.proposed.tau, rng)
    log_c, g = -math.inf, find_spike(chain, i)
    if g >= 0:
        log_c = chain.log_c[g]
        take_out_spike(chain, work, g)
        see_groups(chain, model, work, work.loose)
    set_loose_spike(chain, model, work.spike, i)
    accepted = 0
    if see_groups(chain, model, work, work.proposed) and evaluate(chain, model, work, work.spike):
        here = log_gain_with_spike(chain, model, work, work.loose, k)
        there = log_gain_with_spike(chain, model, work, work.proposed, k)
        if accept(rng, log_ratio + there - here):
            work.loose, work.proposed = work.proposed, work.loose
            accepted = 1
        a, b = see_spike(chain, model, work, work.loose, log_scale(chain, k))
        log_c = draw_log_c(chain, model, work, rng, a, b)
    if log_c > -math.inf:
        put_in_spike(chain, work, work.spike, i, log_c)
        see_groups(chain, model, work, work.loose)
    work.spike.tau[model.obs_row[i]] = 0.0
    return accepted


@inner_kernel
def draw_passed(obs_row, tau, tau_new, rng):
    """One of the observations whose rows change sides."""
    n_passed = 0
    for i in range(obs_row.size):
        n_passed += tau[obs_row[i]] != tau_new[obs_row[i]]
    left = int(n_passed * rng.random())
    for i in range(obs_row.size):
        if tau[obs_row[i]] != tau_new[obs_row[i]]:
            if left == 0:
                return i
            left -= 1
    return -1


@inner_kernel
def see_groups(chain, model, work, atom):
    """Fill in the products of a loose atom with the groups that are there now; False when its digits are lost."""
    weigh_pattern(chain, model, atom)
    ok = evaluate(chain, model, work, atom)
    if not ok:
        atom.a = max(atom.a, LOST * atom.t_t)
    return ok


@inner_kernel
def log_gain_with_spike(chain, model, work, atom, k):
    """What the loose atom k adds to the log likelihood at one of its places, with the loose spike integrated out."""
    log_v = log_scale(chain, k)
    a, b = see_spike(chain, model, work, atom, log_v)
    _, of_spike = weigh_spike(chain, model, a, b, work.chances_of_c)
    return log_gain(log_v, atom.a, atom.b) + of_spike


@inner_kernel
def see_spike(chain, model, work, atom, log_v):
    """a and b of the loose spike, with a loose atom of scale v integrated out as well."""
    spike, i = work.spike, work.spike.observation
    cross = dot3(spike.t, atom.t, chain.precision, atom.t.size) - dot(spike.s, atom.p, chain.n_groups)
    cross += chain.rest_precision * model.obs_weight[i] * atom.tau[model.obs_row[i]]
    share = cross / (inverse_scale(log_v) + atom.a)
    return max(spike.a - share * cross, LEAST_PART * spike.a), spike.b - share * atom.b
