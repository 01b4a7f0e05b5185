"""`python -m studies.calibration`: run simulations, keep their results, write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studies.calibration import study

KINDS = f"Some of {', '.join(study.SETTINGS)}; all by default."
Kinds = Annotated[list[str] | None, typer.Argument(help=KINDS, show_default=False)]


def sbc(
    kinds: Kinds = None,
    simulations: Annotated[int, typer.Option(help="Simulations per kind.")] = 1000,
    repeats: Annotated[int, typer.Option(help="Training sets per simulated function.")] = 5,
    cache: Annotated[Path, typer.Option(help="Folder where results are kept.")] = Path("run/calibration"),
    out: Annotated[Path, typer.Option(help="The page.")] = Path("docs/calibration.md"),
    n_jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
) -> None:
    """Run simulation-based calibration and write the page. After Ctrl-C, the same command continues."""
    chosen = kinds or list(study.SETTINGS)
    if unknown := [kind for kind in chosen if kind not in study.SETTINGS]:
        typer.echo(f"There is no kind {unknown[0]!r}: choose from {', '.join(study.SETTINGS)}.", err=True)
        raise typer.Exit(2)
    ok = study.run(chosen, simulations, cache, out, n_jobs, repeats)
    typer.echo(f"Written: {out}")
    raise typer.Exit(0 if ok else 1)


if __name__ == "__main__":
    typer.run(sbc)
