"""Learning the law of the hyperplanes, beside sign units with equal relevance, Gaussian processes, BART and a forest.

    python -m studies.benchmarks law friedman10 smooth --sweeps 3000 --sets 5

Results are kept piece by piece in run/law. After Ctrl-C the same command continues; finished pieces are not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from studies.benchmarks import law_tables
from studies.forecasts import Forecast, score
from studies.methods.gaussian_process import gp_ml_wide
from studies.methods.ours import regressor
from studies.methods.trees import bart, forest
from studies.problems import FUNCTIONS, Problem, friedman, jump_and_slope, oblique, simulate
from studies.results import Kept
from studies.runner import Piece, Result, run_and_tell
from studies.sampling import compile_engine

STUDY = "law"
MAX_SWEEPS = 50_000
N_NEW = 500
MANY_SETS, FEW_SETS = 20, 5


class Data(NamedTuple):
    """How to make data sets of a problem from their numbers, and how many there are."""

    make: Callable[[int], Problem]
    n_sets: int


def _of_rows(make: Callable[..., Problem], n: int, d: int, n_sets: int = FEW_SETS) -> Data:
    return Data(lambda repeat: make(n, d, repeat, N_NEW), n_sets)


PROBLEMS = {function.name: Data(partial(simulate, function.name), MANY_SETS) for function in FUNCTIONS} | {
    "slope1": _of_rows(jump_and_slope, 60, 1, MANY_SETS),
    "slope3": _of_rows(jump_and_slope, 200, 3),
    "friedman10": _of_rows(friedman, 200, 10),
    "friedman55": _of_rows(friedman, 200, 55),
    "oblique5": _of_rows(oblique, 300, 5),
    "oblique10": _of_rows(oblique, 300, 10),
    "oblique20": _of_rows(oblique, 300, 20),
}


class Method(NamedTuple):
    """A method with its settings. Raise `version` when a change of code changes the answers."""

    fit: Callable[..., Forecast]
    settings: dict[str, Any]
    version: int = 1


OURS = {
    "law_inferred": Method(regressor, {"sharpness": None, "relevance": None}),
    "sign_relevance": Method(regressor, {"sharpness": "inf", "relevance": None}),
    "sign_equal": Method(regressor, {"sharpness": "inf", "relevance": "equal"}),
}
OTHERS = {
    "gp_gaussian": Method(gp_ml_wide, {"n_restarts": 4, "smoothness": None}),
    "gp_matern": Method(gp_ml_wide, {"n_restarts": 4, "smoothness": 1.5}),
    "bart": Method(bart, {"n_chains": 4, "n_warm": 250, "n_keep": 500}),
    "forest": Method(forest, {"n_trees": 500}),
}
METHODS = OURS | OTHERS


def law(*words: int | str) -> None:
    """Run what has no result yet and print the tables from all that have one.

    Parameters
    ----------
    *words : int or str
        Words of the command line; `--help` explains them.
    """
    given = _parse([str(word) for word in words])
    pieces = plan(given)
    run_and_tell(run_piece, pieces, given.cache, given.jobs)
    law_tables.show_all(Kept.of(given.cache, pieces), list(OURS))


def plan(given: argparse.Namespace) -> list[Piece]:
    """Plan the methods on the data sets of the problems, data set after data set."""
    run = {"n_sweeps": given.sweeps} if given.sweeps else {"n_sweeps": None, "max_sweeps": given.max_sweeps}
    return [
        Piece(STUDY, method, problem, repeat, METHODS[method].settings | (run if method in OURS else {}), version)
        for problem in given.problems or PROBLEMS
        for repeat in range(given.sets or PROBLEMS[problem].n_sets)
        for method, version in ((name, METHODS[name].version) for name in given.methods or METHODS)
    ]


def run_piece(piece: Piece, data: Path | None) -> Result:
    """Fit, predict and score; seconds are processor time.

    Those of ours are of the fit alone: 102 quantiles of the exact mixture at each row would cost more than some fits.
    """
    problem = PROBLEMS[piece.data].make(piece.repeat)
    if piece.method in OURS:
        compile_engine()
    started = time.process_time()
    rows = problem.X, problem.y, problem.X_new
    forecast = METHODS[piece.method].fit(*rows, piece.repeat, **piece.settings)
    seconds = time.process_time() - started
    seconds = forecast.info.get("fit_seconds", seconds)
    return {"scores": score(forecast, problem), "fit_seconds": seconds, "info": forecast.info}


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.benchmarks law", description=law.__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help=f"all, or some of {', '.join(PROBLEMS)}")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="all by default")
    parser.add_argument("--sets", type=int, help=f"data sets per problem, {MANY_SETS} or {FEW_SETS} by default")
    parser.add_argument("--sweeps", type=int, help="sweeps per chain; until converged by default")
    parser.add_argument("--max-sweeps", type=int, default=MAX_SWEEPS, help="where to stop without convergence")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--cache", type=Path, default=Path("run/law"), help="folder where results are kept")
    given = parser.parse_args(words)
    if unknown := [name for name in given.problems if name not in PROBLEMS]:
        parser.error(f"there is no problem {unknown[0]!r}: choose from {', '.join(PROBLEMS)}")
    return given
