"""The data sets of the benchmarks, how time and mixing are measured, and how tables are shown."""

from __future__ import annotations

import resource
import sys
import time
from typing import NamedTuple

import numpy as np

from studies.datasets import load_real_estate, random_rows
from studies.forecasts import Mixing, judge_mixing
from studies.problems import Floats, observe
from studies.problems import oblique as simulate_oblique
from studies.results import markdown_table
from studies.sampling import Chains, Fixed, Plan, start
from widestable.inputs import TrainingData, check_training


class Timed(NamedTuple):
    """Seconds of a run, sweeps of each chain, and how well the run mixed."""

    seconds: float
    n_sweeps: int
    mixing: Mixing


# --- Data ------------------------------------------------------------------------------------------------


def real_estate_rows() -> tuple[Floats, Floats]:
    """Return the 276 training rows of the first split of the house prices, in raw units; DataError without data."""
    table = load_real_estate()
    rows, _ = random_rows(table, 0)
    return table.X[rows], table.y[rows]


def real_estate() -> TrainingData:
    """Return the same, standardised."""
    return check_training(*real_estate_rows())


def simulated(name: str) -> TrainingData:
    """Return one training set of one of the paper's functions, in raw units."""
    return check_training(*observe(name, np.random.default_rng(0)), standardize=False)


def oblique(n: int, d: int) -> TrainingData:
    """Return n rows with d inputs, two oblique jumps and a sine, standardised."""
    problem = simulate_oblique(n, d)
    return check_training(problem.X, problem.y)


# --- Measurements ----------------------------------------------------------------------------------------


def timed(chains: Chains, seconds: float) -> Timed:
    """Return how well chains mixed over the inferred parameters and f at the stored rows."""
    return Timed(seconds, chains.n_sweeps, judge_mixing(chains.convergence()))


def run_fixed(data: TrainingData, fixed: Fixed, n_sweeps: int, plan: Plan) -> Timed:
    """Run four chains of a given length on one thread."""
    chains = start(data, fixed, plan=plan)
    started = time.perf_counter()
    chains = chains.run(n_sweeps)
    return timed(chains, time.perf_counter() - started)


def peak_megabytes() -> float:
    """Return the largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


# --- Tables ----------------------------------------------------------------------------------------------


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table: in a terminal with lines, into a file as the Markdown that docs/sampler.md holds."""
    if not sys.stdout.isatty():
        print(f"\n{title}\n", markdown_table(columns, rows), sep="\n", flush=True)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)
