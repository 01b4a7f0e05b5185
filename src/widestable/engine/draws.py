"""Stored draws: sizes given scales, f given sizes, and how the draws of a chain are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from .._algebra import row_dot, solve_lower, solve_upper
from .._jit import inline_kernel, inner_kernel
from .._types import FloatArray, IntArray
from ..stable import log_remainder_of_one, log_scale_of_mark
from .loose import log_scale
from .model import Model, capacity
from .observations import log_prior_of_spikes
from .priors import log_prior
from .system import LOG_TINY, log_sum

OF_ATOMS = ("h", "log_mark", "size")
OF_SPIKES = ("spike", "spike_log_c", "spike_size")


@dataclass(frozen=True)
class ChainDraws:
    """m draws of one chain over n training rows and d inputs, in scaled units.

    Attributes
    ----------
    alpha, log_nu, log_sigma2 : ndarray of shape (m,)
        Parameters.
    relevance : ndarray of shape (m, d)
        Relevance of each input.
    sharpness : ndarray of shape (m,)
        Sharpness of the units; infinite for sign units.
    log_density : ndarray of shape (m,)
        Log likelihood plus log prior of the inferred parameters, sizes integrated out.
    f : ndarray of shape (m, rows)
        The function at the stored training rows, remainder included.
    coefficient : ndarray of shape (m, n)
        (g K + noise)^-1 (y - atoms) at the training rows, or for the landmarks of a remainder of low rank: what
        prediction needs of y.
    n_atoms : ndarray of int of shape (m,)
        Number of atoms of each draw.
    h : ndarray of shape (sum of n_atoms, d + 1)
        Hyperplanes in the space of the inputs, draw after draw: the unit sees `h . (1, x)`.
    log_mark : ndarray of shape (sum of n_atoms,)
        Log marks.
    size : ndarray of shape (sum of n_atoms,)
        Sizes: f jumps by 2 |size| across the hyperplane.
    p_outlier : ndarray of shape (m,)
        Probability that an observation is an outlier; 0 where the noise is normal.
    n_spikes : ndarray of int of shape (m,)
        Number of spikes of each draw.
    spike : ndarray of int of shape (sum of n_spikes,)
        Observation of each spike, draw after draw.
    spike_log_c, spike_size : ndarray of shape (sum of n_spikes,)
        Log of its variance over that of the noise, and how far it takes the observation.
    """

    alpha: FloatArray
    log_nu: FloatArray
    log_sigma2: FloatArray
    relevance: FloatArray
    sharpness: FloatArray
    log_density: FloatArray
    f: FloatArray
    coefficient: FloatArray
    n_atoms: IntArray
    h: FloatArray
    log_mark: FloatArray
    size: FloatArray
    p_outlier: FloatArray
    n_spikes: IntArray
    spike: IntArray
    spike_log_c: FloatArray
    spike_size: FloatArray

    def __len__(self) -> int:
        return self.log_density.size

    @property
    def log_scale(self) -> FloatArray:
        """log v of every atom."""
        alpha, log_nu = np.repeat(self.alpha, self.n_atoms), np.repeat(self.log_nu, self.n_atoms)
        return log_scale_of_mark(self.log_mark, alpha, log_nu)

    @property
    def first_atom(self) -> IntArray:
        """Where the atoms of each draw begin, and the end of the last, shape (m + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_atoms)]).astype(np.int64)

    def where(self, keep: np.ndarray) -> ChainDraws:
        """The draws at which the boolean array `keep` is True."""
        of = dict.fromkeys(OF_ATOMS, np.repeat(keep, self.n_atoms))
        of |= dict.fromkeys(OF_SPIKES, np.repeat(keep, self.n_spikes))
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return ChainDraws(**{name: v[of.get(name, keep)] for name, v in values.items()})


def concatenate(parts: Sequence[ChainDraws]) -> ChainDraws:
    """Draws of one chain, one part after the other."""
    return ChainDraws(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(ChainDraws)})


# --- Draws of one compiled call --------------------------------------------------------------------------


class Buffers(NamedTuple):
    """Draws of one compiled call, padded to K atoms and s spikes each."""

    alpha: FloatArray  # (draws,)
    log_nu: FloatArray  # (draws,)
    log_sigma2: FloatArray  # (draws,)
    log_density: FloatArray  # (draws,)
    f: FloatArray  # (draws, rows)
    coefficient: FloatArray  # (draws, m)
    n_atoms: IntArray  # (draws,)
    h: FloatArray  # (draws, K, d + 1)
    log_mark: FloatArray  # (draws, K)
    size: FloatArray  # (draws, K)
    p_outlier: FloatArray  # (draws,)
    n_spikes: IntArray  # (draws,)
    spike: IntArray  # (draws, s)
    spike_log_c: FloatArray  # (draws, s)
    spike_size: FloatArray  # (draws, s)


def make_buffers(model: Model, n_draws: int) -> Buffers:
    """Room for the draws of one compiled call."""
    K, s = capacity(model.n_atoms), model.max_spikes
    return Buffers(
        **{name: np.zeros(n_draws) for name in ("alpha", "log_nu", "log_sigma2", "log_density", "p_outlier")},
        f=np.zeros((n_draws, model.rows.size)),
        coefficient=np.zeros((n_draws, model.landmark_rows.size)),
        n_atoms=np.zeros(n_draws, np.int64),
        h=np.zeros((n_draws, K, model.X.shape[1] + 1)),
        log_mark=np.zeros((n_draws, K)),
        size=np.zeros((n_draws, K)),
        n_spikes=np.zeros(n_draws, np.int64),
        spike=np.zeros((n_draws, s), np.int64),
        spike_log_c=np.zeros((n_draws, s)),
        spike_size=np.zeros((n_draws, s)),
    )


def pack(buffers: Buffers, relevance: FloatArray, sharpness: float, log_prior: float) -> ChainDraws:
    """Copy the atoms and spikes out of the padded buffers, and add the log prior of the law of these draws.

    Chains know hyperplanes of rows (1, r * x); stored draws know them in the space of the inputs.
    """
    present = dict.fromkeys(OF_ATOMS, np.arange(buffers.log_mark.shape[1]) < buffers.n_atoms[:, None])
    present |= dict.fromkeys(OF_SPIKES, np.arange(buffers.spike.shape[1]) < buffers.n_spikes[:, None])
    values = {name: v[present[name]] if name in present else v.copy() for name, v in buffers._asdict().items()}
    values["h"][:, 1:] *= relevance
    values["log_density"] += log_prior
    n_draws = buffers.alpha.size
    return ChainDraws(**values, relevance=np.tile(relevance, (n_draws, 1)), sharpness=np.full(n_draws, sharpness))


@inline_kernel
def record(chain, model, work, rng, out, draw):
    """Write one draw into row `draw` of the buffers; the system must be fresh."""
    out.alpha[draw] = chain.alpha
    out.log_nu[draw] = chain.log_nu
    out.log_sigma2[draw] = chain.log_sigma2
    out.log_density[draw] = chain.log_likelihood + log_prior(chain, model)
    out.n_atoms[draw] = chain.n_atoms
    draw_group_sizes(chain, work, rng, work.group_size)
    split_sizes(chain, work, rng, work.group_size, out.size[draw])
    draw_function(chain, model, work, rng, work.group_size, out.coefficient[draw], out.f[draw])
    for k in range(chain.n_atoms):
        out.log_mark[draw, k] = chain.log_mark[k]
        for j in range(chain.h.shape[1]):
            out.h[draw, k, j] = chain.h[k, j]
    if model.has_spikes:
        record_spikes(chain, model, work, rng, out, draw)


@inner_kernel
def record_spikes(chain, model, work, rng, out, draw):
    """Write the spikes of one draw, and p given their number."""
    n_spikes = chain.n_spikes
    out.log_density[draw] += log_prior_of_spikes(model, n_spikes)
    out.p_outlier[draw] = rng.beta(n_spikes + model.spike_a, model.obs_row.size - n_spikes + model.spike_b)
    out.n_spikes[draw] = n_spikes
    for g in range(n_spikes):
        out.spike[draw, g] = chain.spike[g]
        out.spike_log_c[draw, g] = chain.log_c[g]
        out.spike_size[draw, g] = work.group_size[g]


@inner_kernel
def draw_group_sizes(chain, work, rng, size):
    """Sizes of the groups: N(R u, R), through the factor that `refresh` has left in `work`."""
    n_groups = chain.n_groups
    z = work.z
    for g in range(n_groups):
        z[g] = chain.u[g] * work.E[g]
    solve_lower(work.L, z, z, n_groups)
    for g in range(n_groups):
        z[g] += rng.standard_normal()
    solve_upper(work.L, z, z, n_groups)
    for g in range(n_groups):
        size[g] = z[g] * work.E[g]


@inner_kernel
def split_sizes(chain, work, rng, group_size, size):
    """Share each group's size among its atoms, one after the other, given that they add up to it."""
    left = work.z
    for g in range(chain.n_groups):
        left[g] = group_size[g]
        work.n_left[g] = chain.members[g]
    for k in range(chain.n_atoms):
        g = chain.group[k]
        work.n_left[g] -= 1
        if work.n_left[g] == 0:
            size[k] = left[g]
            continue
        log_v = max(log_scale(chain, k), LOG_TINY)
        log_rest = LOG_TINY
        for j in range(k + 1, chain.n_atoms):
            if chain.group[j] == g:
                log_rest = log_sum(log_rest, log_scale(chain, j))
        log_total = log_sum(log_v, log_rest)
        sd = math.exp(0.5 * (log_v + log_rest - log_total))
        size[k] = math.exp(log_v - log_total) * left[g] + sd * rng.standard_normal()
        left[g] -= size[k]


@inner_kernel
def draw_function(chain, model, work, rng, group_size, coefficient, f):
    """f at `model.rows` given sizes; `coefficient` = B P (y - T' size), all that prediction needs of y.

    Spikes are part of y, not of f.
    """
    kernel, rest = chain.kernel, chain.rest_precision
    n = kernel.y.size
    residual, rotated, remainder = work.y_left, work.rotated, work.remainder
    g_scale = math.exp(log_remainder_of_one(chain.alpha, chain.log_nu, model.n_atoms))
    sigma2 = math.exp(chain.log_sigma2)
    for i in range(n):
        residual[i] = kernel.y[i]
        for g in range(chain.n_groups):
            residual[i] -= group_size[g] * chain.T[g, i]
        p = chain.precision[i] + rest
        rotated[i] = residual[i] * p
        spread = g_scale * kernel.eigenvalues[i]
        sd = math.sqrt(spread * sigma2 * p)
        remainder[i] = spread * rotated[i] + sd * rng.standard_normal()
    for i in range(coefficient.size):
        coefficient[i] = row_dot(kernel.landmark_basis, i, rotated, n)
    for r in range(model.rows.size):
        row = model.rows[r]
        total = row_dot(kernel.basis, row, remainder, n) / model.weight[row]
        atoms = 0.0
        for g in range(chain.n_spikes):
            atoms += group_size[g] * chain.tau[g, row]
        for g in range(chain.n_spikes, chain.n_groups):
            total += group_size[g] * chain.tau[g, row]
            atoms += group_size[g] * chain.tau[g, row]
        if model.n_rest > 0:
            total += draw_rest(chain, model, rng, row, atoms, residual, g_scale, sigma2)
        f[r] = total


@inner_kernel
def draw_rest(chain, model, rng, row, atoms, residual, g_scale, sigma2):
    """What lies outside the leading dimensions at one row, given the residual y - atoms inside them.

    Its dependence between rows, of order r / n, is left out.
    """
    kernel, weight = chain.kernel, model.weight[row]
    inside, share = 0.0, 0.0
    for i in range(residual.size):
        inside += kernel.basis[row, i] * residual[i] / weight
        share += kernel.basis[row, i] ** 2 / weight
    rest = chain.rest_precision
    spread = g_scale * kernel.rest_eigenvalue
    mean = spread * rest * (model.row_y[row] - atoms - inside)
    return mean + math.sqrt(max(1.0 - share, 0.0) * spread * sigma2 * rest / weight) * rng.standard_normal()
