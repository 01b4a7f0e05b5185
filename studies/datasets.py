"""The paper's real data: house prices in Taipei (fetched from UCI if absent) and S&P 500 closes (bring your own).

Nothing of the data is part of the repository. The loaders check what they read.
"""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.problems import Floats, Problem

Indices = NDArray[np.intp]
Folder = str | os.PathLike[str] | None

UCI_URL = "https://archive.ics.uci.edu/static/public/477/real+estate+valuation+data+set.zip"
REAL_ESTATE_FILE = "real_estate.csv"
SP500_FILE = "sp500.csv"
COLUMNS = (
    "transaction_date",
    "house_age",
    "mrt_distance",
    "convenience_stores",
    "latitude",
    "longitude",
    "price_per_unit_area",
)
PLACE = ("latitude", "longitude")
# Smallest and largest value of each column, as published.
RANGES = (
    (2012.667, 2013.583),
    (0.0, 43.8),
    (23.3, 6488.1),
    (0, 10),
    (24.932, 25.015),
    (121.473, 121.567),
    (7.6, 117.5),
)
N_HOUSES = 414
N_LOCATIONS = 259
MEAN_PRICE = 37.980
N_DAYS = 505
CLOSES = {"2019-07-01": 2964.33, "2020-03-23": 2237.40, "2020-12-31": 3756.07, "2021-06-30": 4297.50}


class DataError(ValueError):
    """Data are absent or not what was published; the message says what to do."""


def why_missing(make: Callable[[], object]) -> str:
    """Return why data cannot be had, empty if they can."""
    try:
        make()
    except DataError as missing:
        return str(missing)
    return ""


class Table(NamedTuple):
    """Inputs, (n, d), and outputs, (n,)."""

    X: Floats
    y: Floats


def load_real_estate(
    folder: Folder = None, *, columns: tuple[str, ...] = PLACE, url: str = UCI_URL, cache: Folder = None
) -> Table:
    """Return inputs, (414, d), and price per unit area, (414,), of houses in New Taipei City.

    Parameters
    ----------
    folder : str, path or None
        Folder that holds real_estate.csv; by default the environment variable WIDESTABLE_DATA. Without either, the
        archive is fetched from UCI once.
    columns : tuple of str
        The inputs: some of COLUMNS, by default latitude and longitude as in the paper.
    url : str
        Address of the archive.
    cache : str, path or None
        Where to keep the archive; by default pooch's folder for this user.

    Raises
    ------
    DataError
        The data are absent or not what was published.
    """
    path = _find(folder, REAL_ESTATE_FILE)
    if path is not None:
        with path.open(encoding="utf-8", newline="") as lines:
            header, *rows = csv.reader(lines)
        table = _real_estate_numbers(header, rows, path.name)
    elif _given(folder):
        raise DataError(
            f"There is no {REAL_ESTATE_FILE} in {_given(folder)}: put it there, or unset WIDESTABLE_DATA (and name no "
            "folder) to fetch it from UCI."
        )
    else:
        table = _read_archive(_fetch(url, cache))
    _check_real_estate(table)
    return Table(table[:, [COLUMNS.index(name) for name in columns]], table[:, 6].copy())


def load_sp500(folder: Folder = None) -> Table:
    """Return days since 2019-07-01, (505, 1), and closing values of the S&P 500, (505,), to 2021-06-30.

    Parameters
    ----------
    folder : str, path or None
        Folder that holds sp500.csv with the columns `date` (YYYY-MM-DD) and `close`; by default WIDESTABLE_DATA. We
        know of no licence to redistribute index values, so nothing is fetched.

    Raises
    ------
    DataError
        The data are absent or not what was published.
    """
    path = _find(folder, SP500_FILE)
    if path is None:
        raise DataError(
            f"There is no {SP500_FILE} in {_given(folder) or 'any named folder'}: save the S&P 500's daily closes from "
            "2019-07-01 to 2021-06-30 there (columns date, close) and set WIDESTABLE_DATA to that folder."
        )
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    closes = _sp500_numbers(rows, path.name)
    _check_sp500(closes)
    days = [date.fromisoformat(day).toordinal() for day in closes]
    return Table(np.array(days, dtype=float)[:, None] - days[0], np.array(list(closes.values())))


# --- Finding and fetching --------------------------------------------------------------------------------


def _given(folder: Folder) -> str:
    """Return the folder in use as text, empty if there is none."""
    return os.fspath(folder) if folder is not None else os.environ.get("WIDESTABLE_DATA", "")


def _find(folder: Folder, name: str) -> Path | None:
    given = _given(folder)
    path = Path(given) / name
    return path if given and path.is_file() else None


def _fetch(url: str, cache: Folder) -> Path:
    """Download the archive, once. UCI publishes no checksum, so the contents are checked instead."""
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            'Fetching the data needs pooch: run pip install --editable ".[experiments]", or set WIDESTABLE_DATA to a '
            f"folder that holds {REAL_ESTATE_FILE}."
        ) from error
    folder = Path(cache) if cache is not None else Path(pooch.os_cache("widestable"))
    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(pooch.retrieve(url, known_hash=None, fname="real_estate.zip", path=folder))
    except Exception as error:  # whatever went wrong, the remedy is the same
        raise DataError(
            f"The real-estate data could not be fetched from {url} ({type(error).__name__}): try again later, or put "
            f"{REAL_ESTATE_FILE} in a folder and set WIDESTABLE_DATA to it."
        ) from error


def _read_archive(path: Path) -> Floats:
    """Read the one xlsx in the archive; a broken archive is deleted, so that the next run fetches it again."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise DataError('Reading the archive needs openpyxl: run pip install --editable ".[experiments]".') from error
    try:
        with zipfile.ZipFile(path) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".xlsx"))
            sheet = load_workbook(io.BytesIO(archive.read(name)), read_only=True, data_only=True).active
            _, *rows = sheet.iter_rows(values_only=True)
        # The first column holds row numbers.
        return _real_estate_numbers(COLUMNS, [row[1:] for row in rows if row[0] is not None], path.name)
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        path.unlink(missing_ok=True)
        raise DataError(
            f"{path.name} is not the archive that UCI publishes ({error}): run again to fetch it."
        ) from error


# --- Checking --------------------------------------------------------------------------------------------


def _real_estate_numbers(header: Any, rows: list[Any], where: str) -> Floats:
    if tuple(header) != COLUMNS:
        raise DataError(
            f"{where} has columns {list(header)}, expected {list(COLUMNS)}: take the file from UCI, id 477."
        )
    try:
        table = np.array(rows, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{where} holds a value that is not a number ({error}): take the file from UCI, id 477."
        ) from error
    if table.shape != (N_HOUSES, len(COLUMNS)):
        raise DataError(
            f"{where} holds a table of shape {table.shape}, expected {(N_HOUSES, len(COLUMNS))}: take the "
            "file from UCI, id 477."
        )
    return table


def _check_real_estate(table: Floats) -> None:
    remedy = "take the file from UCI, id 477."
    for name, column, (low, high) in zip(COLUMNS, table.T, RANGES, strict=True):
        slack = 0.01 * (high - low)
        if not (abs(column.min() - low) <= slack and abs(column.max() - high) <= slack):
            raise DataError(f"{name} runs from {column.min()} to {column.max()}, expected {low} to {high}: {remedy}")
    if abs(table[:, 6].mean() - MEAN_PRICE) > 5e-4:
        raise DataError(f"The mean price is {table[:, 6].mean():.3f}, expected {MEAN_PRICE:.3f}: {remedy}")
    n_locations = len(np.unique(table[:, 4:6], axis=0))
    if n_locations != N_LOCATIONS:
        raise DataError(f"There are {n_locations} distinct locations, expected {N_LOCATIONS}: {remedy}")


def _sp500_numbers(rows: list[dict[str, Any]], where: str) -> dict[str, float]:
    try:
        return {date.fromisoformat(row["date"]).isoformat(): float(row["close"]) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{where} could not be read ({error!r}): write the columns date (YYYY-MM-DD) and close, one row per "
            "trading day."
        ) from error


def _check_sp500(closes: dict[str, float]) -> None:
    remedy = "take every trading day from 2019-07-01 to 2021-06-30, once, in order."
    if len(closes) != N_DAYS or list(closes) != sorted(closes):
        raise DataError(f"{SP500_FILE} holds {len(closes)} days, expected {N_DAYS} in order: {remedy}")
    for day, close in CLOSES.items():
        if abs(closes.get(day, np.nan) - close) > 0.006 or day not in closes:
            raise DataError(f"{SP500_FILE} says {closes.get(day)} on {day}, expected {close}: {remedy}")


# --- Training and test rows ------------------------------------------------------------------------------


def standardise(table: Table) -> Table:
    """Scale every column to mean 0 and s.d. 1 over the whole table, the units in which the paper reports errors."""
    return Table(scaled_rows(table.X, table.X), (table.y - table.y.mean()) / table.y.std())


def scaled_rows(X: Floats, like: Floats) -> Floats:
    """Return rows of X, (m, d), in the units in which `like`, all inputs of a table, has mean 0 and s.d. 1."""
    return np.asarray((X - like.mean(axis=0)) / like.std(axis=0))


def random_rows(table: Table, split: int) -> tuple[Indices, Indices]:
    """Return two thirds of the rows for training and a third for testing (the paper's 276/138 and 336/169)."""
    order = np.random.default_rng([split, 0]).permutation(len(table.y))
    n_train = len(table.y) * 2 // 3
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def whole_locations(table: Table, split: int) -> tuple[Indices, Indices]:
    """Return training and test rows of nearly these sizes that share no location."""
    _, location = np.unique(table.X, axis=0, return_inverse=True)
    location = location.ravel()
    order = np.random.default_rng([split, 1]).permutation(location.max() + 1)
    n_before = np.cumsum(np.bincount(location)[order])
    n_train = len(table.y) * 2 // 3
    in_training = np.isin(location, order[: int(np.searchsorted(n_before, n_train)) + 1])
    return np.flatnonzero(in_training), np.flatnonzero(~in_training)


def cut(table: Table, rows: tuple[Indices, Indices]) -> Problem:
    """Return the problem with these training and test rows."""
    train, test = rows
    return Problem(table.X[train], table.y[train], table.X[test], table.y[test][None, :])
