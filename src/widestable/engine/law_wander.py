"""Steps of the relevances that look at their prior and at the hyperplanes that are held, but not at the data.

They are cheap, and what they lead to is then judged by all of the posterior: `moves.law.propose_leap`.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import allocating_kernel
from .._jit import kernel as compiled
from .law import log_prior_log_relevance

# Steps of the log have a standard deviation between these, even in its log.
SHORTEST, LONGEST = 0.05, 2.0


@compiled
def wander(log_relevance, relevant, leader, squares, scale, n_steps, rng):
    """Make random-walk steps of one log relevance, or of all together; returns by how much the log density changed.

    Parameters
    ----------
    log_relevance : ndarray of shape (d,)
        Changed in place.
    relevant : ndarray of int
        Which of them are free.
    leader : ndarray of int of shape (d,)
        The one that each follows.
    squares : ndarray of shape (held, d + 1)
        Squares of the whitened hyperplanes that are held, under the first relevances.
    scale : float
        Standard deviation of log rho in the prior.
    n_steps : int
        How many.
    rng : numpy.random.Generator
        Moves on.
    """
    first, new, m = log_relevance.copy(), log_relevance.copy(), relevant.size
    start = now = log_density_of_held(first, first, relevant, squares, scale)
    for _ in range(n_steps):
        step = SHORTEST * (LONGEST / SHORTEST) ** rng.random() * rng.standard_normal()
        which = int((m + (m > 1)) * rng.random())
        for j in range(m):
            if which in (j, m):
                new[relevant[j]] += step
        for j in range(new.size):
            new[j] = new[leader[j]]
        value = log_density_of_held(new, first, relevant, squares, scale)
        if math.log(1.0 - rng.random()) < value - now:
            log_relevance[:] = new
            now = value
        else:
            new[:] = log_relevance
    return now - start


@allocating_kernel
def log_density_of_held(log_relevance, first, relevant, squares, scale):
    """Log prior of the relevances and log density of the directions of the hyperplanes that are held."""
    value = log_prior_log_relevance(log_relevance[relevant], scale)
    if value == -math.inf:
        return value
    d, n_held = log_relevance.size, squares.shape[0]
    factor = np.empty(d)
    for j in range(d):
        factor[j] = math.exp(2.0 * (first[j] - log_relevance[j]))
        value += n_held * (first[j] - log_relevance[j])
    for k in range(n_held):
        length2 = squares[k, 0]
        for j in range(d):
            length2 += squares[k, j + 1] * factor[j]
        value -= 0.5 * (d + 1.0) * math.log(length2)
    return value
