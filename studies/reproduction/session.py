"""The studies, and one run of some of them: which pieces, in which order, and what to say about those that failed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from studies.datasets import DataError, load_real_estate, load_sp500
from studies.reproduction import comparisons, posteriors
from studies.reproduction.presets import PRESETS, Preset
from studies.results import Kept
from studies.runner import Outcome, Piece, Places, Run, run_all


class Study(NamedTuple):
    """A plan of pieces and the function that runs one of them."""

    title: str
    plan: Callable[[Preset], list[Piece]]
    run: Run
    alone: bool = False  # its pieces are timed, so they run one at a time, after all others


STUDIES = {
    "simulated": Study("Nine simulated functions", comparisons.plan_simulated, comparisons.run_simulated),
    "real_estate": Study("House prices in Taipei", comparisons.plan_real_estate, comparisons.run_real_estate),
    "sp500": Study("S&P 500", comparisons.plan_sp500, comparisons.run_sp500),
    "timing": Study("Time", comparisons.plan_timing, comparisons.run_timing, alone=True),
    "ablation": Study("Error over (alpha, nu)", comparisons.plan_ablation, comparisons.run_ablation),
    "covariance": Study("The random covariance", posteriors.plan_covariance, posteriors.run_covariance),
    "traces": Study("Mixing", posteriors.plan_traces, posteriors.run_traces),
}
NEEDS = {"real_estate": load_real_estate, "sp500": load_sp500}


class Plan(NamedTuple):
    """Studies to run with one preset."""

    names: tuple[str, ...]
    preset: Preset


def make_plan(names: Sequence[str], preset: str) -> Plan:
    """Check the names and return the plan.

    Parameters
    ----------
    names : sequence of str
        Some of STUDIES; none means all.
    preset : str
        quick, standard or full.
    """
    if preset not in PRESETS:
        raise ValueError(f"Got preset {preset!r}, expected one of {', '.join(PRESETS)}: pass standard, the default.")
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        raise ValueError(f"There is no study {', '.join(map(repr, unknown))}: choose from {', '.join(STUDIES)}.")
    return Plan(tuple(name for name in STUDIES if not names or name in names), PRESETS[preset])


def run(plan: Plan, cache: Path, data: Path | None, n_jobs: int, progress: bool | None = None) -> bool:
    """Run every piece that has no result yet. Ctrl-C keeps finished pieces.

    Parameters
    ----------
    plan : Plan
    cache : Path
        Folder where results are kept.
    data : Path or None
        Folder of the real data; by default WIDESTABLE_DATA.
    n_jobs : int
        Number of processes.
    progress : bool or None
        As for `studies.runner.run_all`.

    Returns
    -------
    bool
        Whether all results are there now.
    """
    places = Places(cache, data)
    ready = [name for name in plan.names if _has_data(name, data)]
    outcomes: list[Outcome] = []
    try:
        for alone in (False, True):
            names = [name for name in ready if STUDIES[name].alone == alone]
            outcomes += run_all(_jobs(names, plan.preset), places, n_jobs=1 if alone else n_jobs, progress=progress)
    except KeyboardInterrupt:
        _say("Stopped. Finished pieces are kept: run the same command again to continue.")
        return False
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in failed:
        _say(f"{outcome.piece.name} failed: {outcome.error}")
    return not failed and len(ready) == len(plan.names)


def _jobs(names: Sequence[str], preset: Preset) -> list[tuple[Run, Piece]]:
    return [(STUDIES[name].run, piece) for name in names for piece in STUDIES[name].plan(preset)]


def _has_data(name: str, data: Path | None) -> bool:
    """Return whether a study has its data; if not, say what to do and go on without it."""
    if name not in NEEDS:
        return True
    try:
        NEEDS[name](data)
    except DataError as error:
        _say(f"Skipping {name}: {error}")
        return False
    return True


def all_pieces(preset: Preset) -> list[Piece]:
    """Return the pieces of every study."""
    return [piece for study in STUDIES.values() for piece in study.plan(preset)]


def show(plan: Plan, cache: Path) -> str:
    """Return one line per study: how many pieces are finished, and their time."""
    lines = []
    for name in plan.names:
        kept = Kept.of(cache, STUDIES[name].plan(plan.preset))
        minutes = kept.seconds / 60.0
        lines.append(f"{name:12} {len(kept.found):4} of {kept.n_planned:4} pieces, {minutes:7.1f} core minutes")
    return "\n".join(lines)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
