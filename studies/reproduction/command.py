"""The command `reproduce`: run studies, keep results, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PRESET_NAMES = ("quick", "standard", "full")


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Studies to run; all by default.", show_default=False)
    ] = None,
    preset: Annotated[str, typer.Option(help="quick, standard or full.")] = "standard",
    quick: Annotated[bool, typer.Option("--quick", help="The same as --preset quick.")] = False,
    standard: Annotated[bool, typer.Option("--standard", help="The same as --preset standard.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The same as --preset full.")] = False,
    data: Annotated[Path | None, typer.Option(help="Folder of the data; WIDESTABLE_DATA by default.")] = None,
    cache: Annotated[Path, typer.Option(help="Folder where finished pieces are kept.")] = Path("run/reproduction"),
    out: Annotated[Path | None, typer.Option(help="The page; docs/reproduction.md, for quick in the cache.")] = None,
    n_jobs: Annotated[int, typer.Option(help="Processes; timing always uses one.")] = 2,
    only_page: Annotated[
        bool, typer.Option("--only-page", help="Run nothing, write the page from what is kept.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the studies and how much is done, run nothing.")
    ] = False,
) -> None:
    """Run the paper's experiments and write the page. What is finished is kept, and not run again."""
    from studies import session

    for name, chosen in zip(PRESET_NAMES, (quick, standard, full), strict=True):
        preset = name if chosen else preset
    try:
        plan = session.make_plan(names or [], preset)
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    if listing:
        typer.echo(session.show(plan, cache))
        return
    ok = only_page or session.run(plan, cache, data, n_jobs)
    page = out or (cache / "quick.md" if plan.preset.name == "quick" else Path("docs/reproduction.md"))
    session.write_page(page, cache, plan.preset)
    typer.echo(f"Written: {page}")
    if not ok:
        raise typer.Exit(1)
