"""A stored draw: sizes given scales, and f at the training rows given sizes."""

from __future__ import annotations

import math

from .._algebra import row_dot, solve_lower, solve_upper
from .._jit import inline_kernel, inner_kernel
from .jump_measure import log_remainder, log_scale_of_mark
from .names import ALPHA, ATOMS, GROUPS, LOG_NU, LOG_SIGMA2, SHARPNESS
from .priors import log_prior
from .system import LOG_TINY, log_sum


@inner_kernel
def draw_group_sizes(chain, work, rng, size):
    """Sizes of the groups: N(R u, R), through the factor left in `work` by refresh."""
    n_groups = chain.counts[GROUPS]
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
    theta = chain.theta
    for g in range(chain.counts[GROUPS]):
        work.z[g] = group_size[g]
        work.p[g] = chain.members[g]
    for k in range(chain.counts[ATOMS]):
        g = chain.group[k]
        work.p[g] -= 1.0
        if work.p[g] == 0.0:
            size[k] = work.z[g]
            continue
        log_v = max(log_scale_of_mark(chain.log_mark[k], theta[ALPHA], theta[LOG_NU]), LOG_TINY)
        log_rest = LOG_TINY
        for j in range(k + 1, chain.counts[ATOMS]):
            if chain.group[j] == g:
                log_rest = log_sum(log_rest, log_scale_of_mark(chain.log_mark[j], theta[ALPHA], theta[LOG_NU]))
        log_total = log_sum(log_v, log_rest)
        sd = math.exp(0.5 * (log_v + log_rest - log_total))
        size[k] = math.exp(log_v - log_total) * work.z[g] + sd * rng.standard_normal()
        work.z[g] -= size[k]


@inner_kernel
def draw_function(chain, model, work, rng, group_size, coefficient, f):
    """f at `model.rows` given sizes; `coefficient` = B P (y - T' size), all that prediction needs of y."""
    n = model.y.size
    rest = chain.rest_precision[0]
    residual, rotated, remainder = work.t_new, work.t, work.scaled_row
    g_scale = math.exp(log_remainder(chain.theta[ALPHA], chain.theta[LOG_NU], model.n_atoms))
    sigma2 = math.exp(chain.theta[LOG_SIGMA2])
    for i in range(n):
        residual[i] = model.y[i]
        for g in range(chain.counts[GROUPS]):
            residual[i] -= group_size[g] * chain.T[g, i]
        p = chain.precision[i] + rest
        rotated[i] = residual[i] * p
        spread = g_scale * model.eigenvalues[i]
        sd = math.sqrt(spread * sigma2 * p)
        remainder[i] = spread * rotated[i] + sd * rng.standard_normal()
    for i in range(coefficient.size):
        coefficient[i] = row_dot(model.landmark_basis, i, rotated, n)
    for r in range(model.rows.size):
        row = model.rows[r]
        total = row_dot(model.basis, row, remainder, n) / model.weight[row]
        atoms = 0.0
        for g in range(chain.counts[GROUPS]):
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
    n = residual.size
    weight = model.weight[row]
    inside, share = 0.0, 0.0
    for i in range(n):
        inside += model.basis[row, i] * residual[i] / weight
        share += model.basis[row, i] ** 2 / weight
    rest = chain.rest_precision[0]
    spread = g_scale * model.rest_eigenvalue
    mean = spread * rest * (model.row_y[row] - atoms - inside)
    return mean + math.sqrt(max(1.0 - share, 0.0) * spread * sigma2 * rest / weight) * rng.standard_normal()


@inline_kernel
def record(chain, model, work, rng, out, draw):
    """Write one draw into row `draw` of the buffers; the system must be fresh."""
    for j in range(3):
        out.theta[draw, j] = chain.theta[j]
    out.sharpness[draw] = model.sharpness
    log_density = chain.log_likelihood[0] + log_prior(chain.theta, model)
    out.log_density[draw] = log_density + model.grid_log_prior[chain.counts[SHARPNESS]]
    out.n_atoms[draw] = chain.counts[ATOMS]
    draw_group_sizes(chain, work, rng, work.group_size)
    split_sizes(chain, work, rng, work.group_size, out.size[draw])
    draw_function(chain, model, work, rng, work.group_size, out.coefficient[draw], out.f[draw])
    for k in range(chain.counts[ATOMS]):
        out.log_mark[draw, k] = chain.log_mark[k]
        for j in range(chain.h.shape[1]):
            out.h[draw, k, j] = chain.h[k, j]
