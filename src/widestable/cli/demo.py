"""`widestable demo`: three jumps beside a Gaussian process."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from widestable import StableRegressor
from widestable.cli.tables import replacing

from .shell import Jobs


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("demo/three_jumps.png"),
    seed: Annotated[int, typer.Option(help="Seed of the data and the sampler.")] = 0,
    jobs: Jobs = 2,
) -> None:
    """Fit three jumps in noise, beside a Gaussian process: a table, a picture, and a report beside the picture.

    Examples:

      widestable demo --out demo/three_jumps.png
    """
    from widestable import demo as parts

    parts.compile_first()
    example = parts.simulate(np.random.default_rng(seed))
    model = StableRegressor(random_state=seed, n_jobs=jobs)
    outcomes = [parts.run_ours(example, model), parts.run_gp(example)]
    parts.show([parts.judge(example, outcome) for outcome in outcomes])
    typer.echo(str(model.jumps()))
    with replacing(out) as temporary:
        parts.draw(example, outcomes).savefig(temporary, dpi=150, format="png")
    typer.echo(f"Both bands: {out}")
    if importlib.util.find_spec("plotly") is None:
        typer.echo("No report: install widestable with its extra 'report'.")
        return
    page = out.with_name("report.html")
    with replacing(page) as temporary:
        temporary.write_text(parts.write_report(example, model, outcomes[0].seconds), encoding="utf-8")
    typer.echo(f"Report: {page}")
