"""`widestable report`: one HTML file about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from widestable.cli.tables import replacing

from . import runs
from .shell import FLAG, Force, Json, Quiet, Run, emit, refuse_to_overwrite, say

Out = Annotated[Path | None, typer.Option(help="HTML file to write; report.html in the run by default.")]
Open = Annotated[bool, typer.Option("--open", help="Show it in the browser.", **FLAG)]


def report(
    run: Run,
    out: Out = None,
    size: Annotated[float | None, typer.Option(help="Least jump that counts; the noise s.d. by default.")] = None,
    show: Open = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a page about the fit that needs no other file and no network.

    Examples:

      widestable report run

      widestable report run --out fit.html --open
    """
    from widestable.report import About, build_report

    path = run / runs.REPORT if out is None else out
    refuse_to_overwrite(path, force)
    model, record = runs.load(run)
    columns = runs.read_data(run, record)
    about = About(record["target"], tuple(record["inputs"]), record["source"], record["seconds"], record["n_dropped"])
    html = build_report(model, columns.X, columns.y, about, size=size, weight=columns.weight)
    with replacing(path) as temporary:
        temporary.write_text(html, encoding="utf-8")
    emit({"out": str(path), "bytes": path.stat().st_size}) if as_json else say(f"Report: {path}", quiet=quiet)
    if show:
        typer.launch(str(path.resolve()))
