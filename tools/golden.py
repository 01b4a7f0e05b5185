"""Make the golden files anew, all of them or those named: `python -m tools.golden [NAME ...]`.

A file is written only if both engines agree; otherwise the old one stays and the exit code is 1. docs/golden.md says
when to run this.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from studies.problems import BY_NAME
from tests.engine.test_agreement import TRUNCATION
from tests.golden.engines import ENGINES, Case, Length
from tests.golden.records import FOLDER, Golden, check_same, pooled_quantiles, summarise, write

LENGTHS = {
    "gibbs": Length(n_chains=8, n_sweeps=6000, n_warm=500, thin=2, seed=2025),
    "jumps": Length(n_chains=8, n_sweeps=1500, n_warm=300, thin=2, seed=2026),
}

# --- The six data sets -----------------------------------------------------------------------------------

# Once made, the files hold the data, and the tests read them there. nu is of the size of the squared jumps, and new
# rows keep away from jumps. Elsewhere the exact blocked sampler switches between explanations of the data too rarely
# to be a reference: once in thousands of sweeps, or never.


def _noise(n: int, sd: float, seed: int) -> np.ndarray:
    return sd * np.random.default_rng(seed).standard_normal(n)


def line_jumps() -> Case:
    """The paper's three jumps on twelve rows."""
    x = np.linspace(-2.0, 2.0, 12)
    y = BY_NAME["three_jumps"].truth(x[:, None]) + _noise(12, 0.5, 1)
    return Case(x[:, None], y, np.array([[-3.0], [-0.7], [0.4], [2.5]]), alpha=1.1, nu=10.0)


def line_smooth() -> Case:
    """The paper's smooth function on twelve rows, close to a Gaussian process."""
    x = np.linspace(-2.0, 2.0, 12)
    y = BY_NAME["smooth"].truth(x[:, None]) + _noise(12, 0.5, 2)
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
    y = BY_NAME["quadrants"].truth(X) + _noise(16, 0.5, 4)
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

# --- The files -------------------------------------------------------------------------------------------


def make(name: str, lengths: dict[str, Length] = LENGTHS) -> Golden:
    """Run both engines; AssertionError if they differ by more than Monte Carlo error and truncation."""
    case = CASES[name]()
    draws = {engine: run(case, lengths[engine]) for engine, run in ENGINES.items()}
    cuts = pooled_quantiles(*draws.values())
    found = {engine: summarise(x, cuts) for engine, x in draws.items()}
    check_same(found["jumps"], found["gibbs"], case, bias=TRUNCATION)
    return Golden(case, cuts, lengths, found)


def main(chosen: list[str], folder: Path = FOLDER, lengths: dict[str, Length] = LENGTHS) -> int:
    """Make the chosen files, or all; return how many were refused."""
    if unknown := sorted(set(chosen) - set(CASES)):
        raise SystemExit(f"There is no case {unknown[0]!r}: choose from {', '.join(CASES)}.")
    n_refused = 0
    for name in chosen or CASES:
        started = time.process_time()
        try:
            write(folder / f"{name}.json", (CASES[name].__doc__ or "").strip(), make(name, lengths))
            outcome = "written"
        except AssertionError as error:
            n_refused += 1
            outcome = f"NOT written, the engines disagree: {error}"
        print(f"{name}: {outcome} ({time.process_time() - started:.0f} s of processor time)", flush=True)
    return n_refused


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
