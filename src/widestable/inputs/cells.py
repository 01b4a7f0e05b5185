"""The cells of a table, column by column: what they hold, and how they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]

from .._types import FloatArray
from .checks import is_number, to_floats
from .dates import are_dates

KINDS = NUMBER, DATE, CATEGORY = "number", "date", "category"


def cells_of(X: Any) -> list[Any] | None:
    """The columns of a table as pandas series, or None for an array of numbers and for what is no table."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return [X.iloc[:, j].reset_index(drop=True) for j in range(X.shape[1])]
    if hasattr(X, "columns") and hasattr(X, "get_columns"):
        return [_from_polars(series) for series in X.get_columns()]
    if hasattr(X, "toarray"):
        return None
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)
    except ValueError:  # lists of different lengths, which later checks refuse
        return None
    if array.ndim != 2 or array.dtype.kind not in "OUSM" or array.shape[1] == 0:
        return None
    return [
        pandas.Series(array[:, j], dtype=None if array.dtype.kind == "M" else object) for j in range(array.shape[1])
    ]


def _from_polars(series: Any) -> Any:
    """A polars series as one of pandas."""
    kind = str(series.dtype)
    if getattr(series.dtype, "time_zone", None):
        in_utc = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
        return pandas.Series(in_utc).dt.tz_localize("UTC").dt.tz_convert(series.dtype.time_zone)
    if kind.startswith(("Categorical", "Enum")):
        return pandas.Series(series.to_list(), dtype="object").astype("category")
    if kind == "Boolean":
        return pandas.Series(series.to_list(), dtype="boolean")
    return pandas.Series(series.to_numpy())


def kind_of(values: Any) -> str:
    """What a pandas series holds; "number" also where nothing else fits, and later checks say why."""
    types = pandas.api.types
    if isinstance(values.dtype, pandas.CategoricalDtype) or types.is_bool_dtype(values.dtype):
        return CATEGORY
    if types.is_numeric_dtype(values.dtype):
        return NUMBER
    known = values.dropna()
    if len(known) and all(isinstance(value, bool | np.bool_) for value in known):
        return CATEGORY
    if all(is_number(value) for value in known) and not types.is_datetime64_any_dtype(values.dtype):
        return NUMBER
    if are_dates(values):
        return DATE
    return CATEGORY if all(isinstance(value, str) for value in known) else NUMBER


def levels_of(values: Any) -> tuple[Any, ...]:
    """The levels that occur in a series: in the order of a categorical type, otherwise sorted."""
    known = values.dropna()
    if isinstance(values.dtype, pandas.CategoricalDtype):
        used = set(known)
        return tuple(plain_value(level) for level in values.dtype.categories if level in used)
    return tuple(plain_value(level) for level in sorted(known.unique()))


def places_among(values: Any, levels: tuple[Any, ...]) -> FloatArray:
    """The place of each value among the levels, -1 for none of them, NaN where it is missing."""
    place = {level: k for k, level in enumerate(levels)}
    plain = [plain_value(value) for value in values]
    found = np.array([place.get(value, -1) for value in plain], dtype=np.float64)
    return np.where(np.asarray(values.isna()), np.nan, found)


def plain_value(value: Any) -> Any:
    """A value as plain Python has it; times and the like as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | bool | int | float) else str(value)


def numbers_in(values: Any, label: str) -> FloatArray:
    """A series as floats; errors name the column."""
    return to_floats(pandas.DataFrame({label: values}), "X")[:, 0]
