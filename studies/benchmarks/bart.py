"""Time to convergence beside BART: real estate, alpha and nu inferred, one thread, compilation excluded.

Four chains of ours run until R-hat <= 1.01 and ESS >= 400 for alpha, nu, sigma2 and f at every row, or to the default
maximum of sweeps (the table then shows a larger R-hat or a smaller ESS). Four stochtree chains make 10 grow-from-root,
500 burn-in and 1000 kept draws each. Three interleaved runs; medians.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import (
    Fixed,
    Mixing,
    compile_engine,
    mixing,
    new_run,
    real_estate,
    real_estate_rows,
    show,
    three_jumps,
)
from widestable.engine.run import Setup, sample_until_converged
from widestable.inputs import TrainingData

RUNS = 3


def ours(data: TrainingData, fixed: Fixed, seed: int) -> Mixing:
    """Four chains until converged, eigendecomposition included."""
    started = time.perf_counter()
    model, sample = new_run(data, fixed, 4, seed)
    sample = sample_until_converged(sample, Setup(model, 1))
    return mixing(sample, model, time.perf_counter() - started)


def bart(X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """Seconds of four stochtree chains."""
    from stochtree import BARTModel

    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    started = time.perf_counter()
    BARTModel().sample(
        X_train=scaled,
        y_train=y,
        num_gfr=10,
        num_burnin=500,
        num_mcmc=1000,
        general_params={"num_chains": 4, "num_threads": 1, "random_seed": seed},
    )
    return time.perf_counter() - started


def main() -> None:
    compile_engine()
    rows, seconds = [], {"real estate": [], "three jumps": [], "BART": []}
    with threadpool_limits(1):
        for run in range(RUNS):
            for name, data, fixed in (
                ("real estate", real_estate(), Fixed()),
                ("three jumps", three_jumps(), Fixed(alpha=1.1, nu=1.0)),
            ):
                found = ours(data, fixed, run)
                seconds[name].append(found.seconds)
                rows.append(
                    [name, f"{found.seconds:.1f}", str(found.n_sweeps), f"{found.rhat:.3f}", f"{found.ess:.0f}"]
                )
            seconds["BART"].append(bart(*real_estate_rows(), run))
            rows.append(["BART on real estate", f"{seconds['BART'][-1]:.1f}", "", "", ""])
    show("Until converged, 4 chains, 1 thread", ["problem", "seconds", "sweeps a chain", "R-hat", "least ESS"], rows)
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    print(f"real estate over BART: {median['real estate'] / median['BART']:.2f}")
    print(f"three jumps over real estate: {median['three jumps'] / median['real estate']:.3f}")


if __name__ == "__main__":
    main()
