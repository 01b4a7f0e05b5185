"""How many jumps to follow one by one: what a smaller `n_atoms` changes, and what it saves."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import oblique, real_estate, show, simulated
from studies.problems import Floats
from studies.sampling import Fixed, compile_engine, start
from widestable.diagnostics import ess
from widestable.inputs import TrainingData

REFERENCE = 60.0
FEWER = (15.0, 30.0)
SMALL_ALPHA = Fixed(alpha=0.6)
PROBLEMS = {
    "one_jump": (lambda: simulated("one_jump"), Fixed()),
    "one_jump_small_alpha": (lambda: simulated("one_jump"), SMALL_ALPHA),
    "smooth": (lambda: simulated("smooth"), Fixed()),
    "diagonal": (lambda: simulated("diagonal"), Fixed()),
    "real_estate": (real_estate, Fixed()),
    "real_estate_small_alpha": (real_estate, SMALL_ALPHA),
    "oblique3": (lambda: oblique(300, 3), Fixed()),
}


class Answer(NamedTuple):
    """f at the rows: its posterior median and s.d., the Monte Carlo error of the median over that, and the time."""

    median: Floats
    sd: Floats
    error: Floats
    ms: float


def atoms(n_sweeps: int = 6000, *names: str) -> None:
    """Compare the posterior of f with 15 and 30 atoms with that of 60, at the training rows.

    Shifts of the median are in posterior s.d.; "by chance" is what two runs of the same posterior would differ by, from
    their effective sample sizes. The s.d. is robust: half of the central 68%.
    """
    compile_engine()
    rows = []
    with threadpool_limits(1):
        for name in names or PROBLEMS:
            make, fixed = PROBLEMS[name]
            data = make()
            reference = _run(data, fixed, REFERENCE, n_sweeps)
            for n_atoms in FEWER:
                rows.append([name, f"{n_atoms:g}", *_compare(_run(data, fixed, n_atoms, n_sweeps), reference)])
                print("  ".join(rows[-1]), flush=True)
    columns = [
        "problem",
        "n_atoms",
        "shift, r.m.s.",
        "by chance",
        "largest",
        "ratio of s.d.",
        "ms per sweep",
        "with 60",
    ]
    show(f"The posterior of f beside that of 60 atoms, 4 chains of {n_sweeps} sweeps", columns, rows)


def _run(data: TrainingData, fixed: Fixed, n_atoms: float, n_sweeps: int) -> Answer:
    chains = start(data, fixed, seed=int(n_atoms), n_atoms=n_atoms).warm_up(n_sweeps // 3)
    started = time.process_time()
    chains = chains.extend(n_sweeps - n_sweeps // 3, thin=4)
    ms = 1e3 * (time.process_time() - started) / (4 * (n_sweeps - n_sweeps // 3))
    f = np.stack([draws.f for draws in chains.draws])
    low, median, high = np.quantile(f, [0.16, 0.5, 0.84], axis=(0, 1))
    # The median of a normal sample has pi / 2 times the variance of its mean.
    return Answer(median, 0.5 * (high - low), np.sqrt(0.5 * np.pi / ess(f)), ms)


def _compare(fewer: Answer, reference: Answer) -> list[str]:
    shift = (fewer.median - reference.median) / reference.sd
    chance = np.sqrt(np.mean(fewer.error**2 + reference.error**2))
    figures = [np.sqrt(np.mean(shift**2)), chance, np.abs(shift).max(), np.median(fewer.sd / reference.sd)]
    return [*(f"{figure:.3f}" for figure in figures), f"{fewer.ms:.2f}", f"{reference.ms:.2f}"]
