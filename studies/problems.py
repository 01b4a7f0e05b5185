"""The nine simulated functions of the paper, their grids, noise and seeds."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NOISE_SD = 0.5
N_TEST_SETS = 100


@dataclass(frozen=True)
class SimulatedFunction:
    """A truth and how the paper treats it.

    Attributes
    ----------
    name, title : for files and commands; for tables.
    n_inputs : 1 or 2.
    alpha : alpha*, the stability index the paper settled on; nu* is 1 throughout.
    truth : f at rows, (m, n_inputs) -> (m,).
    has_jumps : whether f is discontinuous.
    """

    name: str
    title: str
    n_inputs: int
    alpha: float
    truth: Callable[[Floats], Floats]
    has_jumps: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from and rows to be judged at.

    Attributes
    ----------
    X, y : (n, d) and (n,).
    X_new : (m, d).
    y_new : (sets, m) observations at the new rows, one or more of each.
    f_new : (m,) noise-free truth there, or None when it is not known.
    """

    X: Floats
    y: Floats
    X_new: Floats
    y_new: Floats
    f_new: Floats | None = None


def _step(is_high: NDArray[np.bool_]) -> Floats:
    return np.asarray(5.0 * is_high)


def _three_jumps(X: Floats) -> Floats:
    x = X[:, 0]
    return _step(x >= 1.0) + _step((x >= -1.0) & (x < 0.0))


def _one_jump(X: Floats) -> Floats:
    return _step(X[:, 0] > 0.0)


def _two_jumps(X: Floats) -> Floats:
    return _step((X[:, 0] >= -2.0 / 3.0) & (X[:, 0] < 2.0 / 3.0))


def _piecewise_smooth(X: Floats) -> Floats:
    x = X[:, 0]
    return np.where(x >= 0.0, -2.0 * x**2 + 8.0, -3.0 * x + 2.0)


def _smooth(X: Floats) -> Floats:
    x = X[:, 0]
    return np.asarray(-2.0 * np.cos(x) ** 2 + 3.0 * np.tanh(x) - 2.0 * x)


def _quadrants(X: Floats) -> Floats:
    return _step(X[:, 0] > 0.0) + _step(X[:, 1] > 0.0)


def _diagonal(X: Floats) -> Floats:
    return _step(_not_rounding(X[:, 0] + X[:, 1]) > 0.0)


def _curved_edge(X: Floats) -> Floats:
    return _step(_not_rounding(X[:, 0] ** 2 + 2.0 * X[:, 1] - 0.4) > 0.0)


def _smooth_plane(X: Floats) -> Floats:
    return np.asarray(X[:, 0] ** 2 + X[:, 1] ** 2 - X[:, 0] * X[:, 1])


def _not_rounding(value: Floats) -> Floats:
    """Grid points on an edge belong to the lower side; sums like -1/3 + 1/3 must not decide by rounding."""
    return np.where(np.abs(value) < 1e-12, 0.0, value)


FUNCTIONS = (
    SimulatedFunction("three_jumps", "three jumps", 1, 1.1, _three_jumps, True),
    SimulatedFunction("one_jump", "one jump", 1, 1.1, _one_jump, True),
    SimulatedFunction("two_jumps", "two jumps", 1, 1.3, _two_jumps, True),
    SimulatedFunction("piecewise_smooth", "piecewise smooth", 1, 1.0, _piecewise_smooth, True),
    SimulatedFunction("smooth", "smooth", 1, 1.9, _smooth, False),
    SimulatedFunction("quadrants", "quadrants", 2, 1.1, _quadrants, True),
    SimulatedFunction("diagonal", "diagonal", 2, 0.1, _diagonal, True),
    SimulatedFunction("curved_edge", "curved edge", 2, 1.0, _curved_edge, True),
    SimulatedFunction("smooth_plane", "smooth, 2-D", 2, 1.3, _smooth_plane, False),
)
BY_NAME = {function.name: function for function in FUNCTIONS}


def square_grid(side: int) -> Floats:
    """`side` by `side` points on [-1, 1]^2, shape (side**2, 2).

    Examples
    --------
    >>> square_grid(2)
    array([[-1., -1.],
           [-1.,  1.],
           [ 1., -1.],
           [ 1.,  1.]])
    """
    axis = np.linspace(-1.0, 1.0, side)
    return np.array(list(product(axis, axis)))


def grids(n_inputs: int) -> tuple[Floats, Floats]:
    """The paper's training and test rows: 40 and 100 on [-2, 2], or 7x7 and 9x9 on [-1, 1]^2."""
    if n_inputs == 1:
        return np.linspace(-2.0, 2.0, 40)[:, None], np.linspace(-2.0, 2.0, 100)[:, None]
    return square_grid(7), square_grid(9)


def simulate(name: str, repeat: int) -> Problem:
    """Training set number `repeat` of a function, and 100 noisy test sets, which are the same for every `repeat`.

    Examples
    --------
    >>> problem = simulate("quadrants", 0)
    >>> problem.X.shape, problem.X_new.shape, problem.y_new.shape
    ((49, 2), (81, 2), (100, 81))
    """
    function = BY_NAME[name]
    X, X_new = grids(function.n_inputs)
    f_new = function.truth(X_new)
    train, test = (np.random.default_rng([zlib.crc32(name.encode()), *key]) for key in ((0, repeat), (1,)))
    y = function.truth(X) + NOISE_SD * train.standard_normal(len(X))
    y_new = f_new + NOISE_SD * test.standard_normal((N_TEST_SETS, len(X_new)))
    return Problem(X, y, X_new, y_new, f_new)
