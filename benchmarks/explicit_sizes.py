"""The alternative sweep: sizes integrated out for most moves, then drawn and held while single atoms move.

Parameters, births, deaths and pairs are those of the library. Then all sizes are drawn given everything else, and
each atom moves against the residual of the others with its own size alone integrated out: a = t'Pt, b = t'Pr. No
products with the other groups are needed, so a proposal costs O(n F) for F flipped rows and O(n) besides. At the end
the sizes are forgotten. The target is the same: sizes are drawn afresh from their law given all the rest before they
are used, and are not used after.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from widestable._kernels.atom import MATTERS
from widestable._kernels.groups import same
from widestable._kernels.jit import inner_kernel, kernel
from widestable._kernels.jump_measure import log_scale_of_mark
from widestable._kernels.loose import evaluate
from widestable._kernels.names import ALPHA, ATOMS, GROUPS, LOG_NU, REFLECTION, ROTATION, A, B
from widestable._kernels.record import draw_group_sizes, record, split_sizes
from widestable._kernels.reflection import reflect
from widestable._kernels.rotation import rotate
from widestable._kernels.scale import update_scale
from widestable._kernels.sweep import refer_buffers, refer_chain, refer_model, refer_work, remember, settle, sweep
from widestable._kernels.system import inverse_scale, refresh
from widestable._kernels.tuples import Buffers, Chain, FloatArray, Model, Plan, Work

DEFAULT = Plan()


class ExplicitPlan(NamedTuple):
    """The library's plan, and rounds over all atoms with the others' sizes held."""

    n_hyper: int = DEFAULT.n_hyper
    n_births: int = DEFAULT.n_births
    n_passes: int = 0
    n_rotations: int = DEFAULT.n_rotations
    n_reflections: int = DEFAULT.n_reflections
    n_pairs: int = DEFAULT.n_pairs
    n_explicit: int = 4


class Atoms(NamedTuple):
    """What each atom has of its own while sizes are held; room for K atoms."""

    size: FloatArray  # (K,)
    tau: FloatArray  # (K, n)
    t: FloatArray  # (K, n) the same in the eigenbasis


@inner_kernel
def hold_sizes(chain, work, rng, atoms):
    """Draw all sizes and give every atom its own pattern; the system must be fresh. No groups are left."""
    draw_group_sizes(chain, work, rng, work.group_size)
    split_sizes(chain, work, rng, work.group_size, atoms.size)
    for k in range(chain.counts[ATOMS]):
        g = chain.group[k]
        for i in range(work.tau.size):
            atoms.tau[k, i] = chain.tau[g, i]
            atoms.t[k, i] = chain.T[g, i]
    # Without groups the library's moves of a loose atom have nothing to integrate out.
    chain.counts[GROUPS] = 0


@inner_kernel
def set_residual(chain, model, atoms, residual):
    """residual = y - sum_k size_k t_k, from scratch."""
    for i in range(residual.size):
        residual[i] = model.y[i]
    for k in range(chain.counts[ATOMS]):
        for i in range(residual.size):
            residual[i] -= atoms.size[k] * atoms.t[k, i]


@inner_kernel
def move_atom(chain, rest, plan, work, rng, atoms, k):
    """Scale, rotations and reflections of atom k, then its size; `rest` is the model with the residual for y."""
    n, width = rest.Z.shape
    for i in range(n):
        work.tau[i] = atoms.tau[k, i]
        work.t[i] = atoms.t[k, i]
        rest.y[i] += atoms.size[k] * work.t[i]
    evaluate(chain, rest, work, work.tau, work.t, work.s, work.number)
    update_scale(chain, rest, work, rng, k)
    for i in range(n):
        total = 0.0
        for j in range(width):
            total += chain.h[k, j] * rest.Z[i, j]
        work.projection[i] = total
    log_v = log_scale_of_mark(chain.log_mark[k], chain.theta[ALPHA], chain.theta[LOG_NU])
    n_rotations, n_reflections = 1, 0
    if log_v + math.log(work.total_precision[0]) > MATTERS:
        n_rotations, n_reflections = plan.n_rotations, plan.n_reflections
    for _ in range(n_rotations):
        chain.tally[ROTATION, 0] += 1
        chain.tally[ROTATION, 1] += rotate(chain, rest, work, rng, k)
    for _ in range(n_reflections):
        chain.tally[REFLECTION, 0] += 1
        chain.tally[REFLECTION, 1] += reflect(chain, rest, work, rng, k)
    total = inverse_scale(log_v) + work.number[A]
    atoms.size[k] = work.number[B] / total + rng.standard_normal() / math.sqrt(total)
    for i in range(n):
        atoms.tau[k, i] = work.tau[i]
        atoms.t[k, i] = work.t[i]
        rest.y[i] -= atoms.size[k] * work.t[i]


@inner_kernel
def forget_sizes(chain, atoms):
    """Sort the atoms into groups again, oriented so that the first row is positive, by the patterns they have."""
    n = atoms.tau.shape[1]
    for k in range(chain.counts[ATOMS]):
        sign = -1.0 if atoms.tau[k, 0] < 0.0 else 1.0
        for j in range(chain.h.shape[1]):
            chain.h[k, j] *= sign
        for i in range(n):
            atoms.tau[k, i] *= sign
            atoms.t[k, i] *= sign
        g = 0
        while g < chain.counts[GROUPS] and not same(chain.tau[g], atoms.tau[k]):
            g += 1
        if g == chain.counts[GROUPS]:
            chain.counts[GROUPS] = g + 1
            chain.members[g] = 0
            for i in range(n):
                chain.tau[g, i] = atoms.tau[k, i]
                chain.T[g, i] = atoms.t[k, i]
        chain.group[k] = g
        chain.members[g] += 1


@inner_kernel
def move_with_sizes(chain, model, rest, plan, work, rng, atoms):
    """All passes over the atoms with sizes held. The system is fresh before and after."""
    remember(chain, work.saved)
    hold_sizes(chain, work, rng, atoms)
    for _ in range(plan.n_explicit):
        set_residual(chain, model, atoms, rest.y)
        for k in range(chain.counts[ATOMS]):
            move_atom(chain, rest, plan, work, rng, atoms, k)
    forget_sizes(chain, atoms)
    settle(chain, model, work, work.saved)


@kernel
def run_compiled(chain, model, rest, plan, work, rng, n_sweeps, thin, adapt, out, atoms):
    """The library's `run` with passes over explicit sizes after each sweep."""
    c, m, r, w, o = refer_chain(chain), refer_model(model), refer_model(rest), refer_work(work), refer_buffers(out)
    c.log_likelihood[0] = refresh(c, m, w)
    for done in range(1, n_sweeps + 1):
        sweep(c, m, plan, w, rng, adapt)
        if plan.n_explicit > 0 and model.has_atoms:
            move_with_sizes(c, m, r, plan, w, rng, atoms)
        if thin > 0 and done % thin == 0:
            record(c, m, w, rng, o, done // thin - 1)


def run(
    chain: Chain,
    model: Model,
    plan: ExplicitPlan,
    work: Work,
    rng: np.random.Generator,
    n_sweeps: int,
    thin: int,
    adapt: bool,
    out: Buffers,
) -> None:
    """Stands in for `widestable._kernels.sweep.run`."""
    rest = model._replace(y=np.zeros_like(model.y))
    atoms = Atoms(np.zeros(chain.log_mark.size), np.zeros_like(chain.tau), np.zeros_like(chain.T))
    run_compiled(chain, model, rest, plan, work, rng, n_sweeps, thin, adapt, out, atoms)
