"""Every problem with default settings, beside BART, a Gaussian process and a random forest: does it converge?"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import show
from studies.datasets import DataError, Table, cut, load_real_estate, load_sp500, random_rows, standardise
from studies.forecasts import Forecast, from_draws, judge_mixing, score
from studies.methods import METHODS
from studies.problems import FUNCTIONS, Problem, oblique, simulate
from studies.reproduction.presets import STANDARD
from studies.sampling import compile_engine, draws_at, fit

OTHERS = ("bart", "gp_ml", "forest")
WIDTHS = (2, 3, 5, 10, 20)
N_ROWS, N_NEW = 300, 1000
# A function of the repeat, which is the number of the training set or split.
Make = Callable[[int], Problem]


def _split(load: Callable[[], Table], repeat: int) -> Problem:
    table = standardise(load())
    return cut(table, random_rows(table, repeat))


# The paper's problems by name; real data are read when first needed.
PAPER: dict[str, Make] = {function.name: partial(simulate, function.name) for function in FUNCTIONS}
PAPER |= {"real_estate": partial(_split, load_real_estate), "sp500": partial(_split, load_sp500)}
PROBLEMS = PAPER | {f"oblique{d}": partial(oblique, N_ROWS, d, n_new=N_NEW) for d in WIDTHS}


def check_names(names: tuple[str, ...], known: dict[str, Make]) -> dict[str, Make]:
    """Return the named problems, or all of them without a name; an unknown name ends the program."""
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"There is no problem {unknown[0]!r}: choose from {', '.join(known)}.")
    return {name: make for name, make in known.items() if not names or name in names}


def convergence(*names: str) -> None:
    """Run four chains per problem until converged, or to the default maximum of sweeps.

    Problems are the nine simulated functions, real_estate, sp500, and oblique2, 3, 5, 10 and 20 (two oblique jumps plus
    a sine, 300 rows, that many inputs). Seconds are processor time on one thread; errors are to the truth where it is
    known.
    """
    chosen = check_names(names, PROBLEMS)
    compile_engine()
    rows = []
    with threadpool_limits(1):
        for name, make in chosen.items():
            try:
                problem = make(0)
            except DataError as error:
                print(f"skipped {name}: {error}", flush=True)
                continue
            rows.append([name, "widestable", *_ours(problem)])
            print(" ".join(rows[-1]), flush=True)
            rows += [["", METHODS[method].title, *_other(method, problem)] for method in OTHERS]
    columns = ["problem", "method", "sweeps", "s", "R-hat", "least ESS", "tenth ESS", "tenth per s", "MAE", "CRPS"]
    show("Until converged, default settings, 1 thread", columns, rows)


def _ours(problem: Problem) -> list[str]:
    """Run the defaults; mixing is judged at the training rows, as the run itself is."""
    started = time.process_time()
    posterior = fit(problem.X, problem.y, 0).posterior_
    seconds = time.process_time() - started
    mixing = judge_mixing(posterior.convergence())
    f = draws_at(posterior, problem.X_new, np.random.default_rng(0))
    scores = _scores(from_draws(f, np.sqrt(posterior.sigma2), np.random.default_rng(1)), problem)
    mixed = [f"{mixing.rhat:.3f}", f"{mixing.ess:.0f}", f"{mixing.ess_tenth:.0f}", f"{mixing.ess_tenth / seconds:.1f}"]
    return [str(posterior.n_sweeps), f"{seconds:.1f}", *mixed, *scores]


def _other(method: str, problem: Problem) -> list[str]:
    """Run a competitor with its settings of the standard preset."""
    started = time.process_time()
    forecast = METHODS[method].fit(problem.X, problem.y, problem.X_new, 0, **STANDARD.real_estate[method])
    return ["", f"{time.process_time() - started:.1f}", "", "", "", "", *_scores(forecast, problem)]


def _scores(forecast: Forecast, problem: Problem) -> list[str]:
    found = score(forecast, problem)
    return [f"{found.get('mae_truth', found['mae']):.3f}", f"{found['crps']:.3f}"]
