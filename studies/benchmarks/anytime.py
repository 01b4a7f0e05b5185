"""Follow a run until it has converged or its time is used up: R-hat, ESS and CRPS at geometric times."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from studies.forecasts import crps, judge_mixing
from studies.methods.running import FEW, KEPT_PART, LATE_PART, N_CHAINS, Run, advance_to
from studies.problems import Problem
from widestable.diagnostics import LEAST_DRAWS, MAX_RHAT, TARGET_ESS, convergence

# A run is looked at after 1/4 s and then whenever its time has grown by a fifth: four times while it doubles.
FIRST, RATIO = 0.25, 2.0**0.25
# Predictions by draws of many laws of the hyperplanes decompose as many kernels. With more rows than this the CRPS is
# computed only when the time has doubled, and at the end; the looks between have the one before.
MANY_ROWS = 1000


class Point(NamedTuple):
    """A run at one time."""

    seconds: float
    n_iterations: int  # of each chain
    rhat: float  # the largest over the judged rows
    ess: float  # the smallest
    ess_tenth: float  # of the slowest tenth of the rows
    crps: float  # of the held-out data

    @property
    def has_converged(self) -> bool:
        """Whether f has R-hat <= 1.01 and ESS >= 400 at every judged row."""
        return self.rhat <= MAX_RHAT and self.ess >= TARGET_ESS


def follow(run: Run, problem: Problem, budget: float) -> dict[str, Any]:
    """Let a run go on and look at it at geometric times.

    Parameters
    ----------
    run : Run
        Which has not made any iterations.
    problem : Problem
        Has the held-out data.
    budget : float
        Processor seconds. The last stretch is planned to end with them, so they may be exceeded by little.

    Returns
    -------
    dict
        `curve`, one list per field of Point; `converged`; `run_seconds` and `n_iterations` at the end; and
        `seconds_per_sweep` of one chain, without what came before the first look.
    """
    points: list[Point] = []
    scored = 0.0
    run.advance(FEW)
    first = run.seconds, run.n_iterations
    while True:
        if run.f(LATE_PART).shape[1] >= LEAST_DRAWS:
            points.append(_look(run, points[-1].crps if points else np.nan))
            is_last = points[-1].has_converged or run.seconds >= budget
            if is_last or len(problem.y) <= MANY_ROWS or run.seconds >= 2.0 * scored:
                points[-1], scored = points[-1]._replace(crps=_score(run, problem)), run.seconds
            if points[-1].has_converged:
                break
        if run.seconds >= budget:
            break
        advance_to(run, min(_next_time(run.seconds), budget))
    n_later = run.n_iterations - first[1]
    return {
        "curve": {name: [getattr(point, name) for point in points] for name in Point._fields},
        "converged": bool(points) and points[-1].has_converged,
        "run_seconds": run.seconds,
        "n_iterations": run.n_iterations,
        "seconds_per_sweep": (run.seconds - first[0]) / (N_CHAINS * n_later) if n_later else np.nan,
    }


def _look(run: Run, score: float) -> Point:
    """Judge most of the run where that has converged, and else its late part."""
    for part in (KEPT_PART, LATE_PART):
        found = Point(run.seconds, run.n_iterations, *judge_mixing(convergence(run.f(part))), score)
        if found.has_converged:
            break
    return found


def _score(run: Run, problem: Problem) -> float:
    quantiles = run.quantiles()
    return float(np.mean([crps(quantiles, y).mean() for y in problem.y_new]))


def _next_time(seconds: float) -> float:
    """Return the first of the geometric times that is later.

    Examples
    --------
    >>> [round(_next_time(seconds), 3) for seconds in (0.0, 0.25, 3.9)]
    [0.25, 0.297, 4.0]
    """
    if seconds < FIRST:
        return FIRST
    # A hair later, so that rounding does not return the same time.
    return float(FIRST * RATIO ** (math.floor(math.log(seconds / FIRST, RATIO) + 1e-9) + 1))
