"""Spikes: observations taken for outliers, each with a Gaussian size of its own beside the noise.

Observation i, of weight w in a distinct row of total weight W, moves the mean output of its row by w/W times its size.
In the Woodbury system a spike is therefore a group with one row in its pattern. It also moves i away from the other
observations of its row, which the precision 1/sigma2 within rows judges:

    <e_i, e_j> = phi_i phi_j M_aa + (w_i [i = j] - w_i w_j / W) / sigma2       for i, j in row a, phi = w / W
    <e_i, y> = phi_i (M y)_a + w_i (y_i - mean_a) / sigma2

with M the precision of the mean outputs without sizes. Sizes have variance c sigma2 and are integrated out.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import inner_kernel
from .chain import Spikes
from .model import Model


@inner_kernel
def within(model, i, j):
    """sigma2 times what deviations from the mean of their row add to <e_i, e_j>."""
    if model.obs_row[i] != model.obs_row[j]:
        return 0.0
    share = model.obs_weight[j] / model.weight[model.obs_row[j]]
    return model.obs_weight[i] * (1.0 - share if i == j else -share)


@inner_kernel
def deviation(model, i):
    """sigma2 times what deviations from the mean of its row add to <e_i, y>."""
    return model.obs_weight[i] * (model.obs_y[i] - model.row_y[model.obs_row[i]])


@inner_kernel
def add_within(chain, model, log_sigma2, S, u):
    """Add to S and u what deviations within rows contribute."""
    inverse = math.exp(-log_sigma2)
    for g in range(chain.n_spikes):
        u[g] += inverse * deviation(model, chain.spike[g])
        for j in range(chain.n_spikes):
            S[g, j] += inverse * within(model, chain.spike[g], chain.spike[j])


@inner_kernel
def add_within_of_loose(chain, model, atom):
    """The same for a loose spike; an atom has nothing to do with deviations within rows."""
    i = atom.observation
    if i < 0:
        return
    inverse = math.exp(-chain.log_sigma2)
    atom.t_t += inverse * within(model, i, i)
    atom.t_y += inverse * deviation(model, i)
    for g in range(chain.n_spikes):
        atom.s[g] += inverse * within(model, i, chain.spike[g])


@inner_kernel
def squares_within(chain, model, atom, q):
    """|t - p'T|^2 and (t - p'T, y - q'T), as far as they come from deviations within rows."""
    a, b, i, p = 0.0, 0.0, atom.observation, atom.p
    if i >= 0:
        a += within(model, i, i)
        b += deviation(model, i)
    for g in range(chain.n_spikes):
        of_g = chain.spike[g]
        b -= p[g] * deviation(model, of_g)
        if i >= 0:
            a -= 2.0 * p[g] * within(model, i, of_g)
            b -= q[g] * within(model, i, of_g)
        for j in range(chain.n_spikes):
            product = p[g] * within(model, of_g, chain.spike[j])
            a += product * p[j]
            b += product * q[j]
    inverse = math.exp(-chain.log_sigma2)
    return inverse * a, inverse * b


# --- Spikes as weights -----------------------------------------------------------------------------------


def inflate(model: Model, spikes: Spikes) -> tuple[Model, float]:
    """The model without spikes that has the same likelihood, up to a constant.

    A spike makes the variance of an observation `sigma2 (1/w + c)`, as a smaller weight would.

    Parameters
    ----------
    model : Model
        With observations of any weight.
    spikes : Spikes
        Which of them are outliers.

    Returns
    -------
    tuple of Model and float
        `weight`, `row_y`, `sum_y2`, `ss_within` and `sum_log_weight` differ. The log likelihood with spikes is that of
        the new model plus the second value.
    """
    if spikes.log_c.size == 0:
        return model, 0.0
    given, n = model.obs_weight, model.row_y.size
    shrink = np.ones(given.size)
    shrink[spikes.observation] += given[spikes.observation] * np.exp(spikes.log_c)
    w = given / shrink
    weight = np.bincount(model.obs_row, w, n).astype(float)
    from_mean = model.obs_y - model.row_y[model.obs_row]
    shift = np.bincount(model.obs_row, w * from_mean, n) / weight
    row_y = model.row_y + shift
    constant = -0.5 * float(np.log(shrink).sum() + np.log(weight).sum() - np.log(model.weight).sum())
    changed = model._replace(
        weight=weight,
        row_y=row_y,
        sum_y2=float(weight @ row_y**2),
        ss_within=float(w @ (from_mean - shift[model.obs_row]) ** 2),
        sum_log_weight=float(np.log(weight).sum()),
    )
    return changed, constant


@inner_kernel
def log_prior_of_spikes(model, n_spikes):
    """Log prior probability of these spikes and their c, with p integrated out."""
    a, b, n = model.spike_a, model.spike_b, model.obs_row.size
    together = math.lgamma(n_spikes + a) + math.lgamma(n - n_spikes + b) - math.lgamma(n + a + b)
    alone = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return together - alone - n_spikes * math.log(model.spike_log_c.size)
