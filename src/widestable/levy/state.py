"""Make what a chain needs: the model from the data, a first state, working memory and buffers for draws."""

from __future__ import annotations

import math

import numpy as np
from threadpoolctl import threadpool_limits

from .._kernels.names import ALPHA, LOG_NU, LOG_SIGMA2, N_MOVES
from .._kernels.sweep import initialise
from .._kernels.tuples import Buffers, Chain, FloatArray, IntArray, Model, Saved, Work
from ..inputs import TrainingData
from ..network import add_constant, arcsine_kernel

ALPHA_RANGE = (0.05, 1.99)
LOG_NU_SD = 1.5
MAX_STORED_ROWS = 500


def make_model(
    data: TrainingData,
    *,
    alpha: float | None,
    nu: float | None,
    sigma2: float | None,
    n_atoms: float,
    sharpness: float = math.inf,
) -> Model:
    """Eigendecompose the weighted kernel of the rows and gather what the moves need (units of `data`)."""
    n = data.y.size
    root = np.sqrt(data.weight)
    # One thread: the last bits of the eigenvectors, and so the draws, must not depend on the machine's load.
    with threadpool_limits(limits=1, user_api="blas"):
        eigenvalues, U = np.linalg.eigh(arcsine_kernel(data.X) * np.outer(root, root))
        y = U.T @ (root * data.y)
    Z = add_constant(data.X)
    return Model(
        Z=np.ascontiguousarray(Z),
        row_norm=np.sqrt(np.sum(Z**2, axis=1)),
        weight=data.weight,
        basis=np.ascontiguousarray(root[:, None] * U),
        eigenvalues=np.maximum(eigenvalues, 0.0),
        y=y,
        n_extra=float(data.n_observations - n),
        ss_within=float(data.ss_within),
        sum_log_weight=float(np.sum(np.log(data.weight))),
        rows=stored_rows(n),
        n_atoms=float(n_atoms),
        sharpness=sharpness,
        infer_alpha=alpha is None,
        infer_nu=nu is None,
        infer_sigma2=sigma2 is None,
        has_atoms=alpha is None or alpha < 2.0,
        alpha_low=ALPHA_RANGE[0],
        alpha_high=ALPHA_RANGE[1],
        log_nu_sd=LOG_NU_SD,
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
    size |= dict.fromkeys(("s", "s_new", "p", "log_group_scale", "E", "z", "u", "group_size"), K)
    squares = {name: np.zeros((K, K)) for name in ("S", "scaled", "L")}
    vectors = {name: np.zeros(size.get(name) or n) for name in Work._fields if name not in {"saved", *squares}}
    saved = Saved(np.zeros(3), np.zeros(1, np.int64), np.zeros((K, width)), np.zeros(K))
    return Work(saved=saved, **vectors, **squares)


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
    return chain_from_atoms(model, theta, *draw_atoms(model, rng))


def draw_atoms(model: Model, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Hyperplanes and log marks of Poisson(N) atoms from the prior."""
    K = capacity(model.n_atoms)
    n_atoms = min(int(rng.poisson(model.n_atoms)), K) if model.has_atoms else 0
    h = rng.standard_normal((n_atoms, model.Z.shape[1]))
    return h, math.log(model.n_atoms) + np.log1p(-rng.random(n_atoms))


def chain_from_atoms(model: Model, theta: FloatArray, h: FloatArray, log_mark: FloatArray) -> Chain:
    """A chain in the given state."""
    n, width = model.Z.shape
    K = capacity(model.n_atoms)
    chain = Chain(
        theta=np.array(theta, dtype=float),
        counts=np.array([log_mark.size, 0, 0], dtype=np.int64),
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
    chain.h[: log_mark.size] = h
    chain.log_mark[: log_mark.size] = log_mark
    initialise(chain, model, make_work(model))
    return chain


def make_buffers(model: Model, n_draws: int) -> Buffers:
    """Room for the draws of one compiled call."""
    n, width = model.Z.shape
    K = capacity(model.n_atoms)
    return Buffers(
        theta=np.zeros((n_draws, 3)),
        n_atoms=np.zeros(n_draws, np.int64),
        h=np.zeros((n_draws, K, width)),
        log_mark=np.zeros((n_draws, K)),
        size=np.zeros((n_draws, K)),
        coefficient=np.zeros((n_draws, n)),
        f=np.zeros((n_draws, model.rows.size)),
        log_density=np.zeros(n_draws),
    )
