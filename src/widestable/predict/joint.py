"""Draws of f jointly over new rows, from stored draws. Units are the model's own.

`joint_draws` is exact and needs a square matrix over the rows. `draw_paths` takes any number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from .._blas import one_blas_thread
from .._types import FloatArray, IntArray
from ..engine.model import Model
from ..network import add_constant, arcsine_kernel, draw_hyperplanes, unit_patterns
from .components import Basis, Components, Source, as_seen, fill_atom_sums

# Joint draws need a square matrix over the new rows (0.5 GB at 8000).
MAX_JOINT_ROWS = 8000
# Eigenvalues below this part of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-12
# Units that make up a path of the remainder. Its first two moments are exact whatever their number.
N_UNITS = 400


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
    law_of = np.concatenate(source.law_of)[which]
    Z, atoms = add_constant(X), np.empty(len(X))
    out = np.empty((len(X), n_samples))
    with one_blas_thread():
        for place in np.unique(law_of):
            law, basis = source.laws[place], source.bases[place]
            seen = as_seen(X, law)
            k = arcsine_kernel(seen, source.X * law.relevance, law.sharpness)
            conditional, nearest = _condition(basis, seen, k), np.argmax(k, axis=1).astype(np.int64)
            inverse = _undo(source.model, basis)
            for column in np.flatnonzero(law_of == place):
                chain, draw = where[which[column]]
                fill_atom_sums(Z, nearest, basis, chain, draw, atoms)
                out[:, column] = atoms + _draw_remainder(basis, conditional, chain, draw, inverse, rng)
                if noise:
                    out[:, column] += draw_noise(source.model, len(X), chain.sigma2[draw], chain.p_outlier[draw], rng)
    return out


def draw_noise(model: Model, n: int, sigma2: float, p_outlier: float, rng: np.random.Generator) -> FloatArray:
    """Noise of n new observations: normal, or with a spike of probability `p_outlier` in each."""
    variance = np.full(n, sigma2)
    if model.has_spikes:
        is_outlier = rng.random(n) < p_outlier
        variance[is_outlier] *= 1.0 + np.exp(rng.choice(model.spike_log_c, is_outlier.sum()))
    return np.asarray(np.sqrt(variance) * rng.standard_normal(n))


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
    e = _draw_in_basis(train, chain, draw, inverse, rng)
    apart = conditional.factor @ rng.standard_normal(conditional.factor.shape[1])
    return np.asarray(conditional.weights @ e + np.sqrt(chain.g[draw]) * apart)


def _draw_in_basis(
    train: Basis, chain: Components, draw: int, inverse: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """The remainder at the training rows, in the eigenbasis, shape (r,)."""
    g, sigma2 = chain.g[draw], chain.sigma2[draw]
    spread = g * train.eigenvalues
    sd = np.sqrt(spread * (sigma2 / (spread + sigma2)))
    return np.asarray(spread * (inverse @ chain.coefficient[draw]) + sd * rng.standard_normal(sd.size))


# --- Any number of rows ----------------------------------------------------------------------------------


def draw_paths(
    source: Source, which: IntArray, blocks: Sequence[FloatArray], rng: np.random.Generator
) -> list[FloatArray]:
    """Draws of f over the rows of each block, one per stored draw in `which`, shapes (rows, len(which)).

    A draw from the prior of the remainder is corrected by what it gets wrong at the training rows (Matheron's rule).
    The prior draw is a sum of many units, so its first two moments are exact and its law is nearly Gaussian. Draws
    are joint within a block, and cost time and memory proportional to its rows.

    Parameters
    ----------
    source : Source
        What predictions are made of.
    which : ndarray of int
        Stored draws, counted over all chains.
    blocks : sequence of ndarray of shape (rows, d)
        Scaled rows.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    list of ndarray of shape (rows, len(which))
        One array per block.
    """
    found = [np.empty((len(X), which.size)) for X in blocks]
    law_of = np.concatenate(source.law_of)[which]
    with one_blas_thread():
        for place in np.unique(law_of):
            columns = np.flatnonzero(law_of == place)
            for out, values in zip(found, _paths(source, int(place), which[columns], blocks, rng), strict=True):
                out[:, columns] = values
    return found


def _paths(
    source: Source, place: int, which: IntArray, blocks: Sequence[FloatArray], rng: np.random.Generator
) -> Iterator[FloatArray]:
    """`draw_paths` for draws that share one law of the hyperplanes."""
    law, train = source.laws[place], source.bases[place]
    where = [(chain, draw) for chain in source.chains for draw in range(chain.g.size)]
    chosen = [where[i] for i in which]
    h = draw_hyperplanes(N_UNITS, source.X.shape[1], rng, law.relevance)
    root_g = np.sqrt([chain.g[draw] for chain, draw in chosen])
    weights = rng.standard_normal((N_UNITS, len(chosen))) * (root_g / np.sqrt(N_UNITS))
    inverse = _undo(source.model, train)
    wanted = np.column_stack([_draw_in_basis(train, chain, draw, inverse, rng) for chain, draw in chosen])
    missing = wanted - train.basis.T @ (unit_patterns(h, source.X, law.sharpness).T @ weights)
    kept = train.eigenvalues > SMALLEST_EIGENVALUE * train.eigenvalues.max()
    pull = train.basis[:, kept] @ (missing[kept] / train.eigenvalues[kept, None])
    for X in blocks:
        k = arcsine_kernel(as_seen(X, law), source.X * law.relevance, law.sharpness)
        f = k @ pull + unit_patterns(h, X, law.sharpness).T @ weights
        Z, nearest, atoms = add_constant(X), np.argmax(k, axis=1).astype(np.int64), np.empty(len(X))
        for column, (chain, draw) in enumerate(chosen):
            fill_atom_sums(Z, nearest, train, chain, draw, atoms)
            f[:, column] += atoms
        yield f
