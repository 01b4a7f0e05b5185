"""The kernel of the rows in its eigenbasis: whole, or its leading part through landmarks where rows are many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple, TypeVar

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from .._types import FloatArray
from ..network import arcsine_kernel, kernel_diagonal
from .chain import Chain
from .model import Model
from .names import SHARPNESS
from .tree import sum_over_nodes

# Up to this many rows the kernel is decomposed whole: O(n^3) once, and O(n^2) memory.
MAX_DENSE_ROWS = 2000
# Beyond, half as many leading eigenvectors as there are landmarks, and the other eigenvalues put equal. The fewer, the
# more of the remainder is taken for noise; rows times landmarks is bounded, and with it memory and preparation.
MAX_LANDMARKS, MIN_LANDMARKS, MAX_ENTRIES = 2048, 512, 2048 * 50_000
# Rows whose covariances with the landmarks a thread holds at once.
BLOCK = 2048
# Eigenvalues of the landmarks' kernel below this part of the largest are rounding.
SMALLEST = 1e-10

_MAKING = Lock()
Result = TypeVar("Result")


class Rank(NamedTuple):
    """How much of the kernel is kept."""

    n_landmarks: int
    rank: int


def choose_rank(n: int, max_dense_rows: int = MAX_DENSE_ROWS, is_smooth: bool = False) -> Rank:
    """All of it, or what 2048 landmarks can tell, fewer beyond fifty thousand rows.

    Smooth units make do with the fewest: their kernel has few eigenvalues that count, a rotation costs n times the
    rank, and each sharpness has a basis of its own.

    Examples
    --------
    >>> choose_rank(500), choose_rank(10_000), choose_rank(100_000)
    (Rank(n_landmarks=500, rank=500), Rank(n_landmarks=2048, rank=1024), Rank(n_landmarks=1024, rank=512))
    """
    if n <= max_dense_rows:
        return Rank(n, n)
    most = MIN_LANDMARKS if is_smooth else MAX_LANDMARKS
    n_landmarks = min(max(MAX_ENTRIES // n, MIN_LANDMARKS), most, n)
    return Rank(n_landmarks, n_landmarks // 2)


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

    def products(rows: slice, K: FloatArray) -> FloatArray:
        F = np.sqrt(model.weight[rows, None]) * (K @ features)
        return np.asarray(F.T @ F)

    # Added up block after block: the sum is the same to the last bit for any number of processors.
    gram = sum(_for_blocks(products, model, place), np.zeros((features.shape[1], features.shape[1])))
    eigenvalues, Q = np.linalg.eigh(gram)
    # A smooth kernel may have fewer eigenvalues that are more than rounding: the others count as the rest.
    rank = min(model.grid_eigenvalues.shape[1], eigenvalues.size)
    leading = np.maximum(eigenvalues[::-1][:rank], SMALLEST * eigenvalues[-1])
    vectors = features @ Q[:, ::-1][:, :rank]
    scaled = vectors / np.sqrt(leading)

    def fill_basis(rows: slice, K: FloatArray) -> None:
        model.grid_basis[place, rows, :rank] = model.weight[rows, None] * (K @ scaled)
        model.grid_basis[place, rows, rank:] = 0.0

    for _ in _for_blocks(fill_basis, model, place):
        pass
    trace = float(model.weight @ kernel_diagonal(model.Z[:, 1:], model.grid[place]))
    rest = max(trace - leading.sum(), 0.0) / (len(model.Z) - rank)
    model.grid_eigenvalues[place] = rest
    model.grid_eigenvalues[place, :rank] = leading
    model.grid_rest_eigenvalue[place] = rest
    model.grid_landmark_basis[place] = 0.0
    model.grid_landmark_basis[place, :, :rank] = vectors * np.sqrt(leading)
    model.grid_y[place] = model.row_y @ model.grid_basis[place]
    if model.node_radius.size:
        sum_over_nodes(model.grid_basis[place], model.node_rows, model.node_basis)


def _for_blocks(function: Callable[[slice, FloatArray], Result], model: Model, place: int) -> Iterator[Result]:
    """`function` of some rows and their covariances with all landmarks, block after block, on all processors."""

    def at(start: int) -> Result:
        rows = slice(start, min(start + BLOCK, len(model.Z)))
        return function(rows, arcsine_kernel(model.Z[rows, 1:], model.landmarks[:, 1:], model.grid[place]))

    starts = range(0, len(model.Z), BLOCK)
    if len(starts) == 1:
        yield at(0)
        return
    with ThreadPoolExecutor(joblib.cpu_count()) as pool:
        yield from pool.map(at, starts)
