"""Groups from scratch: which atoms share a pattern, and every pattern in the eigenbasis."""

from __future__ import annotations

from .._jit import inner_kernel
from .names import ATOMS, GROUPS
from .row_products import weigh_groups
from .tree import has_tree, plant_pattern
from .unit import pattern_of, rotate_pattern


@inner_kernel
def rebuild_groups(chain, model, work):
    """Sort the atoms into groups of equal pattern, oriented so that the first row is positive."""
    n = model.row_y.size
    chain.counts[GROUPS] = 0
    for k in range(chain.counts[ATOMS]):
        pattern_of(chain.h[k], model.Z, model.sharpness, work.projection, work.tau)
        if n > 0 and work.tau[0] < 0.0:
            for j in range(chain.h.shape[1]):
                chain.h[k, j] = -chain.h[k, j]
            for i in range(n):
                work.tau[i] = -work.tau[i]
        g = 0
        while g < chain.counts[GROUPS] and not same(chain.tau[g], work.tau):
            g += 1
        if g == chain.counts[GROUPS]:
            chain.counts[GROUPS] = g + 1
            chain.members[g] = 0
            for i in range(n):
                chain.tau[g, i] = work.tau[i]
        chain.group[k] = g
        chain.members[g] += 1
    rotate_groups(chain, model, work)


@inner_kernel
def same(x, y):
    """Whether two patterns are equal in every row."""
    i = 0
    while i < x.size and x[i] == y[i]:
        i += 1
    return i == x.size


@inner_kernel
def rotate_groups(chain, model, work):
    """Recompute T = tau B, and products over the rows, so that rounding from many flips does not add up."""
    if has_tree(model):
        # Whole nodes at once: O(n) rows times r numbers for each group would be most of a sweep.
        for k in range(chain.counts[ATOMS]):
            plant_pattern(model, work, chain.h[k])
            for j in range(work.t.size):
                chain.T[chain.group[k], j] = work.t[j]
    else:
        for g in range(chain.counts[GROUPS]):
            rotate_pattern(chain.tau[g], model.basis, chain.T[g])
    weigh_groups(chain, model)
