"""One run of the command: which pieces, in which order, and what to say about those that failed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from studies.datasets import DataError, load_real_estate, load_sp500
from studies.reproduction.page.kept import Kept
from studies.reproduction.page.write import write_page
from studies.pieces import Piece
from studies.reproduction.presets import PRESETS, Preset
from studies.runner import Outcome, Places, Run, run_all
from studies.reproduction import STUDIES

__all__ = ["Plan", "make_plan", "run", "show", "write_page"]

NEEDS = {"real_estate": load_real_estate, "sp500": load_sp500}


class Plan(NamedTuple):
    """Studies to run with one preset."""

    names: tuple[str, ...]
    preset: Preset


def make_plan(names: Sequence[str], preset: str) -> Plan:
    """Check the names; none means all studies."""
    if preset not in PRESETS:
        raise ValueError(f"Got preset {preset!r}, expected one of {', '.join(PRESETS)}: pass standard, the default.")
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        raise ValueError(f"There is no study {', '.join(map(repr, unknown))}: choose from {', '.join(STUDIES)}.")
    return Plan(tuple(name for name in STUDIES if not names or name in names), PRESETS[preset])


def run(plan: Plan, cache: Path, data: Path | None, n_jobs: int, progress: bool | None = None) -> bool:
    """Run what has no result yet; whether everything asked for is there now. Ctrl-C keeps finished pieces."""
    places = Places(cache, data)
    ready = [name for name in plan.names if _has_data(name, data)]
    outcomes: list[Outcome] = []
    try:
        for alone in (False, True):
            names = [name for name in ready if STUDIES[name].alone == alone]
            outcomes += run_all(_jobs(names, plan.preset), places, n_jobs=1 if alone else n_jobs, progress=progress)
    except KeyboardInterrupt:
        _say("Stopped. Finished pieces are kept: the same command goes on from here.")
        return False
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in failed:
        _say(f"{outcome.piece.name} failed: {outcome.error}")
    return not failed and len(ready) == len(plan.names)


def _jobs(names: Sequence[str], preset: Preset) -> list[tuple[Run, Piece]]:
    return [(STUDIES[name].run, piece) for name in names for piece in STUDIES[name].plan(preset)]


def _has_data(name: str, data: Path | None) -> bool:
    """Whether a study has its data; if not, say what to do, and go on without it."""
    if name not in NEEDS:
        return True
    try:
        NEEDS[name](data)
    except DataError as error:
        _say(f"Skipping {name}: {error}")
        return False
    return True


def show(plan: Plan, cache: Path) -> str:
    """A line for each study: finished pieces and their time."""
    lines = []
    for name in plan.names:
        kept = Kept.of(cache, STUDIES[name].plan(plan.preset))
        minutes = kept.seconds / 60.0
        lines.append(f"{name:12} {len(kept.found):4} of {kept.n_planned:4} pieces, {minutes:7.1f} core minutes")
    return "\n".join(lines)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
