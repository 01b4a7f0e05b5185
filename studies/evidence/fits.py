"""One piece: fit a method to a data set, score it, and say so if it failed."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from studies.evidence.plan import METHODS, OURS, PROBLEMS, TOO_LONG
from studies.forecasts import Forecast, mixing, score
from studies.methods.limited import OutOfTimeError, at_most
from studies.problems import Problem
from studies.runner import Piece, Result
from studies.sampling import compile_engine
from widestable.diagnostics import MAX_RHAT, TARGET_ESS

# A fit is stopped after this many limits, compiling and predicting included.
STOP_AFTER = 6.0


def run_piece(piece: Piece, data: Path | None) -> Result:
    """Fit, predict and score. What goes wrong in a method is part of its result; without data nothing is kept."""
    problem = PROBLEMS[piece.data].make(piece.repeat)
    limit = piece.settings.get("limit", piece.settings.get("max_time", np.inf))
    if piece.method in OURS:
        compile_engine()
    started = time.process_time()
    try:
        with at_most(STOP_AFTER * min(limit, 3600.0)):
            forecast = METHODS[piece.method].fit(problem.X, problem.y, problem.X_new, piece.repeat, **piece.settings)
        seconds = forecast.info.get("fit_seconds", time.process_time() - started)
        result = _judge(forecast, problem, seconds, limit)
    # Some packages end the program with other exceptions than ours would; all of them are failures of the method.
    except Exception as error:
        seconds = time.process_time() - started
        result = {"failed": f"{type(error).__name__}: {error}"[:200], "fit_seconds": seconds}
    return result | {"versions": METHODS[piece.method].versions}


def _judge(forecast: Forecast, problem: Problem, seconds: float, limit: float) -> Result:
    """Return scores, time and convergence of a forecast."""
    if seconds > TOO_LONG * limit:
        raise OutOfTimeError(f"took {seconds:.0f} s")
    if not np.all(np.isfinite(forecast.quantiles)):
        raise ValueError("predictions are not finite")
    mixed = forecast.info.get("mixing", {}).get("f") or mixing(forecast)
    found: Result = {"scores": score(forecast, problem), "fit_seconds": seconds, "n_iterations": forecast.n_iterations}
    found["scores"].pop("mae_sets")
    if mixed:
        good = mixed["rhat"] <= MAX_RHAT and mixed["ess"] >= TARGET_ESS
        found |= {"mixing": mixed, "converged": bool(good)}
    return found
