"""Groups from scratch: which atoms share a pattern, every pattern in the eigenbasis, and products over the rows."""

from __future__ import annotations

from .._jit import inner_kernel, summing_kernel
from .kernel import rotate_from, rotate_pattern, set_pattern
from .tree import has_tree, plant_pattern


@inner_kernel
def rebuild_groups(chain, model, work):
    """Sort the atoms into groups of equal pattern, oriented so that the first row is positive."""
    n = model.row_y.size
    projection, tau = work.loose.projection, work.loose.tau
    chain.n_groups = chain.n_spikes
    set_spike_patterns(chain, model)
    for k in range(chain.n_atoms):
        set_pattern(chain.h[k], chain.kernel, projection, tau)
        if n > 0 and tau[0] < 0.0:
            for j in range(chain.h.shape[1]):
                chain.h[k, j] = -chain.h[k, j]
            for i in range(n):
                tau[i] = -tau[i]
        g = chain.n_spikes
        while g < chain.n_groups and not same(chain.tau[g], tau):
            g += 1
        if g == chain.n_groups:
            chain.n_groups = g + 1
            chain.members[g] = 0
            for i in range(n):
                chain.tau[g, i] = tau[i]
        chain.group[k] = g
        chain.members[g] += 1
    rotate_groups(chain, model, work)


@inner_kernel
def set_spike_patterns(chain, model):
    """Patterns of the spikes over the rows: the mean output of a row moves by the share of the observation in it."""
    for g in range(chain.n_spikes):
        i = chain.spike[g]
        row = model.obs_row[i]
        for j in range(chain.tau.shape[1]):
            chain.tau[g, j] = 0.0
        chain.tau[g, row] = model.obs_weight[i] / model.weight[row]


@inner_kernel
def same(x, y):
    """Whether two patterns are equal in every row."""
    i = 0
    while i < x.size and x[i] == y[i]:
        i += 1
    return i == x.size


@inner_kernel
def rotate_groups(chain, model, work):
    """Recompute T = tau B, and products over the rows, so that rounding errors of many flips do not add up."""
    for g in range(chain.n_spikes):
        row = model.obs_row[chain.spike[g]]
        for j in range(chain.T.shape[1]):
            chain.T[g, j] = chain.tau[g, row] * chain.kernel.basis[row, j]
    if has_tree(chain.kernel):
        # Whole nodes at once: O(n) rows times r numbers per group would be most of a sweep.
        tau, t = work.loose.tau, work.loose.t
        for k in range(chain.n_atoms):
            plant_pattern(chain.kernel, model, work, chain.h[k], tau, t)
            for j in range(t.size):
                chain.T[chain.group[k], j] = t[j]
    else:
        for g in range(chain.n_spikes, chain.n_groups):
            rotate_pattern(chain.tau[g], chain.kernel.basis, chain.T[g])
    weigh_groups(chain, model)


@inner_kernel
def rotate_from_nearest(chain, tau, t):
    """t = B' tau of any pattern, from the group that differs from it, or from its negative, at the fewest rows.

    A row that differs costs as much as a row from scratch does, and among twenty groups one differs at few rows.
    """
    nearest, sign, fewest = -1, 1.0, tau.size
    for g in range(chain.n_spikes, chain.n_groups):
        for side in (1.0, -1.0):
            n_different = count_different(chain.tau, g, side, tau)
            if n_different < fewest:
                nearest, sign, fewest = g, side, n_different
    if nearest < 0:
        rotate_pattern(tau, chain.kernel.basis, t)
        return
    rotate_from(chain.tau[nearest], chain.T[nearest], sign, tau, chain.kernel.basis, t)


@inner_kernel
def count_different(patterns, g, sign, tau):
    """At how many rows `tau` differs from pattern g times the sign."""
    n_different = 0
    for i in range(tau.size):
        n_different += tau[i] != sign * patterns[g, i]
    return n_different


# --- Products over the rows, which a remainder of low rank needs beside the eigenbasis -------------------------------


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
def weigh_pattern(chain, model, atom):
    """Products over the rows of a loose atom with every group, with itself and with y; nothing to do when r = n."""
    if model.n_rest == 0:
        return
    atom.w_t = weighted_dot(model.weight, atom.tau, atom.tau)
    atom.w_y = weighted_dot(model.weight, atom.tau, model.row_y)
    for g in range(chain.n_groups):
        atom.c[g] = weighted_row_dot(model.weight, chain.tau, g, atom.tau)


@inner_kernel
def weigh_groups(chain, model):
    """The same for the groups themselves: C and w_y."""
    if model.n_rest == 0:
        return
    for g in range(chain.n_groups):
        chain.w_y[g] = weighted_row_dot(model.weight, chain.tau, g, model.row_y)
        for j in range(g + 1):
            chain.C[g, j] = weighted_row_dot(model.weight, chain.tau, j, chain.tau[g])
            chain.C[j, g] = chain.C[g, j]
