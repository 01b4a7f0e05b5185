"""Colours and axes that all pictures share, those of the report included."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

from .._types import FloatArray

# Blue, vermilion, green and purple of Okabe and Ito, which people with any kind of colour vision can tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
# A dark red, for rings around outliers: their shape tells them from everything else, not their colour alone.
OUTLIER_COLOR = "#B00020"
# Colour maps that keep their order when printed in grey.
SEQUENTIAL = "viridis"
PROBABILITY = "Greys"


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


def place_on(axis: Axis, values: Any) -> FloatArray:
    """Values as numbers along an axis, which becomes one of dates if they are dates.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> place_on(Figure().subplots().xaxis, np.array(["1970-01-03"], dtype="datetime64[D]"))
    array([2.])
    """
    if not is_dated(values):
        return np.asarray(values, dtype=float)
    axis.axis_date()
    # Short labels, with what they share beside the axis.
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    dates: Any = np.asarray(values, dtype="datetime64[us]")
    return np.asarray(date2num(dates), dtype=np.float64)  # type: ignore[no-untyped-call]
