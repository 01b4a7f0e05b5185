"""The published sampler and the jump engine on one data set. Shared by the studies of the posterior itself."""

from __future__ import annotations

from studies.problems import BY_NAME, Problem
from studies.methods import METHODS
from studies.methods.jumps import fit
from studies.pieces import Piece
from studies.reproduction.presets import Settings
from widestable.posterior import Posterior

FUNCTION = "three_jumps"
SAMPLERS = ("published", "jumps_given")


def plan_both(study: str, settings: Settings) -> list[Piece]:
    """Both samplers on the same data, with the paper's alpha and nu."""
    given = settings | {"alpha": BY_NAME[FUNCTION].alpha, "nu": 1.0}
    return [Piece(study, name, FUNCTION, 0, given, METHODS[name].version) for name in SAMPLERS]


def fit_jumps(problem: Problem, seed: int, settings: Settings) -> Posterior:
    """The posterior of the jump engine."""
    given = {name: settings[name] for name in ("alpha", "nu", "n_chains", "n_sweeps")}
    return fit(problem.X, problem.y, seed, standardize=False, **given).posterior_
