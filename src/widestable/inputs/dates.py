"""Dates and times as elapsed days, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
from numpy.typing import NDArray

from .._types import FloatArray

DateArray = NDArray[np.datetime64]

# How text may be written, besides ISO 8601. Times may follow.
DAY_FORMATS = (
    "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y",
    "%B %d, %Y", "%d-%b-%Y",
)  # fmt: skip
TIME_FORMATS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f")
# Two ways to read the same text.
SWAPPED = {"%m/%d/%Y": "%d/%m/%Y", "%d-%m-%Y": "%m-%d-%Y"}
ISO = "ISO8601"
# Text that is worth a try: all dates hold a year or two other numbers, and most text does not.
LIKE_A_DATE = re.compile(r"\d.*[-/. ].*\d")
OFFSET = re.compile(r"\d[ ]?(Z|[+-]\d\d(?::?\d\d)?)$")
# A date in which "-05" at the end is a day or a month, not an offset.
NO_TIME = re.compile(r"^[^:T]*$")
# From coarse to fine, with the format in which to show a time that is whole in this unit.
UNITS = {"D": "%Y-%m-%d", "min": "%Y-%m-%d %H:%M", "s": "%Y-%m-%d %H:%M:%S", "us": "%Y-%m-%d %H:%M:%S.%f"}
MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True)
class Dates:
    """How a column of dates is counted: in days since the first of them in training.

    Attributes
    ----------
    origin : str
        The first date, in ISO 8601; in UTC where there is a time zone.
    zone : str or None
        Time zone in which the dates are shown.
    unit : str
        The coarsest of `UNITS` in which all training dates are whole.
    text : str or None
        Format of the training dates where they were text, as `pandas.to_datetime` takes it.

    Examples
    --------
    >>> dates, days = learn_dates(pandas.Series(["2023-03-31", "2023-04-02"]), "day")
    >>> days, dates.show(1.0)
    (array([0., 2.]), '2023-04-01')
    """

    origin: str
    zone: str | None = None
    unit: str = "D"
    text: str | None = None

    def days(self, values: Any, name: str) -> FloatArray:
        """Days since the origin of a series of dates; NaN where one is missing."""
        stamps, _ = _stamps(values, name, self.text)
        if stamps.dt.tz is None and self.zone is not None:
            # The same clock as in training.
            first = np.ones(len(stamps), dtype=bool)  # of the two hours with one name
            stamps = stamps.dt.tz_localize(self.zone, ambiguous=first, nonexistent="shift_forward")
        elif stamps.dt.tz is not None and self.zone is None:
            raise ValueError(
                f"Column {name} has a time zone, and had none in training: drop it with tz_localize(None), for example."
            )
        return _elapsed(_in_utc(stamps), self.origin)

    def values(self, days: FloatArray | float) -> DateArray:
        """The dates that are so many days after the origin, as the clocks of the time zone show them."""
        elapsed = np.atleast_1d(np.asarray(days, dtype=np.float64)) * MICROSECONDS_PER_DAY
        known = np.isfinite(elapsed)
        stamps = np.full(elapsed.shape, np.datetime64("NaT", "us"))
        # Not with pandas, whose spans of time end at 292 years.
        stamps[known] = np.datetime64(self.origin, "us") + np.rint(elapsed[known]).astype("timedelta64[us]")
        if self.zone is not None:
            in_utc = pandas.DatetimeIndex(stamps).tz_localize("UTC")
            stamps = np.asarray(in_utc.tz_convert(self.zone).tz_localize(None), dtype="datetime64[us]")
        return stamps.reshape(np.shape(days))

    def show(self, days: float) -> str:
        """A date as text, rounded to `unit`."""
        return show_dates([self.values(days)[()]], self.unit)[0]


def learn_dates(values: Any, name: str) -> tuple[Dates, FloatArray]:
    """How a series of dates is counted, and the days since the first of them; NaN where one is missing."""
    stamps, text = _stamps(values, name, None)
    zone = None if stamps.dt.tz is None else _name_of(stamps.dt.tz)
    in_utc = _in_utc(stamps)
    origin = (pandas.Timestamp(0) if in_utc.isna().all() else in_utc.min()).isoformat()
    shown = in_utc.dropna() if zone is None else in_utc.dropna().dt.tz_localize("UTC").dt.tz_convert(zone)
    shown = shown.dt.tz_localize(None)
    unit = next((unit for unit in UNITS if (shown == shown.dt.floor(unit)).all()), "us")
    return Dates(origin, zone, unit, text), _elapsed(in_utc, origin)


def are_dates(values: Any) -> bool:
    """Whether all of these values that are not missing are dates, or text that says so."""
    known = values.dropna()
    if pandas.api.types.is_datetime64_any_dtype(values.dtype):
        return True
    if not len(known) or not all(isinstance(value, str) for value in known):
        # A Timestamp is a date, too.
        return len(known) > 0 and all(hasattr(v, "year") or isinstance(v, np.datetime64) for v in known)
    return all(LIKE_A_DATE.search(text) for text in known) and len(_readings(known)) > 0


def unit_of(dates: Iterable[Any]) -> str:
    """The coarsest of `UNITS` in which these dates are whole."""
    stamps = pandas.DatetimeIndex(np.array(list(dates), dtype="datetime64[us]"))
    return next((unit for unit in UNITS if (stamps == stamps.floor(unit)).all()), "us")


def show_dates(dates: Iterable[Any], unit: str, how: str = "round") -> list[str]:
    """Dates as text, rounded to a unit; `how` may also be "floor" or "ceil".

    Examples
    --------
    >>> show_dates([np.datetime64("2023-03-31T23:59:59")], "D")
    ['2023-04-01']
    """
    rounded = getattr(pandas.DatetimeIndex(np.array(list(dates), dtype="datetime64[us]")), how)(unit)
    return [str(text) for text in rounded.strftime(UNITS[unit])]


# --- Reading ---------------------------------------------------------------------------------------------


def _stamps(values: Any, name: str, text: str | None) -> tuple[Any, str | None]:
    """A series of timestamps, and the format of what was text; `text` is tried first."""
    if pandas.api.types.is_datetime64_any_dtype(values.dtype):
        return values, None
    known = values.dropna()
    if not all(isinstance(value, str) for value in known):
        _refuse_what_is_no_date(known, name)
        return pandas.to_datetime(values, errors="raise", utc=_any_zone(known)), None
    as_before = None if text is None else _read(known, text)
    readings = _readings(known) if as_before is None else [(as_before, text)]
    if not readings:
        place = next(iter(known.index[[_read(known[[i]], ISO) is None for i in known.index]]), known.index[0])
        raise ValueError(
            f"Column {name} holds {known[place]!r} in row {place} (counting from 0), expected a date: write it like "
            "2023-03-31 or 2023-03-31 14:05."
        )
    if len(readings) > 1 and not readings[0][0].equals(readings[1][0]):
        raise ValueError(
            f"The dates of column {name}, such as {known.iloc[0]!r}, may begin with the day or with the month: write "
            "them like 2023-03-31."
        )
    return readings[0][0].reindex(values.index), readings[0][1]


def _refuse_what_is_no_date(known: Any, name: str) -> None:
    """Raise for the first value that is no date; numbers are none, although pandas would count them from 1970."""
    for place, value in known.items():
        if not (hasattr(value, "year") or isinstance(value, np.datetime64 | str)):
            raise ValueError(
                f"Column {name} holds {value!r} in row {place} (counting from 0), expected a date as in training: "
                "convert it."
            )


def _any_zone(known: Any) -> bool:
    return any(getattr(value, "tzinfo", None) is not None for value in known)


def _readings(known: Any) -> list[tuple[Any, str]]:
    """All ways to read a series of text as dates: one, none, or two where day and month may be swapped."""
    if (iso := _read(known, ISO)) is not None:
        return [(iso, ISO)]
    for day in DAY_FORMATS:
        for time in TIME_FORMATS:
            if (found := _read(known, day + time)) is not None:
                other = SWAPPED.get(day)
                swapped = None if other is None else _read(known, other + time)
                second = [] if other is None or swapped is None else [(swapped, other + time)]
                return [(found, day + time), *second]
    return []


def _read(known: Any, form: str) -> Any:
    """A series of text as timestamps, or None where it is not all in this format."""
    text = known.astype(str).str.strip()
    offsets = {found.group(1) for t in text if (found := OFFSET.search(t)) and not NO_TIME.match(t)}
    try:
        stamps = pandas.to_datetime(text, format=form, errors="raise", utc=bool(offsets))
    except (ValueError, TypeError, OverflowError):
        return None
    if len(offsets) == 1 and (offset := offsets.pop()) != "Z":
        hours, minutes = offset[:3], offset[3:].removeprefix(":") or "00"
        stamps = stamps.dt.tz_convert(f"UTC{hours}:{minutes}")
    return stamps


# --- Counting --------------------------------------------------------------------------------------------


def _in_utc(stamps: Any) -> Any:
    return stamps if stamps.dt.tz is None else stamps.dt.tz_convert("UTC").dt.tz_localize(None)


def _elapsed(in_utc: Any, origin: str) -> FloatArray:
    # In the finer of the two units, so that nanoseconds count where there are any.
    elapsed: Any = np.asarray(in_utc) - np.datetime64(origin)
    return np.where(np.isnat(elapsed), np.nan, elapsed / np.timedelta64(1, "D"))


def _name_of(zone: Any) -> str:
    """The name of a time zone that can be read again; UTC for one that has none."""
    try:
        pandas.Timestamp(0).tz_localize(str(zone))
    except Exception:  # each library of time zones has errors of its own
        return "UTC"
    return str(zone)
