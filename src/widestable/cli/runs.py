"""The run folder: what was asked for, the columns that were used, the checkpoint and the model."""

from __future__ import annotations

import json
import math
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widestable import StableRegressor, __version__
from widestable._types import FloatArray
from widestable.files import replacing

from .tables import number_columns, numbers, read_table, write_csv

# What run.json says it is, and the files of a run.
FORMAT = "widestable run"
RECORD, DATA, CHECKPOINT, MODEL, REPORT = "run.json", "data.csv", "checkpoint.zip", "model.zip", "report.html"
KNOWN = (RECORD, DATA, CHECKPOINT, MODEL, REPORT)


class RunError(ValueError):
    """The folder is not a run, or not in the state that the command needs."""


class Columns(NamedTuple):
    """The columns of a table that are used for a fit, without rows that have missing values.

    Attributes
    ----------
    target : str
        Name of the column to predict.
    inputs : tuple of str
        Names of the columns to predict from.
    weight_name : str or None
        Name of the column of weights.
    X, y : (n, d) and (n,) arrays
        Inputs and target.
    weight : (n,) array or None
        How many observations each row stands for.
    n_dropped : int
        Number of rows with missing values.
    left_out : tuple of str
        Columns that hold no numbers, when the user did not name the inputs.
    """

    target: str
    inputs: tuple[str, ...]
    weight_name: str | None
    X: FloatArray
    y: FloatArray
    weight: FloatArray | None
    n_dropped: int
    left_out: tuple[str, ...]


def choose_columns(
    path: Path, target: str, inputs: list[str], weight: str | None = None, drop_missing: bool = False
) -> Columns:
    """Read a table and choose columns; without `inputs`, all columns of numbers except the target and the weight."""
    table = read_table(path)
    y = numbers(table, target, missing=drop_missing)
    others = {target, weight}
    with_numbers = inputs or number_columns(table)
    names = [name for name in with_numbers if inputs or name not in others]
    if not names:
        raise RunError(
            f"{path.name} has no column of numbers besides {target!r}, expected at least one input: add one."
        )
    if target in names:
        raise RunError(f"Got column {target!r} as target and as input, expected it only once: drop it from --input.")
    if repeated := {name for name in names if names.count(name) > 1}:
        raise RunError(f"Got input {repeated.pop()!r} twice, expected each once: drop one.")
    X = np.column_stack([numbers(table, name, missing=drop_missing) for name in names])
    w = None if weight is None else numbers(table, weight, missing=drop_missing)
    together = np.column_stack([X, y] if w is None else [X, y, w])
    keep = ~np.isnan(together).any(axis=1)
    if not keep.any():
        raise RunError(
            f"Every row of {path.name} has a missing value, expected some without: fill one in, or pass fewer --input."
        )
    w = None if w is None else w[keep]
    left_out = tuple(name for name in table.columns if not inputs and name not in with_numbers)
    return Columns(target, tuple(names), weight, X[keep], y[keep], w, int((~keep).sum()), left_out)


def create(folder: Path, columns: Columns, source: Path, parameters: dict[str, Any], force: bool) -> None:
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
    table = dict(zip(columns.inputs, columns.X.T, strict=True)) | {columns.target: columns.y}
    if columns.weight is not None and columns.weight_name is not None:
        table[columns.weight_name] = columns.weight
    with replacing(folder / DATA) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, table)
    record = {
        "format": FORMAT,
        "version": 1,
        "widestable": __version__,
        "python": platform.python_version(),
        "status": "running",
        "source": source.name,
        "target": columns.target,
        "inputs": list(columns.inputs),
        "weight": columns.weight_name,
        "n_rows": len(columns.y),
        "n_dropped": columns.n_dropped,
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
        if record["format"] != FORMAT or record["version"] != 1:
            raise KeyError
    except FileNotFoundError:
        raise RunError(
            f"{folder} has no {RECORD}, expected a folder written by widestable fit: pass that one."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{folder / RECORD} is damaged or from another version: fit again.") from None
    return dict(record)


def read_data(folder: Path, record: dict[str, Any]) -> Columns:
    """Read the columns that the run uses."""
    return choose_columns(folder / DATA, record["target"], record["inputs"], record["weight"])


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


def frame(names: tuple[str, ...], X: FloatArray) -> Any:
    """A data frame, so that the estimator sees the names of the columns."""
    import pandas  # type: ignore[import-untyped]

    return pandas.DataFrame(X, columns=list(names))
