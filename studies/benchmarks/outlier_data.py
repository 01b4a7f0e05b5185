"""Data with planted outliers and jumps: one step, neighbouring outliers, a plateau, a map, and repeated rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.problems import NOISE_SD, Floats, Problem, simulate, square_grid

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

N_ROWS = 150
N_OUTLIERS = 3
STEP, STEP_AT = 3.0, 6.0
# Outliers are at least so many rows from the step, from the ends and from each other.
APART = 5
SIDE = 15
N_PLACES, N_COPIES = 50, 3
SHARE, SMALLEST, LARGEST = 0.05, 8.0, 30.0


class Planted(NamedTuple):
    """Data whose outliers and jumps are known."""

    X: Floats  # (n, d)
    y: Floats  # (n,)
    f: Floats  # (n,) the truth
    outliers: Rows
    sides: Bools  # (jumps, n) the side of each true jump that a row is on
    slack: int  # a jump that puts at most so many rows on the wrong side is the true one


def one_step(size: float, repeat: int) -> Planted:
    """Return 150 points on [0, 10], a step of 3 at 6, and three outliers of `size` noise s.d. and random sign."""
    rng = np.random.default_rng([repeat, 20])
    x, f, y = _line(rng)
    rows = _apart(_away(x), rng, N_OUTLIERS)
    y[rows] += size * NOISE_SD * rng.choice([-1.0, 1.0], rows.size)
    return Planted(x[:, None], y, f, rows, (x > STEP_AT)[None], 4)


def neighbours(size: float, repeat: int) -> Planted:
    """Return the same step with two outliers of one sign in rows next to each other."""
    rng = np.random.default_rng([repeat, 21])
    x, f, y = _line(rng)
    row = _apart(_away(x), rng, 1)[0]
    rows = np.array([row, row + 1])
    y[rows] += size * NOISE_SD * rng.choice([-1.0, 1.0])
    return Planted(x[:, None], y, f, rows, (x > STEP_AT)[None], 4)


def plateau(size: float, repeat: int, width: int = 5) -> Planted:
    """Return the same step, no outliers, and a plateau of `width` rows: three jumps in all."""
    rng = np.random.default_rng([repeat, 22])
    x, f, y = _line(rng)
    first = _apart(_away(x) & np.roll(_away(x), -width), rng, 1)[0]
    height = size * NOISE_SD * rng.choice([-1.0, 1.0])
    row = np.arange(N_ROWS)
    inside = (row >= first) & (row < first + width)
    sides = np.array([x > STEP_AT, row >= first, row >= first + width])
    return Planted(x[:, None], y + height * inside, f + height * inside, np.empty(0, np.intp), sides, 2)


def tilted_map(size: float, repeat: int) -> Planted:
    """Return a grid of 15 by 15 points with an oblique jump of 3 and three outliers away from it."""
    rng = np.random.default_rng([repeat, 23])
    X = square_grid(SIDE)
    height = X[:, 0] + 0.5 * X[:, 1] - 0.1
    side = height > 0.0
    f = STEP * side
    y = f + NOISE_SD * rng.standard_normal(len(X))
    rows = _apart(np.abs(height) > 0.4, rng, N_OUTLIERS)
    y[rows] += size * NOISE_SD * rng.choice([-1.0, 1.0], rows.size)
    return Planted(X, y, f, rows, side[None], len(X) // 20)


def repeated_rows(size: float, repeat: int) -> Planted:
    """Return 50 places observed three times each, the same step, and three single outlying observations."""
    rng = np.random.default_rng([repeat, 24])
    x = np.repeat(np.linspace(0.0, 10.0, N_PLACES), N_COPIES)
    f = STEP * (x > STEP_AT)
    y = f + NOISE_SD * rng.standard_normal(x.size)
    rows = _apart(_away(x), rng, N_OUTLIERS)
    y[rows] += size * NOISE_SD * rng.choice([-1.0, 1.0], rows.size)
    return Planted(x[:, None], y, f, rows, (x > STEP_AT)[None], 4)


def contaminated(name: str, repeat: int) -> Problem:
    """Return a training set of one of the nine functions with 5% outliers of 8 to 30 s.d.; test sets have none."""
    problem = simulate(name, repeat)
    rng = np.random.default_rng([repeat, 25])
    n = len(problem.y)
    rows = rng.choice(n, round(SHARE * n), replace=False)
    y = problem.y.copy()
    y[rows] += NOISE_SD * rng.uniform(SMALLEST, LARGEST, rows.size) * rng.choice([-1.0, 1.0], rows.size)
    return replace(problem, y=y)


def _line(rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    x = np.linspace(0.0, 10.0, N_ROWS)
    f = STEP * (x > STEP_AT)
    return x, f, f + NOISE_SD * rng.standard_normal(N_ROWS)


def _away(x: Floats) -> Bools:
    """Return which rows of the line are far from the step and the ends."""
    row, step = np.arange(x.size), np.flatnonzero(x > STEP_AT)[0]
    return np.asarray((np.abs(row - step) >= APART) & (row >= APART) & (row < x.size - APART))


def _apart(allowed: Bools, rng: np.random.Generator, n_rows: int) -> Rows:
    """Draw rows that are far from each other."""
    while True:
        rows = np.sort(rng.choice(np.flatnonzero(allowed), n_rows, replace=False))
        if np.all(np.diff(rows) >= APART):
            return rows
