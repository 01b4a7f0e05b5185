"""The data sets of the benchmarks, and how a chain's mixing is measured."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from widestable.diagnostics import convergence
from widestable.engine.model import Model, Plan
from widestable.engine.run import Sample, Setup, extend, quantities, sample_fixed, start, warm_up
from widestable.engine.state import make_model
from widestable.inputs import TrainingData, check_training


class Fixed(NamedTuple):
    """Parameters held fixed; None is inferred."""

    alpha: float | None = None
    nu: float | None = None
    sigma2: float | None = None


class Mixing(NamedTuple):
    """How well a run mixed, over alpha, log nu, log sigma2 (where inferred) and f at every stored row."""

    seconds: float
    n_sweeps: int
    rhat: float
    ess: float
    ess_slowest_tenth: float


def data_folder() -> Path:
    """Where real_estate.csv is; a sentence instead of a traceback when it is nowhere."""
    folder = os.environ.get("WIDESTABLE_DATA", "")
    if not (Path(folder) / "real_estate.csv").is_file():
        raise FileNotFoundError("set WIDESTABLE_DATA to the folder that holds real_estate.csv to run this benchmark")
    return Path(folder)


def real_estate_rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """276 random rows of the Taipei data: latitude and longitude, price."""
    table = np.genfromtxt(data_folder() / "real_estate.csv", delimiter=",", names=True)
    keep = np.random.default_rng(seed).permutation(len(table))[:276]
    X = np.column_stack([table["latitude"], table["longitude"]])
    return X[keep], table["price_per_unit_area"][keep]


def real_estate(seed: int = 0) -> TrainingData:
    return check_training(*real_estate_rows(seed))


def three_jumps_rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The paper's 1-D example in raw units."""
    x = np.linspace(-2.0, 2.0, 40)
    truth = 5.0 * (x >= 1.0) + 5.0 * ((x >= -1.0) & (x < 0.0))
    return x[:, None], truth + 0.5 * np.random.default_rng(seed).standard_normal(40)


def three_jumps(seed: int = 0) -> TrainingData:
    return check_training(*three_jumps_rows(seed), standardize=False)


def curved_edge(seed: int = 0) -> TrainingData:
    """The paper's 2-D example with a curved boundary, in raw units."""
    side = np.linspace(-1.0, 1.0, 7)
    X = np.array([(a, b) for a in side for b in side])
    truth = 5.0 * (X[:, 0] ** 2 + 2.0 * X[:, 1] - 0.4 > 0.0)
    return check_training(X, truth + 0.5 * np.random.default_rng(seed).standard_normal(49), standardize=False)


def oblique(n: int, d: int, seed: int = 0) -> TrainingData:
    """Two oblique jumps plus a sine, rows N(0, I)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    first = rng.standard_normal(d)
    second = np.zeros(d)
    second[:2] = 0.8, -0.6
    truth = 5.0 * (X @ first / np.linalg.norm(first) > 0.2) + 3.0 * (X @ second > -0.3) + np.sin(2.0 * X[:, 0])
    return check_training(X, truth + 0.5 * rng.standard_normal(n))


def new_run(data: TrainingData, fixed: Fixed, n_chains: int, seed: int) -> tuple[Model, Sample]:
    """A model and chains at their starting points."""
    model = make_model(data, **fixed._asdict(), n_atoms=30)
    return model, start(model, np.random.SeedSequence(seed).spawn(n_chains), **fixed._asdict())


def compile_engine() -> None:
    """Compile, or load from the cache, so that no measurement contains it."""
    model, sample = new_run(three_jumps(), Fixed(), 1, 0)
    sample_fixed(sample, Setup(model), 16)


def mixing(sample: Sample, model: Model, seconds: float) -> Mixing:
    """Worst R-hat, least and 10th-percentile effective sample size."""
    found = convergence(quantities(sample, model))
    return Mixing(
        seconds, sample.n_sweeps, float(found.rhat.max()), float(found.ess.min()), float(np.percentile(found.ess, 10))
    )


def run_fixed(
    data: TrainingData, fixed: Fixed, n_sweeps: int, *, plan: Plan | None = None, n_chains: int = 4, seed: int = 0
) -> Mixing:
    """Mixing of chains of a given length, on one thread."""
    model, sample = new_run(data, fixed, n_chains, seed)
    started = time.perf_counter()
    sample = sample_fixed(sample, Setup(model, 1, plan=plan or Plan()), n_sweeps)
    return mixing(sample, model, time.perf_counter() - started)


def run_every_sweep(data: TrainingData, fixed: Fixed, n_sweeps: int, n_chains: int) -> Mixing:
    """The same with a draw kept after every sweep, for engines that do so too."""
    model, sample = new_run(data, fixed, n_chains, seed=0)
    setup = Setup(model, 1)
    started = time.perf_counter()
    sample = warm_up(replace(sample, thin=1), setup, n_sweeps // 3)
    sample = extend(sample, setup, n_sweeps - n_sweeps // 3)
    return mixing(sample, model, time.perf_counter() - started)


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print one table; into a file, as the Markdown that docs/sampler.md holds."""
    if not sys.stdout.isatty():
        lines = [columns, ["---"] * len(columns), *rows]
        print(f"\n{title}\n", *("| " + " | ".join(line) + " |" for line in lines), sep="\n", flush=True)
        return
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)
