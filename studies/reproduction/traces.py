"""Study: traces and R-hat of the published sampler beside the jump engine, at new rows beside and away from jumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from widestable.diagnostics import convergence
from studies.problems import Floats, Problem, simulate
from studies.methods.jumps import draws_at
from studies.methods.published import run as run_published
from studies.pieces import Piece, Result
from studies.reproduction.presets import Preset
from studies.reproduction.comparison import seed_of
from studies.reproduction.two_samplers import fit_jumps, plan_both

NAME = "traces"
# New rows that are shown: beside the jump at 0, and in the middle of a flat stretch.
PLACES = (0.02, 0.5)
MAX_SHOWN = 500


def plan(preset: Preset) -> list[Piece]:
    """Both samplers on the same data."""
    return plan_both(NAME, preset.traces)


def run(piece: Piece, data: Path | None) -> Result:
    """R-hat and effective sample size at every new row; traces of all chains at two of them."""
    problem = simulate(piece.data, 0)
    sample = _published if piece.method == "published" else _jumps
    f = sample(problem, seed_of(piece), piece.settings)
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


def _published(problem: Problem, seed: int, settings: dict[str, Any]) -> Floats:
    given = {name: settings[name] for name in ("alpha", "nu", "iterations", "burn_in")}
    runs = [run_published(problem.X, problem.y, problem.X_new, seed + c, **given) for c in range(settings["n_chains"])]
    return np.stack([f for f, _ in runs])


def _jumps(problem: Problem, seed: int, settings: dict[str, Any]) -> Floats:
    return draws_at(fit_jumps(problem, seed, settings), problem.X_new, np.random.default_rng(seed))
