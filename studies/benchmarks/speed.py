"""Speed of the jump engine: beside BART, beside the published algorithm, and with other blends of moves."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import (
    Timed,
    oblique,
    real_estate,
    real_estate_rows,
    run_fixed,
    show,
    simulated,
    timed,
)
from studies.forecasts import judge_mixing, scale
from studies.methods.trees import sample_bart
from studies.problems import Floats, observe
from studies.sampling import Fixed, Plan, compile_engine, start
from widestable.diagnostics import convergence
from widestable.exact import build_partition, posterior_predictive
from widestable.inputs import TrainingData, check_training, scale_inputs, scale_outputs

BART_RUNS = 3
PAPER = Fixed(alpha=1.1, nu=1.0)  # the paper's values on three jumps
DEFAULT = Plan()
PLANS = {
    "default": DEFAULT,
    "no pairs of scales": DEFAULT._replace(n_pairs=0),
    "no reflected pairs": DEFAULT._replace(n_pair_reflections=0),
    "no reflections": DEFAULT._replace(n_reflections=0),
    "one rotation": DEFAULT._replace(n_rotations=1),
    "six rotations": DEFAULT._replace(n_rotations=6),
    "rotations of one step, three times as many": DEFAULT._replace(n_rotations=9, n_steps=1),
    "as many of every atom that matters": DEFAULT._replace(n_weak_rotations=DEFAULT.n_rotations),
    "few births": DEFAULT._replace(n_births=1),
    "parameters once": DEFAULT._replace(n_parameters=1),
    "many pairs of scales": DEFAULT._replace(n_pairs=20),
    "many reflected pairs": DEFAULT._replace(n_pair_reflections=20),
}


# --- Beside BART -----------------------------------------------------------------------------------------


def beside_bart() -> None:
    """Time four chains until converged, and four chains of BART on the same data.

    Ours run until R-hat <= 1.01 and ESS >= 400 for the parameters and f at every row, or to the default maximum of
    sweeps (the table then shows a larger R-hat or a smaller ESS). Each stochtree chain makes 10 grow-from-root, 500
    burn-in and 1000 kept draws. Three interleaved runs on one thread, compilation excluded; ratios of medians.
    """
    compile_engine()
    rows, seconds = [], {"real estate": [], "three jumps": [], "BART": []}
    problems = [("real estate", real_estate(), Fixed()), ("three jumps", simulated("three_jumps"), PAPER)]
    with threadpool_limits(1):
        for run in range(BART_RUNS):
            for name, data, fixed in problems:
                found = _until_converged(data, fixed, run)
                seconds[name].append(found.seconds)
                mixed = [f"{found.mixing.rhat:.3f}", f"{found.mixing.ess:.0f}"]
                rows.append([name, f"{found.seconds:.1f}", str(found.n_sweeps), *mixed])
            seconds["BART"].append(_seconds_of_bart(*real_estate_rows(), run))
            rows.append(["BART on real estate", f"{seconds['BART'][-1]:.1f}", "", "", ""])
    show("Until converged, 4 chains, 1 thread", ["problem", "seconds", "sweeps per chain", "R-hat", "least ESS"], rows)
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    print(f"real estate over BART: {median['real estate'] / median['BART']:.2f}")
    print(f"three jumps over real estate: {median['three jumps'] / median['real estate']:.3f}")


def _until_converged(data: TrainingData, fixed: Fixed, seed: int) -> Timed:
    """Run four chains until converged; the time includes the eigendecomposition."""
    started = time.perf_counter()
    chains = start(data, fixed, seed=seed).run_until_converged()
    return timed(chains, time.perf_counter() - started)


def _seconds_of_bart(X: Floats, y: Floats, seed: int) -> float:
    data = scale(X, y, X[:1])
    started = time.perf_counter()
    sample_bart(data.X, data.y, data.X_new, seed, n_chains=4, n_warm=500, n_keep=1000)
    return time.perf_counter() - started


# --- Beside the published algorithm ----------------------------------------------------------------------


def beside_published() -> None:
    """Compare effective samples per second with those of Algorithm 1; alpha and nu fixed, one thread.

    Both engines see the same training rows and keep every sweep; the effective sample size of f is that of its slowest
    tenth of rows. alpha and nu are the paper's on three jumps, and near their posterior medians on real estate, where
    the paper gives none.
    """
    compile_engine()
    problems = [
        ("three jumps", observe("three_jumps", np.random.default_rng(0)), False, PAPER, 3000),
        ("real estate", real_estate_rows(), True, Fixed(alpha=1.7, nu=4.0), 600),
    ]
    rows = []
    with threadpool_limits(1):
        for name, (X, y), standardize, fixed, published_sweeps in problems:
            data = check_training(X, y, standardize=standardize)
            jump = _every_sweep(data, fixed, 3000)
            paper = _published(scale_inputs(X, data.scaling), scale_outputs(y, data.scaling), fixed, published_sweeps)
            rates = [found.mixing.ess_tenth / found.seconds for found in (jump, paper)]
            for label, found, rate in zip(("jump engine", "Algorithm 1"), (jump, paper), rates, strict=True):
                sweep = f"{1e3 * found.seconds / (2 * found.n_sweeps):.2f}"
                mixed = [f"{found.mixing.rhat:.3f}", f"{found.mixing.ess_tenth:.0f}"]
                rows.append([name, label, sweep, *mixed, f"{rate:.2f}", ""])
            rows[-2][-1] = f"{rates[0] / rates[1]:.1f}"
    columns = ["problem", "engine", "ms per sweep", "R-hat", "ESS, slowest tenth", "per second", "ratio"]
    show("Jump engine over the published algorithm, 2 chains, 1 thread", columns, rows)


def _every_sweep(data: TrainingData, fixed: Fixed, n_sweeps: int) -> Timed:
    """Run two chains that keep a draw after every sweep, as Algorithm 1 does."""
    chains = start(data, fixed, n_chains=2)
    started = time.perf_counter()
    chains = chains.warm_up(n_sweeps // 3).extend(n_sweeps - n_sweeps // 3, thin=1)
    return timed(chains, time.perf_counter() - started)


def _published(X: Floats, y: Floats, fixed: Fixed, n_sweeps: int) -> Timed:
    """Run two chains of Algorithm 1 on the partition of the training rows; a third of the sweeps is dropped."""
    partition = build_partition(X)

    def chain(seed: int, iterations: int) -> Floats:
        length = {"iterations": iterations, "burn_in": iterations // 3}
        settings = {"partition": partition, "random_state": seed, "progress": False} | length
        return posterior_predictive(X, y, alpha=fixed.alpha, nu=fixed.nu, **settings).f_train

    chain(9, 3)  # compiles
    started = time.perf_counter()
    chains = [chain(seed, n_sweeps) for seed in range(2)]
    seconds = time.perf_counter() - started
    return Timed(seconds, n_sweeps, judge_mixing(convergence(np.stack(chains))))


# --- Blends of moves -------------------------------------------------------------------------------------


def blends() -> None:
    """Compare effective samples per second of variations around the default plan, one thread."""
    compile_engine()
    problems = [
        ("real estate", real_estate(), Fixed(), 3000),
        ("curved edge", simulated("curved_edge"), Fixed(), 3000),
        ("three jumps", simulated("three_jumps"), PAPER, 1500),
        ("oblique, d = 3", oblique(300, 3), Fixed(), 1500),
    ]
    rows = []
    with threadpool_limits(1):
        for name, data, fixed, n_sweeps in problems:
            for label, plan in PLANS.items():
                found = run_fixed(data, fixed, n_sweeps, plan)
                rates = [f"{ess / found.seconds:.1f}" for ess in (found.mixing.ess, found.mixing.ess_tenth)]
                sweep = f"{1e3 * found.seconds / (4 * found.n_sweeps):.2f}"
                rows.append([name, label, sweep, f"{found.mixing.rhat:.3f}", *rates])
    columns = ["problem", "plan", "ms per sweep", "R-hat", "least ESS per second", "slowest tenth per second"]
    show("Blends of moves, 4 chains of fixed length, 1 thread", columns, rows)
