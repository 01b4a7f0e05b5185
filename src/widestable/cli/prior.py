"""`widestable prior`: functions drawn from the prior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from matplotlib.figure import Figure

from widestable.cli.tables import replacing
from widestable.network import draw_network, draw_process
from widestable.plots import plot_stacked

ALPHAS = (0.5, 1.0, 1.5, 2.0)
WIDTH = 1000


def prior(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("demo/prior.png"),
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
) -> None:
    """Draw functions from the prior, and from networks that approach it, and write a picture of them.

    Examples:

      widestable prior --seed 3 --out prior.png
    """
    with replacing(out) as temporary:
        prior_figure(np.random.default_rng(seed)).savefig(temporary, dpi=150, format="png")
    typer.echo(f"Functions drawn from the prior: {out}")


def prior_figure(rng: np.random.Generator, n_functions: int = 4) -> Figure:
    """Draws of the limit (above) and of networks (below), one column for each alpha."""
    x = np.linspace(-3.0, 3.0, 601)
    figure = Figure(figsize=(12.0, 6.0), layout="constrained")
    axes = figure.subplots(2, len(ALPHAS), sharex=True)
    for (above, below), alpha in zip(axes.T, ALPHAS, strict=True):
        limit = draw_process(x[:, None], alpha=alpha, nu=1.0, random_state=rng, size=n_functions)
        network = draw_network(x[:, None], WIDTH, alpha=alpha, nu=1.0, random_state=rng, size=n_functions)
        plot_stacked(x, limit, ax=above).set_title(f"alpha = {alpha:g}" + (" (Gaussian)" if alpha == 2.0 else ""))
        plot_stacked(x, network, ax=below).set_xlabel("x")
    axes[0, 0].set_ylabel("infinite width")
    axes[1, 0].set_ylabel(f"width {WIDTH}")
    figure.suptitle("Functions drawn from the prior, each divided by its range")
    return figure
