"""Simulated data: the paper's nine functions, and others with any number of rows and inputs."""

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
N_SETS_AT_NEW_ROWS = 20
FRIEDMAN_NOISE_SD = 1.0
# Of Friedman's second and third function: a third of the s.d. of f.
FRIEDMAN2_NOISE_SD, FRIEDMAN3_NOISE_SD = 125.0, 0.1


@dataclass(frozen=True)
class SimulatedFunction:
    """A true function and how the paper treats it.

    Attributes
    ----------
    name : str
        Used in file names and commands.
    title : str
        Used in tables.
    n_inputs : int
        1 or 2.
    alpha : float
        alpha*, the stability index that the paper settled on; nu* is 1 throughout.
    truth : Callable
        f at rows: (m, n_inputs) -> (m,).
    has_jumps : bool
        Whether f is discontinuous.
    """

    name: str
    title: str
    n_inputs: int
    alpha: float
    truth: Callable[[Floats], Floats]
    has_jumps: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from and rows to predict at.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    X_new : ndarray of shape (m, d)
    y_new : ndarray of shape (sets, m)
        Observations at the new rows: one or more test sets.
    f_new : ndarray of shape (m,), or None
        Noise-free truth at the new rows, if it is known.
    """

    X: Floats
    y: Floats
    X_new: Floats
    y_new: Floats
    f_new: Floats | None = None

    @property
    def target(self) -> Floats:
        """What a point prediction should hit: the truth if it is known, otherwise the first test set."""
        return self.y_new[0] if self.f_new is None else self.f_new


# --- The paper's nine functions --------------------------------------------------------------------------


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
    return _step(_without_rounding(X[:, 0] + X[:, 1]) > 0.0)


def _curved_edge(X: Floats) -> Floats:
    return _step(_without_rounding(X[:, 0] ** 2 + 2.0 * X[:, 1] - 0.4) > 0.0)


def _smooth_plane(X: Floats) -> Floats:
    return np.asarray(X[:, 0] ** 2 + X[:, 1] ** 2 - X[:, 0] * X[:, 1])


def _without_rounding(value: Floats) -> Floats:
    """Put grid points on an edge on its lower side: rounding in -1/3 + 1/3 must not decide."""
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
    """Return `side` by `side` points on [-1, 1]^2, shape (side**2, 2).

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
    """Return the paper's training and test rows: 40 and 100 on [-2, 2], or 7x7 and 9x9 on [-1, 1]^2."""
    if n_inputs == 1:
        return np.linspace(-2.0, 2.0, 40)[:, None], np.linspace(-2.0, 2.0, 100)[:, None]
    return square_grid(7), square_grid(9)


def observe(name: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the paper's training rows of a function, (n, d), and noisy outputs there, (n,).

    Parameters
    ----------
    name : str
        One of BY_NAME.
    rng : numpy.random.Generator
        Source of the noise.
    """
    function = BY_NAME[name]
    X, _ = grids(function.n_inputs)
    return X, function.truth(X) + NOISE_SD * rng.standard_normal(len(X))


def simulate(name: str, repeat: int) -> Problem:
    """Return one training set of a function and 100 noisy test sets, which are the same for every `repeat`.

    Parameters
    ----------
    name : str
        One of BY_NAME.
    repeat : int
        Number of the training set.

    Examples
    --------
    >>> problem = simulate("quadrants", 0)
    >>> problem.X.shape, problem.X_new.shape, problem.y_new.shape
    ((49, 2), (81, 2), (100, 81))
    """
    function = BY_NAME[name]
    _, X_new = grids(function.n_inputs)
    f_new = function.truth(X_new)
    train, test = (np.random.default_rng([zlib.crc32(name.encode()), *key]) for key in ((0, repeat), (1,)))
    y_new = f_new + NOISE_SD * test.standard_normal((N_TEST_SETS, len(X_new)))
    return Problem(*observe(name, train), X_new, y_new, f_new)


# --- Any number of rows and inputs -----------------------------------------------------------------------


def oblique(n: int, d: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return two oblique jumps plus a sine, with rows from N(0, I).

    The first jump, of size 5, has a random direction; the second, of size 3, involves the first two inputs.

    Parameters
    ----------
    n, d : int
        Training rows and inputs, at least 2 inputs.
    seed : int
        The training data depend on it alone, whatever `n_new` is.
    n_new : int
        Rows to predict at, with 20 test sets.

    Examples
    --------
    >>> problem = oblique(30, 5, n_new=10)
    >>> problem.X.shape, problem.y_new.shape
    ((30, 5), (20, 10))
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    first, second = rng.standard_normal(d), np.zeros(d)
    second[:2] = 0.8, -0.6

    def truth(X: Floats) -> Floats:
        jumps = 5.0 * (X @ first / np.linalg.norm(first) > 0.2) + 3.0 * (X @ second > -0.3)
        return np.asarray(jumps + np.sin(2.0 * X[:, 0]))

    y = truth(X) + NOISE_SD * rng.standard_normal(n)
    return _with_new_rows(X, y, rng.standard_normal((n_new, d)), truth, NOISE_SD, rng)


def jump_and_slope(n: int, d: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return a slope of 2 along the first input plus a jump of 5 across the diagonal, with rows from N(0, I).

    Parameters
    ----------
    n, d, seed, n_new : int
        As for `oblique`; one input will do.

    Examples
    --------
    >>> problem = jump_and_slope(60, 1, n_new=2)
    >>> problem.X.shape, problem.y_new.shape
    ((60, 1), (20, 2))
    """
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((n, d))

    def truth(X: Floats) -> Floats:
        return np.asarray(2.0 * X[:, 0] + 5.0 * (X.sum(axis=1) / np.sqrt(d) > 0.2))

    y = truth(X) + NOISE_SD * rng.standard_normal(n)
    return _with_new_rows(X, y, rng.standard_normal((n_new, d)), truth, NOISE_SD, rng)


def two_jumps_and_slope(n: int, d: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return a slope of 2 along the first input plus two jumps, with rows from N(0, I).

    The first jump, of size 5, is across the diagonal of all inputs; the second, of size 3, is along the second input.

    Parameters
    ----------
    n, d, seed, n_new : int
        As for `oblique`.

    Examples
    --------
    >>> problem = two_jumps_and_slope(60, 4, n_new=2)
    >>> problem.X.shape, problem.y_new.shape
    ((60, 4), (20, 2))
    """
    rng = np.random.default_rng([seed, 3])
    X = rng.standard_normal((n, d))

    def truth(X: Floats) -> Floats:
        jumps = 5.0 * (X.sum(axis=1) / np.sqrt(d) > 0.2) + 3.0 * (X[:, 1] > -0.3)
        return np.asarray(jumps + 2.0 * X[:, 0])

    y = truth(X) + NOISE_SD * rng.standard_normal(n)
    return _with_new_rows(X, y, rng.standard_normal((n_new, d)), truth, NOISE_SD, rng)


def friedman(n: int, d: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return Friedman's first function: rows uniform on the unit cube, five inputs that matter, noise of s.d. 1.

    `f(x) = 10 sin(pi x1 x2) + 20 (x3 - 1/2)**2 + 10 x4 + 5 x5`.

    Parameters
    ----------
    n, d, seed, n_new : int
        As for `oblique`; at least 5 inputs.

    Examples
    --------
    >>> problem = friedman(200, 10, n_new=3)
    >>> problem.X.shape, problem.y_new.shape
    ((200, 10), (20, 3))
    """
    rng = np.random.default_rng([seed, 2])
    X = rng.random((n, d))

    def truth(X: Floats) -> Floats:
        curved = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
        return np.asarray(curved + 10.0 * X[:, 3] + 5.0 * X[:, 4])

    y = truth(X) + FRIEDMAN_NOISE_SD * rng.standard_normal(n)
    return _with_new_rows(X, y, rng.random((n_new, d)), truth, FRIEDMAN_NOISE_SD, rng)


def friedman2(n: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return Friedman's second function, the impedance of a circuit with four inputs, with noise of s.d. 125.

    `f(x) = sqrt(x1**2 + (x2 x3 - 1 / (x2 x4))**2)` with x1 in (0, 100), x2 in (40 pi, 560 pi), x3 in (0, 1) and x4 in
    (1, 11), all uniform.

    Parameters
    ----------
    n, seed, n_new : int
        As for `oblique`.

    Examples
    --------
    >>> problem = friedman2(200, n_new=3)
    >>> problem.X.shape, problem.y_new.shape
    ((200, 4), (20, 3))
    """
    return _circuit(n, seed, n_new, lambda x1, reactance: np.hypot(x1, reactance), FRIEDMAN2_NOISE_SD)


def friedman3(n: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return Friedman's third function, the phase `arctan((x2 x3 - 1 / (x2 x4)) / x1)`, with noise of s.d. 0.1.

    Parameters
    ----------
    n, seed, n_new : int
        As for `friedman2`.

    Examples
    --------
    >>> float(np.abs(friedman3(200, n_new=3).f_new).max() < np.pi / 2)
    1.0
    """
    return _circuit(n, seed, n_new, lambda x1, reactance: np.arctan2(reactance, x1), FRIEDMAN3_NOISE_SD)


def _circuit(n: int, seed: int, n_new: int, of: Callable[[Floats, Floats], Floats], noise_sd: float) -> Problem:
    rng = np.random.default_rng([seed, 4])
    low, high = np.array([0.0, 40.0 * np.pi, 0.0, 1.0]), np.array([100.0, 560.0 * np.pi, 1.0, 11.0])

    def truth(X: Floats) -> Floats:
        return np.asarray(of(X[:, 0], X[:, 1] * X[:, 2] - 1.0 / (X[:, 1] * X[:, 3])))

    X = rng.uniform(low, high, (n, 4))
    y = truth(X) + noise_sd * rng.standard_normal(n)
    return _with_new_rows(X, y, rng.uniform(low, high, (n_new, 4)), truth, noise_sd, rng)


def changing_variance(n: int, seed: int = 0, n_new: int = 0) -> Problem:
    """Return a sine with a jump of 3 in its middle, and noise whose s.d. rises from 0.1 to 1.

    Parameters
    ----------
    n, seed, n_new : int
        As for `oblique`; the one input is uniform on (0, 1).

    Examples
    --------
    >>> problem = changing_variance(200, n_new=3)
    >>> problem.X.shape, problem.y_new.shape
    ((200, 1), (20, 3))
    """
    rng = np.random.default_rng([seed, 5])

    def truth(X: Floats) -> Floats:
        return np.asarray(np.sin(4.0 * np.pi * X[:, 0]) + 3.0 * (X[:, 0] > 0.5))

    def noise_sd(X: Floats) -> Floats:
        return 0.1 + 0.9 * X[:, 0]

    X = rng.random((n, 1))
    y = truth(X) + noise_sd(X) * rng.standard_normal(n)
    X_new = rng.random((n_new, 1))
    return _with_new_rows(X, y, X_new, truth, noise_sd(X_new), rng)


def _with_new_rows(
    X: Floats,
    y: Floats,
    X_new: Floats,
    truth: Callable[[Floats], Floats],
    noise_sd: float | Floats,
    rng: np.random.Generator,
) -> Problem:
    """Add 20 test sets at the new rows; the noise may have one s.d. per row."""
    f_new = truth(X_new)
    return Problem(X, y, X_new, f_new + noise_sd * rng.standard_normal((N_SETS_AT_NEW_ROWS, len(X_new))), f_new)
