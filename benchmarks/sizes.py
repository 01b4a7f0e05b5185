"""Sizes integrated out for every move, or drawn and held while atoms move, or both: effective samples a second.

`python -m benchmarks.sizes --check` instead checks that the sweeps with explicit sizes target the right posterior.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import explicit_sizes
from benchmarks.explicit_sizes import ExplicitPlan
from benchmarks.problems import (
    Fixed,
    Mixing,
    compile_engine,
    curved_edge,
    mixing,
    new_run,
    oblique,
    real_estate,
    show,
    three_jumps,
)
from widestable._kernels.tuples import Plan
from widestable.inputs import TrainingData
from widestable.levy import run as library
from widestable.levy.run import Setup, sample_fixed

# Passes over the atoms in a sweep: with all sizes integrated out, and with the others' sizes held.
BLENDS = {
    "integrated out": Plan(),
    "integrated out, 2 passes": Plan(n_passes=2),
    "explicit, 2 passes": ExplicitPlan(n_passes=0, n_explicit=2),
    "explicit, 4 passes": ExplicitPlan(n_passes=0, n_explicit=4),
    "both, 1 + 2 passes": ExplicitPlan(n_passes=1, n_explicit=2),
}
COLUMNS = ["problem", "sizes", "ms a sweep", "sweeps", "R-hat", "least ESS a second", "slowest tenth a second"]
PILOT = 128
N_CHAINS = 4
N_SEEDS = 3


def run_for(data: TrainingData, fixed: Fixed, plan: Plan | ExplicitPlan, n_sweeps: int, seed: int) -> Mixing:
    """Mixing of four chains on one thread; seconds are processor time, so that other programs hardly matter."""
    model, sample = new_run(data, fixed, N_CHAINS, seed)
    kernel = explicit_sizes.run if isinstance(plan, ExplicitPlan) else library.run_sweeps
    with mock.patch.object(library, "run_sweeps", kernel):
        started = time.process_time()
        sample = sample_fixed(sample, Setup(model, 1, plan=plan), n_sweeps)
    return mixing(sample, model, time.process_time() - started)


def sweeps_in(seconds: float, data: TrainingData, fixed: Fixed, plan: Plan | ExplicitPlan) -> int:
    """How many sweeps a chain may make, so that all blends get about the same time."""
    pilot = run_for(data, fixed, plan, PILOT, seed=1)
    return max(PILOT, int(PILOT * seconds / pilot.seconds))


def row(name: str, label: str, runs: list[Mixing]) -> list[str]:
    """One line of the table: medians over the seeds, and the range of what varies most between them."""
    least = [r.ess / r.seconds for r in runs]
    tenth = [r.ess_slowest_tenth / r.seconds for r in runs]
    return [
        name,
        label,
        f"{np.median([1e3 * r.seconds / (N_CHAINS * r.n_sweeps) for r in runs]):.2f}",
        f"{runs[0].n_sweeps}",
        f"{np.median([r.rhat for r in runs]):.3f}",
        f"{np.median(least):.1f}",
        f"{np.median(tenth):.1f} ({min(tenth):.1f} to {max(tenth):.1f})",
    ]


def main() -> None:
    compile_engine()
    problems = [
        ("real estate", real_estate(), Fixed(), 10.0),
        ("curved edge", curved_edge(), Fixed(), 8.0),
        ("three jumps", three_jumps(), Fixed(alpha=1.1, nu=1.0), 4.0),
        ("oblique, d = 3", oblique(300, 3), Fixed(), 12.0),
    ]
    runs: dict[tuple[str, str], list[Mixing]] = {}
    lengths: dict[tuple[str, str], int] = {}
    with threadpool_limits(1):
        run_for(three_jumps(), Fixed(), ExplicitPlan(), 16, seed=0)
        for seed in range(N_SEEDS):
            for name, data, fixed, seconds in problems:
                for label, plan in BLENDS.items():
                    key = name, label
                    if key not in lengths:
                        lengths[key] = sweeps_in(seconds, data, fixed, plan)
                    runs.setdefault(key, []).append(run_for(data, fixed, plan, lengths[key], seed))
                    print(*row(*key, runs[key][-1:]), sep=" | ", flush=True)
    rows = [row(*key, found) for key, found in runs.items()]
    title = f"Sizes integrated out or explicit: 4 chains, about equal time, 1 thread, median of {N_SEEDS} runs"
    show(title, COLUMNS, rows)


def check(n_replicates: int = 2000) -> None:
    """The joint-distribution check of `tests/levy/invariance.py` on sweeps with explicit sizes: p-values."""
    from tests.levy import invariance

    rows = []
    with mock.patch.object(invariance, "run", explicit_sizes.run):
        for label, plan in BLENDS.items():
            if not isinstance(plan, ExplicitPlan):
                continue
            for d in (1, 2):
                rng = np.random.default_rng(20260101 + d)
                found = invariance.p_values(invariance.small_model(d), plan, 2, n_replicates, rng)
                rows += [[label, str(d), name, f"{p:.3g}"] for name, p in found.items()]
    show(f"Joint-distribution check, {n_replicates} replicates", ["sizes", "d", "quantity", "p-value"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--check", action="store_true", help="check the target instead of comparing speed")
    (check if parser.parse_args().check else main)()
