"""Predictions from stored draws: each draw makes f at a new row Gaussian, and the draws mix with equal weights.

Units here are the model's own. Rows are cut into blocks of a fixed size, which bounds the memory and is what threads
share; a row's answer does not depend on the block it falls in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg.lapack import dpstrf
from threadpoolctl import threadpool_limits

from .._types import FloatArray, IntArray
from ..engine.draws import ChainDraws
from ..engine.kernel import with_sharpness
from ..engine.model import Model
from ..network import add_constant, arcsine_kernel, kernel_diagonal
from ..progress import wants_bar
from ..stable import log_remainder
from .components import (
    FAR,
    Basis,
    Components,
    fill_atom_sums,
    fill_components,
    fill_crps,
    fill_log_density,
    fill_quantiles,
)

# New rows computed together by one thread.
BLOCK = 32
# A bar is shown from this many new rows on.
MIN_ROWS_FOR_BAR = 2000
# Joint draws need a square matrix over the new rows (0.5 GB at 8000).
MAX_JOINT_ROWS = 8000
# A draw with sizes this many times the largest |y| is summed from a training row, where its sum is known.
LARGE_SIZE = 1e5
# Eigenvalues below this part of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-12
# Nodes of the grid for one row's CRPS (0.5 MB); beyond it, pairs of components.
MAX_NODES = 65_536.0

Fill = Callable[[FloatArray, FloatArray, slice, FloatArray], None]


class Source(NamedTuple):
    """All that predictions are made of: the training rows or their landmarks, and the draws of each chain."""

    X: FloatArray  # (n, d)
    model: Model
    chains: tuple[Components, ...]
    sharpness: tuple[FloatArray, ...]  # of each chain's draws

    @property
    def n_draws(self) -> int:
        return sum(chain.g.size for chain in self.chains)

    @property
    def units(self) -> FloatArray:
        """The values of the sharpness among the draws, sorted."""
        return np.unique(np.concatenate(self.sharpness))

    def basis(self, sharpness: float) -> Basis:
        """Eigenbasis of the training rows' kernel for one sharpness, as covariances with X are turned into it."""
        model = with_sharpness(self.model, int(np.flatnonzero(self.model.grid == sharpness)[0]))
        return Basis(model.landmarks, model.landmark_basis, model.eigenvalues, model.sharpness)


class Job(NamedTuple):
    """How to go through the rows: threads, and whether to show a bar (None: in a terminal, when it takes long)."""

    n_jobs: int | None = None
    progress: bool | None = False


ONE_THREAD = Job()


def prepare(model: Model, chains: Sequence[ChainDraws], y_size: float) -> Source:
    """Gather what the kernels need; `y_size` is the largest |y|, the measure of what is a large jump."""
    components = tuple(_components(model, draws, LARGE_SIZE * y_size) for draws in chains)
    X = np.ascontiguousarray(model.landmarks[:, 1:])
    return Source(X, model, components, tuple(draws.sharpness for draws in chains))


def _components(model: Model, draws: ChainDraws, large: float) -> Components:
    g = np.exp(log_remainder(draws.alpha, draws.log_nu, model.n_atoms))
    sigma2 = np.exp(draws.log_sigma2)
    first = np.concatenate([[0], np.cumsum(draws.n_atoms)]).astype(np.int64)
    is_large = np.zeros(len(draws), dtype=bool)
    if model.n_rest == 0:  # a low-rank remainder does not tell what the atoms' sum is at a row
        is_large[np.repeat(np.arange(len(draws)), draws.n_atoms)[np.abs(draws.size) > large]] = True
    anchor = np.where(is_large, np.cumsum(is_large) - 1, -1).astype(np.int64)
    # The coefficient is (g K + noise)^-1 (y - atoms): undo the inverse.
    at_rows = np.empty((int(is_large.sum()), model.row_y.size))
    for row, draw in zip(at_rows, np.flatnonzero(is_large), strict=True):
        K = arcsine_kernel(model.Z[:, 1:], sharpness=draws.sharpness[draw])
        c = draws.coefficient[draw]
        row[:] = model.row_y - g[draw] * (K * c).sum(axis=1) - sigma2[draw] / model.weight * c
    coefficient, h, size = (_writeable(array) for array in (draws.coefficient, draws.h, draws.size))
    return Components(g, sigma2, coefficient, first, h, size, anchor, at_rows)


def _writeable(array: FloatArray) -> FloatArray:
    """Not read-only (a memory map may be): numba would compile everything again for such arrays."""
    return array if type(array) is np.ndarray and array.flags.writeable else np.array(array)


# --- Row by row ------------------------------------------------------------------------------------------


def quantiles(
    source: Source, X: FloatArray, probabilities: FloatArray, noise: bool, job: Job = ONE_THREAD
) -> FloatArray:
    """Quantiles of the mixture at each row of X, shape (m, len(probabilities))."""

    def fill(mean: FloatArray, sd: FloatArray, rows: slice, out: FloatArray) -> None:
        fill_quantiles(mean, sd, probabilities, *_brackets(mean, sd, probabilities), out)

    return _by_blocks(source, X, fill, probabilities.size, noise, job)


def _brackets(mean: FloatArray, sd: FloatArray, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where each quantile must lie, shapes (m, len(probabilities)).

    Between the order statistics, of its own rank, of the components' far ends: components of astronomical spread then
    do not widen the bracket unless the quantile is among them.
    """
    rank = probabilities * mean.shape[1]
    below = np.maximum(np.ceil(rank).astype(np.intp) - 2, 0)
    above = np.minimum(rank.astype(np.intp) + 1, mean.shape[1] - 1)
    low = np.partition(mean - FAR * sd, np.unique(below), axis=1)[:, below]
    high = np.partition(mean + FAR * sd, np.unique(above), axis=1)[:, above]
    return np.ascontiguousarray(low), np.ascontiguousarray(high)


def crps(source: Source, X: FloatArray, y: FloatArray, noise: bool, job: Job = ONE_THREAD) -> FloatArray:
    """Continuous ranked probability score of the mixture at each row, shape (m,)."""

    def fill(mean: FloatArray, sd: FloatArray, rows: slice, out: FloatArray) -> None:
        fill_crps(mean, sd, y[rows], MAX_NODES, out[:, 0])

    return _by_blocks(source, X, fill, 1, noise, job)[:, 0]


def log_density(source: Source, X: FloatArray, y: FloatArray, job: Job = ONE_THREAD) -> FloatArray:
    """Log predictive density of an observation y at each row, shape (m,)."""

    def fill(mean: FloatArray, sd: FloatArray, rows: slice, out: FloatArray) -> None:
        fill_log_density(mean, sd, y[rows], out[:, 0])

    return _by_blocks(source, X, fill, 1, True, job)[:, 0]


def components(source: Source, X: FloatArray, noise: bool) -> tuple[FloatArray, FloatArray]:
    """Mean and s.d. of every component of the mixture at each row, shapes (m, draws)."""
    mean, sd = np.empty((2, len(X), source.n_draws))
    Z = add_constant(X)
    for sharpness in source.units:
        k, k_self = arcsine_kernel(X, source.X, sharpness), kernel_diagonal(X, sharpness)
        train, offset = source.basis(sharpness), 0
        for chain, values in zip(source.chains, source.sharpness, strict=True):
            fill_components(Z, k, k_self, train, chain, np.flatnonzero(values == sharpness), offset, noise, mean, sd)
            offset += chain.g.size
    return mean, sd


def _by_blocks(source: Source, X: FloatArray, fill: Fill, width: int, noise: bool, job: Job) -> FloatArray:
    out = np.empty((len(X), width))

    def do(start: int, advance: Callable[[int], None]) -> None:
        rows = slice(start, min(start + BLOCK, len(X)))
        mean, sd = components(source, X[rows], noise)
        fill(mean, sd, rows, out[rows])
        advance(rows.stop - rows.start)

    with _row_bar(len(X), job.progress) as advance:
        tasks = (delayed(do)(start, advance) for start in range(0, len(X), BLOCK))
        Parallel(n_jobs=job.n_jobs, require="sharedmem")(tasks)
    return out


@contextmanager
def _row_bar(n_rows: int, progress: bool | None) -> Iterator[Callable[[int], None]]:
    """A function that is told how many rows were done; it moves a bar when one is wanted."""
    if not wants_bar(progress) or (progress is None and n_rows < MIN_ROWS_FOR_BAR):
        yield lambda n_done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("predicting"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total} rows"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("predicting", total=n_rows)
        yield lambda n_done: bar.advance(task, n_done)


# --- Jointly over rows -----------------------------------------------------------------------------------


class Conditional(NamedTuple):
    """The remainder at new rows given itself at the training rows: `weights @ e + sqrt(g) * factor @ normal`.

    `e` is the remainder at the training rows in the eigenbasis. Neither part depends on the draw.
    """

    weights: FloatArray  # (m, n)
    factor: FloatArray  # (m, rank)


def joint_draws(source: Source, X: FloatArray, n_samples: int, noise: bool, rng: np.random.Generator) -> FloatArray:
    """Draws of f, or of observations, jointly over the rows of X, shape (m, n_samples).

    Goes through all stored draws before it uses one again.
    """
    where = [(chain, draw) for chain in source.chains for draw in range(chain.g.size)]
    which = _shuffled(len(where), n_samples, rng)
    sharpness = np.concatenate(source.sharpness)[which]
    Z, atoms = add_constant(X), np.empty(len(X))
    out = np.empty((len(X), n_samples))
    with threadpool_limits(limits=1, user_api="blas"):
        for value in np.unique(sharpness):
            train, k = source.basis(value), arcsine_kernel(X, source.X, value)
            conditional, nearest = _condition(train, X, k), np.argmax(k, axis=1).astype(np.int64)
            inverse = _undo(source.model, train)
            for column in np.flatnonzero(sharpness == value):
                chain, draw = where[which[column]]
                fill_atom_sums(Z, nearest, train, chain, draw, atoms)
                out[:, column] = atoms + _draw_remainder(train, conditional, chain, draw, inverse, rng)
                if noise:
                    out[:, column] += np.sqrt(chain.sigma2[draw]) * rng.standard_normal(len(X))
    return out


def _shuffled(n: int, n_samples: int, rng: np.random.Generator) -> IntArray:
    """`n_samples` of 0..n-1 in random order, each as often as any other, give or take one."""
    rounds = [rng.permutation(n) for _ in range(-(-n_samples // n))]
    return np.concatenate([*rounds, np.empty(0, np.int64)])[:n_samples].astype(np.int64)


def _condition(train: Basis, X: FloatArray, k: FloatArray) -> Conditional:
    eigenvalues = train.eigenvalues
    kept = eigenvalues > SMALLEST_EIGENVALUE * eigenvalues.max()
    q = k @ train.basis
    weights = np.divide(q, eigenvalues, out=np.zeros_like(q), where=kept)
    # Pivoting makes the factor exact for repeated rows and for rows the training data contain.
    K = arcsine_kernel(X, sharpness=train.sharpness)
    packed, pivots, rank, _ = dpstrf(K - weights @ q.T, tol=1e-14, lower=1)
    factor = np.empty((len(X), rank))
    factor[pivots - 1] = np.tril(packed)[:, :rank]
    return Conditional(weights, factor)


def _undo(model: Model, train: Basis) -> FloatArray:
    """What undoes the basis in a coefficient, shape (r, m): B' up to the weights, unless there are landmarks."""
    if model.n_rest == 0:
        return np.asarray(train.basis.T / model.weight)
    return np.asarray(np.linalg.pinv(train.basis))


def _draw_remainder(
    train: Basis, conditional: Conditional, chain: Components, draw: int, inverse: FloatArray, rng: np.random.Generator
) -> FloatArray:
    g, sigma2 = chain.g[draw], chain.sigma2[draw]
    spread = g * train.eigenvalues
    sd = np.sqrt(spread * (sigma2 / (spread + sigma2)))
    rotated = inverse @ chain.coefficient[draw]
    e = spread * rotated + sd * rng.standard_normal(sd.size)
    apart = conditional.factor @ rng.standard_normal(conditional.factor.shape[1])
    return np.asarray(conditional.weights @ e + np.sqrt(g) * apart)
