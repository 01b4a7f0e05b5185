"""Time and memory as the number of rows grows: of a sweep, of 100 000 training rows beside BART, of predictions."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import oblique, peak_megabytes, real_estate_rows, show
from studies.forecasts import Mixing, judge_mixing
from studies.methods.trees import N_GROWN, bart_draws, sample_bart
from studies.problems import Floats
from studies.problems import oblique as simulate_oblique
from studies.sampling import Chains, compile_engine, fit, start
from widestable import StableRegressor
from widestable.diagnostics import convergence
from widestable.inputs import spread_indices

FEW = (250, 500, 1000, 2000)
MANY = (1_000, 10_000, 100_000)
LAW_SIZES = (300, 1_000, 2_000)
N_SWEEPS = 60
N_CHAINS = 4
N_ROWS = 200
MINUTES = float(os.environ.get("WIDESTABLE_BENCH_MINUTES", "20"))


def few_rows() -> None:
    """Print time per sweep and memory as the number of rows doubles: two inputs, two oblique jumps, one thread."""
    compile_engine()
    with threadpool_limits(1):
        found = [_measure_few(n) for n in FEW]
    rows = []
    for i, (n, (seconds, peak)) in enumerate(zip(FEW, found, strict=True)):
        powers = [f"{np.log2(ratio):.2f}" if i else "" for ratio in np.divide(found[i], found[i - 1])]
        rows.append([str(n), f"{1e3 * seconds:.2f}", powers[0], f"{peak:.0f}", powers[1]])
    columns = ["rows", "ms per sweep", "power of n", "peak MB", "power of n"]
    show("Growth with the number of rows (the aim is at most 2)", columns, rows)


def _measure_few(n: int) -> tuple[float, float]:
    """Return the median seconds per sweep after warm-up, and the peak megabytes of the model and its chain."""
    tracemalloc.start()
    chains = start(oblique(n, 2), n_chains=1).warm_up(50)
    seconds, _ = _seconds_per_sweep(chains, 50, 3)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return seconds, peak


def _seconds_per_sweep(chains: Chains, n_sweeps: int, n_repeats: int) -> tuple[float, Chains]:
    """Return the median processor time per sweep over several stretches of `n_sweeps`."""
    seconds = []
    for _ in range(n_repeats):
        started = time.process_time()
        chains = chains.extend(n_sweeps)
        seconds.append((time.process_time() - started) / n_sweeps)
    return float(np.median(seconds)), chains


# --- Many rows -------------------------------------------------------------------------------------------


class Growth(NamedTuple):
    """Cost of one chain on so many rows."""

    prepare: float  # seconds for checks, kernel and start
    sweep: float  # seconds
    megabytes: float


class Speed(NamedTuple):
    """Four chains on so many rows."""

    seconds: float
    n_draws: int  # of each chain, warm-up included
    mixing: Mixing
    megabytes: float


def many_rows() -> None:
    """Print time and memory up to 100 000 rows, and effective samples per second there beside BART.

    Two inputs, two oblique jumps plus a sine, one thread. Each size runs in a process of its own, so that its peak
    memory is its own. At 100 000 rows four chains of ours and four of stochtree run for about 20 minutes each, or for
    WIDESTABLE_BENCH_MINUTES. The first third of a run is warm-up; effective samples are those of f at 200 rows, evenly
    spread, at its slowest tenth.
    """
    rows, last = [], None
    for n in MANY:
        found = _alone(_grow, n)
        power = f"{np.log10(found.sweep / last):.2f}" if last else ""
        last = found.sweep
        rows.append([str(n), f"{found.prepare:.1f}", f"{1e3 * found.sweep:.1f}", power, f"{found.megabytes:.0f}"])
    columns = ["rows", "s to prepare", "ms per sweep", "power of n", "peak MB"]
    show("Growth (the aim is at most 1 from 10 000 rows on)", columns, rows)
    both = {"jump engine": _alone(_ours, MANY[-1]), "BART": _alone(_bart, MANY[-1])}
    rows = []
    for name, s in both.items():
        mixed = [f"{s.mixing.rhat:.2f}", f"{s.mixing.ess_tenth:.1f}", f"{s.seconds / s.mixing.ess_tenth:.2f}"]
        rows.append([name, f"{s.seconds:.0f}", str(s.n_draws), *mixed, f"{s.megabytes:.0f}"])
    columns = ["100 000 rows", "seconds", "sweeps", "R-hat", "ESS, slowest tenth", "s per sample", "peak MB"]
    show("Processor time, 1 thread, 4 chains", columns, rows)


def _alone(function: Callable[..., Any], *arguments: int) -> Any:
    """Run a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _grow(n: int) -> Growth:
    compile_engine()
    with threadpool_limits(1):
        started = time.process_time()
        chains = start(oblique(n, 2), n_chains=1)
        prepare = time.process_time() - started
        sweep, _ = _seconds_per_sweep(chains.warm_up(N_SWEEPS), N_SWEEPS // 5, 5)
    return Growth(prepare, sweep, peak_megabytes())


def _ours(n: int) -> Speed:
    """Run as many sweeps as the time allows, judged by the speed of the first 40."""
    compile_engine()
    with threadpool_limits(1):
        started = time.process_time()
        chains = start(oblique(n, 2), n_chains=N_CHAINS)
        first = time.process_time()
        chains = chains.warm_up(40)
        per_sweep = (time.process_time() - first) / 40.0
        third = int((60.0 * MINUTES - (time.process_time() - started)) / per_sweep) // 3
        chains = chains.warm_up(third).extend(2 * third)
    f = np.stack([draws.f for draws in chains.draws])
    shown = f[:, :, spread_indices(f.shape[2], N_ROWS)]
    return _judge(shown, time.process_time() - started, chains.n_sweeps)


def _bart(n: int) -> Speed:
    """Run stochtree for the same time, judged by the speed of a few draws."""
    data = oblique(n, 2)
    X_new = data.X[spread_indices(n, N_ROWS)]
    started = time.process_time()
    sample_bart(data.X, data.y, X_new, 1, n_chains=1, n_warm=1, n_keep=5)
    per_draw = (time.process_time() - started) / (N_GROWN + 6.0)
    n_draws = max(int(60.0 * MINUTES / (N_CHAINS * per_draw)), 12)
    n_keep = n_draws - n_draws // 3
    started = time.process_time()
    model = sample_bart(data.X, data.y, X_new, 1, n_chains=N_CHAINS, n_warm=n_draws // 3, n_keep=n_keep)
    return _judge(bart_draws(model, N_CHAINS, n_keep), time.process_time() - started, n_draws)


def _judge(f: Floats, seconds: float, n_draws: int) -> Speed:
    """Judge draws of f, (chains, draws, rows)."""
    return Speed(seconds, n_draws, judge_mixing(convergence(f)), peak_megabytes())


# --- The law of the hyperplanes --------------------------------------------------------------------------


class Cost(NamedTuple):
    """Processor seconds and peak megabytes of a fit, and of a prediction after it."""

    fit: float
    fit_megabytes: float
    predict: float
    predict_megabytes: float


def law_rows(n_sweeps: int = 600, n_new: int = 10_000, *sizes: int) -> None:
    """Print time and memory of a fit that infers sharpness and relevance, and of predicting at many rows.

    Ten inputs, two oblique jumps plus a sine, 4 chains of a given length on one thread. Each size runs in a process of
    its own; the libraries alone take 200 to 300 MB of its memory.

    Parameters
    ----------
    n_sweeps : int
        Sweeps per chain.
    n_new : int
        Rows to predict at.
    *sizes : int
        Numbers of training rows; 300, 1000 and 2000 by default.
    """
    rows = []
    for n in sizes or LAW_SIZES:
        cost = _alone(_measure_law, n, n_sweeps, n_new)
        sweep = f"{1e3 * cost.fit / (N_CHAINS * n_sweeps):.1f}"
        cells = [f"{cost.fit:.1f}", sweep, f"{cost.fit_megabytes:.0f}"]
        rows.append([str(n), *cells, f"{cost.predict:.1f}", f"{cost.predict_megabytes:.0f}"])
    columns = ["rows", "s to fit", "ms per sweep and chain", "peak MB", f"s to predict {n_new} rows", "peak MB"]
    show(f"The law inferred, 10 inputs, 4 chains of {n_sweeps} sweeps, 1 thread", columns, rows)


def _measure_law(n: int, n_sweeps: int, n_new: int) -> Cost:
    compile_engine()
    problem = simulate_oblique(n, 10, n_new=n_new)
    with threadpool_limits(1):
        started = time.process_time()
        model = fit(problem.X, problem.y, 0, sharpness=None, relevance=None, n_chains=N_CHAINS, n_sweeps=n_sweeps)
        fitted, fit_megabytes = time.process_time(), peak_megabytes()
        model.predict(problem.X_new)
    return Cost(fitted - started, fit_megabytes, time.process_time() - fitted, peak_megabytes())


# --- Predictions -----------------------------------------------------------------------------------------


def predictions(n_rows: int = 100_000, n_jobs: int = 2) -> None:
    """Print memory and time of predicting at many rows from a fit on 276 house prices.

    The peak is that of the whole process, so run this benchmark alone to read it.
    """
    X, y = real_estate_rows()
    started = time.perf_counter()
    model = StableRegressor(random_state=0, n_jobs=n_jobs).fit(X, y)
    print(f"{model.posterior_}, converged {model.posterior_.converged}, {time.perf_counter() - started:.1f} s")
    print(f"peak memory after the fit {peak_megabytes():.0f} MB")
    X_new = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(n_rows, 2))
    started = time.perf_counter()
    median = model.predict(X_new)
    seconds = time.perf_counter() - started
    print(f"predict at {n_rows} rows: {seconds:.1f} s, {1e3 * seconds / n_rows:.2f} ms per row, {n_jobs} threads")
    print(f"peak memory {peak_megabytes():.0f} MB, finite {np.isfinite(median).all()}")
