"""Colours and axes that all pictures share, those of the report included."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

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


def map_order(names: tuple[str, ...]) -> tuple[int, int]:
    """Which input is on the x axis of a map, and which on the y axis: longitude on x, otherwise the first input.

    Examples
    --------
    >>> map_order(("Latitude", "lon")), map_order(("east", "north"))
    ((1, 0), (0, 1))
    """
    first, second = (name.strip().lower() for name in names)
    return (1, 0) if first in LATITUDE or second in LONGITUDE else (0, 1)
