"""Pictures: functions that draw on `ax` and return it."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

__all__ = ["plot_band", "plot_stacked"]

COLORS = ("#1b6ca8", "#c8553d", "#4c956c", "#8a5a9e")


def plot_stacked(x: ArrayLike, f: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Functions one above the other, each shifted and divided by its range, so that shapes can be compared.

    Parameters
    ----------
    x : sorted inputs, shape (m,).
    f : one function in each row, shape (k, m).
    ax : where to draw; the current axes by default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_stacked([0.0, 1.0, 2.0], [[0.0, 5.0, 5.0], [1.0, 1.0, -1.0]], ax=Figure().subplots())
    >>> len(ax.lines)
    2
    """
    ax = plt.gca() if ax is None else ax
    x, f = np.asarray(x), np.atleast_2d(f)
    low, spread = f.min(axis=1, keepdims=True), np.ptp(f, axis=1, keepdims=True)
    shapes = (f - low) / np.where(spread > 0.0, spread, 1.0)
    for level, shape in enumerate(shapes):
        ax.plot(x, shape + 1.15 * level, drawstyle="steps-mid", color=COLORS[level % len(COLORS)], lw=1.2)
    ax.set_yticks([])
    ax.spines[["left", "right", "top"]].set_visible(False)
    return ax


def plot_band(
    x: ArrayLike,
    lower: ArrayLike,
    middle: ArrayLike,
    upper: ArrayLike,
    *,
    color: str = COLORS[0],
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A prediction and the band around it, along one input.

    Parameters
    ----------
    x : sorted inputs, shape (m,).
    lower, middle, upper : shape (m,).
    color, label : of both the line and the band.
    ax : where to draw; the current axes by default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_band([0.0, 1.0], [-1.0, -1.0], [0.0, 0.5], [1.0, 1.0], ax=Figure().subplots())
    >>> len(ax.lines), len(ax.collections)
    (1, 1)
    """
    ax = plt.gca() if ax is None else ax
    x = np.asarray(x)
    ax.fill_between(x, np.asarray(lower), np.asarray(upper), color=color, alpha=0.25, lw=0.0)
    ax.plot(x, np.asarray(middle), color=color, lw=1.6, label=label)
    ax.spines[["right", "top"]].set_visible(False)
    return ax
