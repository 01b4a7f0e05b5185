"""Time a sweep and memory as the number of rows doubles (two inputs, two oblique jumps, one thread)."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import Fixed, compile_engine, new_run, oblique, show
from widestable.engine.run import Setup, extend, warm_up

SIZES = (250, 500, 1000)
REPEATS = 3


def measure(n: int) -> tuple[list[float], float]:
    """Seconds a sweep in each repeat after 50 sweeps of warm-up, and peak megabytes of the model and its chain."""
    tracemalloc.start()
    model, sample = new_run(oblique(n, 2), Fixed(), 1, 0)
    sample = warm_up(sample, Setup(model, 1), 50)
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        sample = extend(sample, Setup(model, 1), 50)
        seconds.append((time.perf_counter() - started) / 50.0)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return seconds, peak


def main() -> None:
    compile_engine()
    with threadpool_limits(1):
        found = [measure(n) for n in SIZES]
    median = [float(np.median(seconds)) for seconds, _ in found]
    rows = []
    for i, n in enumerate(SIZES):
        power = f"{np.log2(median[i] / median[i - 1]):.2f}" if i else ""
        memory = f"{np.log2(found[i][1] / found[i - 1][1]):.2f}" if i else ""
        rows.append([str(n), f"{1e3 * median[i]:.2f}", power, f"{found[i][1]:.0f}", memory])
    columns = ["rows", "ms a sweep", "power of n", "peak MB", "power of n"]
    show("Growth with the number of rows (at most 2 is asked for)", columns, rows)


if __name__ == "__main__":
    main()
