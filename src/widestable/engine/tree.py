"""A binary tree of balls over the rows: which rows a moving hyperplane passes.

Rows are in an order in which near rows are together. Node i holds the rows `node_rows[i]` and stands above nodes 2i + 1
and 2i + 2. A hyperplane that misses the ball of a node leaves all its rows on one side. Sign units only.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import inner_kernel
from .._types import FloatArray, IntArray
from .names import GROUPS, W_T, W_Y
from .unit import add_row

LEAF = 32
# Relative to |h| (|centre| + radius): a hyperplane this near to a ball may cut it, rounding considered.
ROUNDING = 1e-9


@inner_kernel
def is_plain(model):
    """Sign units over rows so few that the remainder has full rank: the moves that look at every row are for these."""
    return model.row_y.size > 0 and model.n_rest == 0 and math.isinf(model.sharpness)


@inner_kernel
def has_tree(model):
    """Whether rows are so many that there is a tree."""
    return model.node_radius.size > 0


@inner_kernel
def side_of(model, node, h):
    """The side of hyperplane h that the whole ball of a node lies on, +1 or -1; 0 when it may be cut."""
    width = h.size
    along, norm2, centre2 = 0.0, 0.0, 0.0
    for j in range(width):
        along += h[j] * model.node_centre[node, j]
        centre2 += model.node_centre[node, j] ** 2
        if j > 0:
            norm2 += h[j] * h[j]
    radius = model.node_radius[node]
    margin = math.sqrt(norm2) * radius
    margin += ROUNDING * math.sqrt(norm2 + h[0] * h[0]) * (math.sqrt(centre2) + radius)
    if along > margin:
        return 1.0
    return -1.0 if along < -margin else 0.0


@inner_kernel
def sign_at(model, row, h):
    """Sign of h.z at one row, summed as everywhere else."""
    total = 0.0
    for j in range(h.size):
        total += h[j] * model.Z[row, j]
    return 1.0 if total >= 0.0 else -1.0


@inner_kernel
def find_flips(model, work, h, h_new):
    """List in `work.flipped` the rows of the loose atom that change sides, and add them up in `work.t_new`.

    `work.tau` is the pattern of h, `work.t` its place in the eigenbasis. Returns how many rows there are. Whole nodes
    that change sides are added up by their sum.
    """
    for j in range(work.t.size):
        work.t_new[j] = work.t[j]
    n_flipped, n_left = 0, 1
    work.stack[0] = 0
    while n_left > 0:
        n_left -= 1
        node = work.stack[n_left]
        side, side_new = side_of(model, node, h), side_of(model, node, h_new)
        if side != 0.0 and side == side_new:
            continue
        first, end = model.node_rows[node, 0], model.node_rows[node, 1]
        if side != 0.0 and side_new != 0.0:
            add_row(model.node_basis, node, 2.0 * side_new, work.t_new)
            for i in range(first, end):
                work.flipped[n_flipped] = i
                n_flipped += 1
        elif 2 * node + 2 < model.node_radius.size:
            work.stack[n_left] = 2 * node + 1
            work.stack[n_left + 1] = 2 * node + 2
            n_left += 2
        else:
            for i in range(first, end):
                sign = sign_at(model, i, h_new)
                if sign != work.tau[i]:
                    add_row(model.basis, i, 2.0 * sign, work.t_new)
                    work.flipped[n_flipped] = i
                    n_flipped += 1
    return n_flipped


@inner_kernel
def flip_products(chain, model, work, n_flipped):
    """Products over the rows after the flips of `work.flipped`, from those before."""
    tau, rows = work.tau, work.flipped
    work.number_new[W_T] = work.number[W_T]
    change = 0.0
    for r in range(n_flipped):
        i = rows[r]
        change += model.weight[i] * tau[i] * model.row_y[i]
    work.number_new[W_Y] = work.number[W_Y] - 2.0 * change
    for g in range(chain.counts[GROUPS]):
        change = 0.0
        for r in range(n_flipped):
            i = rows[r]
            change += model.weight[i] * tau[i] * chain.tau[g, i]
        work.c_new[g] = work.c[g] - 2.0 * change


@inner_kernel
def plant_pattern(model, work, h):
    """The pattern of hyperplane h in `work.tau`, in the eigenbasis in `work.t`: flips from the one that is all +1."""
    width = h.size
    for i in range(work.tau.size):
        work.tau[i] = 1.0
    for j in range(work.t.size):
        work.t[j] = model.node_basis[0, j]
    for j in range(width):
        work.xi[j] = 1.0 if j == 0 else 0.0
    n_flipped = find_flips(model, work, work.xi, h)
    for r in range(n_flipped):
        work.tau[work.flipped[r]] = -1.0
    for j in range(work.t.size):
        work.t[j] = work.t_new[j]


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
