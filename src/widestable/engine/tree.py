"""A binary tree of balls over the rows: which rows a moving hyperplane passes.

Rows are in an order in which near rows are together. Node i holds the rows `node_rows[i]` and stands above nodes 2i + 1
and 2i + 2. A hyperplane that misses the ball of a node leaves all its rows on one side. Sign units only.
"""

from __future__ import annotations

import math

import numpy as np

from .._algebra import add_row
from .._jit import inner_kernel
from .._types import FloatArray, IntArray

LEAF = 32
# Relative to |h| (|centre| + radius): a hyperplane this near to a ball may cut it, rounding considered.
ROUNDING = 1e-9


@inner_kernel
def has_tree(kernel):
    """Whether rows are so many that there is a tree."""
    return kernel.node_radius.size > 0


@inner_kernel
def side_of(kernel, node, h):
    """The side of hyperplane h that the whole ball of a node lies on, +1 or -1; 0 when it may be cut."""
    width = h.size
    along, norm2, centre2 = 0.0, 0.0, 0.0
    for j in range(width):
        along += h[j] * kernel.node_centre[node, j]
        centre2 += kernel.node_centre[node, j] ** 2
        if j > 0:
            norm2 += h[j] * h[j]
    radius = kernel.node_radius[node]
    margin = math.sqrt(norm2) * radius
    margin += ROUNDING * math.sqrt(norm2 + h[0] * h[0]) * (math.sqrt(centre2) + radius)
    if along > margin:
        return 1.0
    return -1.0 if along < -margin else 0.0


@inner_kernel
def sign_at(kernel, row, h):
    """Sign of h.z at one row, summed in the same order as everywhere else."""
    total = 0.0
    for j in range(h.size):
        total += h[j] * kernel.Z[row, j]
    return 1.0 if total >= 0.0 else -1.0


@inner_kernel
def find_flips(kernel, model, work, h, h_new, tau, t):
    """List in `work.flipped` the rows that change sides between two hyperplanes, and add the change to `t`.

    `tau` is the pattern of h; `t`, its place in the eigenbasis, becomes that of h_new. Whole nodes that change sides
    are added up by their sum. Returns the number of rows.
    """
    n_flipped, n_left = 0, 1
    work.stack[0] = 0
    while n_left > 0:
        n_left -= 1
        node = work.stack[n_left]
        side, side_new = side_of(kernel, node, h), side_of(kernel, node, h_new)
        if side != 0.0 and side == side_new:
            continue
        first, end = model.node_rows[node, 0], model.node_rows[node, 1]
        if side != 0.0 and side_new != 0.0:
            add_row(kernel.node_basis, node, 2.0 * side_new, t)
            for i in range(first, end):
                work.flipped[n_flipped] = i
                n_flipped += 1
        elif 2 * node + 2 < kernel.node_radius.size:
            work.stack[n_left] = 2 * node + 1
            work.stack[n_left + 1] = 2 * node + 2
            n_left += 2
        else:
            for i in range(first, end):
                sign = sign_at(kernel, i, h_new)
                if sign != tau[i]:
                    add_row(kernel.basis, i, 2.0 * sign, t)
                    work.flipped[n_flipped] = i
                    n_flipped += 1
    return n_flipped


@inner_kernel
def flip_products(chain, model, work, n_flipped):
    """Products over the rows of the proposed atom: those of the loose one after the flips of `work.flipped`."""
    loose, proposed, rows = work.loose, work.proposed, work.flipped
    proposed.w_t = loose.w_t
    change = 0.0
    for r in range(n_flipped):
        i = rows[r]
        change += model.weight[i] * loose.tau[i] * model.row_y[i]
    proposed.w_y = loose.w_y - 2.0 * change
    for g in range(chain.n_groups):
        change = 0.0
        for r in range(n_flipped):
            i = rows[r]
            change += model.weight[i] * loose.tau[i] * chain.tau[g, i]
        proposed.c[g] = loose.c[g] - 2.0 * change


@inner_kernel
def plant_pattern(kernel, model, work, h, tau, t):
    """The pattern of hyperplane h, and its place in the eigenbasis: flips from the one that is +1 everywhere."""
    for i in range(tau.size):
        tau[i] = 1.0
    for j in range(t.size):
        t[j] = kernel.node_basis[0, j]
    n_flipped = find_flips(kernel, model, work, work.constant, h, tau, t)
    for r in range(n_flipped):
        tau[work.flipped[r]] = -1.0


def node_ranges(n: int, leaf: int = LEAF) -> IntArray:
    """First row and end of each node, level by level; nodes are cut in halves until they have at most `leaf` rows.

    Examples
    --------
    >>> node_ranges(5, leaf=3).tolist()
    [[0, 5], [0, 2], [2, 5]]
    """
    levels = [np.array([[0, n]], dtype=np.int64)]
    while np.ptp(levels[-1], axis=1).max() > leaf:
        first, end = levels[-1].T
        middle = (first + end) // 2
        levels.append(np.stack([first, middle, middle, end], axis=1).reshape(-1, 2))
    return np.concatenate(levels)


def balls(Z: FloatArray, ranges: IntArray) -> tuple[FloatArray, FloatArray]:
    """Centre and radius of a ball around the rows of each node, shapes (nodes, d + 1) and (nodes,)."""
    centre = np.stack([Z[first:end].mean(axis=0) for first, end in ranges])
    radius = [
        np.sqrt(((Z[first:end] - c) ** 2).sum(axis=1).max()) for (first, end), c in zip(ranges, centre, strict=True)
    ]
    return centre, np.array(radius)


def sum_over_nodes(basis: FloatArray, ranges: IntArray, out: FloatArray) -> None:
    """Sum of the rows of each node: leaves from the rows, the others from the two nodes below."""
    n_leaves = (len(ranges) + 1) // 2
    for node in range(len(ranges) - 1, -1, -1):
        if node >= len(ranges) - n_leaves:
            out[node] = basis[slice(*ranges[node])].sum(axis=0)
        else:
            out[node] = out[2 * node + 1] + out[2 * node + 2]
