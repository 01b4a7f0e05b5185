"""Does it converge? Every problem with default settings, beside BART, a Gaussian process and a random forest.

`python -m benchmarks convergence`, or `python -m benchmarks.convergence NAME ...` for some of: the nine simulated
functions, real_estate, sp500, and oblique2, 3, 5, 10, 20 (two oblique jumps plus a sine, 300 rows, that many inputs).
Four chains of ours run until R-hat <= 1.01 and ESS >= 400 for the parameters and f at every row, or to the default
maximum of sweeps. Seconds are processor time on one thread; errors are to the truth where it is known.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import compile_engine, show
from widestable.diagnostics import convergence
from widestable.engine.run import quantities
from studies.datasets import DataError, load_real_estate, load_sp500
from studies.forecasts import Forecast, from_draws, score
from studies.problems import FUNCTIONS, NOISE_SD, Problem, simulate
from studies.methods import METHODS
from studies.methods.jumps import draws_at, fit
from studies.reproduction.presets import STANDARD
from studies.splits import cut, random_rows, standardise

OTHERS = ("bart", "gp_ml", "forest")
WIDTHS = (2, 3, 5, 10, 20)
N_ROWS, N_NEW = 300, 1000


def oblique(d: int) -> Problem:
    """Two oblique jumps plus a sine, rows N(0, I), with new rows from the same law."""
    rng = np.random.default_rng(d)
    first, second = rng.standard_normal(d), np.zeros(d)
    second[:2] = 0.8, -0.6
    X, X_new = rng.standard_normal((N_ROWS, d)), rng.standard_normal((N_NEW, d))

    def truth(X: np.ndarray) -> np.ndarray:
        return 5.0 * (X @ first / np.linalg.norm(first) > 0.2) + 3.0 * (X @ second > -0.3) + np.sin(2.0 * X[:, 0])

    y = truth(X) + NOISE_SD * rng.standard_normal(N_ROWS)
    return Problem(X, y, X_new, truth(X_new)[None] + NOISE_SD * rng.standard_normal((20, N_NEW)), truth(X_new))


def problem_of(name: str) -> Problem:
    if name.startswith("oblique"):
        return oblique(int(name.removeprefix("oblique")))
    if name in ("real_estate", "sp500"):
        table = standardise({"real_estate": load_real_estate, "sp500": load_sp500}[name](None))
        return cut(table, random_rows(table, 0))
    return simulate(name, 0)


NAMES = [*(f.name for f in FUNCTIONS), "real_estate", "sp500", *(f"oblique{d}" for d in WIDTHS)]


def scores_of(forecast: Forecast, problem: Problem) -> list[str]:
    found = score(forecast, problem)
    return [f"{found.get('mae_truth', found['mae']):.3f}", f"{found['crps']:.3f}"]


def ours(problem: Problem) -> list[str]:
    """Default settings, judged by parameters and f at the training rows, as the run itself is."""
    started = time.process_time()
    posterior = fit(problem.X, problem.y, 0).posterior_
    seconds = time.process_time() - started
    found = convergence(quantities(posterior.sample, posterior.model))
    tenth = float(np.percentile(found.ess, 10))
    f = draws_at(posterior, problem.X_new, np.random.default_rng(0))
    scores = scores_of(from_draws(f, np.sqrt(posterior.sigma2), np.random.default_rng(1)), problem)
    mixed = [f"{found.rhat.max():.3f}", f"{found.ess.min():.0f}", f"{tenth:.0f}", f"{tenth / seconds:.1f}"]
    return [str(posterior.n_sweeps), f"{seconds:.1f}", *mixed, *scores]


def other(method: str, problem: Problem) -> list[str]:
    """A competitor with the settings of the standard preset of the experiments."""
    started = time.process_time()
    forecast = METHODS[method].fit(problem.X, problem.y, problem.X_new, 0, **STANDARD.real_estate[method])
    return ["", f"{time.process_time() - started:.1f}", "", "", "", "", *scores_of(forecast, problem)]


def main(names: list[str] | None = None) -> None:
    if unknown := [name for name in names or [] if name not in NAMES]:
        sys.exit(f"There is no problem {unknown[0]!r}: choose from {', '.join(NAMES)}.")
    compile_engine()
    rows = []
    with threadpool_limits(1):
        for name in names or NAMES:
            try:
                problem = problem_of(name)
            except DataError as error:
                print(f"skipped {name}: {error}", flush=True)
                continue
            rows.append([name, "widestable", *ours(problem)])
            rows += [["", METHODS[method].title, *other(method, problem)] for method in OTHERS]
            print(" ".join(rows[-len(OTHERS) - 1]), flush=True)
    columns = ["problem", "method", "sweeps", "s", "R-hat", "least ESS", "tenth ESS", "tenth a s", "MAE", "CRPS"]
    show("Until converged, default settings, 1 thread", columns, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
