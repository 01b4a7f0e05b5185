"""Smooth units with an inferred sharpness against sign units, Gaussian processes and BART: the choice of the default.

    python -m benchmarks.units [repeats, 5 by default] [problem ...]

Nine simulated functions (error to the truth), real estate and the S&P 500 (error to held-out data, in s.d.); the same
data and seeds for all. Four chains of a given length on one thread. The Gaussian processes maximise the likelihood from
six starts, and the better of the two is what ours are held against.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import compile_engine, show
from widestable import StableRegressor
from studies.datasets import load_real_estate, load_sp500
from studies.forecasts import scale
from studies.problems import FUNCTIONS, Problem, simulate
from studies.methods.bart import bart
from studies.splits import cut, random_rows, standardise

REPEATS = 5
SWEEPS = {"real estate": 1500, "S&P 500": 1000}
DEFAULT_SWEEPS = 2000
UNITS = {"inferred": None, "sign": np.inf}


def problems() -> dict[str, Callable[[int], Problem]]:
    """A function of the repeat for each name; real data are read when first asked for."""
    found: dict[str, Callable[[int], Problem]] = {f.title: partial(simulate, f.name) for f in FUNCTIONS}

    def split(load: Callable[[], object], repeat: int) -> Problem:
        table = standardise(load())
        return cut(table, random_rows(table, repeat))

    return found | {"real estate": partial(split, load_real_estate), "S&P 500": partial(split, load_sp500)}


def ours(problem: Problem, sharpness: float | None, seed: int, n_sweeps: int) -> dict[str, float]:
    """Error, worst R-hat, least ESS and milliseconds a sweep."""
    model = StableRegressor(sharpness=sharpness, n_sweeps=n_sweeps, random_state=seed, progress=False)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is in the table
        model.fit(problem.X, problem.y)
    seconds = time.perf_counter() - started
    mixed = model.posterior_.convergence()
    return {
        "error": error(problem, model.predict(problem.X_new)),
        "rhat": float(mixed.rhat.max()),
        "ess": float(mixed.ess.min()),
        "ms": 1e3 * seconds / (model.n_chains * n_sweeps),
    }


def gaussian_process(problem: Problem, kernel: RBF) -> float:
    """Error of the kriging mean."""
    data = scale(problem.X, problem.y, problem.X_new)
    whole = ConstantKernel(1.0, (1e-3, 1e4)) * kernel + WhiteKernel(0.1, (1e-6, 1e2))
    gp = GaussianProcessRegressor(whole, n_restarts_optimizer=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter on its bound is no news here
        gp.fit(data.X, data.y)
    return error(problem, data.y_mean + data.y_scale * gp.predict(data.X_new))


def error(problem: Problem, prediction: np.ndarray) -> float:
    """Mean absolute error to the truth where it is known, otherwise to the held-out observations."""
    target = problem.y_new[0] if problem.f_new is None else problem.f_new
    return float(np.abs(prediction - target).mean())


def compare(problem: Problem, seed: int, n_sweeps: int) -> dict[str, dict[str, float]]:
    """Every method on one data set."""
    ones = np.ones(problem.X.shape[1])
    found = {name: ours(problem, sharpness, seed, n_sweeps) for name, sharpness in UNITS.items()}
    found["GP Gaussian"] = {"error": gaussian_process(problem, RBF(ones, (1e-3, 1e3)))}
    found["GP Matérn"] = {"error": gaussian_process(problem, Matern(ones, (1e-3, 1e3), nu=1.5))}
    forecast = bart(problem.X, problem.y, problem.X_new, seed, n_chains=4, n_warm=250, n_keep=500)
    found["BART"] = {"error": error(problem, forecast.point)}
    return found


def row(name: str, runs: list[dict[str, dict[str, float]]]) -> list[str]:
    """One line: errors, the paired difference to sign units, the ratio to the better GP, mixing and time."""
    errors = {method: np.array([run[method]["error"] for run in runs]) for method in runs[0]}
    mean = {method: values.mean() for method, values in errors.items()}
    difference = errors["inferred"] - errors["sign"]
    spread = difference.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
    better_gp = min(mean["GP Gaussian"], mean["GP Matérn"])
    cells = [name, *(f"{mean[method]:.3f}" for method in errors)]
    cells += [f"{difference.mean():+.3f} ± {spread:.3f}", f"{mean['inferred'] / better_gp:.2f}"]
    for key, digits in (("rhat", 2), ("ess", 0), ("ms", 2)):
        cells += [" / ".join(f"{np.median([run[m][key] for run in runs]):.{digits}f}" for m in UNITS)]
    return cells


def main(repeats: int = REPEATS, names: list[str] | None = None) -> None:
    compile_engine()
    rows = []
    with threadpool_limits(1):
        for name, make in problems().items():
            if names and name not in names:
                continue
            n_sweeps = SWEEPS.get(name, DEFAULT_SWEEPS)
            rows.append(row(name, [compare(make(repeat), repeat, n_sweeps) for repeat in range(repeats)]))
            print("  ".join(rows[-1]), flush=True)
    columns = ["problem", *UNITS, "GP Gaussian", "GP Matérn", "BART", "inferred - sign", "over better GP"]
    columns += ["R-hat (inferred / sign)", "least ESS", "ms a sweep"]
    show(f"Mean absolute error, {repeats} data sets each", columns, rows)


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:2]), names=sys.argv[2:] or None)
