"""The Woodbury system of a chain: y given the patterns, with all sizes integrated out.

In the eigenbasis of the weighted kernel the covariance of y is `diag(1/p) + T' V T` with one row of T
for each distinct pattern (a *group* of atoms, whose scales add up). With `S = T P T'` and `M = V^-1 + S` the chain
keeps S, u = T P y and R = M^-1, and takes groups out of R and puts them back in O(G^2). Outlying observations are
groups too (`observations`), which come before those of the atoms.

Outside the leading r dimensions p is a constant, the rest's precision q. There x'Py is q times x'Wy over the rows, less
its part in those dimensions; so `precision` holds p - q, and q times an inner product over the rows is added. With
r = n, q is 0.
"""

from __future__ import annotations

import math

from .._algebra import cholesky, dot, dot3, inverse_from_cholesky, row_dot, solve_lower
from .._jit import inner_kernel
from ..stable import log_remainder_of_one, log_scale_of_one
from .observations import add_within

# Scales below exp(-600) are nothing to float64; clamping them keeps 1/v finite.
LOG_TINY = -600.0
# A diagonal entry of the inverse that shrinks to this part of itself has lost too many digits.
CANCELLED = 1e-6
LOG_2PI = math.log(2.0 * math.pi)


@inner_kernel
def inverse_scale(log_v):
    """1/v without overflow."""
    return math.exp(-max(log_v, LOG_TINY))


@inner_kernel
def log_sum(x, y):
    """log(exp(x) + exp(y))."""
    if x < y:
        x, y = y, x
    return x if y == -math.inf else x + math.log1p(math.exp(y - x))


@inner_kernel
def set_precision(model, kernel, alpha, log_nu, log_sigma2, precision):
    """precision_i = 1 / (g lam_i + sigma2) less that of the rest, which is returned."""
    g = math.exp(log_remainder_of_one(alpha, log_nu, model.n_atoms))
    sigma2, eigenvalues = math.exp(log_sigma2), kernel.eigenvalues
    rest = 1.0 / (g * kernel.rest_eigenvalue + sigma2) if model.n_rest > 0 else 0.0
    for i in range(precision.size):
        precision[i] = 1.0 / (g * eigenvalues[i] + sigma2) - rest
    return rest


@inner_kernel
def set_group_scales(chain, alpha, log_nu, log_sigma2, log_group_scale):
    """Add up the scales of the atoms of each group, in logs; spikes have the scale c sigma2."""
    for g in range(chain.n_spikes):
        log_group_scale[g] = log_sigma2 + chain.log_c[g]
    for g in range(chain.n_spikes, chain.n_groups):
        log_group_scale[g] = -math.inf
    for k in range(chain.n_atoms):
        g = chain.group[k]
        log_group_scale[g] = log_sum(log_group_scale[g], log_scale_of_one(chain.log_mark[k], alpha, log_nu))


@inner_kernel
def shift_group_scales(chain, of_spikes, of_atoms, log_group_scale):
    """Scales after a change of log sigma2, which spikes follow, and of log nu, which atoms follow."""
    for g in range(chain.n_spikes):
        log_group_scale[g] = chain.log_group_scale[g] + of_spikes
    for g in range(chain.n_spikes, chain.n_groups):
        log_group_scale[g] = chain.log_group_scale[g] + of_atoms


@inner_kernel
def set_gram(chain, precision, rest, S, u, scaled):
    """S = T P T' and u = T P y for the groups present."""
    n, T = precision.size, chain.T
    for g in range(chain.n_groups):
        for i in range(n):
            scaled[i] = T[g, i] * precision[i]
        u[g] = dot(scaled, chain.kernel.y, n) + rest * chain.w_y[g]
        for j in range(g + 1):
            S[g, j] = row_dot(T, j, scaled, n) + rest * chain.C[g, j]
            S[j, g] = S[g, j]


@inner_kernel
def factor(log_group_scale, S, n_groups, E, scaled, L):
    """Cholesky factor L of the unit-diagonal E M E; returns (ok, log det M + sum log V)."""
    log_det = 0.0
    for g in range(n_groups):
        diagonal = inverse_scale(log_group_scale[g]) + S[g, g]
        E[g] = 1.0 / math.sqrt(diagonal)
        log_det += math.log(diagonal) + max(log_group_scale[g], LOG_TINY)
    for g in range(n_groups):
        for j in range(g):
            scaled[g, j] = S[g, j] * E[g] * E[j]
        scaled[g, g] = 1.0
    ok = cholesky(scaled, L, n_groups)
    if ok:
        for g in range(n_groups):
            log_det += 2.0 * math.log(L[g, g])
    return ok, log_det


@inner_kernel
def log_likelihood(chain, model, work, alpha, log_nu, log_sigma2, log_group_scale):
    """log p(y | patterns, scales, alpha, nu, sigma2) from scratch, -inf when a factorisation fails."""
    y = chain.kernel.y
    n = y.size
    n_groups = chain.n_groups
    precision = work.precision
    rest = set_precision(model, chain.kernel, alpha, log_nu, log_sigma2, precision)
    work.rest_precision = rest
    set_gram(chain, precision, rest, work.S, work.u, work.scaled_t)
    add_within(chain, model, log_sigma2, work.S, work.u)
    ok, log_det = factor(log_group_scale, work.S, n_groups, work.E, work.scaled, work.L)
    if not ok:
        return -math.inf
    for i in range(n):
        log_det -= math.log(precision[i] + rest)
    if model.n_rest > 0:
        log_det -= model.n_rest * math.log(rest)
    for g in range(n_groups):
        work.z[g] = work.u[g] * work.E[g]
    solve_lower(work.L, work.z, work.z, n_groups)
    quadratic = dot3(y, y, precision, n) + rest * model.sum_y2 - dot(work.z, work.z, n_groups)
    if not math.isfinite(log_det + quadratic):
        return -math.inf
    within = model.n_extra * (LOG_2PI + log_sigma2) + model.ss_within * math.exp(-log_sigma2)
    return 0.5 * (model.sum_log_weight - model.row_y.size * LOG_2PI - log_det - quadratic - within)


@inner_kernel
def refresh(chain, model, work):
    """Recompute every running quantity of the system from the patterns T; returns the log likelihood."""
    n_groups = chain.n_groups
    set_group_scales(chain, chain.alpha, chain.log_nu, chain.log_sigma2, chain.log_group_scale)
    value = log_likelihood(chain, model, work, chain.alpha, chain.log_nu, chain.log_sigma2, chain.log_group_scale)
    if value == -math.inf:
        return value
    for i in range(chain.precision.size):
        chain.precision[i] = work.precision[i]
    chain.rest_precision = work.rest_precision
    unscale_inverse(chain, work)
    for g in range(n_groups):
        chain.u[g] = work.u[g]
        for j in range(n_groups):
            chain.S[g, j] = work.S[g, j]
    return value


@inner_kernel
def take_out(R, g, n_groups):
    """Take group g out of the inverse: the others' inverse stays, row and column g become zero.

    Returns False when a pattern that nearly depends on g's lost its digits.
    """
    is_safe = True
    pivot = R[g, g]
    for i in range(n_groups):
        if i != g:
            before = R[i, i]
            factor_i = R[i, g] / pivot
            for j in range(n_groups):
                R[i, j] -= factor_i * R[g, j]
            is_safe = is_safe and R[i, i] > CANCELLED * before
    for i in range(n_groups):
        R[i, g] = 0.0
        R[g, i] = 0.0
    return is_safe


@inner_kernel
def invert_again(chain, work):
    """R = (V^-1 + S)^-1 from scratch; left as it is when that cannot be factored."""
    n_groups = chain.n_groups
    ok, _ = factor(chain.log_group_scale, chain.S, n_groups, work.E, work.scaled, work.L)
    if ok:
        unscale_inverse(chain, work)


@inner_kernel
def unscale_inverse(chain, work):
    """R = E (E M E)^-1 E, from the factor in `work`."""
    n_groups = chain.n_groups
    inverse_from_cholesky(work.L, work.scaled, chain.R, n_groups)
    for g in range(n_groups):
        for j in range(n_groups):
            chain.R[g, j] = work.scaled[g, j] * work.E[g] * work.E[j]


@inner_kernel
def put_in(R, S, log_v, g, n_groups, p, a):
    """Put group g, whose row of the inverse is zero, into the inverse with scale exp(log_v).

    `a` is its t'Pt with the others integrated out where that is known better than from R and S; 0 where not.
    """
    for i in range(n_groups):
        total = 0.0
        for j in range(n_groups):
            total += R[i, j] * S[g, j]
        p[i] = total
    if a == 0.0:
        # Rounding must not make the inverse indefinite; 1e-13 of the diagonal is all that float64 can resolve.
        a = max(S[g, g] - row_dot(S, g, p, n_groups), 1e-13 * S[g, g])
    c = inverse_scale(log_v) + a
    for i in range(n_groups):
        for j in range(n_groups):
            R[i, j] += p[i] * p[j] / c
    for i in range(n_groups):
        R[i, g] = -p[i] / c
        R[g, i] = R[i, g]
    R[g, g] = 1.0 / c
