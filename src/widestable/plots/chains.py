"""Draws of a parameter: traces, ranks and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from .._types import FloatArray
from .style import COLORS, axes_or_current, open_frame


def _check(draws: ArrayLike) -> FloatArray:
    """The draws as an array of shape (chains, draws)."""
    values = np.asarray(draws, dtype=float)
    if values.ndim != 2:
        raise ValueError(
            f"Got draws of shape {values.shape}, expected (chains, draws): pass posterior.alpha, for example."
        )
    return values


def plot_trace(draws: ArrayLike, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw the values of a parameter in order, one line per chain. Chains that agree lie on top of each other.

    Parameters
    ----------
    draws : (chains, draws) array-like
        Values of the parameter, for instance `posterior.alpha`.
    label : str
        Name of the parameter.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_trace(np.random.default_rng(0).standard_normal((4, 100)), label="alpha", ax=Figure().subplots())
    >>> len(ax.lines)
    4
    """
    ax = axes_or_current(ax)
    for c, chain in enumerate(_check(draws)):
        ax.plot(chain, color=COLORS[c % len(COLORS)], lw=0.6, alpha=0.8)
    ax.set(xlabel="draw", ylabel=label)
    return open_frame(ax)


def plot_ranks(draws: ArrayLike, *, label: str = "", n_bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw how the values of each chain rank among all values. Chains that agree have level histograms.

    Parameters
    ----------
    draws : (chains, draws) array-like
        Values of the parameter, for instance `posterior.alpha`.
    label : str
        Name of the parameter.
    n_bins : int
        Number of bins.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_ranks(np.random.default_rng(0).standard_normal((4, 100)), ax=Figure().subplots())
    >>> len(ax.lines)
    5
    """
    ax = axes_or_current(ax)
    counts, edges = rank_counts(draws, n_bins)
    for c, count in enumerate(counts):
        ax.plot(edges, np.append(count, count[-1]), drawstyle="steps-post", color=COLORS[c % len(COLORS)], lw=1.2)
    ax.axhline(float(counts.mean()), color="black", lw=0.8, ls=":")
    ax.set(xlabel="rank", ylabel=label, ylim=(0.0, None))
    return open_frame(ax)


def rank_counts(draws: ArrayLike, n_bins: int = 20) -> tuple[FloatArray, FloatArray]:
    """Count the draws of each chain in equal bins of rank.

    Parameters
    ----------
    draws : (chains, draws) array-like
        Values of a parameter.
    n_bins : int
        Number of bins.

    Returns
    -------
    counts : (chains, n_bins) array
        Draws of each chain in each bin.
    edges : (n_bins + 1,) array
        Edges of the bins.

    Examples
    --------
    >>> counts, _ = rank_counts([[1.0, 2.0], [3.0, 4.0]], 2)
    >>> counts
    array([[2., 0.],
           [0., 2.]])
    """
    values = _check(draws)
    # Equal values share their mean rank, so that a fixed parameter does not favour the first chain.
    ranks = rankdata(values, method="average", axis=None).reshape(values.shape) - 0.5
    edges = np.linspace(0.0, values.size, n_bins + 1)
    return np.array([np.histogram(chain, edges)[0] for chain in ranks], dtype=float), edges


def plot_posterior(draws: ArrayLike, *, label: str = "", log: bool = False, ax: Axes | None = None) -> Axes:
    """Draw a histogram of a parameter over all chains, with its median and central 90% interval.

    Parameters
    ----------
    draws : (chains, draws) array-like
        Values of the parameter, for instance `posterior.alpha`.
    label : str
        Name of the parameter.
    log : bool
        Whether to use a log scale, for positive parameters that span orders of magnitude.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_posterior(np.random.default_rng(0).standard_normal((4, 100)), label="alpha", ax=Figure().subplots())
    >>> ax.get_title()
    'alpha -0.05 (-1.47 to 1.58)'
    """
    ax = axes_or_current(ax)
    values = _check(draws).ravel()
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    bins: Any = np.geomspace(values.min(), values.max(), 41) if log and np.ptp(values) > 0.0 else 40
    ax.hist(values, bins=bins, color=COLORS[0], alpha=0.35)
    ax.axvline(middle, color=COLORS[0], lw=1.6)
    ax.plot([low, high], [0.0, 0.0], color=COLORS[0], lw=5.0, solid_capstyle="butt")
    if log:
        ax.set_xscale("log")
    ax.set_xlabel(label)
    ax.set_title(f"{label} {middle:.2f} ({low:.2f} to {high:.2f})".strip(), fontsize="medium")
    # Heights of a histogram depend on its bins, so they get no scale.
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    return open_frame(ax)
