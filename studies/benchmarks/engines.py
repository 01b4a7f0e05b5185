"""Effective samples a second of the jump engine over the published algorithm, alpha and nu fixed, one thread.

Both see the same training rows and keep every sweep; f is looked at its slowest tenth (10th percentile over rows).
On three jumps alpha and nu are the paper's; on real estate, where it gives none, about their posterior medians.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import (
    Fixed,
    Mixing,
    compile_engine,
    real_estate_rows,
    run_every_sweep,
    show,
    three_jumps_rows,
)
from widestable.diagnostics import convergence
from widestable.exact import build_partition, posterior_predictive
from widestable.inputs import check_training, scale_inputs, scale_outputs


def published(X: np.ndarray, y: np.ndarray, fixed: Fixed, n_sweeps: int) -> Mixing:
    """Two chains of Algorithm 1 on the training-only partition, a third of the sweeps dropped."""
    partition = build_partition(X)

    def chain(seed: int, iterations: int) -> np.ndarray:
        rng, burn_in = np.random.default_rng(seed), iterations // 3
        settings = {"partition": partition, "iterations": iterations, "burn_in": burn_in, "rng": rng, "progress": False}
        return posterior_predictive(X, y, alpha=fixed.alpha, nu=fixed.nu, **settings).f_train

    chain(9, 3)  # compiles
    started = time.perf_counter()
    chains = [chain(seed, n_sweeps) for seed in range(2)]
    seconds = time.perf_counter() - started
    found = convergence(np.stack(chains))
    slowest = float(np.percentile(found.ess, 10))
    return Mixing(seconds, n_sweeps, float(found.rhat.max()), float(found.ess.min()), slowest)


def main() -> None:
    compile_engine()
    problems = [
        ("three jumps", three_jumps_rows(), False, Fixed(alpha=1.1, nu=1.0), 3000),
        ("real estate", real_estate_rows(), True, Fixed(alpha=1.7, nu=4.0), 600),
    ]
    rows = []
    with threadpool_limits(1):
        for name, (X, y), standardize, fixed, published_sweeps in problems:
            data = check_training(X, y, standardize=standardize)
            jump = run_every_sweep(data, fixed, 3000, n_chains=2)
            paper = published(scale_inputs(X, data.scaling), scale_outputs(y, data.scaling), fixed, published_sweeps)
            rates = [found.ess_slowest_tenth / found.seconds for found in (jump, paper)]
            for label, found, rate in zip(("jump engine", "Algorithm 1"), (jump, paper), rates, strict=True):
                sweep, ess = f"{1e3 * found.seconds / (2 * found.n_sweeps):.2f}", f"{found.ess_slowest_tenth:.0f}"
                rows.append([name, label, sweep, f"{found.rhat:.3f}", ess, f"{rate:.2f}", ""])
            rows[-2][-1] = f"{rates[0] / rates[1]:.1f}"
    columns = ["problem", "engine", "ms a sweep", "R-hat", "ESS, slowest tenth", "a second", "ratio"]
    show("Jump engine over the published algorithm, 2 chains, 1 thread", columns, rows)


if __name__ == "__main__":
    main()
