"""Noise variance at fixed scales of the spikes: their c change by as much as sigma2, the other way.

Where f can follow nearly all observations, a small sigma2 with many outliers is as likely as a larger one with few. The
scale c sigma2 of an outlier is known better than sigma2 itself, so sigma2 could hardly move while the c stay.
"""

from __future__ import annotations

from ..._jit import inner_kernel
from ..priors import log_prior_log_sigma2
from ..system import log_likelihood
from .accept import accept

# The largest change of sigma2, in steps of the grid of c.
MOST_STEPS = 4


@inner_kernel
def move_sigma2_spikes(chain, model, work, rng):
    """Move log sigma2 by some steps of the grid of c, and each c by as many back; returns 1 when accepted.

    A shift of numbers on a grid, whose values are equally likely, has no Jacobian and no prior ratio.
    """
    grid = model.spike_log_c
    step = (grid[grid.size - 1] - grid[0]) / (grid.size - 1)
    n_steps = 1 + int(MOST_STEPS * rng.random())
    if rng.random() < 0.5:
        n_steps = -n_steps
    lowest, highest = range_of_places(chain, grid, step)
    new = chain.log_sigma2 + n_steps * step
    if lowest - n_steps < 0 or highest - n_steps >= grid.size or new < model.log_sigma2_floor:
        return 0
    value = log_likelihood(chain, model, work, chain.alpha, chain.log_nu, new, chain.log_group_scale)
    log_ratio = value - chain.log_likelihood + log_prior_log_sigma2(new) - log_prior_log_sigma2(chain.log_sigma2)
    if not accept(rng, log_ratio):
        return 0
    chain.log_sigma2 = new
    chain.log_likelihood = value
    for g in range(chain.n_spikes):
        chain.log_c[g] = grid[place_of(chain.log_c[g], grid, step) - n_steps]
    return 1


@inner_kernel
def place_of(log_c, grid, step):
    """The place of a value on the grid."""
    return int((log_c - grid[0]) / step + 0.5)


@inner_kernel
def range_of_places(chain, grid, step):
    """The lowest and the highest place on the grid that some spike has."""
    lowest, highest = grid.size, -1
    for g in range(chain.n_spikes):
        place = place_of(chain.log_c[g], grid, step)
        lowest, highest = min(lowest, place), max(highest, place)
    return lowest, highest
