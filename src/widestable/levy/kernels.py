"""The kernel of the rows in its eigenbasis: whole, or its leading part through landmarks where rows are many."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from .._kernels.names import SHARPNESS
from .._kernels.tuples import Chain, FloatArray, Model
from ..network import arcsine_kernel, kernel_diagonal
from .tree import sum_over_nodes

# Up to this many rows the kernel is decomposed whole: O(n^3) once, and O(n^2) memory.
MAX_DENSE_ROWS = 2000
# Beyond, its leading eigenvectors come from this many landmarks, and the others' eigenvalues are put equal.
N_LANDMARKS, RANK = 512, 256
# Rows whose covariances with the landmarks are held at once.
BLOCK = 4096
# Eigenvalues of the landmarks' kernel below this part of the largest are rounding.
SMALLEST = 1e-10

_MAKING = Lock()


class Rank(NamedTuple):
    """How much of the kernel is kept."""

    n_landmarks: int
    rank: int


def choose_rank(n: int, max_dense_rows: int = MAX_DENSE_ROWS) -> Rank:
    """All of it, or what `N_LANDMARKS` landmarks can tell.

    Examples
    --------
    >>> choose_rank(500), choose_rank(100_000)
    (Rank(n_landmarks=500, rank=500), Rank(n_landmarks=512, rank=256))
    """
    if n <= max_dense_rows:
        return Rank(n, n)
    n_landmarks = min(N_LANDMARKS, n)
    return Rank(n_landmarks, min(RANK, n_landmarks // 2))


def choose_landmarks(Z: FloatArray, n_landmarks: int) -> FloatArray:
    """Rows evenly spread over the order of the rows, in which near rows are together."""
    return np.ascontiguousarray(Z[np.linspace(0, max(len(Z) - 1, 0), n_landmarks).round().astype(np.intp)])


def make_kernels(model: Model, places: range) -> None:
    """Decompose the weighted kernel for the sharpness at these places of the grid, where not done yet."""
    for place in places:
        # One thread: the last bits of the eigenvectors, and so the draws, must not depend on the machine's load.
        with _MAKING, threadpool_limits(limits=1, user_api="blas"):
            if not model.is_made[place]:
                decompose = decompose_whole if model.n_rest == 0 else decompose_leading
                decompose(model, place)
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
        landmark_basis=model.grid_landmark_basis[place],
        eigenvalues=model.grid_eigenvalues[place],
        rest_eigenvalue=float(model.grid_rest_eigenvalue[place]),
        y=model.grid_y[place],
    )


def decompose_whole(model: Model, place: int) -> None:
    """Every eigenvalue and eigenvector of W^(1/2) K W^(1/2)."""
    root = np.sqrt(model.weight)
    K = arcsine_kernel(model.Z[:, 1:], sharpness=model.grid[place])
    eigenvalues, U = np.linalg.eigh(K * np.outer(root, root))
    model.grid_eigenvalues[place] = np.maximum(eigenvalues, 0.0)
    model.grid_basis[place] = root[:, None] * U
    model.grid_y[place] = U.T @ (root * model.row_y)


def decompose_leading(model: Model, place: int) -> None:
    """The leading ones by the Nystrom method, and the mean of the other eigenvalues from the trace.

    With Kmm = V D V' of the landmarks, the features of the rows are F = Knm V D^(-1/2), and F F' stands for the kernel.
    Its eigenvectors are W^(1/2) F Q / lam^(1/2), from F' W F = Q diag(lam) Q'.
    """
    D, V = np.linalg.eigh(arcsine_kernel(model.landmarks[:, 1:], sharpness=model.grid[place]))
    kept = SMALLEST * D.max() < D
    features = V[:, kept] / np.sqrt(D[kept])
    gram = np.zeros((features.shape[1], features.shape[1]))
    for rows, K in _blocks(model, place):
        F = K @ features
        gram += F.T @ (model.weight[rows, None] * F)
    eigenvalues, Q = np.linalg.eigh(gram)
    rank = model.grid_eigenvalues.shape[1]
    leading = np.maximum(eigenvalues[::-1][:rank], SMALLEST * eigenvalues[-1])
    vectors = features @ Q[:, ::-1][:, :rank]
    for rows, K in _blocks(model, place):
        model.grid_basis[place, rows] = model.weight[rows, None] * (K @ (vectors / np.sqrt(leading)))
    trace = float(model.weight @ kernel_diagonal(model.Z[:, 1:], model.grid[place]))
    model.grid_eigenvalues[place] = leading
    model.grid_landmark_basis[place] = vectors * np.sqrt(leading)
    model.grid_rest_eigenvalue[place] = max(trace - leading.sum(), 0.0) / model.n_rest
    model.grid_y[place] = model.row_y @ model.grid_basis[place]
    if model.node_radius.size:
        sum_over_nodes(model.grid_basis[place], model.node_rows, model.node_basis)


def _blocks(model: Model, place: int) -> Iterator[tuple[slice, FloatArray]]:
    """Covariances of some rows with all landmarks, block after block."""
    for start in range(0, len(model.Z), BLOCK):
        rows = slice(start, min(start + BLOCK, len(model.Z)))
        yield rows, arcsine_kernel(model.Z[rows, 1:], model.landmarks[:, 1:], model.grid[place])
