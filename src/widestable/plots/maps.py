"""Two inputs: maps of predictions and of boundaries, and heat maps of a quantity over a grid of settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike

from .._types import FloatArray
from ..inputs import unscale_inputs
from ..jumps import BoundaryMap
from .style import PROBABILITY, SEQUENTIAL, axes_or_current

if TYPE_CHECKING:
    from ..regressor import StableRegressor


class Grid(NamedTuple):
    """Predictions on a grid over two inputs: quantiles of f or of new observations, (rows of y, columns of x) each."""

    x: FloatArray
    y: FloatArray
    lower: FloatArray
    middle: FloatArray
    upper: FloatArray


def predict_grid(model: StableRegressor, n: int = 40, coverage: float = 0.9, noise: bool = True) -> Grid:
    """Median of f, and the ends of the interval, on an n by n grid that covers the training rows.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> predict_grid(model, 5).middle.shape
    (5, 5)
    """
    if model.n_features_in_ != 2:
        raise ValueError(f"Got a model with {model.n_features_in_} inputs, expected two: use plot_fit for one.")
    posterior = model.posterior_
    X = unscale_inputs(posterior.data.X, posterior.data.scaling)
    x, y = (np.linspace(column.min(), column.max(), n) for column in X.T)
    rows = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    tail = 0.5 * (1.0 - coverage)
    lower, upper = posterior.quantiles(rows, [tail, 1.0 - tail], noise=noise).T.reshape(2, n, n)
    return Grid(x, y, lower, posterior.quantiles(rows, [0.5], noise=False).reshape(n, n), upper)


def plot_map(
    x: ArrayLike, y: ArrayLike, values: ArrayLike, *, label: str = "", points: ArrayLike | None = None,
    cmap: str = SEQUENTIAL, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Values on a grid of two inputs as colours, with a bar; `points` (m, 2) are marked.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_map([0.0, 1.0], [0.0, 1.0, 2.0], np.zeros((3, 2)), label="median", ax=Figure().subplots())
    >>> len(ax.collections)
    1
    """
    ax = axes_or_current(ax)
    mesh = ax.pcolormesh(
        np.asarray(x), np.asarray(y), np.asarray(values), shading="nearest", cmap=cmap, rasterized=True
    )
    bar = ax.figure.colorbar(mesh, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    if label:
        ax.set_title(label, fontsize="medium")
    if points is not None:
        ax.plot(*np.asarray(points).T, ".", color="white", mec="black", mew=0.4, ms=5.0)
    return ax


def plot_boundaries(boundaries: BoundaryMap, *, points: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Sides of cells, dark where f probably jumps across them.

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
    segments, probability = boundary_segments(boundaries)
    lines = LineCollection(list(segments), cmap=PROBABILITY, norm=Normalize(0.0, 1.0), capstyle="round")
    lines.set_array(probability)
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
    """The side between each pair of neighbouring cells, (k, 2, 2), and its probability, (k,)."""
    x, y = boundaries.x, boundaries.y
    middle_x, middle_y = 0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1])
    half_x, half_y = 0.5 * (x[1] - x[0]), 0.5 * (y[1] - y[0])
    upright = [[(mx, cy - half_y), (mx, cy + half_y)] for cy in y for mx in middle_x]
    level = [[(cx - half_x, my), (cx + half_x, my)] for my in middle_y for cx in x]
    probability = np.concatenate([boundaries.across_x.ravel(), boundaries.across_y.ravel()])
    return np.array(upright + level), probability


def plot_heat_map(
    rows: ArrayLike, columns: ArrayLike, values: ArrayLike, *, row_label: str = "", column_label: str = "",
    label: str = "", best: str | None = "min", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """A number for each pair of settings, written into its cell; the best one is framed.

    Parameters
    ----------
    rows, columns : settings, for instance values of alpha and of nu.
    values : shape (rows, columns), for instance mean absolute errors; NaN cells stay empty.
    best : "min", "max" or None.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_heat_map([0.5, 1.0], [1, 2, 4], [[3, 2, 4], [5, 1, 6]], row_label="alpha", ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts][:3]
    ['3', '2', '4']
    """
    ax = axes_or_current(ax)
    table = np.asarray(values, dtype=float)
    image = ax.imshow(table, cmap=SEQUENTIAL, aspect="auto")
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            dark = np.asarray(image.norm(value)).item() < 0.6
            ax.text(
                j, i, f"{value:.3g}", ha="center", va="center", color="white" if dark else "black", fontsize="small"
            )
    if best is not None and np.isfinite(table).any():
        flat = np.nanargmin(table) if best == "min" else np.nanargmax(table)
        i, j = divmod(int(flat), table.shape[1])
        ax.plot(
            np.array([-0.5, 0.5, 0.5, -0.5, -0.5]) + j,
            np.array([-0.5, -0.5, 0.5, 0.5, -0.5]) + i,
            color="#D55E00",
            lw=2.5,
        )
    ax.set_xticks(range(table.shape[1]), [f"{c:g}" for c in np.asarray(columns)])
    ax.set_yticks(range(table.shape[0]), [f"{r:g}" for r in np.asarray(rows)])
    ax.set(xlabel=column_label, ylabel=row_label, title=label)
    return ax
