"""Which inputs matter: their relevances, and the shares of the variance that they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from mpl_toolkits.axes_grid1 import make_axes_locatable

from .._types import FloatArray
from .style import COLORS, axes_or_current, open_frame

if TYPE_CHECKING:
    from ..regressor import StableRegressor


def plot_relevance(model: StableRegressor, *, shares: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the relevance of each input beside the share of the variance of f that it explains, with 90% intervals.

    The two answer different questions. Relevance is an inverse length scale: how fast f changes along an input. A
    strong but linear input has a low relevance and a large share.

    Parameters
    ----------
    model : StableRegressor
        A fitted model.
    shares : pandas.DataFrame, optional
        What `model.input_shares()` has given. Default: call it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the shares take its right half. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The left axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 2))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> left, right = plot_relevance(model, ax=Figure().subplots()).figure.axes
    >>> right.get_xlabel()
    'share of the variance of f'
    """
    ax = axes_or_current(ax)
    shares = model.input_shares() if shares is None else shares
    order = input_order(shares["share"].to_numpy())
    right = make_axes_locatable(ax).append_axes("right", size="100%", pad=0.25, sharey=ax)
    _intervals(ax, relevance_quantiles(model)[order], COLORS[0])
    _intervals(right, shares[["5%", "share", "95%"]].to_numpy()[order], COLORS[1])
    # The largest share is on top.
    ax.set(xscale="log", xlabel="relevance", yticks=range(len(order)), ylim=(len(order) - 0.5, -0.5))
    ax.set_yticklabels([model.posterior_.input_names[j] for j in order])
    right.set(xlim=(-0.02, 1.02), xlabel="share of the variance of f")
    right.tick_params(left=False, labelleft=False)
    return ax


def input_order(share: FloatArray, n: int | None = None) -> np.ndarray:
    """The inputs from the largest share to the smallest; the first n of them."""
    return np.argsort(-share, kind="stable")[:n]


def relevance_quantiles(model: StableRegressor) -> FloatArray:
    """5%, 50% and 95% of the relevance of each input, shape (d, 3)."""
    return np.quantile(model.posterior_.relevance, [0.05, 0.5, 0.95], axis=(0, 1)).T


def _intervals(ax: Axes, quantiles: FloatArray, color: str) -> None:
    """A dot at each median, and a line from 5% to 95%."""
    places = np.arange(len(quantiles))
    ax.hlines(places, quantiles[:, 0], quantiles[:, 2], color=color, lw=2.5, alpha=0.6)
    ax.plot(quantiles[:, 1], places, "o", color=color, ms=5.0)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    open_frame(ax)
