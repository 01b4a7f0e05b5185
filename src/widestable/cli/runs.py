"""The run folder: what was asked for, the columns that were used, the checkpoint and the model."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widestable import StableRegressor, __version__
from widestable._types import FloatArray
from widestable.files import replacing
from widestable.inputs.cells import CATEGORY
from widestable.inputs.columns import MAX_LEVELS

from .tables import Table, kind_of_column, numbers, read_column, read_table, texts, write_csv

# What run.json says it is, and the files of a run.
FORMAT, VERSION = "widestable run", 2
RECORD, DATA, CHECKPOINT, MODEL, REPORT = "run.json", "data.csv", "checkpoint.zip", "model.zip", "report.html"
KNOWN = (RECORD, DATA, CHECKPOINT, MODEL, REPORT)


class RunError(ValueError):
    """The folder is not a run, or not in the state that the command needs."""


class Chosen(NamedTuple):
    """The columns of a table that are used for a fit, without rows that cannot be used.

    Attributes
    ----------
    target : str
        Name of the column to predict.
    kinds : dict of str to str
        Names of the columns to predict from, and what each holds: "number", "date" or "category".
    weight_name : str or None
        Name of the column of weights.
    X : pandas.DataFrame
        Inputs; dates and categories are text.
    y : (n,) array
        Target.
    weight : (n,) array or None
        How many observations each row stands for.
    n_dropped : int
        Number of rows that were left out because of missing values.
    left_out : dict of str to str
        Columns of the table that are not used, and why.
    """

    target: str
    kinds: dict[str, str]
    weight_name: str | None
    X: Any
    y: FloatArray
    weight: FloatArray | None
    n_dropped: int
    left_out: dict[str, str]


class Request(NamedTuple):
    """Which columns of a table to use, and how.

    Attributes
    ----------
    target : str
        Column to predict.
    inputs : tuple of str
        Columns to predict from; all others that can be used if empty.
    weight : str or None
        Column of weights.
    missing : str
        "drop" leaves out rows with missing values, "indicator" only rows without target or weight.
    categories : tuple of str
        Columns that are categories although they hold numbers.
    """

    target: str
    inputs: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = "error"
    categories: tuple[str, ...] = ()


def choose_columns(path: Path, request: Request) -> Chosen:
    """Read a table and choose columns; without `inputs`, all that can be used except the target and the weight."""
    table = read_table(path)
    target, weight, may_be_missing = request.target, request.weight, request.missing != "error"
    y = numbers(table, target, missing=may_be_missing)
    w = None if weight is None else numbers(table, weight, missing=may_be_missing)
    kinds, left_out = _choose_inputs(table, request)
    if not kinds:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
        raise RunError(
            f"{path.name} has no column besides {target!r} that can be used as input ({reasons or 'there is none'}): "
            "add one, or choose one with --input."
        )
    X = frame({name: read_column(table, name, kind) for name, kind in kinds.items()})
    keep = ~np.isnan(y) if w is None else ~np.isnan(np.column_stack([y, w])).any(axis=1)
    if request.missing != "indicator":
        _check_missing(table, X, request.missing)
        keep &= ~X.isna().any(axis=1).to_numpy()
    if not keep.any():
        raise RunError(
            f"Every row of {path.name} has a missing value, expected some without: fill one in, or pass fewer --input."
        )
    w = None if w is None else w[keep]
    return Chosen(target, kinds, weight, X[keep], y[keep], w, int((~keep).sum()), left_out)


def _choose_inputs(table: Table, request: Request) -> tuple[dict[str, str], dict[str, str]]:
    """The inputs with their kinds, and why other columns are left out."""
    target, inputs = request.target, request.inputs
    if target in inputs:
        raise RunError(f"Got column {target!r} as target and as input, expected it only once: drop it from --input.")
    if repeated := {name for name in inputs if inputs.count(name) > 1}:
        raise RunError(f"Got input {repeated.pop()!r} twice, expected each once: drop one.")
    others = [name for name in table.columns if name not in (*inputs, target, request.weight)]
    for name in request.categories:
        if name not in (inputs or others):
            raise RunError(f"Got --category {name!r}, which is no input: pass the name of an input.")
    kinds = {name: _kind(table, name, request) for name in inputs or others}
    left_out = dict.fromkeys(others, "not named with --input") if inputs else {}
    for name, kind in () if inputs else tuple(kinds.items()):
        if why := _useless(table, name, kind):
            left_out[name] = why
            del kinds[name]
    return kinds, left_out


def _kind(table: Table, name: str, request: Request) -> str:
    return CATEGORY if name in request.categories else kind_of_column(table, name)


def _useless(table: Table, name: str, kind: str) -> str:
    """Why a column cannot tell anything about the target; empty if it can."""
    known = texts(table, name).dropna()
    if not len(known):
        return "it has no values"
    if kind != CATEGORY:
        return ""
    n_levels = known.nunique()
    if n_levels == 1:
        return f"it is always {known.iloc[0]!r}"
    if n_levels == len(known) or n_levels > MAX_LEVELS:
        return f"it holds {n_levels} different texts in {len(known)} rows"
    return ""


def _check_missing(table: Table, X: Any, missing: str) -> None:
    """Raise for the first missing value unless rows with one are dropped."""
    for name in X.columns if missing == "error" else ():
        for row in np.flatnonzero(X[name].isna()):
            raise RunError(
                f"Column {name!r} has no value in row {row + 1} (line {table.lines[row]}) of {table.name}: fill it in, "
                "or pass --missing drop or --missing indicator."
            )


def create(folder: Path, chosen: Chosen, source: Path, parameters: dict[str, Any], force: bool) -> None:
    """Start a run in a new or empty folder. `force` deletes the files of an earlier run, and nothing else."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file, expected a new folder: pass another --out.")
    if folder.is_dir() and any(folder.iterdir()):
        if not force:
            raise RunError(f"{folder} is not empty: pass --force to overwrite a run, or another --out{_hint(folder)}.")
        for name in KNOWN:
            (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    # Keep a copy of the columns, so that the run does not depend on the original file.
    table = {name: chosen.X[name].to_numpy() for name in chosen.kinds} | {chosen.target: chosen.y}
    if chosen.weight is not None and chosen.weight_name is not None:
        table[chosen.weight_name] = chosen.weight
    with replacing(folder / DATA) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, table)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "widestable": __version__,
        "python": platform.python_version(),
        "status": "running",
        "source": source.name,
        "target": chosen.target,
        "inputs": list(chosen.kinds),
        "kinds": chosen.kinds,
        "left_out": chosen.left_out,
        "weight": chosen.weight_name,
        "n_rows": len(chosen.y),
        "n_dropped": chosen.n_dropped,
        "parameters": {name: "inf" if value == math.inf else value for name, value in parameters.items()},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": 0.0,
    }
    write_record(folder, record)


def _hint(folder: Path) -> str:
    return ", or continue with fit --resume" if (folder / CHECKPOINT).exists() else ""


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write run.json."""
    with replacing(folder / RECORD) as temporary:
        temporary.write_text(json.dumps(record, indent=1), encoding="utf-8")


def read_record(folder: Path) -> dict[str, Any]:
    """Read run.json; raise RunError if the folder is not a run."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise RunError(f"{folder} {what}, expected a folder written by widestable fit: pass that one.")
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["format"] != FORMAT or record["version"] != VERSION:
            raise KeyError
    except FileNotFoundError:
        raise RunError(
            f"{folder} has no {RECORD}, expected a folder written by widestable fit: pass that one."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{folder / RECORD} is damaged or from another version: fit again.") from None
    return dict(record)


def read_data(folder: Path, record: dict[str, Any]) -> Chosen:
    """Read the columns that the run uses."""
    categories = tuple(name for name, kind in record["kinds"].items() if kind == CATEGORY)
    missing = record["parameters"].get("missing", "error")
    return choose_columns(
        folder / DATA, Request(record["target"], tuple(record["inputs"]), record["weight"], missing, categories)
    )


def load(folder: Path) -> tuple[StableRegressor, dict[str, Any]]:
    """Load the fitted model of a run, and its record."""
    record = read_record(folder)
    if not (folder / MODEL).exists():
        raise RunError(f"The run in {folder} is not finished: continue it with widestable fit --resume {folder}.")
    return StableRegressor.load(folder / MODEL), record


def parameters_of(record: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator. JSON has no infinity, so run.json holds it as text."""
    return {name: math.inf if value == "inf" else value for name, value in record["parameters"].items()}


def relevances(model: StableRegressor) -> dict[str, float]:
    """The posterior median of the relevance of each input, by name."""
    return dict(zip(model.posterior_.input_names, map(float, model.relevance_), strict=True))


def frame(columns: Mapping[str, Any]) -> Any:
    """A data frame, so that the estimator sees the names of the columns."""
    import pandas  # type: ignore[import-untyped]

    return pandas.DataFrame(dict(columns))


def inputs_of(table: Table, record: dict[str, Any]) -> Any:
    """The inputs of a run in another table."""
    return frame({name: read_column(table, name, kind) for name, kind in record["kinds"].items()})
