"""`python -m studies.reproduction`: run studies, keep their results, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studies.reproduction import published, session
from studies.reproduction.page import write_page

PAGE = Path("docs/reproduction.md")


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Studies to run; all by default.", show_default=False)
    ] = None,
    preset: Annotated[str, typer.Option(help="quick, standard or full.")] = "standard",
    data: Annotated[Path | None, typer.Option(help="Folder of the real data; WIDESTABLE_DATA by default.")] = None,
    cache: Annotated[Path, typer.Option(help="Folder where results are kept.")] = Path("run/reproduction"),
    out: Annotated[
        Path | None, typer.Option(help=f"The page; {PAGE} by default, or quick.md in the cache for the quick preset.")
    ] = None,
    n_jobs: Annotated[int, typer.Option(help="Processes; timing always uses one.")] = 2,
    only_page: Annotated[bool, typer.Option("--only-page", help="Run nothing, write the page from kept results.")] = (
        False
    ),
    published_too: Annotated[
        bool, typer.Option("--published", help=f"Start from the results in {published.RESULTS.name} of the repository.")
    ] = False,
    export: Annotated[
        bool, typer.Option("--export", help="Run nothing, write all results of the preset into the repository.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Show how much of each study is done, run nothing.")] = False,
) -> None:
    """Run the paper's experiments and write the page. Finished pieces are kept and not run again."""
    try:
        plan = session.make_plan(names or [], preset)
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    if published_too:
        published.take_over(cache)
    if listing:
        typer.echo(session.show(plan, cache))
        return
    if export:
        n_results = published.export(cache, session.all_pieces(plan.preset))
        typer.echo(f"Written: {published.RESULTS}, {n_results} results")
        return
    ok = only_page or session.run(plan, cache, data, n_jobs)
    page = out or (cache / "quick.md" if plan.preset.name == "quick" else PAGE)
    write_page(page, cache, plan.preset, data)
    typer.echo(f"Written: {page}")
    if not ok:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(reproduce)
