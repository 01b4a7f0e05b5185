"""One sweep: every kind of move once, with all sizes integrated out."""

from __future__ import annotations

import math

from .._jit import by_reference, inline_kernel, kernel
from .chain import Buffers, Chain, Work
from .groups import rebuild_groups, rotate_groups
from .model import Model
from .moves.atom import update_atom
from .moves.birth_death import birth, death
from .moves.pair_reflection import reflect_pair
from .moves.pair_scale import update_pair
from .moves.parameters import update_hyperparameters
from .moves.sharpness import copy_state, is_surrounded, move_sharpness, use_sharpness
from .names import ATOMS, BIRTH, DEATH, PAIR_REFLECTION, SHARPNESS, SHARPNESS_MOVE, SWEEPS
from .record import record
from .system import refresh
from .tree import is_plain

# Patterns in the eigenbasis are recomputed from scratch after this many sweeps.
RECOMPUTE_EVERY = 64


@inline_kernel
def restore(chain, model, work, saved):
    """Go back to the remembered state: the sweep since then is rejected as a whole."""
    copy_state(saved, chain)
    use_sharpness(model, chain.counts[SHARPNESS])
    rebuild_groups(chain, model, work)


@inline_kernel
def settle(chain, model, work, saved):
    """Make the system fresh; when it cannot be factored, reject the sweep since `saved`."""
    value = refresh(chain, model, work)
    if value == -math.inf:
        chain.failures[0] += 1
        restore(chain, model, work, saved)
        value = refresh(chain, model, work)
    chain.log_likelihood[0] = value


@inline_kernel
def sweep(chain, saved, trial, model, plan, work, rng, adapt):
    """Parameters, sharpness, births and deaths, every atom, then pairs. The system is fresh before and after."""
    copy_state(chain, saved)
    value = chain.log_likelihood[0]
    for _ in range(plan.n_hyper):
        value = update_hyperparameters(chain, model, work, rng, value, adapt)
    if model.grid.size > 1:
        for _ in range(plan.n_sharpness):
            accepted, value = move_sharpness(chain, trial, model, work, rng, value)
            chain.tally[SHARPNESS_MOVE, 0] += 1
            chain.tally[SHARPNESS_MOVE, 1] += accepted
    refresh(chain, model, work)
    work.total_precision[0] = 1e-300
    for i in range(model.y.size):
        work.total_precision[0] += chain.precision[i]
    work.total_precision[0] += model.row_y.size * chain.rest_precision[0]
    if model.has_atoms:
        for _ in range(plan.n_births):
            # Births and deaths are attempted equally often.
            if rng.random() < 0.5:
                chain.tally[BIRTH, 0] += 1
                chain.tally[BIRTH, 1] += birth(chain, model, work, rng)
            else:
                chain.tally[DEATH, 0] += 1
                chain.tally[DEATH, 1] += death(chain, model, work, rng)
        for k in range(plan.n_passes * chain.counts[ATOMS]):
            update_atom(chain, model, plan, work, rng, k % chain.counts[ATOMS])
        for _ in range(plan.n_pairs):
            update_pair(chain, model, work, rng)
        if is_plain(model):
            for _ in range(plan.n_pair_reflections):
                chain.tally[PAIR_REFLECTION, 0] += 1
                chain.tally[PAIR_REFLECTION, 1] += reflect_pair(chain, model, work, rng)
    chain.counts[SWEEPS] += 1
    if chain.counts[SWEEPS] % RECOMPUTE_EVERY == 0:
        rotate_groups(chain, model, work)
    settle(chain, model, work, saved)


refer_chain = by_reference("ChainReference", Chain._fields)
refer_model = by_reference("ModelReference", Model._fields)
refer_work = by_reference("WorkReference", Work._fields)
refer_buffers = by_reference("BuffersReference", Buffers._fields)


@kernel
def run(chain, model, plan, work, rng, first, n_sweeps, thin, adapt, out):
    """Make sweeps `first` to `n_sweeps`; with thin > 0, write a draw to `out` after each `thin` of them.

    Returns the sweeps made: fewer when the next one may need a kernel that is not made yet. With no sweeps to make, the
    atoms are sorted into groups, from their hyperplanes alone.
    """
    c, m, w, o = refer_chain(chain), refer_model(model), refer_work(work), refer_buffers(out)
    saved, trial = refer_chain(work.saved), refer_chain(work.trial)
    use_sharpness(m, c.counts[SHARPNESS])
    if n_sweeps == 0:
        rebuild_groups(c, m, w)
    c.log_likelihood[0] = refresh(c, m, w)
    for done in range(first + 1, n_sweeps + 1):
        if not is_surrounded(c, m, plan.n_sharpness):
            return done - 1
        sweep(c, saved, trial, m, plan, w, rng, adapt)
        if thin > 0 and done % thin == 0:
            record(c, m, w, rng, o, done // thin - 1)
    return n_sweeps
