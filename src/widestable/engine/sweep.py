"""One sweep: every kind of move, with all sizes integrated out. The entry points of compiled code."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._jit import by_reference, inline_kernel, kernel
from .chain import BIRTH, DEATH, NUMBERS, PAIR_REFLECTION, Chain, Work
from .draws import Buffers, record
from .groups import rebuild_groups, rotate_groups
from .model import Model
from .moves.accept import count
from .moves.atom import update_atom
from .moves.birth_death import birth, death
from .moves.pair_reflection import is_possible, reflect_pair
from .moves.pair_scale import update_pair
from .moves.parameters import update_parameters
from .moves.spikes import challenge_spikes, update_spikes
from .system import refresh

# Patterns in the eigenbasis are recomputed from scratch after this many sweeps.
RECOMPUTE_EVERY = 64
# Warm-up leaves spikes where they start for so many sweeps: before the atoms have found their places, a plateau would
# be taken for outliers, and five spikes in a row do not give way to two jumps. Then they are held and free in turn, for
# half as many sweeps each, and challenged whenever they are to be held again.
HOLD_SPIKES = 128


class Plan(NamedTuple):
    """How much of each move a sweep makes."""

    n_parameters: int = 2  # rounds of alpha, nu and sigma2
    n_births: int = 4  # births or deaths
    n_passes: int = 1  # rounds over all atoms
    n_rotations: int = 3  # of each strong atom after its first, per pass and input beyond the first
    n_steps: int = 3  # of each of these rotations, along one ellipse
    n_weak_rotations: int = 1  # of each other atom that matters, after its first
    n_smooth_rotations: int = 3  # of each atom that matters, with smooth units: every rotation changes every row
    n_reflections: int = 1  # of each strong atom, and of each that matters with smooth units
    n_pairs: int = 8  # common scales of near-parallel atoms
    n_pair_reflections: int = 8  # two atoms reflected in the same rows
    n_spikes: int = 100  # observations that are drawn anew as outliers or not


def make_sweeps(
    chain: Chain,
    model: Model,
    plan: Plan,
    work: Work,
    rng: np.random.Generator,
    n_sweeps: int,
    *,
    thin: int,
    since_draw: int,
    adapt: bool,
    out: Buffers,
) -> Chain:
    """Make sweeps; with thin > 0, write a draw to `out` after each `thin` of them.

    Parameters
    ----------
    chain : Chain
        Its arrays are changed in place.
    model, plan, work : Model, Plan, Work
        What stays the same, how much of each move to make, and memory to work in.
    rng : numpy.random.Generator
        Moves on.
    n_sweeps : int
        How many.
    thin : int
        Sweeps per draw; 0 writes none.
    since_draw : int
        Sweeps made since the last draw, below `thin`.
    adapt : bool
        Whether step sizes adapt.
    out : Buffers
        Where draws go.

    Returns
    -------
    Chain
        The same arrays, and the numbers after the last sweep.
    """
    numbers = _make_sweeps(chain, model, plan, work, rng, n_sweeps, thin, since_draw, adapt, out)
    return chain._replace(**dict(zip(NUMBERS, numbers, strict=True)))


def rebuild(chain: Chain, model: Model, work: Work) -> Chain:
    """Rebuild groups and system from the atoms alone, so that chains with equal atoms are equal to the last bit."""
    numbers = _rebuild(chain._replace(n_sweeps=0), model, work)
    return chain._replace(**dict(zip(NUMBERS, numbers, strict=True)))


@kernel
def _make_sweeps(chain, model, plan, work, rng, n_sweeps, thin, since_draw, adapt, out):
    c, m, w, o = by_reference(chain), by_reference(model), by_reference(work), by_reference(out)
    c.log_likelihood = refresh(c, m, w)
    for done in range(since_draw + 1, since_draw + n_sweeps + 1):
        sweep(c, m, plan, w, rng, adapt)
        if thin > 0 and done % thin == 0:
            record(c, m, w, rng, o, done // thin - 1)
    return numbers_of(c)


@kernel
def _rebuild(chain, model, work):
    c, m, w = by_reference(chain), by_reference(model), by_reference(work)
    rebuild_groups(c, m, w)
    c.log_likelihood = refresh(c, m, w)
    return numbers_of(c)


@inline_kernel
def numbers_of(chain):
    """The fields `NUMBERS` of a chain."""
    return (
        chain.alpha,
        chain.log_nu,
        chain.log_sigma2,
        chain.n_atoms,
        chain.n_spikes,
        chain.n_groups,
        chain.rest_precision,
        chain.total_precision,
        chain.log_likelihood,
        chain.n_sweeps,
        chain.n_failures,
    )


@inline_kernel
def sweep(chain, model, plan, work, rng, adapt):
    """Parameters, outliers, births and deaths, every atom, then pairs. The system is fresh before and after."""
    save(chain, work.saved)
    for _ in range(plan.n_parameters):
        update_parameters(chain, model, work, rng, adapt)
    refresh(chain, model, work)
    chain.total_precision = sum_precision(chain, model)
    if model.has_spikes:
        move_spikes(chain, model, plan, work, rng, adapt)
    if model.has_atoms:
        for _ in range(plan.n_births):
            # Births and deaths are attempted equally often.
            if rng.random() < 0.5:
                count(chain, BIRTH, birth(chain, model, work, rng))
            else:
                count(chain, DEATH, death(chain, model, work, rng))
        for k in range(plan.n_passes * chain.n_atoms):
            update_atom(chain, model, plan, work, rng, k % chain.n_atoms, adapt)
        for _ in range(plan.n_pairs):
            update_pair(chain, model, work, rng)
        if is_possible(chain, model):
            for _ in range(plan.n_pair_reflections):
                count(chain, PAIR_REFLECTION, reflect_pair(chain, model, work, rng))
    chain.n_sweeps += 1
    if chain.n_sweeps % RECOMPUTE_EVERY == 0:
        rotate_groups(chain, model, work)
    settle(chain, model, work)


@inline_kernel
def move_spikes(chain, model, plan, work, rng, adapt):
    """Draw spikes anew; warm-up holds them at first, and later for the first half of each stretch of HOLD_SPIKES."""
    is_first, place = chain.n_sweeps < HOLD_SPIKES, chain.n_sweeps % HOLD_SPIKES
    if not adapt or (not is_first and place >= HOLD_SPIKES // 2):
        update_spikes(chain, model, work, rng, plan.n_spikes)
    elif not is_first and place == 0:
        challenge_spikes(chain, model, work)


@inline_kernel
def sum_precision(chain, model):
    """Trace of the precision of y without atoms; never 0, so that its log is finite."""
    total = 1e-300
    for i in range(chain.precision.size):
        total += chain.precision[i]
    return total + model.row_y.size * chain.rest_precision


@inline_kernel
def settle(chain, model, work):
    """Make the system fresh; when it cannot be factored, reject the whole sweep."""
    value = refresh(chain, model, work)
    if value == -math.inf:
        chain.n_failures += 1
        restore(chain, work.saved)
        rebuild_groups(chain, model, work)
        value = refresh(chain, model, work)
    chain.log_likelihood = value


@inline_kernel
def save(chain, saved):
    """Remember what defines the state."""
    saved.alpha, saved.log_nu, saved.log_sigma2 = chain.alpha, chain.log_nu, chain.log_sigma2
    saved.n_atoms = chain.n_atoms
    for k in range(chain.n_atoms):
        saved.log_mark[k] = chain.log_mark[k]
        for j in range(chain.h.shape[1]):
            saved.h[k, j] = chain.h[k, j]
    saved.n_spikes = chain.n_spikes
    for g in range(chain.n_spikes):
        saved.spike[g] = chain.spike[g]
        saved.log_c[g] = chain.log_c[g]


@inline_kernel
def restore(chain, saved):
    """Go back to the remembered state."""
    chain.alpha, chain.log_nu, chain.log_sigma2 = saved.alpha, saved.log_nu, saved.log_sigma2
    chain.n_atoms = saved.n_atoms
    for k in range(saved.n_atoms):
        chain.log_mark[k] = saved.log_mark[k]
        for j in range(chain.h.shape[1]):
            chain.h[k, j] = saved.h[k, j]
    chain.n_spikes = saved.n_spikes
    for g in range(saved.n_spikes):
        chain.spike[g] = saved.spike[g]
        chain.log_c[g] = saved.log_c[g]
