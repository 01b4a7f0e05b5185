"""The six data sets: what is asked of the engines. Once made, the files hold the data, and tests read them there.

nu is of the size of the squared jumps, and new rows keep away from them: elsewhere the exact blocked sampler goes
from one explanation of the data to another too rarely for a reference (in thousands of sweeps, or not at all).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    """Data in raw units, rows to predict at, and what is held fixed; sigma2 is inferred."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    X_new: np.ndarray  # (m, d)
    alpha: float
    nu: float
    n_atoms: float = 60.0  # of the jump engine: twice the default, so that what it ignores is small


def _noise(n: int, sd: float, seed: int) -> np.ndarray:
    return sd * np.random.default_rng(seed).standard_normal(n)


def line_jumps() -> Case:
    """The paper's three jumps on twelve rows."""
    x = np.linspace(-2.0, 2.0, 12)
    y = 5.0 * (x >= 1.0) + 5.0 * ((x >= -1.0) & (x < 0.0)) + _noise(12, 0.5, 1)
    return Case(x[:, None], y, np.array([[-3.0], [-0.7], [0.4], [2.5]]), alpha=1.1, nu=10.0)


def line_smooth() -> Case:
    """The paper's smooth function on twelve rows, close to a Gaussian process."""
    x = np.linspace(-2.0, 2.0, 12)
    y = -2.0 * np.cos(x) ** 2 + 3.0 * np.tanh(x) - 2.0 * x + _noise(12, 0.5, 2)
    return Case(x[:, None], y, np.array([[-2.5], [0.1], [1.0]]), alpha=1.8, nu=2.0)


def line_outlier() -> Case:
    """A flat function with one gross outlier, rows out of order, one of them repeated."""
    x = np.array([0.4, -1.3, 2.0, 0.4, -0.2, 1.1, -2.2, 0.8, 1.6, -0.7])
    y = 1.0 + _noise(10, 0.3, 3)
    y[5] += 12.0
    return Case(x[:, None], y, np.array([[-3.0], [-0.5], [1.8]]), alpha=1.0, nu=20.0)


def plane_quadrants() -> Case:
    """The paper's quadrants on a grid of four by four: many rows on a line."""
    t = np.linspace(-1.0, 1.0, 4)
    X = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    y = 5.0 * (X[:, 0] > 0.0) + 5.0 * (X[:, 1] > 0.0) + _noise(16, 0.5, 4)
    return Case(X, y, np.array([[0.5, 0.6], [-0.6, -0.7], [1.5, 1.5]]), alpha=1.4, nu=20.0)


def plane_generic() -> Case:
    """Twelve rows in general position and a slanting jump."""
    X = np.random.default_rng(5).standard_normal((12, 2))
    y = 4.0 * (X @ [1.0, -0.5] > 0.1) + _noise(12, 0.4, 6)
    return Case(X, y, np.array([[1.0, -1.0], [0.2, 0.9], [-1.0, 1.0]]), alpha=1.2, nu=10.0)


def space() -> Case:
    """Eight rows in three dimensions; the exact engine's cell probabilities are Monte Carlo estimates here."""
    X = np.random.default_rng(7).standard_normal((8, 3))
    y = 3.0 * (X @ [0.8, -0.6, 0.0] > 0.0) + _noise(8, 0.4, 8)
    return Case(X, y, np.array([[0.0, 0.0, 0.0], [0.5, 0.5, -0.5]]), alpha=1.5, nu=5.0)


CASES: dict[str, Callable[[], Case]] = {
    make.__name__: make for make in (line_jumps, line_smooth, line_outlier, plane_quadrants, plane_generic, space)
}
