"""Noise with outliers beside normal noise: which outliers and jumps are found, what clean data lose, and competitors.

    python -m studies.benchmarks outliers size_8 clean --sets 3

Results are kept piece by piece in run/outliers. After Ctrl-C the same command continues; finished pieces are not run
again. Sign units with equal relevance, until converged or for `max_sweeps` sweeps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from studies.benchmarks import outlier_data, outlier_tables
from studies.benchmarks.outlier_data import Bools, Planted
from studies.datasets import DataError, cut, load_real_estate, load_sp500, random_rows, standardise
from studies.forecasts import Forecast, score
from studies.methods.gaussian_process import gp_bayes, gp_student
from studies.methods.ours import regressor
from studies.methods.trees import bart
from studies.problems import FUNCTIONS, Floats, Problem, simulate
from studies.results import Kept
from studies.runner import Piece, Result, run_and_tell
from studies.sampling import compile_engine, fit
from widestable import StableRegressor

STUDY = "outliers"
# Raise one when a change of code changes the answers of a method.
VERSIONS = {"outliers": 2}
SIZES = (8, 30, 1000, 5)
SIZE = 8.0
SURE, LIKELY = 0.9, 0.5


class Line(NamedTuple):
    """Data sets of one kind by their number, how many there are, and where to stop without convergence."""

    make: Callable[[int], Any]
    n_sets: int
    max_sweeps: int
    methods: tuple[str, ...] = ("outliers", "normal")


def real_estate(split: int) -> Problem:
    """Return a split of the house prices in the units of the paper."""
    table = standardise(load_real_estate())
    return cut(table, random_rows(table, split))


def sp500(split: int) -> Problem:
    """Return a split of the closing values, with every other test day."""
    table = standardise(load_sp500())
    train, test = random_rows(table, split)
    return cut(table, (train, test[::2]))


BESIDE = ("outliers", "normal", "bart", "gp_normal", "gp_student")
SPECIAL: dict[str, Callable[[float, int], Planted]] = {
    "neighbours": outlier_data.neighbours,
    "plateau": outlier_data.plateau,
    "map": outlier_data.tilted_map,
    "repeated": outlier_data.repeated_rows,
}
PLANTED = {f"size_{size}": Line(partial(outlier_data.one_step, float(size)), 10, 5632) for size in SIZES} | {
    name: Line(partial(make, SIZE), 10, 3584 if name == "map" else 5632) for name, make in SPECIAL.items()
}
CLEAN = {f"clean_{f.name}": Line(partial(simulate, f.name), 5, 11776) for f in FUNCTIONS}
SHARED = {f"share_{f.name}": Line(partial(outlier_data.contaminated, f.name), 3, 11776, BESIDE) for f in FUNCTIONS}
REAL = {"sp500": Line(sp500, 3, 2560), "real_estate": Line(real_estate, 10, 11776)}
LINES = PLANTED | CLEAN | {"sp500": REAL["sp500"]} | SHARED | {"real_estate": REAL["real_estate"]}
# Several lines under one name.
TOGETHER = {
    "sizes": [f"size_{size}" for size in SIZES],
    "special": list(SPECIAL),
    "clean": [*CLEAN, "sp500"],
    "share": list(SHARED),
}

# Those with `max_sweeps` and the line's settings are ours.
OURS: dict[str, dict[str, Any]] = {"outliers": {"noise": "outliers"}, "normal": {"noise": "normal"}}
CHAINS = {"n_chains": 2, "n_warm": 400, "n_keep": 300}
OTHERS: dict[str, tuple[Callable[..., Forecast], dict[str, Any]]] = {
    "bart": (bart, {"n_chains": 4, "n_warm": 250, "n_keep": 500}),
    "gp_normal": (gp_bayes, CHAINS),
    "gp_student": (gp_student, CHAINS),
}


def outliers(*words: int | str) -> None:
    """Run what has no result yet and print the tables from all that have one.

    Parameters
    ----------
    *words : int or str
        Words of the command line; `--help` explains them.
    """
    given = _parse([str(word) for word in words])
    pieces = plan(given)
    run_and_tell(run_piece, pieces, given.cache, given.jobs)
    outlier_tables.show_all(Kept.of(given.cache, pieces), list(PLANTED), list(OURS))


def plan(given: argparse.Namespace) -> list[Piece]:
    """Plan the methods on the data sets of the lines, data set after data set; lines without data are left out."""
    names = [name for word in given.lines or LINES for name in TOGETHER.get(word, [word])]
    return [
        Piece(
            STUDY,
            method,
            name,
            repeat,
            _settings(method, given.max_sweeps or LINES[name].max_sweeps),
            VERSIONS.get(method, 1),
        )
        for name in names
        if name not in REAL or _has_data(name)
        for repeat in range(given.sets or LINES[name].n_sets)
        for method in LINES[name].methods
    ]


def _settings(method: str, max_sweeps: int) -> dict[str, Any]:
    return OURS[method] | {"max_sweeps": max_sweeps} if method in OURS else dict(OTHERS[method][1])


def _has_data(name: str) -> bool:
    try:
        REAL[name].make(0)
    except DataError as missing:
        print(f"{name} skipped: {missing}", flush=True)
        return False
    return True


def run_piece(piece: Piece, data: Path | None) -> Result:
    """Fit and compare with the truth; seconds are processor time of the fit, for others than ours of all they do."""
    made = LINES[piece.data].make(piece.repeat)
    if piece.method in OURS:
        compile_engine()
    if isinstance(made, Planted):
        return find_planted(made, piece.repeat, **piece.settings)
    method = regressor if piece.method in OURS else OTHERS[piece.method][0]
    started = time.process_time()
    forecast = method(made.X, made.y, made.X_new, piece.repeat, **piece.settings)
    seconds = forecast.info.get("fit_seconds", time.process_time() - started)
    return {"scores": score(forecast, made), "fit_seconds": seconds, "info": forecast.info}


# --- Planted outliers and jumps --------------------------------------------------------------------------


def find_planted(data: Planted, seed: int, **settings: Any) -> Result:
    """Count outliers and jumps that were found, those that are not there, and measure the error to the truth."""
    started = time.process_time()
    model = fit(data.X, data.y, seed, **settings)
    seconds = time.process_time() - started
    probability = model.posterior_.outlier_probability
    wrong = np.array([np.sum(sides != data.sides, axis=1) for sides in likely_sides(model, data.X)])
    # A jump has no first side.
    wrong = np.minimum(wrong, len(data.y) - wrong).reshape(-1, len(data.sides))
    found = {
        "outliers": int(np.sum(probability[data.outliers] > SURE)),
        "n_outliers": len(data.outliers),
        "flagged": int(np.sum(np.delete(probability, data.outliers) > LIKELY)),
        "jumps": int(np.sum(np.any(wrong <= data.slack, axis=0))),
        "n_jumps": len(data.sides),
        "false_jumps": int(np.sum(np.all(wrong > data.slack, axis=1))),
    }
    posterior = model.posterior_
    info = {"converged": posterior.converged, "n_sweeps": posterior.n_sweeps}
    mae = np.abs(model.predict(data.X) - data.f).mean()
    return {"found": found, "scores": {"mae_truth": mae}, "fit_seconds": seconds, "info": info}


def likely_sides(model: StableRegressor, X: Floats) -> list[Bools]:
    """Return which rows are above each jump that has a probability above a half."""
    likely = [jump for jump in model.jumps() if jump.probability > LIKELY]
    # With one input the location is a place, whatever the sign of the step.
    return [(X[:, 0] if X.shape[1] == 1 else X @ jump.direction) > jump.location for jump in likely]


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m studies.benchmarks outliers", description=outliers.__doc__.splitlines()[0]
    )
    names = [*TOGETHER, *LINES]
    parser.add_argument("lines", nargs="*", metavar="LINE", help=f"all, or some of {', '.join(names)}")
    parser.add_argument("--sets", type=int, help="data sets per line, 3 to 10 by default")
    parser.add_argument("--max-sweeps", type=int, help="where to stop without convergence")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--cache", type=Path, default=Path("run/outliers"), help="folder where results are kept")
    given = parser.parse_args(words)
    if unknown := [name for name in given.lines if name not in names]:
        parser.error(f"there is no line {unknown[0]!r}: choose from {', '.join(names)}")
    return given
