"""Slow, obvious twins of what `widestable.exact` does fast."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import chi2

from widestable.network import add_constant, draw_hyperplanes, sign_patterns

Floats = NDArray[np.float64]


def feasible_patterns(X: Floats) -> set[tuple[int, ...]]:
    """Sign patterns that some hyperplane produces, first row positive: a linear program for each."""
    Z = add_constant(X)
    patterns = ((1, *rest) for rest in product((-1, 1), repeat=len(X) - 1))
    return {pattern for pattern in patterns if _some_hyperplane(Z * np.array(pattern)[:, None])}


def _some_hyperplane(signed_rows: Floats) -> bool:
    """Is there h in the unit box with signed_rows @ h > 0?"""
    n, r = signed_rows.shape
    walls = np.column_stack([-signed_rows, np.ones(n)])
    answer = linprog([*[0.0] * r, -1.0], A_ub=walls, b_ub=np.zeros(n), bounds=[(-1, 1)] * (r + 1))
    return bool(-answer.fun > 1e-9)


def pattern_counts(X: Floats, signs: NDArray[np.int8], n_draws: int, rng: np.random.Generator) -> Floats:
    """How often simulated hyperplanes fall in each cell; a pattern that is no cell raises KeyError."""
    cell_of = {key.tobytes(): cell for cell, key in enumerate(np.packbits(signs * signs[:, :1] > 0, axis=1))}
    counts = np.zeros(len(signs))
    for _ in range(0, n_draws, 100_000):
        drawn = sign_patterns(draw_hyperplanes(100_000, X.shape[1], rng), X)
        keys = np.packbits(drawn * drawn[:, :1] > 0, axis=1)
        found, times = np.unique(keys.view(f"V{keys.shape[1]}").ravel(), return_counts=True)
        counts[[cell_of[key.tobytes()] for key in found]] += times
    return counts


def frequency_p_value(counts: Floats, q: Floats, smallest_expected: float = 10.0) -> float:
    """Pearson's chi-squared test of counts against probabilities; rare cells are pooled into one."""
    expected = q * counts.sum()
    rare = expected < smallest_expected
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    statistic = np.sum((counts - expected) ** 2 / expected)
    return float(chi2.sf(statistic, len(counts) - 1))


def grid(*sides: int) -> Floats:
    """Equally spaced grid points on [-1, 1] in as many dimensions as sides are given."""
    axes = np.meshgrid(*(np.linspace(-1.0, 1.0, side) for side in sides), indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)
