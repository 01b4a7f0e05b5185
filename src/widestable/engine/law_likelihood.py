"""The likelihood of a law of the hyperplanes, from the covariance of the rows instead of its eigenbasis.

Sizes and remainder are integrated out: `y ~ N(0, Q)` with `Q = g K + sigma2 W^-1 + sum_k v_k tau_k tau_k'`. The
covariance is factored without the atoms, which are added by Woodbury's identity: factoring the sum would lose digits
where atoms are large beside the noise.

What is loops over rows or atoms is compiled; factors and products of large matrices are LAPACK's and BLAS's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

from .._algebra import inverse_from_cholesky
from .._arcsine import arcsine, fill_covariance
from .._jit import kernel as compiled
from .._types import FloatArray, IntArray
from ..stable import log_scale_of_one
from .groups import same
from .kernel import Law, unit
from .system import LOG_2PI, LOG_TINY, factor, log_sum

# --- Rows ------------------------------------------------------------------------------------------------


class View(NamedTuple):
    """The rows as units see them under a law, `e = z / sqrt(|z|^2 + 1/(2 w^2))` with `z = (1, r x)`."""

    E: FloatArray  # (n, d + 1) their inner products are the arguments of the arcsine kernel
    gap: FloatArray  # (n,) 1 - |e|^2
    log_diagonal: float  # log of the mean of K(x, x) over the rows; 0 for sign units


def view(X: FloatArray, law: Law) -> View:
    """See the rows X under a law."""
    E, gap = np.empty((len(X), X.shape[1] + 1)), np.empty(len(X))
    return View(E, gap, math.log(_fill_view(X, law.relevance, law.sharpness, E, gap)))


def covariance_of(seen: View, g: float, noise: FloatArray) -> FloatArray:
    """Lower triangle of g K + noise, in the order of LAPACK."""
    n = len(seen.E)
    upper = np.zeros((n, n))
    fill_covariance(seen.E, seen.gap, np.ascontiguousarray(seen.E.T), g, noise, upper)
    return upper.T


@compiled
def _fill_view(X, relevance, sharpness, E, gap):
    """Fill in the rows, and return the mean of K(x, x)."""
    n, d = X.shape
    total = 0.0
    for a in range(n):
        # Squares of large inputs would overflow.
        largest = 1.0
        for j in range(d):
            largest = max(largest, abs(relevance[j] * X[a, j]))
        inside = 0.5 * (1.0 / sharpness / largest) ** 2
        norm2 = 1.0 / largest**2 + inside
        E[a, 0] = 1.0 / largest
        for j in range(d):
            E[a, j + 1] = relevance[j] * X[a, j] / largest
            norm2 += E[a, j + 1] ** 2
        for j in range(d + 1):
            E[a, j] /= math.sqrt(norm2)
        gap[a] = inside / norm2
        length2 = 0.0
        for j in range(d + 1):
            length2 += E[a, j] ** 2
        total += arcsine(2.0 * gap[a], 2.0 * gap[a] + 4.0 * length2)
    return total / n if n > 0 else 1.0


# --- Atoms -----------------------------------------------------------------------------------------------


class Units(NamedTuple):
    """The atoms under a law, and the groups of those with one pattern up to sign."""

    projection: FloatArray  # (atoms, n) h.z
    tau: FloatArray  # (groups, n)
    log_scale: FloatArray  # (groups,) log of the summed scales
    group: IntArray  # (atoms,)
    sign: FloatArray  # (atoms,) sign of an atom's pattern beside that of its group
    share: FloatArray  # (atoms,) of the scale of its group


def make_units(X: FloatArray, law: Law, h: FloatArray, log_mark: FloatArray, alpha: float, log_nu: float) -> Units:
    """See the atoms under a law."""
    projection = h[:, :1] + (h[:, 1:] * law.relevance) @ X.T
    tau, K = np.empty_like(projection), len(h)
    log_scale, sign, share, group = np.empty(K), np.empty(K), np.empty(K), np.empty(K, np.int64)
    n_groups = _fill_units(projection, law.sharpness, log_mark, alpha, log_nu, tau, log_scale, group, sign, share)
    return Units(projection, tau[:n_groups], log_scale[:n_groups], group, sign, share)


@compiled
def _fill_units(projection, sharpness, log_mark, alpha, log_nu, tau, log_scale, group, sign, share):
    """Fill in the patterns of the groups, and what belongs to each atom; returns the number of groups."""
    n, n_groups = projection.shape[1], 0
    for k in range(projection.shape[0]):
        new = tau[n_groups]
        for i in range(n):
            new[i] = unit(projection[k, i], sharpness)
        sign[k] = 1.0 if n == 0 or new[0] >= 0.0 else -1.0
        for i in range(n):
            new[i] *= sign[k]
        g = 0
        while not same(tau[g], new):
            g += 1
        share[k] = max(log_scale_of_one(log_mark[k], alpha, log_nu), LOG_TINY)
        log_scale[g] = log_sum(log_scale[g], share[k]) if g < n_groups else share[k]
        group[k] = g
        n_groups += g == n_groups
    for k in range(projection.shape[0]):
        share[k] = math.exp(share[k] - log_scale[group[k]])
    return n_groups


# --- Sizes and remainder integrated out ------------------------------------------------------------------


class Solved(NamedTuple):
    """y with sizes and remainder integrated out."""

    value: float  # the log likelihood; -inf when a factorisation failed
    L: FloatArray  # (n, n) Cholesky factor of g K + noise, lower
    T: FloatArray  # (n, groups) L^-1 tau'
    y: FloatArray  # (n,) L^-1 y
    R: FloatArray  # (groups, groups) (V^-1 + T'T)^-1


NOT_SOLVED = Solved(-math.inf, *(np.empty(0) for _ in range(4)))


def solve(covariance: FloatArray, row_y: FloatArray, units: Units) -> Solved:
    """log N(y; 0, Q), given the lower triangle of the covariance of remainder and noise, which is overwritten."""
    n = row_y.size
    if n == 0:
        return Solved(0.0, covariance, units.tau.T, row_y, np.diag(np.exp(units.log_scale)))
    L, failed = dpotrf(covariance, lower=1, clean=1, overwrite_a=1)
    if failed:
        return NOT_SOLVED
    right = np.empty((n, len(units.tau) + 1), order="F")
    right[:, :-1], right[:, -1] = units.tau.T, row_y
    solved, _ = dtrtrs(L, right, lower=1, overwrite_b=1)
    T, y = solved[:, :-1], solved[:, -1]
    R = np.empty((len(units.tau), len(units.tau)))
    log_det = invert(units.log_scale, T.T @ T, R)
    if log_det == math.inf:
        return NOT_SOLVED
    u = T.T @ y
    log_det += 2.0 * float(np.log(L.diagonal()).sum())
    value = -0.5 * (n * LOG_2PI + log_det + float(y @ y) - float(u @ R @ u))
    return Solved(value, L, T, y, R) if math.isfinite(value) else NOT_SOLVED


@compiled
def invert(log_scale, S, R):
    """Fill R with (V^-1 + S)^-1, and return log det(I + V S), which is inf when digits are lost."""
    n = log_scale.size
    E, scaled, L = np.empty(n), np.empty((n, n)), np.empty((n, n))
    ok, log_det = factor(log_scale, S, n, E, scaled, L)
    if not ok:
        return math.inf
    inverse_from_cholesky(L, R, scaled, n)
    for g in range(n):
        for j in range(n):
            R[g, j] *= E[g] * E[j]
    return log_det


@compiled
def fill_upper(A):
    """Make a matrix symmetric from its lower triangle."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]


class Slopes(NamedTuple):
    """Derivatives of the log likelihood. That in Q is (a a' - Q^-1) / 2."""

    a: FloatArray  # (n,) Q^-1 y
    inverse: FloatArray  # (n, n) Q^-1
    by_tau: FloatArray  # (atoms, n) in the pattern of each atom
    by_log_v: FloatArray  # (atoms,) in the log scale of each atom


def slopes_of(solved: Solved, units: Units) -> Slopes:
    """Derivatives through Q^-1 = L^-T (I - T R T') L^-1.

    For a group, V Q^-1 tau is a column of L^-T T R and V tau' Q^-1 tau is 1 - R / V: accurate however large V is.
    """
    L, T, R = solved.L, solved.T, solved.R
    size = R @ (T.T @ solved.y)
    right = np.empty((L.shape[0], T.shape[1] + 1), order="F")
    right[:, :-1], right[:, -1] = T, solved.y - T @ size
    back, _ = dtrtrs(L, right, lower=1, trans=1, overwrite_b=1)
    B, a = back[:, :-1], back[:, -1]
    BR = B @ R
    inverse = dpotri(L, lower=1)[0]
    fill_upper(inverse)
    inverse -= BR @ B.T
    by_group = size[:, None] * a - BR.T
    by_log_V = 0.5 * ((size**2 + R.diagonal()) * np.exp(-units.log_scale) - 1.0)
    group, share = units.group, units.share
    return Slopes(a, inverse, (share * units.sign)[:, None] * by_group[group], share * by_log_V[group])
