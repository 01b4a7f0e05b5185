"""Tables in files: CSV, TSV and, if a reader is installed, Parquet. Errors name the place in one sentence."""

from __future__ import annotations

import csv
import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widestable._types import FloatArray, IntArray
from widestable.inputs.cells import CATEGORY, NUMBER, kind_of

Column = NDArray[Any]  # float64, or text as objects

# The delimiter that occurs most often in the header is taken.
DELIMITERS = ",;\t|"
# Cells that stand for a missing value, in lower case.
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
SUFFIXES = {".tsv": "\t", ".tab": "\t"}


class TableError(ValueError):
    """The file cannot be used as it is; the message says why in one sentence."""


class Table(NamedTuple):
    """Columns of equal length.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    columns : dict of str to array
        The columns by name: float64, or text as it is in the file.
    lines : (n,) array of int
        Line of the file in which each row is.
    """

    name: str
    columns: dict[str, Column]
    lines: IntArray

    @property
    def n_rows(self) -> int:
        return len(self.lines)


# --- Reading ---------------------------------------------------------------------------------------------


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table: Parquet (.parquet, .pq), tab-separated (.tsv, .tab), or else CSV with any usual delimiter."""
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder, expected a file with a table in it: pass its name.")
    if not path.exists():
        raise TableError(f"There is no file {path}{_nearest(path.name, _siblings(path))}")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _read_parquet(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{path} is not UTF-8 text: save it as CSV in UTF-8.") from None
    except OSError as error:
        raise TableError(
            f"{path} cannot be read ({error.strerror or error}): check its permissions, or save it elsewhere."
        ) from None
    if not text.strip():
        raise TableError(
            f"{path} is empty, expected a line of column names and one line per row: save the table again."
        )
    return _parse(path.name, text, SUFFIXES.get(path.suffix.lower()))


def _parse(name: str, text: str, delimiter: str | None) -> Table:
    """Split text into columns; blank lines do not count as rows."""
    if delimiter is None:
        header = next(line for line in text.splitlines() if line.strip())
        delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise TableError(
            f"{name}, line {reader.line_num}: {error}, expected CSV: close every quotation mark."
        ) from None
    names = _check_header(name, rows)
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(names):
            raise TableError(
                f"{name}, line {line} has {len(row)} cells, expected {len(names)} as in the header: correct it."
            )
    cells = np.array(rows[1:], dtype=object)
    columns = {label: cells[:, j] for j, label in enumerate(names)}
    if delimiter == ";":
        columns = {label: _decimal_points(column) for label, column in columns.items()}
    return Table(name, columns, np.array(lines[1:]))


def _check_header(name: str, rows: list[list[str]]) -> list[str]:
    """The names of the columns: each present, different from the others, and not all numbers."""
    names = [cell.strip() for cell in rows[0]]
    if len(rows) == 1:
        raise TableError(f"{name} has column names but no rows, expected at least one row: add some.")
    if all(_is_number(cell) for cell in names):
        raise TableError(f"The first line of {name} holds numbers, expected column names: add a line with them.")
    for label in names:
        if not label:
            raise TableError(f"Column {names.index(label) + 1} of {name} has no name: give it one in the first line.")
        if names.count(label) > 1:
            raise TableError(f"{name} has {names.count(label)} columns called {label!r}: rename all but one.")
    return names


def _decimal_points(column: Column) -> Column:
    """Turn the decimal commas of semicolon-separated tables into points, if that makes the whole column numbers."""
    points = np.array([cell.replace(",", ".", 1) for cell in column], dtype=object)
    is_number = [_is_number(cell) or _is_missing(cell) for cell in points]
    return points if all(is_number) else column


def _read_parquet(path: Path) -> Table:
    columns = _parquet_columns(path)
    if not columns or not len(next(iter(columns.values()))):
        raise TableError(f"{path} is empty, expected at least one row: save the table again.")
    n_rows = len(next(iter(columns.values())))
    return Table(path.name, columns, np.arange(1, n_rows + 1))


def _parquet_columns(path: Path) -> dict[str, Column]:
    """Read with polars if it is installed, otherwise with pandas and pyarrow."""
    try:
        import polars
    except ImportError:
        polars = None  # type: ignore[assignment]
    try:
        if polars is not None:
            return {str(column.name): _plain(_with_zone(column).to_numpy()) for column in polars.read_parquet(path)}
        import pandas  # type: ignore[import-untyped]

        frame = pandas.read_parquet(path)
    except ImportError:
        raise TableError(
            f"Reading {path.name} needs polars, or pandas with pyarrow: install one, or save the table as CSV."
        ) from None
    except Exception as error:  # polars and pyarrow each raise errors of their own
        reason = " ".join(str(error).split())
        raise TableError(f"{path} cannot be read as Parquet ({reason}): save it again, or as CSV.") from None
    return {str(name): _plain(frame[name].to_numpy()) for name in frame.columns}


def _with_zone(column: Any) -> Any:
    """A polars series, as text if it has a time zone, which numpy would lose."""
    has_zone = getattr(column.dtype, "time_zone", None) is not None
    return column.dt.to_string("%Y-%m-%dT%H:%M:%S%.f%:z") if has_zone else column


def _plain(column: Column) -> Column:
    """Numbers as float64, everything else as text."""
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    return np.array(["" if cell is None else str(cell).replace("NaT", "") for cell in column], dtype=object)


# --- Choosing --------------------------------------------------------------------------------------------


def numbers(table: Table, name: str, *, missing: bool = False) -> FloatArray:
    """A column as numbers. Missing values are an error, or NaN if `missing` allows them."""
    if name not in table.columns:
        raise TableError(f"{table.name} has no column {name!r}{_nearest(name, table.columns)}")
    column = table.columns[name]
    found = np.array([_to_number(cell) for cell in column])
    for i in np.flatnonzero(~np.isfinite(found)):
        place = f"row {i + 1} (line {table.lines[i]}) of {table.name}"
        if not _is_missing(column[i]):
            raise TableError(f"Column {name!r} holds {column[i]!r} in {place}, expected a finite number: correct it.")
        if not missing:
            raise TableError(
                f"Column {name!r} has no value in {place}: fill it in, or pass --missing drop or --missing indicator."
            )
    return found


def texts(table: Table, name: str) -> Any:
    """A column as a pandas series of text, None where a value is missing."""
    import pandas

    if name not in table.columns:
        numbers(table, name)  # says which columns there are
    cells = [None if _is_missing(cell) else str(cell).strip() for cell in table.columns[name]]
    return pandas.Series(cells, dtype=object)


def kind_of_column(table: Table, name: str) -> str:
    """What a column holds: "number", "date" or "category". A column of numbers with some text in it is an error."""
    known = [cell for cell in table.columns.get(name, ()) if not _is_missing(cell)]
    n_numbers = sum(_is_number(cell) for cell in known)
    # Text among numbers is more likely a slip than a level.
    if name not in table.columns or n_numbers >= max(1, len(known) - n_numbers) or not known:
        numbers(table, name, missing=True)
        return NUMBER
    return kind_of(texts(table, name))


def read_column(table: Table, name: str, kind: str) -> Any:
    """A column as a pandas series of numbers, of text with dates, or of a category; missing values are NaN or None."""
    import pandas

    if kind == NUMBER:
        return pandas.Series(numbers(table, name, missing=True))
    # Levels may look like numbers or dates.
    return texts(table, name).astype("category") if kind == CATEGORY else texts(table, name)


def _to_number(cell: Any) -> float:
    return float(cell) if _is_number(cell) else float("nan")


def _is_number(cell: Any) -> bool:
    # Python reads 1_000 as a number, but in a table it is more likely a code.
    if isinstance(cell, str) and ("_" in cell or cell.strip().lower() in MISSING):
        return False
    try:
        return not np.isnan(float(cell))
    except ValueError:
        return False


def _is_missing(cell: Any) -> bool:
    return cell.strip().lower() in MISSING if isinstance(cell, str) else bool(np.isnan(cell))


def _nearest(name: str, names: Sequence[str] | Mapping[str, Any]) -> str:
    """The end of a message about an unknown name: the closest name, or all of them if they are few."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if close:
        return f": did you mean {by_lower[close[0]]!r}?"
    return f": there are {', '.join(map(repr, names))}." if 0 < len(names) <= 12 else ": check the name."


def _siblings(path: Path) -> list[str]:
    """Names of files in the same folder, at most 1000."""
    return [p.name for p in path.parent.iterdir()][:1000] if path.parent.is_dir() else []


# --- Writing ---------------------------------------------------------------------------------------------


def write_csv(file: Any, columns: Mapping[str, Column]) -> None:
    """Write columns to an open text file, with every digit of the numbers."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_written(cell) for cell in row])


def _written(cell: Any) -> Any:
    """Every digit of a number, and nothing for one that is missing."""
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return ""
    return repr(float(cell)) if isinstance(cell, float) else cell
