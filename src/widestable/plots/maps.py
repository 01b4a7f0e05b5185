"""Two inputs: maps of predictions, and of the boundaries across which f jumps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray
from ..inputs import scale_inputs, spread_indices, unscale_inputs
from ..jumps import BoundaryMap
from ..jumps.words import grid_in_words
from ..posterior import Posterior
from ..predict.mixture import Job
from .style import PROBABILITY, SEQUENTIAL, axes_or_current, is_text, map_order, place_on, places_on_map

if TYPE_CHECKING:
    from ..regressor import StableRegressor

# Points along each input, at which a straight boundary looks straight, and the draws that such a map is made of.
FINE, MAP_DRAWS = 64, 400


class Grid(NamedTuple):
    """Predictions on a grid over two inputs.

    Attributes
    ----------
    x, y : (p,) and (q,) arrays
        Values of the first and the second input: numbers, dates as datetime64, or all levels of a category as text.
    lower, middle, upper : (q, p) arrays
        Median of f, and the ends of the interval; rows follow y, columns follow x.
    names : tuple of two str
        Names of the inputs.
    target : str
        Name of the output.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    lower: FloatArray
    middle: FloatArray
    upper: FloatArray
    names: tuple[str, str]
    target: str

    def __repr__(self) -> str:
        return f"Grid({grid_in_words(self.x, self.y, self.names)})"


def predict_grid(
    model: StableRegressor, n: int = FINE, coverage: float = 0.9, noise: bool = True, n_draws: int = MAP_DRAWS
) -> Grid:
    """Predict on a grid that covers the training rows.

    Parameters
    ----------
    model : StableRegressor
        A model fitted on two inputs.
    n : int
        Points along each input that is no category.
    coverage : float
        Probability of the interval.
    noise : bool
        Whether the interval is that of a new observation, or of f.
    n_draws : int
        Posterior draws to use at most, evenly spread: a grid has thousands of points, and each costs as much as a
        prediction.

    Returns
    -------
    Grid
        Named tuple of `x`, `y`, `lower`, `middle` (the median of f) and `upper`.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> grid = predict_grid(model, 5)
    >>> grid
    Grid(5 x 5 points, x1 0.02832 to 0.8632, x2 0.002739 to 0.9351)
    >>> grid.middle.shape
    (5, 5)
    """
    posterior = _thinned(model.posterior_, n_draws)
    data, columns = posterior.data, posterior.data.columns
    if len(columns) != 2:
        raise ValueError(f"Got a model with {len(columns)} inputs, expected two: use plot_effects.")
    given = columns.decode(unscale_inputs(data.X, data.scaling))
    places = columns.levels_at(0), columns.levels_at(1)
    x, y = (_evenly(given[:, j], n) if levels is None else levels for j, levels in enumerate(places))
    rows = scale_inputs(columns.expand(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)), data.scaling)
    tail = 0.5 * (1.0 - coverage)
    job = Job(model.n_jobs)
    lower, upper = posterior._quantiles_at(rows, [tail, 1.0 - tail], noise, job).T.reshape(2, y.size, x.size)
    middle = posterior._quantiles_at(rows, [0.5], False, job).reshape(y.size, x.size)
    first, second = columns.labels
    target = data.target or "f"
    return Grid(columns.values(0, x), columns.values(1, y), lower, middle, upper, (first, second), target)


def _evenly(values: FloatArray, n: int) -> FloatArray:
    """Places from the smallest to the largest value that is not missing."""
    return np.linspace(np.nanmin(values), np.nanmax(values), n)


def _thinned(posterior: Posterior, n_draws: int) -> Posterior:
    """The posterior with about `n_draws` of its draws."""
    chains = []
    for draws in posterior.chains:
        keep = np.zeros(len(draws), dtype=bool)
        keep[spread_indices(len(draws), -(-n_draws // len(posterior.chains)))] = True
        chains.append(draws.where(keep))
    return replace(posterior, sample=replace(posterior.sample, chains=tuple(chains)))


def plot_map(
    model: StableRegressor | Grid,
    show: str = "median",
    *,
    points: ArrayLike | None = None,
    cmap: str = SEQUENTIAL,
    ax: Axes | None = None,
) -> Axes:
    """Draw the prediction over two inputs as colours, with a colour bar.

    Longitude, if an input has that name, is on the x axis; otherwise the first input is.

    Parameters
    ----------
    model : StableRegressor or Grid
        A model fitted on two inputs, or what `predict_grid` has made of one.
    show : "median", "lower", "upper" or "width"
        The median of f, or the ends or the width of the interval: the central 90% interval of a new observation, unless
        the grid was made with another.
    points : (m, 2) array-like, optional
        Places to mark. Default: the training rows of a model; pass an empty list for none.
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
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> ax = plot_map(predict_grid(model, 5), "width", ax=Figure().subplots())
    >>> ax.get_title(), ax.get_xlabel()
    ('width of the interval', 'x1')
    """
    titles = {"median": "median of f", "lower": "lower end of the interval", "upper": "upper end of the interval"}
    titles["width"] = "width of the interval"
    if show not in titles:
        raise ValueError(f"Got show = {show!r}, expected one of {', '.join(titles)}: pass 'median', for example.")
    grid = model if isinstance(model, Grid) else predict_grid(model)
    values = {"median": grid.middle, "lower": grid.lower, "upper": grid.upper, "width": grid.upper - grid.lower}[show]
    title = titles[show] if grid.target == "f" else f"{grid.target}: {titles[show]}"
    ax = axes_or_current(ax)
    _paint(ax, grid.x, grid.y, values, grid.names, cmap=cmap)
    ax.set_title(title, fontsize="medium")
    _mark(ax, model, points, grid.names, color="white", mec="black", mew=0.4, ms=5.0)
    return ax


def plot_boundaries(
    model: StableRegressor | BoundaryMap, *, points: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw where f probably jumps, over two inputs: dark where a jump passes close by in most draws.

    Longitude, if an input has that name, is on the x axis; otherwise the first input is.

    Parameters
    ----------
    model : StableRegressor or BoundaryMap
        A model fitted on two inputs that are numbers or dates, or a map of probabilities, such as
        `model.jumps(size=2.0).boundaries`.
    points : (m, 2) array-like, optional
        Places to mark. Default: the training rows of a model; pass an empty list for none.
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
    >>> found = BoundaryMap(ends, ends, np.array([[0.9, 0.1], [0.0, 0.2]]), (0.5, 0.5), ("lat", "lon"))
    >>> plot_boundaries(found, ax=Figure().subplots()).get_xlabel()
    'lon'
    """
    found = model if isinstance(model, BoundaryMap) else model.jumps().boundaries
    if found is None:
        raise ValueError(
            "Got a model that does not have two inputs which are numbers or dates, expected two: use plot_fit for one, "
            "and plot_effects for others."
        )
    ax = axes_or_current(ax)
    _paint(ax, *found.axes, found.probability, found.names, cmap=PROBABILITY, vmin=0.0, vmax=1.0)
    ax.set_title("probability of a jump", fontsize="medium")
    _mark(ax, model, points, found.names, color="#0072B2", ms=4.0)
    return ax


def _paint(
    ax: Axes, x: NDArray[Any], y: NDArray[Any], values: FloatArray, names: tuple[str, str], **look: object
) -> QuadMesh:
    """Values on a grid as colours, with a colour bar and names on the axes."""
    across, up = map_order(names)
    places = place_on(ax.xaxis, (x, y)[across]), place_on(ax.yaxis, (x, y)[up])
    image = values if across == 0 else values.T
    # Colours between the points, so that a straight boundary is no staircase; between levels, there is nothing.
    shading = "nearest" if is_text(x) or is_text(y) else "gouraud"
    # As one image, vector files stay small.
    mesh = ax.pcolormesh(*places, image, shading=shading, rasterized=True, **look)  # type: ignore[arg-type]
    bar = ax.figure.colorbar(mesh, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    ax.set(xlabel=names[across], ylabel=names[up])
    return mesh


def _mark(ax: Axes, model: object, points: ArrayLike | None, names: tuple[str, str], **look: Any) -> None:
    """Dots at these places, or at the training rows of a model."""
    if points is None and not isinstance(model, Grid | BoundaryMap):
        data = model.posterior_.data  # type: ignore[attr-defined]
        x, y = places_on_map(ax, data.columns, unscale_inputs(data.X, data.scaling))
    elif points is not None and len(marks := np.asarray(points)):
        across, up = map_order(names)
        x, y = place_on(ax.xaxis, marks[:, across]), place_on(ax.yaxis, marks[:, up])
    else:
        return
    ax.plot(x, y, ".", **look)
