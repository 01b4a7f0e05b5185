"""Study: error over a grid of (alpha, nu), the jump engine with both given."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.problems import simulate
from studies.methods import METHODS
from studies.methods.jumps import fit
from studies.pieces import Piece, Result
from studies.reproduction.presets import Preset
from studies.reproduction.comparison import seed_of

NAME = "ablation"
METHOD = "jumps_given"


def plan(preset: Preset) -> list[Piece]:
    """One piece for each function and alpha."""
    grid = {name: value for name, value in preset.ablation.items() if name not in ("functions", "alphas")}
    return [
        Piece(NAME, METHOD, function, k, grid | {"alpha": alpha}, METHODS[METHOD].version)
        for function in preset.ablation["functions"]
        for k, alpha in enumerate(preset.ablation["alphas"])
    ]


def run(piece: Piece, data: Path | None) -> Result:
    """MAE to the truth, and over the noisy test sets, for each nu at one alpha."""
    problem = simulate(piece.data, 0)
    budget = {name: piece.settings[name] for name in ("alpha", "n_chains", "n_sweeps")}
    found: list[tuple[float, float]] = []
    for nu in piece.settings["nus"]:
        point = fit(problem.X, problem.y, seed_of(piece), nu=nu, standardize=False, **budget).predict(problem.X_new)
        found.append((np.abs(point - np.asarray(problem.f_new)).mean(), np.abs(point - problem.y_new).mean()))
    truth, noisy = zip(*found, strict=True)
    return {"alpha": piece.settings["alpha"], "nus": piece.settings["nus"], "mae_truth": truth, "mae": noisy}
