"""The effect of each input: f along it, averaged over the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..effects import effects, strongest
from ..parameters import check_coverage
from .bands import plot_band
from .style import COLORS, is_text, open_frame, place_on

if TYPE_CHECKING:
    from ..regressor import StableRegressor

# Panels that a figure shows unless inputs are named, and panels side by side.
MAX_PANELS, N_COLUMNS = 9, 3


def plot_effects(
    model: StableRegressor,
    inputs: Sequence[int | str] | None = None,
    *,
    coverage: float = 0.9,
    axes: Any = None,
) -> np.ndarray:
    """Draw the effect of each input on f: partial dependence, with a band.

    A panel shows f along one input, averaged over 40 rows of the data that keep their other inputs. The band is for
    that average, not for single predictions. A category has a dot and an interval for each level. All panels have the
    same y axis.

    Parameters
    ----------
    model : StableRegressor
        A fitted model, with any number of inputs.
    inputs : sequence of int or str, optional
        Which inputs, by number or by name. Default: all, or the nine that change f most.
    coverage : float
        Probability of the band.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, one per input. Default: the panels of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The panels, in the order of the inputs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from widestable import StableRegressor
    >>> X = np.random.default_rng(0).uniform(size=(12, 3))
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> panels = plot_effects(model, ["x1", "x3"], axes=Figure().subplots(1, 2))
    >>> [ax.get_xlabel() for ax in panels]
    ['x1', 'x3']
    """
    check_is_fitted(model)
    check_coverage(coverage)
    names, chosen = model.posterior_.input_names, _places(model, inputs)
    found = effects(model.posterior_, chosen, coverage)
    if inputs is None:
        kept = strongest(found, MAX_PANELS)
        found, chosen = [found[k] for k in kept], [chosen[k] for k in kept]
    panels = _panels(len(chosen)) if axes is None else np.ravel(np.array(axes, dtype=object))
    if panels.size != len(chosen):
        raise ValueError(f"Got {panels.size} axes and {len(chosen)} inputs, expected one for each: pass as many axes.")
    low, high = min(e.lower.min() for e in found), max(e.upper.max() for e in found)
    margin = 0.05 * (high - low) or 1.0
    for k, (ax, effect, j) in enumerate(zip(panels, found, chosen, strict=True)):
        draw = _plot_levels if is_text(effect.x) else plot_band
        draw(effect.x, effect.lower, effect.middle, effect.upper, ax=ax)
        label = f"effect on {model.posterior_.data.target or 'f'}" if k % N_COLUMNS == 0 else ""
        ax.set(xlabel=names[j], ylabel=label, ylim=(low - margin, high + margin))
    return panels


def _plot_levels(x: np.ndarray, lower: FloatArray, middle: FloatArray, upper: FloatArray, *, ax: Axes) -> Axes:
    """A dot at each level, and a line for its interval."""
    places = place_on(ax.xaxis, x)
    ax.vlines(places, lower, upper, color=COLORS[0], lw=2.5, alpha=0.4)
    ax.plot(places, middle, "o", color=COLORS[0], ms=5.0)
    ax.set_xlim(-0.5, len(x) - 0.5)
    return open_frame(ax)


def _places(model: StableRegressor, inputs: Sequence[int | str] | None) -> list[int]:
    """Inputs by number."""
    names = model.posterior_.input_names
    places = range(len(names)) if inputs is None else [names.index(i) if i in names else i for i in inputs]
    for place in places:
        if not (isinstance(place, int | np.integer) and 0 <= place < len(names)):
            raise ValueError(f"Got input {place!r}, expected one of {', '.join(names)}, or a number from 0: pass one.")
    return [int(place) for place in places]


def _panels(n: int) -> np.ndarray:
    """Panels of a new figure."""
    n_columns = min(n, N_COLUMNS)
    n_rows = -(-n // n_columns)
    size = (3.2 * n_columns + 0.6, 2.5 * n_rows)
    _, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")
    found: list[Axes] = list(axes.ravel())
    for spare in found[n:]:
        spare.remove()
    return np.array(found[:n], dtype=object)
