"""Smooth units with an inferred sharpness beside sign units, Gaussian processes and BART: the choice of the default."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.convergence import PAPER, check_names
from studies.benchmarks.measure import show
from studies.forecasts import judge_mixing
from studies.methods.gaussian_process import gp_ml
from studies.methods.trees import bart
from studies.problems import Floats, Problem
from studies.sampling import compile_engine, fit

SWEEPS = {"real_estate": 1500, "sp500": 1000}
DEFAULT_SWEEPS = 2000
UNITS = {"inferred": None, "sign": np.inf}
SMOOTHNESS = {"GP Gaussian": None, "GP Matérn": 1.5}
# Numbers of one method on one data set by name.
Numbers = dict[str, float]


def units(n_repeats: int = 5, *names: str) -> None:
    """Compare errors on the nine simulated functions, real estate and the S&P 500, all or those named.

    Errors are to the truth on simulated functions, and to held-out data, in s.d., on the others. All methods see the
    same data and seeds. Ours run four chains of a given length on one thread. The Gaussian processes maximise the
    likelihood from six starts; the better of the two is the one to beat.
    """
    chosen = check_names(names, PAPER)
    compile_engine()
    rows = []
    with threadpool_limits(1):
        for name, make in chosen.items():
            n_sweeps = SWEEPS.get(name, DEFAULT_SWEEPS)
            rows.append(_row(name, [_compare(make(repeat), repeat, n_sweeps) for repeat in range(n_repeats)]))
            print("  ".join(rows[-1]), flush=True)
    columns = ["problem", *UNITS, *SMOOTHNESS, "BART", "inferred - sign", "over better GP"]
    columns += ["R-hat (inferred / sign)", "least ESS", "ms per sweep"]
    show(f"Mean absolute error, {n_repeats} data sets each", columns, rows)


def _compare(problem: Problem, seed: int, n_sweeps: int) -> dict[str, Numbers]:
    """Run every method on one data set."""
    rows = problem.X, problem.y, problem.X_new
    found = {name: _ours(problem, sharpness, seed, n_sweeps) for name, sharpness in UNITS.items()}
    points = {name: gp_ml(*rows, 0, n_restarts=5, smoothness=s).point for name, s in SMOOTHNESS.items()}
    points["BART"] = bart(*rows, seed, n_chains=4, n_warm=250, n_keep=500).point
    return found | {name: {"error": _error(problem, point)} for name, point in points.items()}


def _ours(problem: Problem, sharpness: float | None, seed: int, n_sweeps: int) -> Numbers:
    """Return the error, worst R-hat, smallest ESS and milliseconds per sweep."""
    started = time.perf_counter()
    model = fit(problem.X, problem.y, seed, sharpness=sharpness, n_sweeps=n_sweeps)
    seconds = time.perf_counter() - started
    mixing = judge_mixing(model.posterior_.convergence())
    numbers = {"error": _error(problem, model.predict(problem.X_new)), "rhat": mixing.rhat, "ess": mixing.ess}
    return numbers | {"ms": 1e3 * seconds / (model.n_chains * n_sweeps)}


def _error(problem: Problem, prediction: Floats) -> float:
    return float(np.abs(prediction - problem.target).mean())


def _row(name: str, runs: list[dict[str, Numbers]]) -> list[str]:
    """Return errors, the paired difference to sign units, the ratio to the better GP, mixing and time."""
    errors = {method: np.array([run[method]["error"] for run in runs]) for method in runs[0]}
    mean = {method: values.mean() for method, values in errors.items()}
    difference = errors["inferred"] - errors["sign"]
    spread = difference.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
    better_gp = min(mean[method] for method in SMOOTHNESS)
    cells = [name, *(f"{mean[method]:.3f}" for method in errors)]
    cells += [f"{difference.mean():+.3f} ± {spread:.3f}", f"{mean['inferred'] / better_gp:.2f}"]
    for key, digits in (("rhat", 2), ("ess", 0), ("ms", 2)):
        cells += [" / ".join(f"{np.median([run[m][key] for run in runs]):.{digits}f}" for m in UNITS)]
    return cells
