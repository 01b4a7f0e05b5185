"""`python -m tests.golden [NAME ...]`: make the golden files anew, all of them or those named.

A file is written only if both engines agree; otherwise the old one stays, and the exit code is 1.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.engine.test_agreement import TRUNCATION
from tools.cases import CASES
from tools.engines import ENGINES, Length
from tools.records import FOLDER, Golden, check_same, pooled_quantiles, summarise, write

LENGTHS = {
    "gibbs": Length(n_chains=8, n_sweeps=6000, n_warm=500, thin=2, seed=2025),
    "jumps": Length(n_chains=8, n_sweeps=1500, n_warm=300, thin=2, seed=2026),
}


def make(name: str, lengths: dict[str, Length] = LENGTHS) -> Golden:
    """Run both engines; AssertionError when they differ by more than Monte Carlo error and truncation."""
    case = CASES[name]()
    draws = {engine: run(case, lengths[engine]) for engine, run in ENGINES.items()}
    cuts = pooled_quantiles(*draws.values())
    found = {engine: summarise(x, cuts) for engine, x in draws.items()}
    check_same(found["jumps"], found["gibbs"], case, bias=TRUNCATION)
    return Golden(case, cuts, lengths, found)


def main(chosen: list[str], folder: Path = FOLDER, lengths: dict[str, Length] = LENGTHS) -> int:
    """Make the chosen files; returns how many were refused."""
    if unknown := sorted(set(chosen) - set(CASES)):
        raise SystemExit(f"There is no case {unknown[0]!r}: expected some of {', '.join(CASES)}.")
    n_refused = 0
    for name in chosen or CASES:
        started = time.process_time()
        try:
            write(folder / f"{name}.json", (CASES[name].__doc__ or "").strip(), make(name, lengths))
            outcome = "written"
        except AssertionError as error:
            n_refused += 1
            outcome = f"NOT written, the engines disagree: {error}"
        print(f"{name}: {outcome} ({time.process_time() - started:.0f} s of processor time)", flush=True)
    return n_refused


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
