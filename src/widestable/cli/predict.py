"""`widestable predict`: medians and intervals at the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from widestable.files import replacing
from widestable.parameters import check_parameters

from . import runs
from .shell import FLAG, Force, Jobs, Json, Quiet, Run, Terminal, emit, n_threads, note, refuse_to_overwrite
from .tables import Table, numbers, read_table, write_csv

Data = Annotated[Path, typer.Argument(metavar="DATA", help="Table with the input columns.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="CSV file to write. Default: standard output.", show_default=False)]
Coverage = Annotated[float, typer.Option(help="Probability of the interval.")]
OfF = Annotated[
    bool, typer.Option("--no-noise", help="Intervals of f instead of intervals of a new observation.", **FLAG)
]

Missing = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="About missing inputs: error, drop (leave the prediction empty) or indicator. Default: as when fitting.",
    ),
]
Unknown = Annotated[
    str, typer.Option(metavar="WHAT", help="About levels of a category that are new: error, or other (predict anyway).")
]

ADDED = ("prediction", "lower", "upper")


def predict(
    run: Run,
    data: Data,
    out: Out = None,
    coverage: Coverage = 0.9,
    no_noise: OfF = False,
    missing: Missing = None,
    unknown: Unknown = "error",
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Add predictions and intervals to a table of new rows.

    The new columns are prediction (the posterior median), lower and upper.

    Rows with missing values and --missing drop stay in the table; their
    predictions are empty.

    If the table has the target too, the mean absolute error and the coverage
    of the intervals are shown.

    Examples:

      widestable predict run new.csv --out predictions.csv --coverage 0.9

      widestable predict run new.csv | head
    """
    if as_json and out is None:
        raise typer.BadParameter(
            "Got --json without --out, but standard output cannot hold both the table and the JSON: pass --out FILE."
        )
    if out is not None:
        refuse_to_overwrite(out, force)
    model, record = runs.load(run)
    how = {"missing": model.missing if missing is None else missing, "unknown": unknown, "n_jobs": n_threads(jobs)}
    check_parameters(how)
    model.set_params(**how, progress=False if quiet or as_json else None)
    table = read_table(data)
    X = runs.inputs_of(table, record)
    lower, upper = model.predict_interval(X, coverage, noise=not no_noise).T
    predicted = dict(zip(_names(table), (model.predict(X), lower, upper), strict=True))
    _write(out, table.columns | predicted)
    summary = {"n_rows": table.n_rows, "n_empty": int(np.isnan(lower).sum()), "out": str(out), "coverage": coverage}
    summary |= _score(table, record, predicted)
    emit(summary) if as_json else note(_in_words(summary, record["target"]), quiet=quiet)


def _names(table: Table) -> list[str]:
    """Names of the new columns, with an underscore in front of a name that the table has already."""
    return ["_" * (name in table.columns) + name for name in ADDED]


def _write(out: Path | None, columns: dict[str, Any]) -> None:
    if out is None:
        # A terminal must not obey control characters in the data; another program gets the data unchanged.
        write_csv(Terminal(sys.stdout) if sys.stdout.isatty() else sys.stdout, columns)
        return
    with replacing(out, parents=True) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, columns)


def _score(table: Table, record: dict[str, Any], predicted: dict[str, Any]) -> dict[str, float]:
    """Error and coverage, if the table has the target."""
    if record["target"] not in table.columns:
        return {}
    y = numbers(table, record["target"], missing=True)
    known = np.isfinite(y) & np.isfinite(predicted[next(iter(predicted))])
    if not known.any():
        return {}
    middle, lower, upper = (values[known] for values in predicted.values())
    inside = (lower <= y[known]) & (y[known] <= upper)
    return {"mae": float(np.abs(middle - y[known]).mean()), "covered": float(inside.mean())}


def _in_words(summary: dict[str, Any], target: str) -> str:
    text = f"{summary['n_rows']} rows predicted" + (f": {summary['out']}" if summary["out"] != "None" else "")
    if n_empty := summary["n_empty"]:
        text += f"\n{n_empty} of them with missing values: their predictions are empty"
    if "mae" in summary:
        text += f"\nAgainst {target}: mean absolute error {summary['mae']:.4g}, "
        text += f"{summary['covered']:.0%} inside the {summary['coverage']:.0%} intervals"
    return text
