"""Many rows: time a sweep and memory up to 100 000 rows, and effective samples a second there beside BART.

Two inputs, two oblique jumps plus a sine, one thread. Each size runs in a process of its own, so that its peak memory
is its own. At 100 000 rows four chains of ours and four of stochtree run for about 20 minutes each, or for
WIDESTABLE_BENCH_MINUTES; a run's first third is warm-up, and effective samples are those of f at 200 rows, evenly
spread, at its slowest tenth.
"""

from __future__ import annotations

import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import Fixed, compile_engine, new_run, oblique, show
from widestable.diagnostics import convergence
from widestable.engine.run import Setup, extend, warm_up

SIZES = (1_000, 10_000, 100_000)
N_SWEEPS = 60
N_CHAINS = 4
N_ROWS = 200
MINUTES = float(os.environ.get("WIDESTABLE_BENCH_MINUTES", "20"))


class Growth(NamedTuple):
    prepare: float  # seconds: checks, kernel, start
    sweep: float  # seconds, median
    megabytes: float


class Speed(NamedTuple):
    seconds: float
    n_draws: int  # of each chain, warm-up included
    rhat: float
    ess: float  # at the slowest tenth
    megabytes: float


def megabytes() -> float:
    """Peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def grow(n: int) -> Growth:
    """One chain on n rows, after 60 sweeps of warm-up."""
    compile_engine()
    with threadpool_limits(1):
        started = time.process_time()
        model, sample = new_run(oblique(n, 2), Fixed(), 1, 0)
        prepare = time.process_time() - started
        setup = Setup(model, 1)
        sample = warm_up(sample, setup, N_SWEEPS)
        seconds = []
        for _ in range(5):
            started = time.process_time()
            sample = extend(sample, setup, N_SWEEPS // 5)
            seconds.append((time.process_time() - started) / (N_SWEEPS // 5))
    return Growth(prepare, float(np.median(seconds)), megabytes())


def judge(f: np.ndarray, seconds: float, n_draws: int) -> Speed:
    """f of shape (chains, draws, rows)."""
    found = convergence(f)
    return Speed(seconds, n_draws, float(found.rhat.max()), float(np.percentile(found.ess, 10)), megabytes())


def ours(n: int) -> Speed:
    """As many sweeps as fit into the time, judged by the speed of the first 40."""
    compile_engine()
    with threadpool_limits(1):
        started = time.process_time()
        model, sample = new_run(oblique(n, 2), Fixed(), N_CHAINS, 0)
        setup = Setup(model, 1)
        first = time.process_time()
        sample = warm_up(sample, setup, 40)
        a_sweep = (time.process_time() - first) / 40.0
        n_sweeps = int((60.0 * MINUTES - (time.process_time() - started)) / a_sweep)
        sample = warm_up(sample, setup, n_sweeps // 3)
        sample = extend(sample, setup, 2 * (n_sweeps // 3))
    rows = np.linspace(0, model.rows.size - 1, N_ROWS).astype(int)
    f = np.stack([draws.f[:, rows] for draws in sample.chains])
    return judge(f, time.process_time() - started, sample.n_sweeps)


def bart(n: int) -> Speed:
    """The same for stochtree: 200 trees, 10 grown forests to start from."""
    data = oblique(n, 2)
    rows = np.linspace(0, n - 1, N_ROWS).astype(int)
    started = time.process_time()
    sample_bart(data, rows, 1, 5, 1)
    a_draw = (time.process_time() - started) / 16.0
    n_draws = max(int(60.0 * MINUTES / (N_CHAINS * a_draw)), 12)
    started = time.process_time()
    f = sample_bart(data, rows, n_draws // 3, n_draws - n_draws // 3, N_CHAINS)
    return judge(f, time.process_time() - started, n_draws)


def sample_bart(data: object, rows: np.ndarray, n_warm: int, n_keep: int, n_chains: int) -> np.ndarray:
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=data.X, y_train=data.y, X_test=data.X[rows], num_gfr=10, num_burnin=n_warm, num_mcmc=n_keep,
        general_params={"num_chains": n_chains, "num_threads": 1, "random_seed": 1},
    )  # fmt: skip
    return np.asarray(model.y_hat_test).T.reshape(n_chains, n_keep, -1)


def alone(function: object, n: int) -> object:
    """In a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, n).result()


def main() -> None:
    rows, last = [], None
    for n in SIZES:
        found = alone(grow, n)
        power = f"{np.log10(found.sweep / last):.2f}" if last else ""
        last = found.sweep
        rows.append([str(n), f"{found.prepare:.1f}", f"{1e3 * found.sweep:.1f}", power, f"{found.megabytes:.0f}"])
    columns = ["rows", "s to prepare", "ms a sweep", "power of n", "peak MB"]
    show("Growth (at most 1 is asked for from 10 000 rows on)", columns, rows)
    both = {"jump engine": alone(ours, SIZES[-1]), "BART": alone(bart, SIZES[-1])}
    rows = []
    for name, s in both.items():
        mixed = [f"{s.rhat:.2f}", f"{s.ess:.1f}", f"{s.seconds / s.ess:.2f}"]
        rows.append([name, f"{s.seconds:.0f}", str(s.n_draws), *mixed, f"{s.megabytes:.0f}"])
    columns = ["100 000 rows", "seconds", "sweeps", "R-hat", "ESS, slowest tenth", "s a sample", "peak MB"]
    show("Processor time, 1 thread, 4 chains", columns, rows)


if __name__ == "__main__":
    main()
