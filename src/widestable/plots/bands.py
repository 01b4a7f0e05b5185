"""One input: functions, bands around a prediction, and the probability of jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from mpl_toolkits.axes_grid1 import make_axes_locatable
from numpy.typing import ArrayLike

from ..inputs import scale_inputs, unscale_inputs, unscale_outputs
from ..jumps import Jumps
from ..predict.mixture import Job
from .outliers import are_outliers, limits_without_far, mark_on_line
from .style import COLORS, axes_or_current, open_frame, place_on

if TYPE_CHECKING:
    from ..regressor import StableRegressor


def plot_stacked(x: ArrayLike, f: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw functions one above the other, each shifted and divided by its range, so that their shapes can be compared.

    Parameters
    ----------
    x : (m,) array-like
        Sorted inputs.
    f : (k, m) array-like
        One function per row.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_stacked([0.0, 1.0, 2.0], [[0.0, 5.0, 5.0], [1.0, 1.0, -1.0]], ax=Figure().subplots())
    >>> len(ax.lines)
    2
    """
    ax = axes_or_current(ax)
    x, f = np.asarray(x), np.atleast_2d(f)
    # A constant function has no range; it stays flat.
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
    """Draw a prediction and the band around it.

    Parameters
    ----------
    x : (m,) array-like
        Sorted inputs.
    lower, middle, upper : (m,) array-like
        The prediction, and the ends of the band.
    color : str
        Colour of the line and the band.
    label : str, optional
        What the legend says.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_band([0.0, 1.0], [-1.0, -1.0], [0.0, 0.5], [1.0, 1.0], ax=Figure().subplots())
    >>> len(ax.lines), len(ax.collections)
    (1, 1)
    """
    ax = axes_or_current(ax)
    x = place_on(ax.xaxis, x)
    ax.fill_between(x, np.asarray(lower), np.asarray(upper), color=color, alpha=0.25, lw=0.0)
    ax.plot(x, np.asarray(middle), color=color, lw=1.6, label=label)
    return open_frame(ax)


def plot_jump_probability(jumps: Jumps, *, color: str = COLORS[1], ax: Axes | None = None) -> Axes:
    """Draw the probability of a jump between neighbouring training points.

    Each jump with a probability of at least 0.5 also gets a dot at its location and a line for its 90% interval.

    Parameters
    ----------
    jumps : Jumps
        Jumps over one input.
    color : str
        Colour of bars, dots and lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> ax = plot_jump_probability(model.jumps(), ax=Figure().subplots())
    >>> len(ax.patches)
    11
    """
    if jumps.gaps is None:
        raise ValueError(f"Got jumps over {len(jumps.names)} inputs, expected one: use plot_boundaries for two.")
    ax = axes_or_current(ax)
    low, high = (place_on(ax.xaxis, ends) for ends in jumps.gaps[:2])
    ax.bar(low, jumps.gaps.probability, width=high - low, align="edge", color=color, alpha=0.35, lw=0.0)
    for jump in jumps.likely:
        ends = place_on(ax.xaxis, jump.location_interval)
        ax.plot(ends, [jump.probability] * 2, color=color, lw=2.0, solid_capstyle="butt")
        ax.plot(place_on(ax.xaxis, [jump.location]), [jump.probability], "o", color=color, ms=4.0)
    ax.set_ylim(0.0, 1.05)
    ax.set(xlabel=jumps.names[0], ylabel="P(jump)")
    return open_frame(ax)


def plot_fit(
    model: StableRegressor,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    coverage: float = 0.9,
    jumps: Jumps | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the fit over one input: median, band of new observations, data, and probability of jumps underneath.

    With `noise="outliers"`, each outlier among the data has a ring. Far ones do not squash the picture: they are arrows
    at its edge, with their values.

    Parameters
    ----------
    model : StableRegressor
        A model fitted on one input.
    X, y : array-like, optional
        Data to show. Default: the training rows, with repeated rows shown once at their mean, or with all their
        distinct outputs where outliers are modelled.
    coverage : float
        Probability of the band.
    jumps : Jumps, optional
        Jumps to show underneath. Default: `model.jumps()`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the panel with the jumps takes its lower fifth. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The upper axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> len(plot_fit(model, ax=Figure().subplots()).figure.axes)
    2
    """
    posterior = model.posterior_
    columns, scaling = posterior.data.columns, posterior.data.scaling
    if len(columns) != 1 or not columns.is_plain:
        raise ValueError(
            f"Got a model with {len(columns)} inputs, expected one that is a number or a date: use plot_map for two."
        )
    ax = axes_or_current(ax)
    points, values = _own_data(model) if X is None or y is None else (_places(model, X), np.asarray(y, dtype=float))
    points, values = np.ravel(points), np.ravel(values)
    grid = _line_grid(points)
    tail = 0.5 * (1.0 - coverage)
    # The band is for new observations, noise included; the line is the median of f itself.
    rows = scale_inputs(grid[:, None], scaling)
    lower, upper = posterior._quantiles_at(rows, [tail, 1.0 - tail], True, Job()).T
    middle = posterior._quantiles_at(rows, [0.5], False, Job())[:, 0]
    is_outlier = are_outliers(model, points[:, None], values)
    plot_band(columns.values(0, grid), lower, middle, upper, label=f"median and {coverage:.0%} band", ax=ax)
    places = place_on(ax.xaxis, columns.values(0, points))
    _show_data(ax, places, values, is_outlier, np.concatenate([lower, upper]))
    # Cut the lower panel out of the given axes, so that the fit takes one place in a figure of several.
    below = make_axes_locatable(ax).append_axes("bottom", size="22%", pad=0.08, sharex=ax)
    plot_jump_probability(model.jumps() if jumps is None else jumps, ax=below)
    ax.set_ylabel(posterior.data.target or "y")
    ax.tick_params(labelbottom=False)
    return ax


def _show_data(ax: Axes, x: np.ndarray, y: np.ndarray, is_outlier: np.ndarray, band: np.ndarray) -> None:
    """Points, marks at outliers, and the legend; the y axis is for the band and all but far outliers."""
    ax.plot(x, y, "o", color="black", ms=3.0, label="data")
    if limits := limits_without_far(np.concatenate([band, y[~is_outlier]]), y[is_outlier]):
        ax.set_ylim(*limits)
    mark_on_line(ax, x[is_outlier], y[is_outlier])
    # Outliers and arrows leave no corner free, so the legend is above them.
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2, "borderaxespad": 0.2}
    place = above if is_outlier.any() else {"loc": "best"}
    ax.legend(fontsize="small", frameon=False, **place)


def _own_data(model: StableRegressor) -> tuple[np.ndarray, np.ndarray]:
    """The training rows and the means of their outputs, or all distinct outputs, in the user's units."""
    data = model.posterior_.data
    if model.posterior_.model.has_spikes:
        return unscale_inputs(data.X[data.obs_row], data.scaling), unscale_outputs(data.obs_y, data.scaling)
    return unscale_inputs(data.X, data.scaling), unscale_outputs(data.y, data.scaling)


def _places(model: StableRegressor, X: Any) -> np.ndarray:
    """Rows of one input as numbers or days; a series of them will do."""
    if np.ndim(X) == 1:
        X = X.to_frame() if hasattr(X, "to_frame") else np.asarray(X)[:, None]
    return model.posterior_.data.columns.encode(X)


def _line_grid(x: np.ndarray, n: int = 400) -> np.ndarray:
    """Inputs at which to predict, a little beyond the data on either side."""
    margin = 0.02 * (float(np.ptp(x)) or 1.0)
    return np.linspace(x.min() - margin, x.max() + margin, n)
