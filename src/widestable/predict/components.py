"""The components of a predictive mixture: given one stored draw, f at a new row is Gaussian.

Every row is computed by the same instructions whatever rows stand beside it, so its answer is the same to the last bit
in any company. Units here are the model's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._jit import inner_kernel, kernel, summing_kernel
from .._types import FloatArray, IntArray
from ..engine.draws import ChainDraws
from ..engine.kernel import Kernel, Law, make_kernel, unit
from ..engine.model import Model
from ..inputs import spread_indices
from ..network import add_constant, arcsine_kernel, kernel_diagonal
from ..stable import log_remainder

# A draw with sizes this many times the largest |y| is summed from a training row, where its sum is known.
LARGE_SIZE = 1e5
# Each law of the hyperplanes among the draws costs a decomposition and a matrix: beyond so many per chain that these
# hold MAX_ENTRIES numbers, an even selection of the laws makes the predictions.
MIN_LAWS, MAX_LAWS, MAX_ENTRIES = 8, 48, 5_000_000
# Eigenvectors of smooth kernels that change the variance of f by less than this part of the noise are left out.
NEGLIGIBLE = 1e-6
# Outliers are so much wider than the differences between draws that so many of the draws describe them.
N_OUTLIERS = 128
# New inputs beyond this count as if they were here, so that no relevance takes them out of float64.
FARTHEST = 1e300


class Components(NamedTuple):
    """What prediction needs of one chain: M draws over n training rows."""

    g: FloatArray  # (M,) scale of the remainder
    sigma2: FloatArray  # (M,)
    coefficient: FloatArray  # (M, m)
    first: IntArray  # (M + 1,) where the atoms of each draw begin
    h: FloatArray  # (atoms, d + 1)
    size: FloatArray  # (atoms,)
    anchor: IntArray  # (M,) row of `at_rows` of a draw whose atoms nearly cancel, otherwise -1
    at_rows: FloatArray  # (anchored draws, n) the sum of its atoms at the training rows
    p_outlier: FloatArray  # (M,) probability that a new observation is an outlier


class Basis(NamedTuple):
    """The training rows, or m landmarks that stand for them, and the eigenbasis of their kernel under one law."""

    Z: FloatArray  # (m, d + 1) rows (1, x), not scaled by the relevance
    basis: FloatArray  # (m, r)
    eigenvalues: FloatArray  # (r,)
    sharpness: float


class Source(NamedTuple):
    """All that predictions are made of."""

    model: Model
    X: FloatArray  # (m, d) training rows, or the landmarks that stand for them
    chains: tuple[Components, ...]
    laws: tuple[Law, ...]  # the distinct laws of the draws
    bases: tuple[Basis, ...]  # one per law
    law_of: tuple[IntArray, ...]  # for each chain, the place of each draw's law in `laws`

    @property
    def n_draws(self) -> int:
        """Draws of all chains together."""
        return sum(chain.g.size for chain in self.chains)


def prepare(
    model: Model,
    chains: Sequence[ChainDraws],
    y_size: float,
    kernel: Kernel | None = None,
    n_laws: float | None = None,
) -> Source:
    """Gather what predictions are made of.

    Parameters
    ----------
    model : Model
        Data and priors.
    chains : sequence of ChainDraws
        Stored draws.
    y_size : float
        The largest |y|, which tells what a large jump is.
    kernel : Kernel, optional
        The kernel that all draws share, where it is known already.
    n_laws : float, optional
        How many laws per chain to use, infinity for all; by default `max_laws`.

    Returns
    -------
    Source
    """
    most = max_laws(model.row_y.size) if n_laws is None else n_laws
    chains = [_with_few_laws(draws, most) for draws in chains]
    table = np.concatenate([_laws_of(draws) for draws in chains])
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    laws = tuple(Law(row[:-1].copy(), float(row[-1])) for row in distinct)
    components = tuple(_components(model, draws, LARGE_SIZE * y_size) for draws in chains)
    place = place.reshape(-1).astype(np.int64)
    largest_ratio = np.zeros(len(laws))
    np.maximum.at(largest_ratio, place, np.concatenate([chain.g / chain.sigma2 for chain in components]))
    kernels = (make_kernel(model, law) if kernel is None or len(laws) > 1 else kernel for law in laws)
    bases = tuple(_basis(model, *pair) for pair in zip(kernels, largest_ratio, strict=True))
    ends = np.cumsum([len(draws) for draws in chains])[:-1]
    law_of = tuple(np.split(place, ends))
    return Source(model, np.ascontiguousarray(model.X[model.landmark_rows]), components, laws, bases, law_of)


def _laws_of(draws: ChainDraws) -> FloatArray:
    """Relevance and sharpness of each draw, side by side."""
    return np.column_stack([draws.relevance, draws.sharpness])


def max_laws(n: int) -> int:
    """How many laws per chain make the predictions, for n training rows.

    Examples
    --------
    >>> max_laws(100), max_laws(500), max_laws(2000)
    (48, 20, 8)
    """
    return int(min(max(MAX_ENTRIES // max(n, 1) ** 2, MIN_LAWS), MAX_LAWS))


def _with_few_laws(draws: ChainDraws, most: float) -> ChainDraws:
    """The draws of at most `most` laws, evenly spread over the chain."""
    table = _laws_of(draws)
    stretch = np.concatenate([[0], np.cumsum(np.any(table[1:] != table[:-1], axis=1))])
    if stretch[-1] < most:
        return draws
    return draws.where(np.isin(stretch, spread_indices(int(stretch[-1]) + 1, int(most))))


def _basis(model: Model, kernel: Kernel, largest_ratio: float) -> Basis:
    """The eigenbasis under one law, without the directions of a smooth kernel that do not matter.

    The squared covariance of f(x) with direction j is at most lam_j K(x, x), so that leaving it out changes the
    variance of f by at most (g / sigma2)^2 lam_j K(x, x) times sigma2.
    """
    Z = np.ascontiguousarray(add_constant(model.X[model.landmark_rows]))
    basis, eigenvalues = kernel.landmark_basis, kernel.eigenvalues
    if math.isfinite(kernel.sharpness) and model.n_rest == 0:
        # In increasing order; one is left even if none matters.
        first = int(np.searchsorted(np.cumsum(eigenvalues[:-1]) * largest_ratio**2, NEGLIGIBLE))
        basis, eigenvalues = np.ascontiguousarray(basis[:, first:]), eigenvalues[first:].copy()
    return Basis(Z, basis, eigenvalues, kernel.sharpness)


def _components(model: Model, draws: ChainDraws, large: float) -> Components:
    g = np.exp(log_remainder(draws.alpha, draws.log_nu, model.n_atoms))
    sigma2 = np.exp(draws.log_sigma2)
    is_large = np.zeros(len(draws), dtype=bool)
    if model.n_rest == 0:  # a remainder of low rank does not tell what the atoms' sum is at a row
        is_large[np.repeat(np.arange(len(draws)), draws.n_atoms)[np.abs(draws.size) > large]] = True
    anchor = np.where(is_large, np.cumsum(is_large) - 1, -1).astype(np.int64)
    # The coefficient is (g K + noise)^-1 (y - atoms): undo the inverse.
    at_rows = np.empty((int(is_large.sum()), model.row_y.size))
    first_spike = np.concatenate([[0], np.cumsum(draws.n_spikes)])
    for row, draw in zip(at_rows, np.flatnonzero(is_large), strict=True):
        K = arcsine_kernel(model.X * draws.relevance[draw], sharpness=draws.sharpness[draw])
        c = draws.coefficient[draw]
        row[:] = model.row_y - g[draw] * (K * c).sum(axis=1) - sigma2[draw] / model.weight * c
        of_spikes = slice(first_spike[draw], first_spike[draw + 1])
        spike, row_of = draws.spike[of_spikes], model.obs_row[draws.spike[of_spikes]]
        np.subtract.at(row, row_of, model.obs_weight[spike] / model.weight[row_of] * draws.spike_size[of_spikes])
    coefficient, h, size = (_writeable(array) for array in (draws.coefficient, draws.h, draws.size))
    return Components(g, sigma2, coefficient, draws.first_atom, h, size, anchor, at_rows, draws.p_outlier)


def _writeable(array: FloatArray) -> FloatArray:
    """Not read-only (a memory map may be): numba would compile everything again for such arrays."""
    return array if type(array) is np.ndarray and array.flags.writeable else np.array(array)


def as_seen(X: FloatArray, law: Law) -> FloatArray:
    """Rows scaled by the relevance of each input; those near the end of float64 stay inside it.

    Examples
    --------
    >>> as_seen(np.array([[1.0, -2.0], [1.7e308, 0.0]]), Law(np.array([3.0, 0.5]), np.inf)).tolist()
    [[3.0, -1.0], [3e+300, 0.0]]
    """
    return np.asarray(np.clip(X, -FARTHEST, FARTHEST) * law.relevance)


def components(source: Source, X: FloatArray, noise: bool) -> tuple[FloatArray, FloatArray]:
    """Mean and s.d. of every component of the mixture at each row, shapes (m, draws)."""
    mean, sd = np.empty((2, len(X), source.n_draws))
    Z = add_constant(X)
    for place, (law, basis) in enumerate(zip(source.laws, source.bases, strict=True)):
        seen = as_seen(X, law)
        k = arcsine_kernel(seen, source.X * law.relevance, law.sharpness)
        k_self, offset = kernel_diagonal(seen, law.sharpness), 0
        for chain, law_of in zip(source.chains, source.law_of, strict=True):
            draws = np.flatnonzero(law_of == place)
            if draws.size:
                fill_components(Z, k, k_self, basis, chain, draws, offset, noise, mean, sd)
            offset += chain.g.size
    return mean, sd


def observed(source: Source, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and s.d. of every component of the distribution of an observation, and its weight.

    Where the noise has outliers, each draw has the weight 1 - p. The weight that is left goes to components that are
    outliers: evenly spread draws, in proportion to their p, in which the values of c take turns. Weights add up to the
    number of draws.

    Parameters
    ----------
    source : Source
        What predictions are made of.
    X : ndarray of shape (m, d)
        Scaled rows.

    Returns
    -------
    tuple of ndarrays of shapes (m, components), (m, components) and (components,)
    """
    mean, sd = components(source, X, True)
    if not source.model.has_spikes:
        return mean, sd, np.ones(source.n_draws)
    p, sigma2 = (np.concatenate([getattr(c, name) for c in source.chains]) for name in ("p_outlier", "sigma2"))
    chosen, values = spread_indices(p.size, N_OUTLIERS), source.model.spike_log_c
    c = np.exp(values[np.arange(chosen.size) % values.size])
    wide = np.sqrt(sd[:, chosen] ** 2 + c * sigma2[chosen])
    weight = np.concatenate([1.0 - p, p[chosen] * (p.sum() / p[chosen].sum())])
    return np.hstack([mean, mean[:, chosen]]), np.hstack([sd, wide]), weight


@inner_kernel
def project_at(h, k, Z, row):
    """h_k . z_row."""
    total = 0.0
    for j in range(Z.shape[1]):
        total += h[k, j] * Z[row, j]
    return total


@inner_kernel
def atom_sum(chain, draw, Z, row, train, nearest):
    """Sum of the atoms of a draw at a new row.

    Where sizes are so large that their sum would lose digits, it starts from the known sum at the nearest training
    row and adds only the atoms that tell the two rows apart.
    """
    anchor = chain.anchor[draw]
    total = 0.0 if anchor < 0 else chain.at_rows[anchor, nearest]
    for k in range(chain.first[draw], chain.first[draw + 1]):
        value = unit(project_at(chain.h, k, Z, row), train.sharpness)
        if anchor >= 0:
            value -= unit(project_at(chain.h, k, train.Z, nearest), train.sharpness)
        total += chain.size[k] * value
    return total


@inner_kernel
def rotate_rows(k, basis, q):
    """q = k B: covariances with the training rows, in the eigenbasis.

    Four rows of the basis serve all new rows before the next four are read. Sums are in the order of the rows, so that
    a new row's answer does not depend on the others, as it might with BLAS.
    """
    n, last = basis.shape[0], basis.shape[0] - basis.shape[0] % 4
    q[:] = 0.0
    for i in range(0, last, 4):
        b0, b1, b2, b3 = basis[i], basis[i + 1], basis[i + 2], basis[i + 3]
        for r in range(k.shape[0]):
            k0, k1, k2, k3, row = k[r, i], k[r, i + 1], k[r, i + 2], k[r, i + 3], q[r]
            for j in range(row.size):
                row[j] = row[j] + k0 * b0[j] + k1 * b1[j] + k2 * b2[j] + k3 * b3[j]
    for i in range(last, n):
        for r in range(k.shape[0]):
            for j in range(q.shape[1]):
                q[r, j] += k[r, i] * basis[i, j]


@inner_kernel
def nearest_row(k, r):
    """The training row with the largest covariance."""
    best = 0
    for i in range(1, k.shape[1]):
        if k[r, i] > k[r, best]:
            best = i
    return best


@summing_kernel
def pull_of(k, r, coefficient, draw):
    """k_r . c: what the remainder's mean is, over g."""
    total = 0.0
    for i in range(k.shape[1]):
        total += k[r, i] * coefficient[draw, i]
    return total


@summing_kernel
def explained_by(q, r, precision):
    """Sum of q_j**2 p_j over the eigenbasis: the variance that the data explain, over g**2."""
    total = 0.0
    for j in range(precision.size):
        total += q[r, j] * q[r, j] * precision[j]
    return total


@kernel
def fill_components(Z, k, k_self, train, chain, draws, offset, noise, mean, sd):
    """Mean and s.d. of f (or of an observation) at B new rows given each of `draws`, into columns from `offset` on."""
    n = train.eigenvalues.size
    q = np.empty((Z.shape[0], n))
    precision = np.empty(n)
    nearest = np.empty(Z.shape[0], np.int64)
    rotate_rows(k, train.basis, q)
    for r in range(Z.shape[0]):
        nearest[r] = nearest_row(k, r)
    for draw in draws:
        g, sigma2 = chain.g[draw], chain.sigma2[draw]
        for j in range(n):
            precision[j] = 1.0 / (g * train.eigenvalues[j] + sigma2)
        for r in range(Z.shape[0]):
            explained = explained_by(q, r, precision)
            variance = max(g * (k_self[r] - g * explained), 0.0) + (sigma2 if noise else 0.0)
            atoms = atom_sum(chain, draw, Z, r, train, nearest[r])
            mean[r, offset + draw] = atoms + g * pull_of(k, r, chain.coefficient, draw)
            sd[r, offset + draw] = math.sqrt(variance)


@kernel
def fill_atom_sums(Z, nearest, train, chain, draw, out):
    """Sum of the atoms of one draw at every new row."""
    for r in range(Z.shape[0]):
        out[r] = atom_sum(chain, draw, Z, r, train, nearest[r])
