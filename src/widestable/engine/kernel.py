"""The one seam for units: what they see of a row, their patterns, their covariance kernel and its eigenbasis.

A unit is `sign(h . z)` or `erf(w h . z)` of a row `z = (1, r * x)`. The *law* of the hyperplanes is the relevance r of
each input and the sharpness w. Everything that depends on it is in a `Kernel`; the rest of the engine asks for no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import joblib
import numpy as np

from .._algebra import add_row
from .._blas import one_blas_thread
from .._jit import inner_kernel
from .._types import FloatArray
from ..network import add_constant, arcsine_kernel, kernel_diagonal
from .model import Model
from .tree import balls, sum_over_nodes

# Rows whose covariances with the landmarks a thread holds at once.
BLOCK = 2048
# Eigenvalues of the landmarks' kernel below this part of the largest are rounding.
SMALLEST = 1e-10

Result = TypeVar("Result")


# --- Units -----------------------------------------------------------------------------------------------


@inner_kernel
def unit(t, sharpness):
    """sign(t), with +1 at 0, when the sharpness is infinite; erf(sharpness * t) otherwise."""
    if math.isinf(sharpness):
        return 1.0 if t >= 0.0 else -1.0
    return math.erf(sharpness * t)


@inner_kernel
def project(h, columns, projection):
    """Fill `projection` with h.z_i for every row, input by input: such loops run over neighbours in memory."""
    for i in range(projection.size):
        projection[i] = h[0] * columns[0, i]
    for j in range(1, h.size):
        for i in range(projection.size):
            projection[i] += h[j] * columns[j, i]


@inner_kernel
def set_pattern(h, kernel, projection, tau):
    """Fill `projection` with h.z_i and `tau` with the values of the unit, for every row."""
    project(h, kernel.columns, projection)
    for i in range(tau.size):
        tau[i] = unit(projection[i], kernel.sharpness)


@inner_kernel
def rotate_pattern(tau, basis, t):
    """t = B' tau: the pattern in the eigenbasis, from scratch in O(n r)."""
    for j in range(t.size):
        t[j] = 0.0
    for i in range(tau.size):
        add_row(basis, i, tau[i], t)


@inner_kernel
def rotate_from(tau_known, t_known, sign, tau, basis, t):
    """The same from a pattern that is known in the eigenbasis, times the sign: only rows that differ cost anything."""
    for j in range(t.size):
        t[j] = sign * t_known[j]
    for i in range(tau.size):
        known = sign * tau_known[i]
        if tau[i] != known:
            add_row(basis, i, tau[i] - known, t)


# --- The law and its kernel ------------------------------------------------------------------------------


class Law(NamedTuple):
    """The law of the hyperplanes: what a unit sees of a row.

    Attributes
    ----------
    relevance : ndarray of shape (d,)
        Size of the weight of each input relative to the bias, an inverse length scale. Ones are the law of the paper.
    sharpness : float
        Infinite for sign units.
    """

    relevance: FloatArray
    sharpness: float


class Kernel(NamedTuple):
    """What depends on the law of the hyperplanes: rows as units see them, and the remainder's kernel.

    The kernel of the weighted rows, W^(1/2) K W^(1/2), is known by its leading r eigenvalues and eigenvectors U. The
    other n - r eigenvalues are put equal to their mean. Up to a few thousand rows r = n and nothing is left out;
    beyond, the leading part comes from m landmarks.
    """

    sharpness: float  # of the units; infinity for sign units
    log_diagonal: float  # log of the mean of K(x, x) over the rows
    Z: FloatArray  # (n, d + 1) rows (1, r * x)
    columns: FloatArray  # (d + 1, n) the same, input by input
    row_norm: FloatArray  # (n,) lengths of the rows of Z
    landmarks: FloatArray  # (m, d + 1) rows whose covariances make predictions: all of Z when r = n
    basis: FloatArray  # (n, r) B = W^(1/2) U: a pattern tau is B' tau in the eigenbasis
    landmark_basis: FloatArray  # (m, r) turns covariances with the landmarks into the eigenbasis; B when r = n
    eigenvalues: FloatArray  # (r,) of W^(1/2) K W^(1/2)
    rest_eigenvalue: float  # the mean of the others
    y: FloatArray  # (r,) U' W^(1/2) y
    node_centre: FloatArray  # (nodes, d + 1) ball around the rows of each node of the tree
    node_radius: FloatArray  # (nodes,)
    node_basis: FloatArray  # (nodes, r) sum of the rows of the basis


def make_kernel(model: Model, law: Law) -> Kernel:
    """Decompose the weighted kernel of the rows under a law.

    Parameters
    ----------
    model : Model
        The data.
    law : Law
        Relevance of the inputs and sharpness of the units.

    Returns
    -------
    Kernel
    """
    X = model.X * law.relevance
    Z = np.ascontiguousarray(add_constant(X))
    has_tree = len(model.node_rows) > 0
    centre, radius = balls(Z, model.node_rows) if has_tree else (np.empty((0, Z.shape[1])), np.empty(0))
    # One thread: the last bits of the eigenvectors, and so the draws, must not depend on the machine's load.
    with one_blas_thread():
        parts = _decompose_whole(model, X, law) if model.n_rest == 0 else _decompose_leading(model, X, law)
    node_basis = np.empty((len(model.node_rows), parts.eigenvalues.size))
    if has_tree:
        sum_over_nodes(parts.basis, model.node_rows, node_basis)
    return Kernel(
        sharpness=float(law.sharpness),
        log_diagonal=float(np.log(kernel_diagonal(X, law.sharpness).mean())) if len(X) else 0.0,
        Z=Z,
        columns=np.ascontiguousarray(Z.T),
        row_norm=np.sqrt(np.sum(Z**2, axis=1)),
        landmarks=Z if model.n_rest == 0 else np.ascontiguousarray(Z[model.landmark_rows]),
        **parts._asdict(),
        node_centre=centre,
        node_radius=radius,
        node_basis=node_basis,
    )


class _Parts(NamedTuple):
    """An eigendecomposition: see the fields of `Kernel`."""

    basis: FloatArray
    landmark_basis: FloatArray
    eigenvalues: FloatArray
    rest_eigenvalue: float
    y: FloatArray


def _decompose_whole(model: Model, X: FloatArray, law: Law) -> _Parts:
    """Every eigenvalue and eigenvector of W^(1/2) K W^(1/2)."""
    root = np.sqrt(model.weight)
    K = arcsine_kernel(X, sharpness=law.sharpness)
    eigenvalues, U = np.linalg.eigh(K * np.outer(root, root))
    basis = np.ascontiguousarray(root[:, None] * U)
    return _Parts(basis, basis, np.maximum(eigenvalues, 0.0), 0.0, U.T @ (root * model.row_y))


def _decompose_leading(model: Model, X: FloatArray, law: Law) -> _Parts:
    """The leading ones by the Nyström method, and the mean of the other eigenvalues from the trace.

    With Kmm = V D V' of the landmarks, the features of the rows are F = Knm V D^(-1/2), and F F' stands for the kernel.
    Its eigenvectors are W^(1/2) F Q / lam^(1/2), from F' W F = Q diag(lam) Q'.
    """
    n, r = len(X), len(X) - model.n_rest
    landmarks = X[model.landmark_rows]
    D, V = np.linalg.eigh(arcsine_kernel(landmarks, sharpness=law.sharpness))
    kept = SMALLEST * D.max() < D
    features = V[:, kept] / np.sqrt(D[kept])

    def products(rows: slice, K: FloatArray) -> FloatArray:
        F = np.sqrt(model.weight[rows, None]) * (K @ features)
        return np.asarray(F.T @ F)

    # Added up block after block: the sum is the same to the last bit for any number of processors.
    gram = sum(_for_blocks(products, X, landmarks, law), np.zeros((features.shape[1], features.shape[1])))
    eigenvalues, Q = np.linalg.eigh(gram)
    # A smooth kernel may have fewer eigenvalues that are more than rounding: the others count as the rest.
    rank = min(r, eigenvalues.size)
    leading = np.maximum(eigenvalues[::-1][:rank], SMALLEST * eigenvalues[-1])
    vectors = features @ Q[:, ::-1][:, :rank]
    scaled = vectors / np.sqrt(leading)
    basis = np.zeros((n, r))

    def fill_basis(rows: slice, K: FloatArray) -> None:
        basis[rows, :rank] = model.weight[rows, None] * (K @ scaled)

    for _ in _for_blocks(fill_basis, X, landmarks, law):
        pass
    trace = float(model.weight @ kernel_diagonal(X, law.sharpness))
    rest = max(trace - leading.sum(), 0.0) / (n - rank)
    all_eigenvalues = np.full(r, rest)
    all_eigenvalues[:rank] = leading
    landmark_basis = np.zeros((len(landmarks), r))
    landmark_basis[:, :rank] = vectors * np.sqrt(leading)
    return _Parts(basis, landmark_basis, all_eigenvalues, rest, model.row_y @ basis)


def _for_blocks(
    function: Callable[[slice, FloatArray], Result], X: FloatArray, landmarks: FloatArray, law: Law
) -> Iterator[Result]:
    """`function` of some rows and their covariances with all landmarks, block after block, on all processors."""

    def at(start: int) -> Result:
        rows = slice(start, min(start + BLOCK, len(X)))
        return function(rows, arcsine_kernel(X[rows], landmarks, law.sharpness))

    starts = range(0, len(X), BLOCK)
    if len(starts) == 1:
        yield at(0)
        return
    with ThreadPoolExecutor(joblib.cpu_count()) as pool:
        yield from pool.map(at, starts)
