"""Study: time of an iteration and of an effective sample, one method at a time on one core."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from studies.forecasts import mixing
from studies.problems import simulate
from studies.methods import METHODS
from studies.pieces import Piece, Result
from studies.reproduction.presets import Preset
from studies.reproduction.comparison import seed_of

NAME = "timing"
PROBLEMS = ("three_jumps", "quadrants")


def plan(preset: Preset) -> list[Piece]:
    """Every method on one function of one input and one of two, at alpha* without a search."""
    return [
        Piece(NAME, name, function, 0, _without_search(preset.settings(function, name)), method.version)
        for function in PROBLEMS
        for name, method in METHODS.items()
    ]


def _without_search(settings: dict[str, Any]) -> dict[str, Any]:
    """The middle of a grid stands for the pair that a search would have found: only the time matters."""
    if "alphas" not in settings:
        return settings
    middle = settings["alphas"][len(settings["alphas"]) // 2]
    return settings | {"alphas": [middle], "nus": [1.0]}


def run(piece: Piece, data: Path | None) -> Result:
    """Fit twice and take the processor time of the second: the first compiles."""
    problem = simulate(piece.data, 0)
    method = METHODS[piece.method]
    for _ in range(2):
        started = time.process_time()
        forecast = method.fit(problem.X, problem.y, problem.X_new, seed_of(piece), **piece.settings)
        seconds = time.process_time() - started
    return {"fit_seconds": seconds, "n_iterations": forecast.n_iterations, "mixing": mixing(forecast)}
