"""`widestable report`: one HTML page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from widestable.files import replacing
from widestable.report import About, build_report

from . import runs
from .shell import FLAG, Force, Json, Quiet, Run, emit, refuse_to_overwrite, say

Out = Annotated[Path | None, typer.Option(help="HTML file to write. Default: report.html in the run folder.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.", **FLAG)]


def report(
    run: Run,
    out: Out = None,
    size: Annotated[float | None, typer.Option(help="Least jump that counts. Default: the noise s.d.")] = None,
    show: Open = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write an HTML page about the fit. It needs no other file and no network.

    Examples:

      widestable report run

      widestable report run --out fit.html --open
    """
    path = run / runs.REPORT if out is None else out
    refuse_to_overwrite(path, force)
    model, record = runs.load(run)
    chosen = runs.read_data(run, record)
    names = record["target"], tuple(record["inputs"]), record["source"]
    about = About(*names, record["seconds"], record["n_dropped"], record["left_out"])
    html = build_report(model, chosen.X, chosen.y, about, size=size, weight=chosen.weight)
    with replacing(path, parents=True) as temporary:
        temporary.write_text(html, encoding="utf-8")
    emit({"out": str(path), "bytes": path.stat().st_size}) if as_json else say(f"Report: {path}", quiet=quiet)
    if show:
        typer.launch(str(path.resolve()))
