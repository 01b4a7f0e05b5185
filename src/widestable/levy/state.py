"""Make what a chain needs: the model from the data, its kernels, a first state, working memory, room for draws."""

from __future__ import annotations

import math
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .._kernels.names import ALPHA, ATOMS, LOG_NU, LOG_SIGMA2, N_MOVES, SHARPNESS, SWEEPS
from .._kernels.sweep import initialise
from .._kernels.tuples import Buffers, Chain, FloatArray, IntArray, Model, Work
from ..inputs import TrainingData
from ..network import add_constant, arcsine_kernel, kernel_diagonal

ALPHA_RANGE = (0.05, 1.99)
LOG_NU_SD = 1.5
MAX_STORED_ROWS = 500
# Values of an inferred sharpness, and centre and scale of its prior in the log. The smallest makes a nearly linear
# function of standardised inputs, the largest a step across a thousandth of their s.d.
SHARPNESS_GRID = np.geomspace(0.1, 1000.0, 21)
SHARPNESS_CENTRE, SHARPNESS_SCALE = 0.3, 0.6

_MAKING = Lock()


def make_model(
    data: TrainingData,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
    n_atoms: float,
    sharpness: float | None = math.inf,
) -> Model:
    """Gather what the moves need (units of `data`); None stands for what is inferred."""
    grid = SHARPNESS_GRID if sharpness is None else np.array([sharpness])
    model = assemble_model(
        data,
        grid,
        log_prior_sharpness(grid),
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


def assemble_model(data: TrainingData, grid: FloatArray, log_prior: FloatArray, **numbers: Any) -> Model:
    """A model whose kernels are still to be made, one for each sharpness on the grid."""
    n = data.y.size
    Z = add_constant(data.X)
    diagonal = [kernel_diagonal(data.X, sharpness) for sharpness in grid]
    return Model(
        Z=np.ascontiguousarray(Z),
        row_norm=np.sqrt(np.sum(Z**2, axis=1)),
        weight=data.weight,
        row_y=data.y,
        basis=np.empty((n, n)),
        eigenvalues=np.empty(n),
        y=np.empty(n),
        sharpness=math.nan,
        log_diagonal=math.nan,
        grid=grid,
        grid_log_prior=log_prior,
        grid_log_diagonal=np.array([np.log(d.mean()) if n > 0 else 0.0 for d in diagonal]),
        # Memory that is not written to is not used, so the table costs what is made of it.
        grid_basis=np.empty((grid.size, n, n)),
        grid_eigenvalues=np.empty((grid.size, n)),
        grid_y=np.empty((grid.size, n)),
        is_made=np.zeros(grid.size, dtype=bool),
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


def make_kernels(model: Model, places: range) -> None:
    """Eigendecompose the weighted kernel for the sharpness at these places of the grid, where not done yet."""
    root = np.sqrt(model.weight)
    for place in places:
        # One thread: the last bits of the eigenvectors, and so the draws, must not depend on the machine's load.
        with _MAKING, threadpool_limits(limits=1, user_api="blas"):
            if model.is_made[place]:
                continue
            K = arcsine_kernel(model.Z[:, 1:], sharpness=model.grid[place])
            eigenvalues, U = np.linalg.eigh(K * np.outer(root, root))
            model.grid_eigenvalues[place] = np.maximum(eigenvalues, 0.0)
            model.grid_basis[place] = root[:, None] * U
            model.grid_y[place] = U.T @ (root * model.row_y)
            model.is_made[place] = True


def make_kernels_near(chain: Chain, model: Model, reach: int) -> None:
    """Make the kernels that `reach` steps of the chain's sharpness may ask for."""
    here = int(chain.counts[SHARPNESS])
    make_kernels(model, range(max(here - reach, 0), min(here + reach + 1, model.grid.size)))


def with_sharpness(model: Model, place: int) -> Model:
    """The model with the kernel of one place on the grid in use; the arrays are shared."""
    make_kernels(model, range(place, place + 1))
    return model._replace(
        sharpness=float(model.grid[place]),
        log_diagonal=float(model.grid_log_diagonal[place]),
        basis=model.grid_basis[place],
        eigenvalues=model.grid_eigenvalues[place],
        y=model.grid_y[place],
    )


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
    size: dict[str, int] = {"h_new": width, "xi": width, "number": 4, "number_new": 4, "total_precision": 1}
    size |= dict.fromkeys(("s", "s_new", "p", "q", "r", "log_group_scale", "E", "z", "u", "group_size"), K)
    squares = {name: np.zeros((K, K)) for name in ("S", "scaled", "L")}
    others = {"saved", "trial", *squares}
    vectors = {name: np.zeros(size.get(name) or n) for name in Work._fields if name not in others}
    return Work(saved=empty_chain(model), trial=empty_chain(model), **vectors, **squares)


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


def empty_chain(model: Model) -> Chain:
    """A chain without atoms: room for one."""
    n, width = model.Z.shape
    K = capacity(model.n_atoms)
    return Chain(
        theta=np.zeros(3),
        counts=np.zeros(4, dtype=np.int64),
        h=np.zeros((K, width)),
        log_mark=np.zeros(K),
        group=np.zeros(K, np.int64),
        members=np.zeros(K, np.int64),
        tau=np.zeros((K, n)),
        T=np.zeros((K, n)),
        log_group_scale=np.zeros(K),
        precision=np.zeros(n),
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
    chain = empty_chain(model)
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
    initialise(chain, model, make_work(model))


def make_buffers(model: Model, n_draws: int) -> Buffers:
    """Room for the draws of one compiled call."""
    n, width = model.Z.shape
    K = capacity(model.n_atoms)
    return Buffers(
        theta=np.zeros((n_draws, 3)),
        sharpness=np.zeros(n_draws),
        n_atoms=np.zeros(n_draws, np.int64),
        h=np.zeros((n_draws, K, width)),
        log_mark=np.zeros((n_draws, K)),
        size=np.zeros((n_draws, K)),
        coefficient=np.zeros((n_draws, n)),
        f=np.zeros((n_draws, model.rows.size)),
        log_density=np.zeros(n_draws),
    )
