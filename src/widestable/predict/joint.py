"""Draws of f jointly over new rows, from stored draws. Units are the model's own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from .._blas import one_blas_thread
from .._types import FloatArray, IntArray
from ..engine.model import Model
from ..network import add_constant, arcsine_kernel
from .components import Basis, Components, Source, fill_atom_sums

# Joint draws need a square matrix over the new rows (0.5 GB at 8000).
MAX_JOINT_ROWS = 8000
# Eigenvalues below this part of the largest are rounding.
SMALLEST_EIGENVALUE = 1e-12


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
            k = arcsine_kernel(X * law.relevance, source.X * law.relevance, law.sharpness)
            conditional, nearest = _condition(basis, X * law.relevance, k), np.argmax(k, axis=1).astype(np.int64)
            inverse = _undo(source.model, basis)
            for column in np.flatnonzero(law_of == place):
                chain, draw = where[which[column]]
                fill_atom_sums(Z, nearest, basis, chain, draw, atoms)
                out[:, column] = atoms + _draw_remainder(basis, conditional, chain, draw, inverse, rng)
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
