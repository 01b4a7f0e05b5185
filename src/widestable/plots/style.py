"""Colours and axes that all pictures share, those of the report included."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

from .._types import FloatArray
from ..inputs import Columns

# Blue, vermilion, green and purple of Okabe and Ito, which people with any kind of colour vision can tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
# A dark red, for rings around outliers: their shape tells them from everything else, not their colour alone.
OUTLIER_COLOR = "#B00020"
# Colour maps that keep their order when printed in grey.
SEQUENTIAL = "viridis"
PROBABILITY = "Greys"
# Names that say which way an input goes on a map.
LATITUDE, LONGITUDE = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}


def axes_or_current(ax: Axes | None) -> Axes:
    """`ax`, or the current axes if it is None."""
    return plt.gca() if ax is None else ax


def open_frame(ax: Axes) -> Axes:
    """Remove the upper and right lines of the frame."""
    ax.spines[["right", "top"]].set_visible(False)
    return ax


def is_dated(values: Any) -> bool:
    """Whether these are dates: an array of datetime64, or datetime objects."""
    array = np.asarray(values)
    return array.dtype.kind == "M" or (array.size > 0 and hasattr(array.flat[0], "year"))


def is_text(values: Any) -> bool:
    """Whether these are levels of a category."""
    array = np.asarray(values)
    return array.dtype.kind == "U" or (array.size > 0 and isinstance(array.flat[0], str))


def place_on(axis: Axis, values: Any) -> FloatArray:
    """Values as numbers along an axis, which becomes one of dates if they are dates, and of levels if they are text.

    Levels are placed in the order in which they first come.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> place_on(Figure().subplots().xaxis, np.array(["1970-01-03"], dtype="datetime64[D]"))
    array([2.])
    >>> place_on(Figure().subplots().xaxis, ["low", "high", "low"])
    array([0., 1., 0.])
    """
    if is_text(values):
        levels = np.asarray(values, dtype=str)
        axis.update_units(levels)  # type: ignore[no-untyped-call]
        return np.asarray(axis.convert_units(levels), dtype=np.float64)  # type: ignore[no-untyped-call]
    if not is_dated(values):
        return np.asarray(values, dtype=float)
    axis.axis_date()
    # Short labels, with what they share beside the axis.
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    dates: Any = np.asarray(values, dtype="datetime64[us]")
    return np.asarray(date2num(dates), dtype=np.float64)  # type: ignore[no-untyped-call]


def map_order(names: tuple[str, ...]) -> tuple[int, int]:
    """Which input is on the x axis of a map, and which on the y axis: longitude on x, otherwise the first input.

    Examples
    --------
    >>> map_order(("Latitude", "lon")), map_order(("east", "north"))
    ((1, 0), (0, 1))
    """
    first, second = (name.strip().lower() for name in names)
    return (1, 0) if first in LATITUDE or second in LONGITUDE else (0, 1)


def places_on_map(ax: Axes, columns: Columns, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where rows of two inputs are on a map; X holds the columns of the engine, unscaled."""
    given, (across, up) = columns.decode(X), map_order(columns.labels)
    x, y = columns.values(across, given[:, across]), columns.values(up, given[:, up])
    return place_on(ax.xaxis, x), place_on(ax.yaxis, y)
