"""Colours and axes that all pictures share."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

# Blue, vermilion, green and purple of Okabe and Ito: told apart with any kind of colour vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
# Light to dark, the same order in grey.
SEQUENTIAL = "viridis"
PROBABILITY = "Greys"


def axes_or_current(ax: Axes | None) -> Axes:
    """`ax`, or the current axes."""
    return plt.gca() if ax is None else ax


def open_frame(ax: Axes) -> Axes:
    """Without the upper and right line."""
    ax.spines[["right", "top"]].set_visible(False)
    return ax
