"""The sharpness of smooth units: one step along its grid, which changes the kernel and every pattern at once."""

from __future__ import annotations

import math

from ..._jit import inline_kernel, inner_kernel
from ..groups import rebuild_groups
from ..jump_measure import log_scale_of_mark
from ..names import ALPHA, ATOMS, LOG_NU, LOG_SIGMA2, SHARPNESS
from ..priors import log_prior
from ..system import log_likelihood, set_group_scales

# Atoms whose scale exceeds the noise variance by this factor are worth keeping in shape.
DOMINATES = 0.0
# What moves along with the sharpness.
WITH_NU, WITH_LENGTHS = 0, 1
N_WAYS = 3


@inner_kernel
def use_sharpness(model, place):
    """Make the kernel of one place on the grid the one in use."""
    model.sharpness = model.grid[place]
    model.basis = model.grid_basis[place]
    model.landmark_basis = model.grid_landmark_basis[place]
    model.eigenvalues = model.grid_eigenvalues[place]
    model.rest_eigenvalue = model.grid_rest_eigenvalue[place]
    model.y = model.grid_y[place]
    model.log_diagonal = model.grid_log_diagonal[place]


@inner_kernel
def is_surrounded(chain, model, reach):
    """Whether the kernels that `reach` steps may ask for have been made."""
    here = chain.counts[SHARPNESS]
    n_missing = 0
    for place in range(max(here - reach, 0), min(here + reach + 1, model.grid.size)):
        n_missing += 0 if model.is_made[place] else 1
    return n_missing == 0


@inner_kernel
def copy_state(source, target):
    """Copy what defines a state: parameters, atoms and the sharpness."""
    target.counts[ATOMS] = source.counts[ATOMS]
    target.counts[SHARPNESS] = source.counts[SHARPNESS]
    for j in range(3):
        target.theta[j] = source.theta[j]
    for k in range(source.counts[ATOMS]):
        target.log_mark[k] = source.log_mark[k]
        for j in range(source.h.shape[1]):
            target.h[k, j] = source.h[k, j]


@inner_kernel
def keep_shapes(trial, factor):
    """Multiply h of the dominating atoms by `factor`, so that sharpness * h stays; returns the log ratio.

    Which atoms dominate depends on their scales and the noise, neither of which changes. The ratio is that of the
    densities N(0, I) times the Jacobian.
    """
    theta, width = trial.theta, trial.h.shape[1]
    log_ratio = 0.0
    for k in range(trial.counts[ATOMS]):
        log_v = log_scale_of_mark(trial.log_mark[k], theta[ALPHA], theta[LOG_NU])
        if log_v - theta[LOG_SIGMA2] > DOMINATES:
            log_ratio += width * math.log(factor)
            for j in range(width):
                log_ratio += 0.5 * (1.0 - factor * factor) * trial.h[k, j] ** 2
                trial.h[k, j] *= factor
    return log_ratio


@inline_kernel
def move_sharpness(chain, trial, model, work, rng, current):
    """A step up or down the grid, in one of three ways; returns (accepted, log likelihood).

    Either everything else stays; or nu changes so that the mean of nu K(x, x) over the rows stays; or the hyperplanes
    of dominating atoms are rescaled so that their steps keep their widths.
    """
    here = chain.counts[SHARPNESS]
    there = here + 1 if rng.random() < 0.5 else here - 1
    way = int(N_WAYS * rng.random())
    if there < 0 or there >= model.grid.size:
        return 0, current
    copy_state(chain, trial)
    trial.counts[SHARPNESS] = there
    log_ratio = model.grid_log_prior[there] - model.grid_log_prior[here] - log_prior(chain.theta, model)
    if way == WITH_NU and model.infer_nu:
        trial.theta[LOG_NU] += model.grid_log_diagonal[here] - model.grid_log_diagonal[there]
    elif way == WITH_LENGTHS and model.has_atoms:
        log_ratio += keep_shapes(trial, model.grid[here] / model.grid[there])
    use_sharpness(model, there)
    theta = trial.theta
    log_ratio += log_prior(theta, model)
    rebuild_groups(trial, model, work)
    set_group_scales(trial, trial.log_mark, theta[ALPHA], theta[LOG_NU], trial.log_group_scale)
    value = log_likelihood(trial, model, work, theta[ALPHA], theta[LOG_NU], theta[LOG_SIGMA2], trial.log_group_scale)
    if not math.log(1.0 - rng.random()) < value - current + log_ratio:
        use_sharpness(model, here)
        return 0, current
    copy_state(trial, chain)
    rebuild_groups(chain, model, work)
    set_group_scales(chain, chain.log_mark, theta[ALPHA], theta[LOG_NU], chain.log_group_scale)
    return 1, value
