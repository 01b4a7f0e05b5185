"""`python -m studies.evidence run|series|default|export|page`: run what has no result yet, make tables of what has one.

    python -m studies.evidence run one_jump nile --methods sign_equal_normal stochtree --sets 1 --jobs 2

Results are kept piece by piece. After Ctrl-C the same command continues; finished pieces are not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from studies.benchmarks.measure import show
from studies.evidence import choice, series, table
from studies.evidence.fits import run_piece
from studies.evidence.page import write_page
from studies.evidence.plan import LIMIT, METHODS, N_SETS, PROBLEMS, RULE, pieces, without_data
from studies.runner import Piece, run_and_tell

PAGE = Path("docs/evidence.md")
CACHE = Path("run/evidence")


def run(given: argparse.Namespace) -> None:
    """Run what has a result neither in the cache nor in the repository."""
    plan = pieces(given.problems, given.methods or (), given.sets)
    todo = _possible(plan, METHODS, without_data, set(table.read(table.RESULTS)["piece"]))
    print(f"{len(todo)} of {len(plan)} pieces are not in {table.RESULTS.name}; {LIMIT:g} s per fit", flush=True)
    run_and_tell(run_piece, todo, given.cache, given.jobs)


def run_series(given: argparse.Namespace) -> None:
    """Look for change points in series; what has a result is not run again."""
    plan = series.pieces()
    known = set(table.read(series.RESULTS, series.LAYOUT)["piece"])
    run_and_tell(series.run_piece, _possible(plan, series.METHODS, series.without_data, known), given.cache, given.jobs)


def _possible(
    plan: list[Piece], methods: Mapping[str, Any], why_not: Callable[[str], str], known: set[str]
) -> list[Piece]:
    """Return the pieces without a result whose package and data are there, and print what is left out."""
    todo = [piece for piece in plan if piece.file_name not in known]
    absent = {name for name in dict.fromkeys(piece.method for piece in todo) if not methods[name].is_installed}
    for name in absent:
        print(f"{name} skipped: {methods[name].module} is missing, see `experiments` in pyproject.toml", flush=True)
    reasons = {name: why for name in dict.fromkeys(piece.data for piece in todo) if (why := why_not(name))}
    for name, why in reasons.items():
        print(f"{name} skipped: {why}", flush=True)
    return [piece for piece in todo if piece.method not in absent and piece.data not in reasons]


def default(given: argparse.Namespace) -> None:
    """Print the table from which the default is chosen."""
    plan = pieces(n_sets=given.sets)
    everything = table.gather(given.cache, plan, table.RESULTS)
    frame = table.complete(everything, plan)
    if frame.empty:
        raise SystemExit("There is no data set on which all methods have a result: run more.")
    found = choice.candidates(frame, everything)
    show(f"{frame.groupby(['problem', 'repeat']).ngroups} data sets", choice.HEADER, choice.in_cells(found))
    print(f"\n{RULE}\n\nChosen: {choice.chosen(found)}")


def export(given: argparse.Namespace) -> None:
    """Write the kept results into the repository, from where the page is written."""
    found = table.export(given.cache, pieces(n_sets=given.sets), table.RESULTS)
    print(f"{table.RESULTS}: {len(found)} pieces")
    found = table.export(given.cache, series.pieces(), series.RESULTS, series.LAYOUT)
    print(f"{series.RESULTS}: {len(found)} pieces")


def page(given: argparse.Namespace) -> None:
    """Write the page from the exported results and those kept since."""
    plan = pieces(n_sets=given.sets)
    of_series = table.gather(given.cache, series.pieces(), series.RESULTS, series.LAYOUT)
    write_page(given.out, table.gather(given.cache, plan, table.RESULTS), plan, of_series)
    print(f"Written: {given.out}")


COMMANDS = {"run": run, "series": run_series, "default": default, "export": export, "page": page}


def main(words: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="|".join(COMMANDS))
    for name, function in COMMANDS.items():
        about = (function.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=about, description=about)
        if name != "series":
            command.add_argument("--sets", type=int, default=N_SETS, help=f"data sets per problem, {N_SETS} by default")
        command.add_argument("--cache", type=Path, default=CACHE, help="folder where runs keep results")
        if name == "run":
            command.add_argument(
                "problems", nargs="*", metavar="PROBLEM", help=f"all, or some of {', '.join(PROBLEMS)}"
            )
            command.add_argument("--methods", nargs="+", choices=METHODS, help="all that are installed by default")
        if name in ("run", "series"):
            command.add_argument("--jobs", type=int, default=1, help="processes, each with one thread")
        if name == "page":
            command.add_argument("--out", type=Path, default=PAGE, help="the page; pictures go to images/ beside it")
    given = parser.parse_args(words)
    if unknown := [name for name in getattr(given, "problems", ()) if name not in PROBLEMS]:
        parser.error(f"there is no problem {unknown[0]!r}: choose from {', '.join(PROBLEMS)}")
    COMMANDS[given.command](given)


if __name__ == "__main__":
    main()
