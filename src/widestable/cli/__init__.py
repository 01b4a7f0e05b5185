"""The command line: `widestable fit data.csv --target y --out run`, or `python -m widestable ...`.

Each command has a file of its own. `shell.py` holds what they share, `runs.py` the folder that `fit` writes, and
`tables.py` the tables it reads.
"""

from __future__ import annotations

import typer

from . import demo, example, fit, info, jumps, predict, prior, report
from .shell import OneSentence

__all__ = ["app"]

app = typer.Typer(
    cls=OneSentence,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main() -> None:
    """Bayesian regression for functions that jump.

    From a table to a report in two commands (widestable example writes one):

      [bold]widestable fit data.csv --target price --out run[/bold]

      [bold]widestable report run[/bold]

    Exit codes: 0 done, 1 a problem with the data or the files, 2 wrong usage,
    3 the chains have not converged (with fit --strict), 130 interrupted.
    """


for command in (
    example.example, fit.fit, predict.predict, report.report, jumps.jumps, info.info, demo.demo, prior.prior
):  # fmt: skip
    app.command()(command)
