"""A chain: the state it goes on from, its running quantities, and its working memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from .._types import FloatArray, IntArray
from .kernel import Kernel, Law, make_kernel
from .model import Model, capacity

# Moves whose attempts and acceptances are counted, in the order of the rows of `tally`.
MOVES = (
    "birth",
    "death",
    "rotation",
    "reflection",
    "alpha at fixed scales",
    "alpha at fixed marks",
    "nu",
    "sigma2",
    "law, leap",
    "law, one number",
    "law, path",
    "reflected pair",
    "share of the noise",
    "spike",
    "sigma2 at fixed spikes",
)
BIRTH, DEATH, ROTATION, REFLECTION, ALPHA_SCALES, ALPHA_MARKS = 0, 1, 2, 3, 4, 5
NU, SIGMA2, LAW_LEAP, LAW_ONE, LAW_PATH, PAIR_REFLECTION, NOISE_SHARE, SPIKE = 6, 7, 8, 9, 10, 11, 12, 13
SIGMA2_SPIKES = 14


# How many kinds of steps and of paths the law is moved by (`moves.law`), and how many numbers a path moves beside the
# log relevances (`law_density`).
N_STEP_KINDS, N_PATH_KINDS, N_OTHERS = 3, 5, 4


class Tuning(NamedTuple):
    """How the law and the parameters are proposed together; adapted during warm-up."""

    log_step: FloatArray  # (3 (d + 3) + 5,) of each kind of step in each of d + 3 directions, then of each kind of path
    covariance: FloatArray  # (5, d + 4, d + 4) of the numbers given the atoms, for each kind of path


class Spikes(NamedTuple):
    """The observations that are taken for outliers."""

    observation: IntArray  # (spikes,)
    log_c: FloatArray  # (spikes,) log of the variance of each, over that of the noise


def no_spikes() -> Spikes:
    """Not one outlier."""
    return Spikes(np.empty(0, np.int64), np.empty(0))


class State(NamedTuple):
    """All that a chain needs to go on. Everything else is made from it and from the model."""

    alpha: float
    log_nu: float
    log_sigma2: float
    law: Law
    h: FloatArray  # (atoms, d + 1) hyperplanes
    log_mark: FloatArray  # (atoms,)
    spikes: Spikes
    log_step: FloatArray  # (moves,) log of the step sizes, adapted during warm-up
    tally: IntArray  # (moves, 2) attempts and acceptances since warm-up
    tuning: Tuning
    rng: np.random.Generator


class Chain(NamedTuple):
    """The running quantities of one chain, with room for M atoms, s spikes and K = M + s groups.

    Sizes are integrated out, so they are not here.

    Compiled code gets it as a structure whose numbers it may set; `NUMBERS` are copied back after each call.
    """

    # Parameters
    alpha: float
    log_nu: float
    log_sigma2: float
    kernel: Kernel
    # Atoms
    n_atoms: int
    h: FloatArray  # (M, d + 1) hyperplanes
    log_mark: FloatArray  # (M,)
    group: IntArray  # (M,) group of each atom: atoms with one pattern
    # Spikes
    n_spikes: int
    spike: IntArray  # (s,) observation of each
    log_c: FloatArray  # (s,) log of its variance over that of the noise
    # Groups: the spikes, each on its own, and then the groups of atoms
    n_groups: int
    members: IntArray  # (K,) atoms in each group
    tau: FloatArray  # (K, n) pattern of each group
    T: FloatArray  # (K, r) the same in the eigenbasis
    log_group_scale: FloatArray  # (K,) log of the summed scales of each group
    C: FloatArray  # (K, K) tau W tau', kept when r < n only
    w_y: FloatArray  # (K,) tau W y, likewise
    # The Woodbury system
    precision: FloatArray  # (r,) 1 / (g lam + sigma2), less that of the rest
    rest_precision: float  # the same outside the leading r dimensions; 0 when r = n
    total_precision: float  # trace of the precision of y without atoms
    S: FloatArray  # (K, K) T P T', the rest included
    R: FloatArray  # (K, K) (V^-1 + S)^-1
    u: FloatArray  # (K,) T P y
    log_likelihood: float
    # The sampler
    n_sweeps: int  # made since everything was rebuilt
    n_failures: int  # sweeps rejected because a factorisation failed
    log_step: FloatArray  # (moves,)
    tally: IntArray  # (moves, 2) attempts and acceptances


# The fields of `Chain` that are numbers.
NUMBERS = tuple(name for name, kind in get_type_hints(Chain).items() if kind in (float, int))


class Loose(NamedTuple):
    """An atom outside the system: where it is or might be, and what it would add to the likelihood."""

    h: FloatArray  # (d + 1,) hyperplane
    projection: FloatArray  # (n,) h.z at each row
    tau: FloatArray  # (n,) pattern
    t: FloatArray  # (r,) the same in the eigenbasis
    # Products with the groups in the system
    s: FloatArray  # (K,) t'P T
    p: FloatArray  # (K,) R s
    c: FloatArray  # (K,) tau' W tau_g, kept when r < n only
    # Products with itself and with y
    t_t: float  # t'Pt
    t_y: float  # t'Py
    w_t: float  # tau' W tau, kept when r < n only
    w_y: float  # tau' W y, likewise
    # With the other atoms integrated out
    a: float  # t'Pt - s'Rs
    b: float  # t'Py - s'Ru
    # The observation of a loose spike, -1 for an atom
    observation: int


class Saved(NamedTuple):
    """The state to go back to when a sweep fails."""

    alpha: float
    log_nu: float
    log_sigma2: float
    n_atoms: int
    h: FloatArray  # (M, d + 1)
    log_mark: FloatArray  # (M,)
    n_spikes: int
    spike: IntArray  # (s,)
    log_c: FloatArray  # (s,)


class Work(NamedTuple):
    """Working memory of the moves. Nothing in it outlives a sweep."""

    # Loose atoms
    loose: Loose  # the atom that is being moved, where it is
    proposed: Loose  # the same, where a move proposes to put it
    other: Loose  # a second atom, moved together with it
    other_proposed: Loose
    spike: Loose  # a spike that is put in or taken out
    # A proposed system
    precision: FloatArray  # (r,)
    rest_precision: float
    log_group_scale: FloatArray  # (K,)
    S: FloatArray  # (K, K)
    u: FloatArray  # (K,)
    # The factor of V^-1 + S
    E: FloatArray  # (K,) scales it to a unit diagonal
    scaled: FloatArray  # (K, K) the scaled matrix
    L: FloatArray  # (K, K) its Cholesky factor
    # Vectors over the groups
    z: FloatArray  # (K,) right-hand sides of triangular systems, or sizes
    put_in: FloatArray  # (K,) of a group that is put into the inverse
    q: FloatArray  # (K,) R u
    residual: FloatArray  # (K,) of iterative refinement
    group_size: FloatArray  # (K,) drawn sizes of the groups
    n_left: IntArray  # (K,) atoms of each group whose sizes are still to be drawn
    # Vectors in the eigenbasis
    scaled_t: FloatArray  # (r,) P t
    rotated: FloatArray  # (r,) P (y - atoms)
    remainder: FloatArray  # (r,) a draw of the remainder
    y_left: FloatArray  # (r,) y - atoms
    # Vectors over the rows, the atoms and the inputs
    weights: FloatArray  # (n,) chances of the rows to be drawn
    flipped: IntArray  # (n,) rows that change sides; used with a tree only
    stack: IntArray  # (nodes + 2,) nodes of the tree still to be visited
    large: IntArray  # (K,) atoms that matter
    chances: FloatArray  # (K,) of atoms to be drawn
    chances_of_c: FloatArray  # (values of c,) chances of each c of a spike
    axes: FloatArray  # (2, d + 1) span in which two atoms are reflected, or one is rotated
    axis_projection: FloatArray  # (2, n) of the rows on these axes of a rotation; empty with a tree
    constant: FloatArray  # (d + 1,) the hyperplane that leaves every row on its positive side
    saved: Saved


def start_state(
    model: Model,
    law: Law,
    rng: np.random.Generator,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
) -> State:
    """Atoms from the prior; inferred parameters from a spread-out start near the middle of their prior."""
    alpha = rng.uniform(0.8, 1.8) if alpha is None else alpha
    log_nu = 0.5 * rng.standard_normal() if nu is None else math.log(nu)
    log_sigma2 = math.log(0.1) + rng.standard_normal() if sigma2 is None else math.log(sigma2)
    h, log_mark = draw_atoms(model, rng)
    return new_state(alpha, log_nu, log_sigma2, law, h, log_mark, rng)


def new_state(
    alpha: float,
    log_nu: float,
    log_sigma2: float,
    law: Law,
    h: FloatArray,
    log_mark: FloatArray,
    rng: np.random.Generator,
    spikes: Spikes | None = None,
) -> State:
    """A state whose step sizes are still to be adapted."""
    spikes = no_spikes() if spikes is None else spikes
    steps, tally = np.full(len(MOVES), math.log(0.3)), np.zeros((len(MOVES), 2), np.int64)
    return State(alpha, log_nu, log_sigma2, law, h, log_mark, spikes, steps, tally, new_tuning(law.relevance.size), rng)


def new_tuning(d: int) -> Tuning:
    """How the law of d inputs is proposed before warm-up."""
    log_step, covariance = (np.empty(shape) for shape in tuning_shapes(d).values())
    log_step[:] = math.log(0.5)
    covariance[:] = 0.04 * np.eye(d + N_OTHERS)
    return Tuning(log_step, covariance)


def tuning_shapes(d: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the fields of `Tuning`."""
    p = d + N_OTHERS
    return {"log_step": ((d + 3) * N_STEP_KINDS + N_PATH_KINDS,), "covariance": (N_PATH_KINDS, p, p)}


def draw_atoms(model: Model, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Hyperplanes and log marks of Poisson(N) atoms from the prior."""
    n_atoms = min(int(rng.poisson(model.n_atoms)), capacity(model.n_atoms)) if model.has_atoms else 0
    h = rng.standard_normal((n_atoms, model.X.shape[1] + 1))
    return h, math.log(model.n_atoms) + np.log1p(-rng.random(n_atoms))


def make_chain(model: Model, state: State, kernel: Kernel | None = None) -> Chain:
    """The chain of a state, with its groups and its system still to be built (`sweep.rebuild`).

    Parameters
    ----------
    model : Model
        What stays the same.
    state : State
        Its arrays are copied.
    kernel : Kernel, optional
        The kernel of the state's law, where it is known already.

    Returns
    -------
    Chain
    """
    kernel = make_kernel(model, state.law) if kernel is None else kernel
    n, width = kernel.Z.shape
    r, M, n_atoms = kernel.y.size, capacity(model.n_atoms), state.log_mark.size
    K, n_spikes = M + model.max_spikes, state.spikes.log_c.size
    chain = Chain(
        alpha=float(state.alpha),
        log_nu=float(state.log_nu),
        log_sigma2=float(state.log_sigma2),
        kernel=kernel,
        n_atoms=n_atoms,
        h=np.zeros((M, width)),
        log_mark=np.zeros(M),
        group=np.zeros(M, np.int64),
        n_spikes=n_spikes,
        spike=np.zeros(model.max_spikes, np.int64),
        log_c=np.zeros(model.max_spikes),
        n_groups=0,
        members=np.zeros(K, np.int64),
        tau=np.zeros((K, n)),
        T=np.zeros((K, r)),
        log_group_scale=np.zeros(K),
        C=np.zeros((K, K)),
        w_y=np.zeros(K),
        precision=np.zeros(r),
        rest_precision=0.0,
        total_precision=0.0,
        S=np.zeros((K, K)),
        R=np.zeros((K, K)),
        u=np.zeros(K),
        log_likelihood=0.0,
        n_sweeps=0,
        n_failures=0,
        log_step=state.log_step.copy(),
        tally=state.tally.copy(),
    )
    chain.h[:n_atoms] = state.h
    chain.log_mark[:n_atoms] = state.log_mark
    chain.spike[:n_spikes] = state.spikes.observation
    chain.log_c[:n_spikes] = state.spikes.log_c
    return chain


def state_of(chain: Chain, law: Law, tuning: Tuning, rng: np.random.Generator) -> State:
    """The state a chain is in."""
    h, log_mark = chain.h[: chain.n_atoms].copy(), chain.log_mark[: chain.n_atoms].copy()
    parameters = (chain.alpha, chain.log_nu, chain.log_sigma2)
    return State(*parameters, law, h, log_mark, spikes_of(chain), chain.log_step, chain.tally, tuning, rng)


def spikes_of(chain: Chain) -> Spikes:
    """The spikes of a chain."""
    return Spikes(chain.spike[: chain.n_spikes].copy(), chain.log_c[: chain.n_spikes].copy())


def make_work(model: Model, kernel: Kernel) -> Work:
    """Allocate the working memory of one chain."""
    n, width = kernel.Z.shape
    r, M, n_spikes = kernel.y.size, capacity(model.n_atoms), model.max_spikes
    K = M + n_spikes
    by_group = ("log_group_scale", "u", "E", "z", "put_in", "q", "residual", "group_size", "chances")
    by_dimension = ("precision", "scaled_t", "rotated", "remainder", "y_left")
    constant = np.zeros(width)
    constant[0] = 1.0
    arrays: dict[str, Any] = {name: np.zeros(K) for name in by_group}
    arrays |= {name: np.zeros(r) for name in by_dimension} | {name: np.zeros((K, K)) for name in ("S", "scaled", "L")}
    arrays |= {name: _make_loose(n, r, K, width) for name in ("loose", "proposed", "other", "other_proposed", "spike")}
    return Work(
        **arrays,
        rest_precision=0.0,
        n_left=np.zeros(K, np.int64),
        weights=np.zeros(n),
        flipped=np.zeros(n if len(model.node_rows) else 0, np.int64),
        stack=np.zeros(len(model.node_rows) + 2, np.int64),
        large=np.zeros(K, np.int64),
        axes=np.zeros((2, width)),
        axis_projection=np.zeros((2, 0 if len(model.node_rows) else n)),
        chances_of_c=np.zeros(model.spike_log_c.size),
        constant=constant,
        saved=Saved(
            alpha=0.0,
            log_nu=0.0,
            log_sigma2=0.0,
            n_atoms=0,
            h=np.zeros((M, width)),
            log_mark=np.zeros(M),
            n_spikes=0,
            spike=np.zeros(n_spikes, np.int64),
            log_c=np.zeros(n_spikes),
        ),
    )


def _make_loose(n: int, r: int, K: int, width: int) -> Loose:
    values: dict[str, Any] = {name: np.zeros(K) for name in ("s", "p", "c")}
    values |= dict.fromkeys(("t_t", "t_y", "w_t", "w_y", "a", "b"), 0.0) | {"observation": -1}
    return Loose(h=np.zeros(width), projection=np.zeros(n), tau=np.zeros(n), t=np.zeros(r), **values)
