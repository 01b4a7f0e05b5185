"""Marks at the observations that are probably outliers, and axes that far ones do not squash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from .._types import FloatArray
from ..inputs import unscale_inputs, unscale_outputs
from ..jumps.result import LIKELY
from .style import OUTLIER_COLOR, axes_or_current, place_on, places_on_map

if TYPE_CHECKING:
    from ..regressor import StableRegressor

LABEL = "outlier (probability above 0.5)"
FAR_LABEL = "outlier (probability above 0.5) beyond the axis"
# An outlier stays inside the picture up to this many times the height of all else beyond it.
ROOM = 1.0
# Part of the width that the value of a far outlier takes, and how many of them may stand one above the other.
VALUE_WIDTH, MAX_LEVELS = 0.09, 3


class Marked(NamedTuple):
    """Observations that are probably outliers, in the user's units.

    Attributes
    ----------
    X : (k, d) array
        Their inputs.
    y : (k,) array
        What was observed.
    """

    X: FloatArray
    y: FloatArray


def marked_outliers(model: StableRegressor) -> Marked:
    """The distinct observations that are outliers with a probability of at least 0.5; none with normal noise."""
    posterior = model.posterior_
    data, probability = posterior.data, posterior.outlier_probability
    # The probability of a dropped row is NaN, which is not at least 0.5.
    chosen = np.unique(data.observation[probability >= LIKELY])
    X = unscale_inputs(data.X[data.obs_row[chosen]], data.scaling)
    return Marked(X, unscale_outputs(data.obs_y[chosen], data.scaling))


def are_outliers(model: StableRegressor, X: FloatArray, y: FloatArray) -> np.ndarray:
    """Which of these rows are training observations that are probably outliers, a boolean array of shape (m,)."""
    marked, scaling = marked_outliers(model), model.posterior_.data.scaling
    found = np.zeros(len(X), dtype=bool)
    # Not exactly equal: marks have been scaled and scaled back.
    for x, value in zip(marked.X, marked.y, strict=True):
        near = np.flatnonzero(np.isclose(y, value, atol=1e-9 * scaling.y_scale, rtol=1e-12))
        found[near] |= np.all(np.isclose(X[near], x, atol=1e-9 * scaling.x_scale, rtol=1e-12), axis=1)
    return found


def limits_without_far(others: FloatArray, outliers: FloatArray) -> tuple[float, float] | None:
    """Limits of an axis for everything but far outliers; None if there are none, or no outliers at all.

    Examples
    --------
    >>> limits_without_far(np.array([0.0, 9.0]), np.array([11.0]))
    >>> limits_without_far(np.array([0.0, 9.0]), np.array([11.0, -500.0]))
    (-1.1, 12.1)
    """
    low, high = float(others.min()), float(others.max())
    room = ROOM * (high - low)
    is_near = (outliers >= low - room) & (outliers <= high + room)
    if is_near.all():
        return None
    low, high = min([low, *outliers[is_near]]), max([high, *outliers[is_near]])
    margin = 0.1 * (high - low)
    return float(low - margin), float(high + margin)


def plot_outliers(model: StableRegressor, *, ax: Axes | None = None) -> Axes:
    """Draw a ring around each training observation that is an outlier with a probability of at least 0.5.

    `plot_fit` does this itself. For two inputs, call it after `plot_map` or `plot_boundaries`. Only models with
    `noise="outliers"` know outliers; for others, nothing is drawn.

    Parameters
    ----------
    model : StableRegressor
        A model fitted on one or two inputs.
    ax : matplotlib.axes.Axes, optional
        Where to draw: over the inputs for two of them; over input and output for one, where observations beyond the
        axis become arrows with their values. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> len(plot_outliers(model, ax=Figure().subplots()).lines)
    0
    """
    columns, d = model.posterior_.data.columns, model.n_features_in_
    if d > 2 or (d == 1 and not columns.is_plain):
        raise ValueError(
            f"Got a model with {d} inputs, expected two, or one that is a number or a date: use outliers() for a list."
        )
    ax = axes_or_current(ax)
    marked = marked_outliers(model)
    if not marked.y.size:
        return ax
    if d == 1:
        mark_on_line(ax, place_on(ax.xaxis, columns.values(0, marked.X[:, 0])), marked.y)
    else:
        _rings(ax, *places_on_map(ax, columns, marked.X))
    ax.legend(loc="best", fontsize="small", framealpha=0.9)
    return ax


def mark_on_line(ax: Axes, x: FloatArray, y: FloatArray) -> None:
    """Rings around points inside the limits of the axes, and arrows with values for those beyond."""
    low, high = sorted(ax.get_ylim())
    is_inside = (y >= low) & (y <= high)
    if is_inside.any():
        _rings(ax, x[is_inside], y[is_inside])
    edge = 0.03 * (high - low)
    label: str | None = FAR_LABEL
    for is_beyond, marker, at, upwards in ((y > high, "^", high - edge, 1), (y < low, "v", low + edge, -1)):
        if is_beyond.any():
            look: dict[str, Any] = {"mfc": OUTLIER_COLOR, "mec": "white", "mew": 0.6, "ms": 8.0, "zorder": 5}
            ax.plot(x[is_beyond], np.full(is_beyond.sum(), at), marker, label=label, **look)
            _values(ax, x[is_beyond], y[is_beyond], at, upwards)
            label = None


def _rings(ax: Axes, x: FloatArray, y: FloatArray) -> None:
    # The white line around the ring keeps it visible on any colour.
    halo = [withStroke(linewidth=3.2, foreground="white")]
    ax.plot(x, y, "o", mfc="none", mec=OUTLIER_COLOR, mew=1.6, ms=9.0, zorder=5, label=LABEL, path_effects=halo)


def _values(ax: Axes, x: FloatArray, y: FloatArray, at: float, upwards: int) -> None:
    """The values beside arrows at one edge; where they would overlap, one above the other, and left out beyond that."""
    low, high = sorted(ax.get_xlim())
    place = (x - low) / (high - low)
    taken = np.full(MAX_LEVELS, -np.inf)
    for i in np.argsort(x, kind="stable"):
        is_right = place[i] > 1.0 - 1.5 * VALUE_WIDTH
        start = place[i] - VALUE_WIDTH if is_right else place[i]
        if not (free := np.flatnonzero(taken <= start)).size:
            continue
        taken[free[0]] = start + VALUE_WIDTH
        offset = (-7 if is_right else 7, -12 * upwards * int(free[0]))
        text = ax.annotate(f"{y[i]:.3g}", (x[i], at), xytext=offset, textcoords="offset points")
        text.set(ha="right" if is_right else "left", va="center", fontsize="small", color=OUTLIER_COLOR, zorder=6)
        text.set_path_effects([withStroke(linewidth=2.0, foreground="white")])
