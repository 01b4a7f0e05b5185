"""Outliers: their marks in charts, and what the page says about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..inputs import spread_indices, unscale_inputs
from ..jumps import Jumps
from ..outliers import Outlier
from ..plots.outliers import LABEL, VALUE_WIDTH
from ..plots.style import OUTLIER_COLOR
from ..regressor import StableRegressor
from . import page
from .charts import points, safe

# Short enough for the legend on a phone.
FAR_LABEL = "outlier beyond the axis"
# Outliers and inputs that the table shows at most.
MAX_ROWS, MAX_INPUTS = 50, 5


# --- Marks -----------------------------------------------------------------------------------------------


def rows_to_show(is_outlier: np.ndarray, most: int) -> IntArray:
    """At most about `most` rows, evenly spread, and all outliers."""
    return np.union1d(spread_indices(is_outlier.size, most), np.flatnonzero(is_outlier)).astype(np.int64)


def rings(x: NDArray[Any], y: NDArray[Any], rows: IntArray, **changes: Any) -> dict[str, Any]:
    """A ring around each of these points; the hover text names its row."""
    look = {"symbol": "circle-open", "size": 13, "color": OUTLIER_COLOR, "line": {"width": 2.5}}
    text = [f"outlier: row {row}" for row in rows]
    return points(x, y, LABEL, marker=look, hovertext=text, hoverinfo="text") | changes


def marks(
    x: NDArray[Any], y: FloatArray, rows: IntArray, limits: tuple[float, float] | None, span: tuple[Any, Any]
) -> list[dict[str, Any]]:
    """Rings around points inside the limits of y, and arrows with values for those beyond; `span` is that of x."""
    low, high = (-np.inf, np.inf) if limits is None else limits
    is_inside = (y >= low) & (y <= high)
    found = [rings(x[is_inside], y[is_inside], rows[is_inside])] if is_inside.any() else []
    if limits is None or is_inside.all():
        return found
    x, y, rows = x[~is_inside], y[~is_inside], rows[~is_inside]
    edge = 0.05 * (high - low)
    up = y > high
    look = {"symbol": ["triangle-up" if u else "triangle-down" for u in up], "size": 11, "color": OUTLIER_COLOR}
    # Values near the right end stand on the left of their arrows.
    width = span[1] - span[0]
    side = np.where(x > span[0] + 0.8 * width, "middle left", "middle right").tolist()
    place = {"mode": "markers+text", "textposition": side, "textfont": {"color": OUTLIER_COLOR, "size": 12}}
    text = [f"outlier: row {row}, {value:.4g}" for row, value in zip(rows, y, strict=True)]
    arrows = points(x, np.where(up, high - edge, low + edge), FAR_LABEL, marker=look, hovertext=text, hoverinfo="text")
    return [*found, arrows | place | {"cliponaxis": False, "text": _values((x - span[0]) / width, y, up)}]


def _values(x: FloatArray, y: FloatArray, up: np.ndarray) -> list[str]:
    """The values beside the arrows; where one would overlap another at the same edge, only hovering shows it.

    x goes from 0 to 1 across the chart.
    """
    text = [""] * x.size
    for side in (True, False):
        last = -np.inf
        for i in np.argsort(x, kind="stable"):
            if up[i] == side and x[i] >= last + 1.5 * VALUE_WIDTH:
                text[i], last = f"{y[i]:.3g}", x[i]
    return text


# --- The section -----------------------------------------------------------------------------------------


def outlier_section(model: StableRegressor, jumps: Jumps, inputs: tuple[str, ...]) -> str:
    """What the page says about outliers; nothing for normal noise and no pair of jumps that may be one."""
    if not model.posterior_.model.has_spikes:
        rows = sorted({row for jump in jumps for row in jump.possible_outliers})
        return page.section("Outliers", page.paragraph(_possible(rows))) if rows else ""
    found = model.outliers()
    if not len(found):
        none = f"None of the {found.n_rows} observations looks like an outlier."
        return page.section("Outliers", page.paragraph(none))
    what = "looks like an outlier; it is kept in the data and counts little for the fit."
    if len(found) > 1:
        what = "look like outliers; they are kept in the data and count little for the fit."
    low, high = np.quantile(model.posterior_.n_outliers, [0.05, 0.95], method="nearest")
    number = f"{low} to {high}" if high > low else f"{low}"
    text = (
        f"{len(found)} of {found.n_rows} observations {what} The 90% interval of the number of outliers is {number}. "
        "Rows of the fitted data count from 0. The size is how far an observation is from f beyond the usual noise."
    )
    if len(found) > MAX_ROWS:
        text += f" Only the {MAX_ROWS} most probable are shown; outliers() lists them all."
    if len(inputs) > MAX_INPUTS:
        text += f" Only the first {MAX_INPUTS} inputs are shown."
    return page.section("Outliers", page.paragraph(text), _table(model, list(found), inputs[:MAX_INPUTS]))


def _possible(rows: list[int]) -> str:
    """The rows between opposite jumps, in words."""
    shown = [str(row) for row in rows[:MAX_ROWS]]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    listed += f" and {len(rows) - MAX_ROWS} more" if len(rows) > MAX_ROWS else ""
    what = "Row {} is possibly an outlier: it lies" if len(rows) == 1 else "Rows {} are possibly outliers: they lie"
    return (
        f"{what.format(listed)} alone between two opposite jumps. Rows of the fitted data count from 0. The noise of "
        "this model is normal, so it can explain an outlier by jumps only. Fit with "
        "<code>noise=&quot;outliers&quot;</code> (<code>--noise outliers</code>) to model outliers as such."
    )


def _table(model: StableRegressor, found: list[Outlier], inputs: tuple[str, ...]) -> str:
    """One line per outlier."""
    data = model.posterior_.data
    found = sorted(sorted(found, key=lambda item: -item.probability)[:MAX_ROWS], key=lambda item: item.row)
    observations = data.observation[[item.row for item in found]]
    X = data.columns.decode(unscale_inputs(data.X[data.obs_row[observations]], data.scaling))
    y = data.scaling.y_mean + data.scaling.y_scale * data.obs_y[observations]
    head = ["Row", *(safe(name) for name in inputs), "Observed", "Fitted", "Residual", "Size", "Probability"]
    rows = [
        [
            f"{item.row}",
            *(safe(data.columns.show(j, value, ".5g")) for j, value in enumerate(x[: len(inputs)])),
            f"{at:.4g}",
            f"{at - item.residual:.4g}",
            f"{item.residual:+.3g}",
            f"{item.size:+.3g}",
            f"{item.probability:.2f}",
        ]
        for item, x, at in zip(found, X, y, strict=True)
    ]
    return page.table(head, rows, kind="numbers")
