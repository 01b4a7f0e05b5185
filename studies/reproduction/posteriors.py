"""Studies of the posterior itself, published sampler beside jump engine: mixing, and the random covariance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.methods import METHODS
from studies.methods.ours import run_published
from studies.problems import BY_NAME, Floats, Problem, simulate
from studies.reproduction.comparisons import seed_of
from studies.reproduction.presets import Preset, Settings
from studies.runner import Piece, Result
from studies.sampling import covariance_draws, draws_at, fit
from widestable import Posterior
from widestable.diagnostics import convergence
from widestable.exact import posterior_predictive

FUNCTION = "three_jumps"
SAMPLERS = ("published", "jumps_given")
# New rows whose traces are shown: beside the jump at 0, and in the middle of a flat stretch.
PLACES = (0.02, 0.5)
MAX_SHOWN = 500
QUARTILES = (0.25, 0.5, 0.75)


def plan_traces(preset: Preset) -> list[Piece]:
    """Plan both samplers on the same data."""
    return _plan_both("traces", preset.traces)


def plan_covariance(preset: Preset) -> list[Piece]:
    """Plan both samplers on the same data."""
    return _plan_both("covariance", preset.covariance)


def _plan_both(study: str, settings: Settings) -> list[Piece]:
    given = settings | {"alpha": BY_NAME[FUNCTION].alpha, "nu": 1.0}
    return [Piece(study, name, FUNCTION, 0, given, METHODS[name].version) for name in SAMPLERS]


def run_traces(piece: Piece, data: Path | None) -> Result:
    """Return R-hat and effective sample size at every new row, and traces of all chains at two of them."""
    problem = simulate(piece.data, 0)
    f = (_traces_published if piece.method == "published" else _traces_jumps)(problem, seed_of(piece), piece.settings)
    found = convergence(f)
    shown = [int(np.argmin(np.abs(problem.X_new[:, 0] - place))) for place in PLACES]
    step = -(-f.shape[1] // MAX_SHOWN)
    return {
        "x": problem.X_new[:, 0],
        "rhat": found.rhat,
        "ess": found.ess,
        "n_draws": f.shape[0] * f.shape[1],
        "places": problem.X_new[shown, 0],
        "traces": f[:, ::step, shown].transpose(2, 0, 1),
    }


def run_covariance(piece: Piece, data: Path | None) -> Result:
    """Return the quartiles of each entry of Q_s, noise included, shape (3, n, n)."""
    problem, seed = simulate(piece.data, 0), seed_of(piece)
    if piece.method == "published":
        Q = _covariance_published(problem, seed, piece.settings)
    else:
        Q = covariance_draws(_fit_jumps(problem, seed, piece.settings))
    return {"x": problem.X[:, 0], "quantiles": np.quantile(Q, QUARTILES, axis=0)}


def _traces_published(problem: Problem, seed: int, settings: Settings) -> Floats:
    given = _given_to_published(settings)
    runs = [run_published(problem.X, problem.y, problem.X_new, seed + c, **given) for c in range(settings["n_chains"])]
    return np.stack([f for f, _ in runs])


def _traces_jumps(problem: Problem, seed: int, settings: Settings) -> Floats:
    return draws_at(_fit_jumps(problem, seed, settings), problem.X_new, np.random.default_rng(seed))


def _covariance_published(problem: Problem, seed: int, settings: Settings) -> Floats:
    rng, given = np.random.default_rng(seed), _given_to_published(settings)
    draws = posterior_predictive(problem.X, problem.y, keep_covariance=True, random_state=rng, progress=False, **given)
    return np.asarray(draws.covariance)


def _given_to_published(settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in ("alpha", "nu", "iterations", "burn_in")}


def _fit_jumps(problem: Problem, seed: int, settings: Settings) -> Posterior:
    given = {name: settings[name] for name in ("alpha", "nu", "n_chains", "n_sweeps")}
    return fit(problem.X, problem.y, seed, standardize=False, **given).posterior_
