"""Study: the nine simulated functions, every method."""

from __future__ import annotations

from pathlib import Path

from studies.problems import FUNCTIONS, simulate
from studies.methods import METHODS
from studies.pieces import Piece, Result
from studies.reproduction.presets import Preset
from studies.reproduction.comparison import compare

NAME = "simulated"


def plan(preset: Preset) -> list[Piece]:
    """Every method on every training set of every function; the first training sets come first."""
    return [
        Piece(NAME, name, function.name, repeat, preset.settings(function.name, name), method.version)
        for repeat in range(preset.n_repeats)
        for function in FUNCTIONS
        for name, method in METHODS.items()
    ]


def run(piece: Piece, data: Path | None) -> Result:
    """Fit and score; predictions are kept for the first training set, which the figures show."""
    return compare(piece, simulate(piece.data, piece.repeat), keep_predictions=piece.repeat == 0)
