"""Two inputs: maps of predictions, and of the boundaries across which f jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray
from ..inputs import scale_inputs, unscale_inputs
from ..jumps import BoundaryMap
from ..predict.mixture import Job
from .style import PROBABILITY, SEQUENTIAL, axes_or_current, place_on

if TYPE_CHECKING:
    from ..regressor import StableRegressor


class Grid(NamedTuple):
    """Predictions on a grid over two inputs.

    Attributes
    ----------
    x, y : (n,) arrays
        Values of the first and the second input; dates as datetime64.
    lower, middle, upper : (n, n) arrays
        Median of f, and the ends of the interval; rows follow y, columns follow x.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    lower: FloatArray
    middle: FloatArray
    upper: FloatArray


def predict_grid(model: StableRegressor, n: int = 40, coverage: float = 0.9, noise: bool = True) -> Grid:
    """Predict on a grid that covers the training rows.

    Parameters
    ----------
    model : StableRegressor
        A model fitted on two inputs.
    n : int
        Points along each input.
    coverage : float
        Probability of the interval.
    noise : bool
        Whether the interval is that of a new observation, or of f.

    Returns
    -------
    Grid
        Named tuple of `x`, `y`, `lower`, `middle` (the median of f) and `upper`.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> predict_grid(model, 5).middle.shape
    (5, 5)
    """
    posterior = model.posterior_
    data, columns = posterior.data, posterior.data.columns
    if len(columns) != 2 or not columns.is_plain:
        raise ValueError(
            f"Got a model with {len(columns)} inputs, expected two that are numbers or dates: use plot_fit for one."
        )
    X = unscale_inputs(data.X, data.scaling)
    x, y = (np.linspace(column.min(), column.max(), n) for column in X.T)
    rows = scale_inputs(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), data.scaling)
    tail = 0.5 * (1.0 - coverage)
    lower, upper = posterior._quantiles_at(rows, [tail, 1.0 - tail], noise, Job()).T.reshape(2, n, n)
    middle = posterior._quantiles_at(rows, [0.5], False, Job()).reshape(n, n)
    return Grid(columns.values(0, x), columns.values(1, y), lower, middle, upper)


def plot_map(
    x: ArrayLike, y: ArrayLike, values: ArrayLike, *, label: str = "", points: ArrayLike | None = None,
    cmap: str = SEQUENTIAL, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw values on a grid over two inputs as colours, with a colour bar.

    Parameters
    ----------
    x, y : (p,) and (q,) array-like
        Values of the first and the second input.
    values : (q, p) array-like
        What to show.
    label : str
        Title of the picture.
    points : (m, 2) array-like, optional
        Places to mark, for instance the data.
    cmap : str
        Colour map.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_map([0.0, 1.0], [0.0, 1.0, 2.0], np.zeros((3, 2)), label="median", ax=Figure().subplots())
    >>> len(ax.collections)
    1
    """
    ax = axes_or_current(ax)
    # Cells as one image keep vector files small.
    places = place_on(ax.xaxis, x), place_on(ax.yaxis, y)
    mesh = ax.pcolormesh(*places, np.asarray(values), shading="nearest", cmap=cmap, rasterized=True)
    bar = ax.figure.colorbar(mesh, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    if label:
        ax.set_title(label, fontsize="medium")
    if points is not None:
        ax.plot(*np.asarray(points).T, ".", color="white", mec="black", mew=0.4, ms=5.0)
    return ax


def plot_boundaries(boundaries: BoundaryMap, *, points: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw the sides of the cells of a map, dark where f probably jumps across them.

    Parameters
    ----------
    boundaries : BoundaryMap
        Probabilities, for instance `model.jumps().boundaries`.
    points : (m, 2) array-like, optional
        Places to mark, for instance the data.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ends = np.array([0.0, 1.0])
    >>> found = BoundaryMap(ends, ends, np.array([[0.9], [0.1]]), np.array([[0.0, 0.2]]))
    >>> ax = plot_boundaries(found, ax=Figure().subplots())
    >>> len(ax.collections[0].get_segments())
    4
    """
    ax = axes_or_current(ax)
    if boundaries.columns is not None:
        x, y = (boundaries.columns.values(j, centres) for j, centres in enumerate(boundaries[:2]))
        boundaries = boundaries._replace(x=place_on(ax.xaxis, x), y=place_on(ax.yaxis, y))
    segments, probability = boundary_segments(boundaries)
    lines = LineCollection(list(segments), cmap=PROBABILITY, norm=Normalize(0.0, 1.0), capstyle="round")
    lines.set_array(probability)
    # Width as well as colour, so that rare boundaries fade into the background.
    lines.set_linewidth(list(0.3 + 3.2 * probability))
    ax.add_collection(lines)
    bar = ax.figure.colorbar(lines, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    ax.set_title("probability of a jump", fontsize="medium")
    if points is not None:
        ax.plot(*np.asarray(points).T, ".", color="#0072B2", ms=4.0)
    ax.autoscale_view()
    return ax


def boundary_segments(boundaries: BoundaryMap) -> tuple[FloatArray, FloatArray]:
    """The sides between neighbouring cells as segments, shape (k, 2, 2), and their probabilities, shape (k,)."""
    x, y = boundaries.x, boundaries.y
    middle_x, middle_y = 0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1])
    half_x, half_y = 0.5 * (x[1] - x[0]), 0.5 * (y[1] - y[0])
    # In the order of across_x and across_y, flattened.
    upright = [[(mx, cy - half_y), (mx, cy + half_y)] for cy in y for mx in middle_x]
    level = [[(cx - half_x, my), (cx + half_x, my)] for my in middle_y for cx in x]
    probability = np.concatenate([boundaries.across_x.ravel(), boundaries.across_y.ravel()])
    return np.array(upright + level), probability
