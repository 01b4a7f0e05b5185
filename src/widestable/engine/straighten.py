"""One hyperplane instead of several that nearly cancel, or of one with false outliers beside it; for warm-up only.

With three inputs and more, a hyperplane has many ways to be slightly wrong: some rows beside the jump are on its wrong
side, and spikes or a strip between two other hyperplanes make up for them. To get out, the hyperplane has to pass
several rows at once, which no local move does in thousands of sweeps. But it is known where it should be. The data
say on which side of the jump each row is, and a linear program finds the hyperplane with these sides, or with most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from .._types import FloatArray, IntArray
from .chain import Chain, Spikes, State, Work, make_chain
from .model import Model
from .observations import log_prior_of_spikes
from .sweep import rebuild

# A size of so many s.d. of the noise makes a jump; rows within NEAR s.d. of one of its two levels belong to it, and
# rows within UNSURE s.d. of the middle may be on either side.
CLEAR, NEAR, UNSURE = 2.5, 5.0, 1.0
# Hyperplanes whose patterns have at least this correlation may make one jump together.
PARALLEL = 0.8
# A hyperplane that would have to pass more than this part of the rows is not slightly wrong.
MOST_PASSED = 0.1
# What the log density may lose for each atom that goes: fewer atoms have more room.
LOSS = 2.0
# Cosines. A margin below the first is none. Where not every row can be on its side, rows should have the second, and
# those that miss it by more than the third do not count.
LEAST_MARGIN, WANTED_MARGIN, FAR = 1e-6, 0.02, 0.1
# Changes per call.
MOST_CHANGES = 8


class Fit(NamedTuple):
    """What the groups make of the data."""

    size: FloatArray  # (groups,) mean sizes, those of the spikes first
    f: FloatArray  # (n,) mean of f at the rows
    noise_sd: FloatArray  # (n,) of the mean output of each row


class Jump(NamedTuple):
    """A jump that is to be made by one hyperplane."""

    members: IntArray  # the groups that make it now
    main: int  # the one that is to make it alone
    size: float  # of all together
    side: FloatArray  # (n,) the side of each row
    is_clear: npt.NDArray[np.bool_]  # (n,) whether the row belongs to one of its levels; others may be on either side


def straighten(chain: Chain, state: State, model: Model, work: Work) -> Chain:
    """Replace crooked jumps by straight ones, as long as the posterior density does not fall.

    It is greedy, so it must not be used when draws are kept.

    Parameters
    ----------
    chain : Chain
        Left as it is.
    state : State
        The state that it is in.
    model, work : Model, Work
        What stays the same, and memory to work in.

    Returns
    -------
    Chain
        The same one if nothing changes.
    """
    n, d = model.X.shape
    if model.n_rest > 0 or d == 1 or n <= d or not math.isinf(chain.kernel.sharpness):
        return chain
    for _ in range(MOST_CHANGES):
        for proposed in straighter(chain, state, model):
            other = rebuild(make_chain(model, proposed, chain.kernel), model, work)
            loss = log_density(chain, model) - log_density(other, model)
            if loss < LOSS * (chain.n_atoms - other.n_atoms):
                # Warm-up knows from the number of sweeps when to hold spikes.
                chain, state = other._replace(n_sweeps=chain.n_sweeps), proposed
                break
        else:
            break
    return chain


def log_density(chain: Chain, model: Model) -> float:
    """What may differ between two chains with equal parameters: likelihood and prior of the spikes."""
    of_spikes = log_prior_of_spikes(model, chain.n_spikes) if model.has_spikes else 0.0
    return float(chain.log_likelihood + of_spikes)


def straighter(chain: Chain, state: State, model: Model) -> Iterator[State]:
    """States in which one hyperplane makes a jump that several make now, or one that misses some rows."""
    fit = fit_of(chain, model)
    for jump in crooked_jumps(chain, model, fit):
        Z, side = chain.kernel.Z[jump.is_clear], jump.side[jump.is_clear]
        h = separate(Z, side)
        if h is None:
            h = nearly_separate(Z, side)
        if h is not None:
            yield with_one(jump, h, chain, state, model, fit)


def fit_of(chain: Chain, model: Model) -> Fit:
    """Mean sizes, and the mean of f: of the atoms and of the remainder, given the data."""
    n_groups, sigma2 = chain.n_groups, math.exp(chain.log_sigma2)
    size = chain.R[:n_groups, :n_groups] @ chain.u[:n_groups]
    left = chain.kernel.y - size @ chain.T[:n_groups]
    # g lam / (g lam + sigma2) of what is left belongs to the remainder.
    remainder = chain.kernel.basis @ ((1.0 - sigma2 * chain.precision) * left) / model.weight
    atoms = slice(chain.n_spikes, n_groups)
    return Fit(size, size[atoms] @ chain.tau[atoms] + remainder, np.sqrt(sigma2 / model.weight))


def crooked_jumps(chain: Chain, model: Model, fit: Fit) -> Iterator[Jump]:
    """Jumps of one hyperplane with some rows on its wrong side, and jumps that several nearly parallel ones make."""
    n = model.row_y.size
    strong = np.arange(chain.n_spikes, chain.n_groups)
    strong = strong[np.abs(fit.size[strong]) > CLEAR * np.median(fit.noise_sd)]
    alike = np.abs(chain.tau[strong] @ chain.tau[strong].T) > PARALLEL * n
    bundles = [strong[row] for row in alike if row.sum() > 1] + [strong[i : i + 1] for i in range(strong.size)]
    for members in {tuple(bundle): bundle for bundle in bundles}.values():
        jump = jump_of(members, chain, model, fit)
        n_passed = np.sum(jump.is_clear & (jump.side != chain.tau[jump.main]))
        is_crooked = members.size > 1 or n_passed > 0
        is_jump = abs(jump.size) > CLEAR * np.median(fit.noise_sd)
        if is_jump and is_crooked and n_passed <= MOST_PASSED * n:
            yield jump


def jump_of(members: IntArray, chain: Chain, model: Model, fit: Fit) -> Jump:
    """The jump that some groups make together, and the side of it on which the data put each row."""
    tau, size = chain.tau[members], fit.size[members]
    main = int(np.argmax(np.abs(size)))
    total = float(np.sign(tau @ tau[main]) @ size)
    # Where the data are between the two levels -total and total, all else being as it is.
    level = model.row_y - fit.f + size @ tau
    is_near = np.abs(np.abs(level) - abs(total)) < NEAR * fit.noise_sd
    side = np.where(np.abs(level) < UNSURE * fit.noise_sd, tau[main], np.where(level * total >= 0.0, 1.0, -1.0))
    return Jump(members, int(members[main]), total, side, is_near)


def separate(Z: FloatArray, side: FloatArray) -> FloatArray | None:
    """The unit vector h with h.z on the given side for every row and as far from 0 as can be, or None.

    Examples
    --------
    >>> Z = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> separate(Z, np.array([-1.0, -1.0, 1.0])) @ Z.T > 0.0
    array([False, False,  True])
    >>> separate(Z, np.array([1.0, -1.0, 1.0])) is None
    True
    """
    towards = _towards(Z, side)
    # The last variable is the margin. It is at most side * h.z for every row, and |h_j| <= 1.
    constraints = np.column_stack([-towards, np.ones(len(Z))])
    objective = np.append(np.zeros(Z.shape[1]), -1.0)
    bounds = [(-1.0, 1.0)] * Z.shape[1] + [(None, 1.0)]
    found = linprog(objective, A_ub=constraints, b_ub=np.zeros(len(Z)), bounds=bounds, method="highs").x
    # h = 0 has the margin 0.
    return None if found is None or found[-1] < LEAST_MARGIN else _unit(found[:-1])


def nearly_separate(Z: FloatArray, side: FloatArray) -> FloatArray | None:
    """The same where there is none, with few rows on the wrong side: the sum of how far they are is least.

    Examples
    --------
    >>> Z = np.column_stack([np.ones(5), np.arange(5.0)])
    >>> nearly_separate(Z, np.array([-1.0, -1.0, 1.0, 1.0, -1.0])) @ Z.T > 0.0
    array([False, False,  True,  True,  True])
    """
    n, width = Z.shape
    # Behind h are the distances by which rows miss a margin.
    constraints = hstack([csr_array(-_towards(Z, side)), -eye_array(n)])
    objective = np.append(np.zeros(width), np.ones(n))
    bounds = [(-1.0, 1.0)] * width + [(0.0, None)] * n
    found = linprog(objective, A_ub=constraints, b_ub=np.full(n, -WANTED_MARGIN), bounds=bounds, method="highs").x
    if found is None or not np.any(found[:width]):
        return None
    is_far = found[width:] > FAR
    if np.any(is_far):
        Z, side = Z[~is_far], side[~is_far]
        h = separate(Z, side)
        return nearly_separate(Z, side) if h is None else h
    return separate(Z, np.where(Z @ found[:width] >= 0.0, 1.0, -1.0))


def _towards(Z: FloatArray, side: FloatArray) -> FloatArray:
    """Unit vectors from 0 to the rows, or away from those that are to be on the negative side."""
    return np.asarray(side[:, None] * Z / np.linalg.norm(Z, axis=1, keepdims=True))


def _unit(h: FloatArray) -> FloatArray:
    return np.asarray(h / np.linalg.norm(h))


def with_one(jump: Jump, h: FloatArray, chain: Chain, state: State, model: Model, fit: Fit) -> State:
    """The state with one hyperplane for a jump, and without the spikes that it makes needless."""
    group = chain.group[: chain.n_atoms]
    # Lengths stay, and so do the marks. Which way a hyperplane points means nothing.
    places = np.where((group == jump.main)[:, None], np.linalg.norm(state.h, axis=1, keepdims=True) * h, state.h)
    is_kept = ~np.isin(group, jump.members) | (group == jump.main)
    tau = np.where(chain.kernel.Z @ h >= 0.0, 1.0, -1.0)
    f = fit.f - fit.size[jump.members] @ chain.tau[jump.members] + jump.size * tau
    observation = state.spikes.observation
    row = model.obs_row[observation]
    sd = np.sqrt(math.exp(chain.log_sigma2) / model.obs_weight[observation])
    is_outlier = np.abs(model.obs_y[observation] - f[row]) > NEAR * sd
    spikes = Spikes(observation[is_outlier], state.spikes.log_c[is_outlier])
    return state._replace(h=places[is_kept], log_mark=state.log_mark[is_kept], spikes=spikes)
