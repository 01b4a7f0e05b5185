"""One method on one problem: fit, predict, score. Shared by the studies that compare methods."""

from __future__ import annotations

import time
import zlib

from studies.forecasts import mixing, score
from studies.problems import Problem
from studies.methods import METHODS
from studies.pieces import Piece, Result


def compare(piece: Piece, problem: Problem, *, keep_predictions: bool) -> Result:
    """Scores, mixing, what the method reports, seconds; predictions too when figures need them."""
    started = time.perf_counter()
    forecast = METHODS[piece.method].fit(problem.X, problem.y, problem.X_new, seed_of(piece), **piece.settings)
    result: Result = {"fit_seconds": time.perf_counter() - started, "n_iterations": forecast.n_iterations}
    result |= {"scores": score(forecast, problem), "mixing": mixing(forecast), "info": forecast.info}
    if keep_predictions:
        result |= {"point": forecast.point, "lower": forecast.ends[:, 0], "upper": forecast.ends[:, 1]}
    return result


def seed_of(piece: Piece) -> int:
    """A seed of its own for each piece, the same in every run."""
    return zlib.crc32(piece.name.encode()) % 2**31
