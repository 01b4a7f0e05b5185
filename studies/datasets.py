"""The real data of the paper: Taipei house prices (fetched from UCI when not at hand) and S&P 500 closes (yours)."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
# Least and largest value of each column, as published.
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
    """Data are absent or not what they should be; the message says what to do.

    Examples
    --------
    >>> try:
    ...     load_sp500("a folder that is not there")
    ... except DataError as error:
    ...     print(str(error)[:21])
    There is no sp500.csv
    """


class Table(NamedTuple):
    """Inputs (n, d) and output (n,), as published, not scaled.

    Examples
    --------
    >>> Table(np.zeros((2, 1)), np.ones(2)).X.shape
    (2, 1)
    """

    X: Floats
    y: Floats


def load_real_estate(
    folder: str | os.PathLike[str] | None = None, *, url: str = UCI_URL, cache: str | os.PathLike[str] | None = None
) -> Table:
    """Latitude and longitude, (414, 2), and price per unit area, (414,), of houses in New Taipei City.

    Parameters
    ----------
    folder : holds real_estate.csv; by default the environment variable WIDESTABLE_DATA. Without a folder the archive is
        fetched from UCI, once.
    url, cache : where the archive is, and where to keep it (pooch's folder for this user by default).

    Examples
    --------
    >>> X, y = load_real_estate()  # doctest: +SKIP
    >>> X.shape, y.shape  # doctest: +SKIP
    ((414, 2), (414,))
    """
    path = _find(folder, REAL_ESTATE_FILE)
    if path is not None:
        with path.open(encoding="utf-8", newline="") as lines:
            header, *rows = csv.reader(lines)
        table = _real_estate_numbers(header, rows, path.name)
    elif _given(folder):
        raise DataError(
            f"There is no {REAL_ESTATE_FILE} in {_given(folder)}: put it there, or unset WIDESTABLE_DATA (and name no "
            "folder) to have it fetched from UCI."
        )
    else:
        table = _read_archive(_fetch(url, cache))
    _check_real_estate(table)
    return Table(table[:, 4:6].copy(), table[:, 6].copy())


def load_sp500(folder: str | os.PathLike[str] | None = None) -> Table:
    """Days since 2019-07-01, (505, 1), and closing values of the S&P 500, (505,), to 2021-06-30.

    Parameters
    ----------
    folder : holds sp500.csv, columns `date` (YYYY-MM-DD) and `close`; by default WIDESTABLE_DATA. No licence to
        redistribute index values is known, so nothing is fetched.

    Examples
    --------
    >>> X, y = load_sp500("folder")  # doctest: +SKIP
    >>> X.shape, y.shape  # doctest: +SKIP
    ((505, 1), (505,))
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


def _given(folder: str | os.PathLike[str] | None) -> str:
    return os.fspath(folder) if folder is not None else os.environ.get("WIDESTABLE_DATA", "")


def _find(folder: str | os.PathLike[str] | None, name: str) -> Path | None:
    given = _given(folder)
    path = Path(given) / name
    return path if given and path.is_file() else None


def _fetch(url: str, cache: str | os.PathLike[str] | None) -> Path:
    """The archive, downloaded once. UCI publishes no checksum, so the contents are checked instead."""
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            'Fetching the data needs pooch: pip install "widestable[experiments]", or set WIDESTABLE_DATA to a '
            f"folder that holds {REAL_ESTATE_FILE}."
        ) from error
    folder = Path(cache) if cache is not None else Path(pooch.os_cache("widestable"))
    pooch.get_logger().setLevel("WARNING")
    try:
        return Path(pooch.retrieve(url, known_hash=None, fname="real_estate.zip", path=folder))
    except Exception as error:  # whatever the network does, the remedy is the same
        raise DataError(
            f"The real-estate data could not be fetched from {url} ({type(error).__name__}): try again later, or put "
            f"{REAL_ESTATE_FILE} in a folder and set WIDESTABLE_DATA to it."
        ) from error


def _read_archive(path: Path) -> Floats:
    """The numbers of the one xlsx in the archive; a broken archive is deleted, to be fetched again."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise DataError('Reading the archive needs openpyxl: pip install "widestable[experiments]".') from error
    try:
        with zipfile.ZipFile(path) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".xlsx"))
            sheet = load_workbook(io.BytesIO(archive.read(name)), read_only=True, data_only=True).active
            _, *rows = sheet.iter_rows(values_only=True)
        # The first column numbers the rows.
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
            f"{where} holds a value that is no number ({error}): take the file from UCI, id 477."
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
            f"{where} could not be read ({error!r}): write columns date (YYYY-MM-DD) and close, one row a trading day."
        ) from error


def _check_sp500(closes: dict[str, float]) -> None:
    remedy = "take every trading day from 2019-07-01 to 2021-06-30, once, in order."
    if len(closes) != N_DAYS or list(closes) != sorted(closes):
        raise DataError(f"{SP500_FILE} holds {len(closes)} days, expected {N_DAYS} in order: {remedy}")
    for day, close in CLOSES.items():
        if abs(closes.get(day, np.nan) - close) > 0.006 or day not in closes:
            raise DataError(f"{SP500_FILE} says {closes.get(day)} on {day}, expected {close}: {remedy}")
