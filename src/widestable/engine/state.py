"""Make what a chain needs: the model from the data, a first state, working memory, room for draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..inputs import TrainingData
from ..network import add_constant, kernel_diagonal
from .chain import Buffers, Chain, Work
from .kernel import MAX_DENSE_ROWS, Rank, choose_landmarks, choose_rank, make_kernels_near, with_sharpness
from .model import Model, Plan
from .names import ALPHA, ATOMS, LOG_NU, LOG_SIGMA2, N_MOVES, N_NUMBERS, SHARPNESS, SWEEPS
from .sweep import run
from .tree import balls, node_ranges

ALPHA_RANGE = (0.05, 1.99)
LOG_NU_SD = 1.5
MAX_STORED_ROWS = 500
# Values of an inferred sharpness, and centre and scale of its prior in the log. The smallest makes a nearly linear
# function of standardised inputs, the largest a step across a thousandth of their s.d.
SHARPNESS_GRID = np.geomspace(0.1, 1000.0, 21)
SHARPNESS_CENTRE, SHARPNESS_SCALE = 0.3, 0.6


def make_model(
    data: TrainingData,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
    n_atoms: float,
    sharpness: float | None = math.inf,
    max_dense_rows: int = MAX_DENSE_ROWS,
) -> Model:
    """Gather what the moves need (units of `data`); None stands for what is inferred.

    With more than `max_dense_rows` distinct rows the remainder is of low rank.
    """
    grid = SHARPNESS_GRID if sharpness is None else np.array([sharpness])
    model = assemble_model(
        data,
        grid,
        log_prior_sharpness(grid),
        choose_rank(data.y.size, max_dense_rows, is_smooth=bool(np.isfinite(grid).any())),
        n_atoms=float(n_atoms),
        infer_alpha=alpha is None,
        infer_nu=nu is None,
        infer_sigma2=sigma2 is None,
        has_atoms=alpha is None or alpha < 2.0,
        alpha_low=ALPHA_RANGE[0],
        alpha_high=ALPHA_RANGE[1],
        log_nu_sd=LOG_NU_SD,
    )
    return model if sharpness is None else with_sharpness(model, 0)


def assemble_model(data: TrainingData, grid: FloatArray, log_prior: FloatArray, rank: Rank, **numbers: Any) -> Model:
    """A model whose kernels are still to be made, one for each sharpness on the grid."""
    n, (m, r) = data.y.size, rank
    Z = np.ascontiguousarray(add_constant(data.X))
    diagonal = [kernel_diagonal(data.X, sharpness) for sharpness in grid]
    # Memory that is not written to is not used, so the table costs what is made of it.
    grid_basis = np.empty((grid.size, n, r))
    # Only signs change at the rows that a moving hyperplane passes, and nowhere else.
    ranges = node_ranges(n) if r < n and np.all(np.isinf(grid)) else np.empty((0, 2), np.int64)
    centre, radius = balls(Z, ranges) if len(ranges) else (np.empty((0, Z.shape[1])), np.empty(0))
    return Model(
        Z=Z,
        row_norm=np.sqrt(np.sum(Z**2, axis=1)),
        weight=data.weight,
        row_y=data.y,
        sum_y2=float(data.weight @ data.y**2),
        landmarks=Z if r == n else choose_landmarks(Z, m),
        n_rest=n - r,
        basis=np.empty((n, r)),
        landmark_basis=np.empty((m, r)),
        eigenvalues=np.empty(r),
        rest_eigenvalue=0.0,
        y=np.empty(r),
        sharpness=math.nan,
        log_diagonal=math.nan,
        grid=grid,
        grid_log_prior=log_prior,
        grid_log_diagonal=np.array([np.log(d.mean()) if n > 0 else 0.0 for d in diagonal]),
        grid_basis=grid_basis,
        grid_landmark_basis=grid_basis if r == n else np.empty((grid.size, m, r)),
        grid_eigenvalues=np.empty((grid.size, r)),
        grid_rest_eigenvalue=np.zeros(grid.size),
        grid_y=np.empty((grid.size, r)),
        is_made=np.zeros(grid.size, dtype=bool),
        node_rows=ranges,
        node_centre=centre,
        node_radius=radius,
        node_basis=np.empty((len(ranges), r)),
        n_extra=float(data.n_observations - n),
        ss_within=float(data.ss_within),
        sum_log_weight=float(np.sum(np.log(data.weight))),
        rows=stored_rows(n),
        **numbers,
    )


def log_prior_sharpness(grid: FloatArray) -> FloatArray:
    """Log prior probability of each value: half uniform on the grid, half a Cauchy density of the log around 1.35.

    Smooth unless the data object, and no valley on the way to sign units.
    """
    if grid.size == 1:
        return np.zeros(1)
    bump = 1.0 / (1.0 + ((np.log(grid) - SHARPNESS_CENTRE) / SHARPNESS_SCALE) ** 2)
    return np.asarray(np.log(0.5 / grid.size + 0.5 * bump / bump.sum()))


def stored_rows(n: int) -> IntArray:
    """At most 500 of n rows, evenly spread."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, MAX_STORED_ROWS)).round().astype(np.int64))


def capacity(n_atoms: float) -> int:
    """Room for atoms: 12 standard deviations above the prior mean, and 60 more."""
    return math.ceil(n_atoms + 12.0 * math.sqrt(n_atoms) + 60.0)


def make_work(model: Model) -> Work:
    """Allocate the working memory of one chain."""
    n, width = model.Z.shape
    K = capacity(model.n_atoms)
    by_atom = ("s", "s_new", "c", "c_new", "p", "q", "r", "log_group_scale", "E", "z", "u", "group_size")
    size = {"h_new": width, "xi": width, "number": N_NUMBERS, "number_new": N_NUMBERS}
    size |= {"total_precision": 1, "rest_precision": 1} | dict.fromkeys(by_atom, K)
    size |= dict.fromkeys(("t", "t_new", "scaled_row", "precision"), int(model.y.size))
    size |= dict.fromkeys(("tau", "tau_new", "projection", "projection_new", "weights"), n)
    n_plain = n if model.n_rest == 0 and np.all(np.isinf(model.grid)) else 0
    return Work(
        # Only the atoms are remembered, and patterns of a trial only where the sharpness may change.
        saved=empty_chain(model, 0),
        trial=empty_chain(model, n if model.grid.size > 1 else 0),
        flipped=np.zeros(n if len(model.node_radius) else 0, np.int64),
        large=np.zeros(K, np.int64),
        pair_axes=np.zeros((2, width)),
        pair_h=np.zeros((2, width)),
        pair_tau=np.zeros((4, n_plain)),
        pair_t=np.zeros((4, n_plain)),
        pair_s=np.zeros((4, K)),
        pair_number=np.zeros((4, N_NUMBERS)),
        stack=np.zeros(len(model.node_radius) + 2, np.int64),
        **{name: np.zeros((K, K)) for name in ("S", "scaled", "L")},
        **{name: np.zeros(n_entries) for name, n_entries in size.items()},
    )


def start_chain(
    model: Model,
    rng: np.random.Generator,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
) -> Chain:
    """Atoms from the prior; parameters not fixed from a spread-out start near their prior's middle."""
    theta = np.empty(3)
    theta[ALPHA] = rng.uniform(0.8, 1.8) if alpha is None else alpha
    theta[LOG_NU] = 0.5 * rng.standard_normal() if nu is None else math.log(nu)
    theta[LOG_SIGMA2] = math.log(0.1) + rng.standard_normal() if sigma2 is None else math.log(sigma2)
    place = int(rng.integers(model.grid.size)) if model.grid.size > 1 else 0
    return chain_from_atoms(model, theta, *draw_atoms(model, rng), place)


def draw_atoms(model: Model, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Hyperplanes and log marks of Poisson(N) atoms from the prior."""
    K = capacity(model.n_atoms)
    n_atoms = min(int(rng.poisson(model.n_atoms)), K) if model.has_atoms else 0
    h = rng.standard_normal((n_atoms, model.Z.shape[1]))
    return h, math.log(model.n_atoms) + np.log1p(-rng.random(n_atoms))


def empty_chain(model: Model, n_rows: int) -> Chain:
    """A chain without atoms, with room for their patterns at `n_rows` rows."""
    width = model.Z.shape[1]
    r = model.y.size if n_rows else 0
    K = capacity(model.n_atoms)
    return Chain(
        theta=np.zeros(3),
        counts=np.zeros(4, dtype=np.int64),
        h=np.zeros((K, width)),
        log_mark=np.zeros(K),
        group=np.zeros(K, np.int64),
        members=np.zeros(K, np.int64),
        tau=np.zeros((K, n_rows)),
        T=np.zeros((K, r)),
        C=np.zeros((K, K)),
        w_y=np.zeros(K),
        log_group_scale=np.zeros(K),
        precision=np.zeros(r),
        rest_precision=np.zeros(1),
        S=np.zeros((K, K)),
        R=np.zeros((K, K)),
        u=np.zeros(K),
        log_step=np.full(N_MOVES, math.log(0.3)),
        tally=np.zeros((N_MOVES, 2), np.int64),
        failures=np.zeros(1, np.int64),
        log_likelihood=np.zeros(1),
    )


def chain_from_atoms(model: Model, theta: FloatArray, h: FloatArray, log_mark: FloatArray, sharpness: int = 0) -> Chain:
    """A chain in the given state; `sharpness` is its place on the model's grid."""
    chain = empty_chain(model, len(model.Z))
    chain.theta[:] = theta
    chain.counts[ATOMS] = log_mark.size
    chain.counts[SHARPNESS] = sharpness
    chain.h[: log_mark.size] = h
    chain.log_mark[: log_mark.size] = log_mark
    sort_groups(chain, model)
    return chain


def sort_groups(chain: Chain, model: Model) -> None:
    """Rebuild everything from the atoms alone, so that chains with equal atoms are equal to the last bit."""
    chain.counts[SWEEPS] = 0
    make_kernels_near(chain, model, 0)
    no_rng, no_draws = np.random.default_rng(0), make_buffers(model, 0)
    run(chain, model, Plan(), make_work(model), no_rng, 0, 0, 0, False, no_draws)


def make_buffers(model: Model, n_draws: int) -> Buffers:
    """Room for the draws of one compiled call."""
    width = model.Z.shape[1]
    K = capacity(model.n_atoms)
    return Buffers(
        theta=np.zeros((n_draws, 3)),
        sharpness=np.zeros(n_draws),
        n_atoms=np.zeros(n_draws, np.int64),
        h=np.zeros((n_draws, K, width)),
        log_mark=np.zeros((n_draws, K)),
        size=np.zeros((n_draws, K)),
        coefficient=np.zeros((n_draws, len(model.landmarks))),
        f=np.zeros((n_draws, model.rows.size)),
        log_density=np.zeros(n_draws),
    )
