"""Charts as plain plotly.js figures: traces and layouts.

Labels in plotly may contain HTML, so every name that comes from a user must go through `safe`.
"""

from __future__ import annotations

import html
import math
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..plots.style import COLORS, is_dated, is_text

# The looks of page.css.
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
GRID = "#e8e8e8"
INK = "#24292f"
# Characters of a name that fit beside an axis on a phone.
MAX_LABEL = 18
BAND = "rgba(0, 114, 178, 0.18)"


class Chart(NamedTuple):
    """A figure of the page.

    Attributes
    ----------
    name : str
        Name of its element in the page.
    data, layout : list and dict
        What plotly draws.
    height : int
        Height in pixels.
    caption : str
        How to read it.
    """

    name: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    height: int
    caption: str = ""


def safe(text: Any) -> str:
    """Escape text for the page and for the labels of charts, so that no tag survives."""
    return html.escape(str(text), quote=True)


def label(name: str) -> str:
    """A name beside an axis: safe, and cut to `MAX_LABEL` characters.

    Examples
    --------
    >>> label("<b>"), label("distance to the nearest station")
    ('&lt;b&gt;', 'distance to the n…')
    """
    return safe(name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…")


def short(values: Any, digits: int = 5) -> Any:
    """Numbers as nested lists for JSON, rounded to `digits` digits of their range; None where they are not finite.

    Dates become text, and text is made safe.

    Examples
    --------
    >>> short([121.54024449, 121.5403, float("nan")], 3)
    [121.5402445, 121.5403, None]
    """
    if is_text(values):
        return [safe(text) for text in values]
    if is_dated(values):
        return [None if date == "NaT" else date for date in np.datetime_as_string(np.asarray(values, "datetime64[us]"))]
    array = np.asarray(values, dtype=float)
    finite = array[np.isfinite(array)]
    size = float(np.ptp(finite)) or float(np.abs(finite).max()) if finite.size else 0.0
    # Digits of the range, not of the values: longitudes near 121.54 differ in their fourth decimal.
    decimals = digits - math.floor(math.log10(size)) - 1 if size > 0.0 else 0
    rounded = np.vectorize(lambda v: round(float(v), decimals) if math.isfinite(v) else None, otypes=[object])
    return rounded(array).tolist() if array.size else array.tolist()


def layout(**changes: Any) -> dict[str, Any]:
    """The common layout; `changes` override it."""
    return {
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 58, "r": 18, "t": 30, "b": 46},
        "hovermode": "closest",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#b0b0b0", "activecolor": COLORS[0]},
        "colorway": list(COLORS),
        "legend": {"orientation": "h", "x": 0, "y": 1.08, "yanchor": "bottom"},
    } | changes


def axis(title: str = "", **changes: Any) -> dict[str, Any]:
    """An axis; the title must be safe already."""
    common = {
        "title": {"text": title},
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": "#b8b8b8",
        "automargin": True,
    }
    return common | changes


def lines(x: Any, y: Any, color: str, name: str = "", **changes: Any) -> dict[str, Any]:
    """A line through points."""
    line = {"color": color, "width": 2}
    trace = {"type": "scatter", "mode": "lines", "x": short(x), "y": short(y), "name": name, "line": line}
    return trace | changes


def points(x: Any, y: Any, name: str, color: str = INK, size: float = 6.0, **changes: Any) -> dict[str, Any]:
    """Marks at points."""
    marker = {"color": color, "size": size, "opacity": 0.75}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": short(x),
        "y": short(y),
        "name": name,
        "marker": marker,
    } | changes


def band(x: Any, lower: Any, upper: Any, name: str) -> list[dict[str, Any]]:
    """The area between two lines."""
    edge = {"width": 0, "color": COLORS[0]}
    low = lines(x, lower, COLORS[0], showlegend=False, line=edge, hoverinfo="skip")
    return [low, lines(x, upper, COLORS[0], name, line=edge, fill="tonexty", fillcolor=BAND, hoverinfo="skip")]


def histogram(values: FloatArray, log: bool = False, n_bins: int = 40) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Heights, centres and widths of bins, which take less room than the draws; `log` makes bins equal in the log."""
    edges: Any = n_bins
    distinct = np.unique(values)
    if log and distinct.size > n_bins:
        edges = np.geomspace(distinct[0], distinct[-1], n_bins + 1)
    elif log and distinct.size > 1:  # few distinct values, as on a grid: one bar each
        middle = np.sqrt(distinct[1:] * distinct[:-1])
        edges = np.concatenate([[distinct[0] ** 2 / middle[0]], middle, [distinct[-1] ** 2 / middle[-1]]])
    height, found = np.histogram(values, bins=edges)
    return height / values.size, 0.5 * (found[1:] + found[:-1]), np.diff(found)
