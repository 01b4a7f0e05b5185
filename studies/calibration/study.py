"""The plan of the simulations and one run of them: in parallel, resumable, with the page at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies.calibration.page import write_page
from studies.calibration.simulations import COVERAGES, interval_ends, simulate
from studies.problems import FUNCTIONS
from studies.problems import simulate as simulate_function
from studies.results import Kept
from studies.runner import Piece, Places, Result, Run, run_all
from studies.sampling import default_model, fit

NAME = "calibration"
# Draws are an autocorrelation time or more apart. The slowest quantity took 16 sweeps in six runs with sign units, 30
# in eight runs of the blocked sampler, 5 to 35 (sigma2) in thirteen runs with outliers, 62 to 425 (a relevance, 147 on
# average) in six runs with relevances, and 28 to 131 (the sharpness or a relevance, 68 on average) in six runs with the
# law inferred. The last three make fewer draws.
SETTINGS: dict[str, dict[str, Any]] = {
    "sign": {"n_warm": 1000, "thin": 30, "n_draws": 99},
    "outliers": {"n_warm": 1000, "thin": 40, "n_draws": 39},
    "relevance": {"n_warm": 1500, "thin": 160, "n_draws": 19},
    "law": {"n_warm": 600, "thin": 80, "n_draws": 19},
    "gibbs": {"n_warm": 1000, "thin": 40, "n_draws": 99, "alpha": 1.1},
    "broken": {"n_warm": 1000, "thin": 30, "n_draws": 99},
}
# Raise one when a change of a sampler changes its draws, so that old results are not reused.
VERSIONS = {"sign": 3, "outliers": 4, "law": 5, "relevance": 2, "gibbs": 1, "broken": 3, "coverage": 4}
# Enough to find a broken sampler out.
N_BROKEN = 200
N_REPEATS_OF_FUNCTIONS = 5


def plan(kind: str, n_simulations: int) -> list[Piece]:
    """Plan one piece per simulation."""
    n = min(n_simulations, N_BROKEN) if kind == "broken" else n_simulations
    return [Piece(NAME, kind, "prior", repeat, dict(SETTINGS[kind]), VERSIONS[kind]) for repeat in range(n)]


def plan_functions(n_repeats: int) -> dict[str, list[Piece]]:
    """Plan training sets of the nine functions, by title, fitted by default."""
    how = {"n_chains": 2, "n_sweeps": 6000} | default_model()
    return {
        function.title: [
            Piece(NAME, "coverage", function.name, repeat, dict(how), VERSIONS["coverage"])
            for repeat in range(n_repeats)
        ]
        for function in FUNCTIONS
    }


def run_piece(piece: Piece, data: Path | None) -> Result:
    """Return ranks and coverage of one simulation, or coverage on one training set of a function."""
    if piece.method in SETTINGS:
        return simulate(piece.method, piece.repeat, **piece.settings)
    problem = simulate_function(piece.data, piece.repeat)
    model = fit(problem.X, problem.y, piece.repeat, **piece.settings)
    ends = model.predict_quantiles(problem.X_new, interval_ends().ravel()).reshape(-1, len(COVERAGES), 2)
    y = problem.y_new[:, :, None]
    inside = (ends[:, :, 0] <= y) & (y <= ends[:, :, 1])
    return {"inside": inside.mean(axis=(0, 1))[None, :], "n_each": inside[:, :, 0].size}


def run(
    kinds: list[str],
    n_simulations: int,
    cache: Path,
    page: Path,
    n_jobs: int,
    n_repeats: int = N_REPEATS_OF_FUNCTIONS,
    progress: bool | None = None,
) -> bool:
    """Run what has no result yet and write the page from all kept results; sections without any stay as they are.

    Parameters
    ----------
    kinds : list of str
        Some of SETTINGS.
    n_simulations : int
        Simulations per kind.
    cache, page : Path
        Folder where results are kept, and the page.
    n_jobs : int
        Number of processes.
    n_repeats : int
        Training sets per simulated function.
    progress : bool or None
        As for `studies.runner.run_all`.

    Returns
    -------
    bool
        Whether nothing failed.
    """
    functions = plan_functions(n_repeats)
    todo = [piece for kind in kinds for piece in plan(kind, n_simulations)]
    todo += [piece for parts in functions.values() for piece in parts]
    jobs: list[tuple[Run, Piece]] = [(run_piece, piece) for piece in todo]
    outcomes = run_all(jobs, Places(cache), n_jobs=n_jobs, progress=progress)
    kept = {kind: Kept.of(cache, plan(kind, n_simulations)).results for kind in SETTINGS}
    n_draws = {kind: int(settings["n_draws"]) for kind, settings in SETTINGS.items()}
    write_page(page, kept, n_draws, {title: Kept.of(cache, parts).results for title, parts in functions.items()})
    return all(outcome.error is None for outcome in outcomes)
