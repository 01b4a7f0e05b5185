"""A chain: its state, its working memory, its draws."""

from __future__ import annotations

from typing import NamedTuple

from .._types import FloatArray, IntArray


class Chain(NamedTuple):
    """State of one chain; room for K atoms. Sizes are integrated out, so they are not part of it."""

    theta: FloatArray  # (3,) alpha, log nu, log sigma2
    counts: IntArray  # (4,) atoms, groups, sweeps since it was rebuilt, place of the sharpness on the grid
    h: FloatArray  # (K, d + 1) hyperplanes
    log_mark: FloatArray  # (K,)
    group: IntArray  # (K,) group of each atom: atoms of one pattern
    members: IntArray  # (K,) atoms in each group
    tau: FloatArray  # (K, n) pattern of each group
    T: FloatArray  # (K, r) the same in the eigenbasis
    C: FloatArray  # (K, K) tau W tau', and
    w_y: FloatArray  # (K,) tau W y: used when r < n only
    log_group_scale: FloatArray  # (K,) log of the summed scales of each group
    precision: FloatArray  # (r,) 1 / (g lam + sigma2), less
    rest_precision: FloatArray  # (1,) the same of the rest
    S: FloatArray  # (K, K) T P T', the rest included
    R: FloatArray  # (K, K) (V^-1 + S)^-1
    u: FloatArray  # (K,) T P y
    log_step: FloatArray  # (moves,) adapted while warming up
    tally: IntArray  # (moves, 2) attempts and acceptances
    failures: IntArray  # (1,) sweeps rejected because a factorisation failed
    log_likelihood: FloatArray  # (1,)


class Work(NamedTuple):
    """Working memory of the moves; nothing in it outlives a sweep."""

    saved: Chain  # the state to go back to when a sweep fails
    trial: Chain  # the state that a change of the sharpness proposes
    total_precision: FloatArray
    rest_precision: FloatArray
    flipped: IntArray
    stack: IntArray
    tau: FloatArray
    tau_new: FloatArray
    t: FloatArray
    t_new: FloatArray
    projection: FloatArray
    projection_new: FloatArray
    weights: FloatArray
    scaled_row: FloatArray
    precision: FloatArray
    c: FloatArray
    c_new: FloatArray
    s: FloatArray
    s_new: FloatArray
    p: FloatArray
    q: FloatArray
    r: FloatArray
    number: FloatArray
    number_new: FloatArray
    h_new: FloatArray
    xi: FloatArray
    log_group_scale: FloatArray
    E: FloatArray
    z: FloatArray
    u: FloatArray
    group_size: FloatArray
    S: FloatArray
    scaled: FloatArray
    L: FloatArray
    large: IntArray
    # Of two loose atoms
    pair_axes: FloatArray
    pair_h: FloatArray
    pair_tau: FloatArray
    pair_t: FloatArray
    pair_s: FloatArray
    pair_number: FloatArray


class Buffers(NamedTuple):
    """Draws of one compiled call, before they are packed."""

    theta: FloatArray  # (draws, 3)
    sharpness: FloatArray  # (draws,)
    n_atoms: IntArray  # (draws,)
    h: FloatArray  # (draws, K, d + 1)
    log_mark: FloatArray  # (draws, K)
    size: FloatArray  # (draws, K)
    coefficient: FloatArray  # (draws, m)
    f: FloatArray  # (draws, rows)
    log_density: FloatArray  # (draws,)
