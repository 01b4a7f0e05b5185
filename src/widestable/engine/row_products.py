"""Inner products over the rows, from scratch: what a low-rank remainder needs beside the eigenbasis."""

from __future__ import annotations

from .._jit import inner_kernel, summing_kernel
from .names import GROUPS, W_T, W_Y


@summing_kernel
def weighted_dot(weight, x, y):
    """x' W y."""
    total = 0.0
    for i in range(weight.size):
        total += weight[i] * x[i] * y[i]
    return total


@summing_kernel
def weighted_row_dot(weight, M, row, y):
    """M[row] W y."""
    total = 0.0
    for i in range(weight.size):
        total += weight[i] * M[row, i] * y[i]
    return total


@inner_kernel
def weigh_pattern(chain, model, tau, c, number):
    """Fill `c` with tau' W tau_g for every group, and `number` with tau' W tau and tau' W y; nothing when r = n."""
    if model.n_rest == 0:
        return
    number[W_T] = weighted_dot(model.weight, tau, tau)
    number[W_Y] = weighted_dot(model.weight, tau, model.row_y)
    for g in range(chain.counts[GROUPS]):
        c[g] = weighted_row_dot(model.weight, chain.tau, g, tau)


@inner_kernel
def weigh_groups(chain, model):
    """The same for the groups themselves: C and w_y."""
    if model.n_rest == 0:
        return
    for g in range(chain.counts[GROUPS]):
        chain.w_y[g] = weighted_row_dot(model.weight, chain.tau, g, model.row_y)
        for j in range(g + 1):
            chain.C[g, j] = weighted_row_dot(model.weight, chain.tau, j, chain.tau[g])
            chain.C[j, g] = chain.C[g, j]
