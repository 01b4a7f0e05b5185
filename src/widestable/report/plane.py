"""Two inputs: a map of predictions with buttons, and a map of boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jumps import BoundaryMap, Jump, Jumps
from ..plots.maps import boundary_segments, predict_grid
from ..plots.style import COLORS
from ..regressor import StableRegressor
from .charts import Chart, Floats, axis, layout, lines, points, safe, short

CELLS = 40
WIDTH = "Width of 90% interval"
SHADES = ((0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))


def map_chart(model: StableRegressor, X: Floats, names: tuple[str, ...], target: str) -> Chart:
    """One map: the median, and by buttons the ends and the width of the 90% interval."""
    grid = predict_grid(model, CELLS)
    views = {"Median": grid.middle, "5%": grid.lower, "95%": grid.upper, WIDTH: grid.upper - grid.lower}
    limits = float(np.quantile(grid.lower, 0.05)), float(np.quantile(grid.upper, 0.95))
    heat = {
        "type": "heatmap",
        "x": short(grid.x),
        "y": short(grid.y),
        "z": short(grid.middle, 4),
        "zmin": short(limits[0]),
        "zmax": short(limits[1]),
        "colorscale": "Viridis",
        "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": safe(target), "side": "right"}},
        "hovertemplate": "%{x}, %{y}: %{z}<extra></extra>",
    }
    mark = {"color": "white", "size": 5, "line": {"color": "#444444", "width": 1}}
    data = [heat, points(X[:, 0], X[:, 1], "data", marker=mark, hoverinfo="skip")]
    panel = {
        "xaxis": axis(safe(names[0]), showgrid=False),
        "yaxis": axis(safe(names[1]), showgrid=False),
        "updatemenus": [_menu([_button(label, values, limits) for label, values in views.items()])],
        "margin": {"l": 58, "r": 18, "t": 56, "b": 46},
        "showlegend": False,
    }
    caption = (
        "The median of f, and by the buttons the central 90% interval of a new observation. White dots are the data."
    )
    return Chart("fit", data, layout(**panel), 500, caption)


def _menu(buttons: list[dict[str, Any]]) -> dict[str, Any]:
    place = {"x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "pad": {"b": 4}}
    look = {"bgcolor": "white", "bordercolor": "#c8c8c8", "font": {"size": 12}}
    return {"type": "buttons", "direction": "right", "buttons": buttons, "showactive": True} | place | look


def _button(label: str, values: Floats, limits: tuple[float, float]) -> dict[str, Any]:
    """The three quantiles share one scale; the width has its own."""
    low, high = (0.0, float(values.max())) if label == WIDTH else limits
    change = {"z": [short(values, 4)], "zmin": [short(low)], "zmax": [short(high)]}
    return {"label": label, "method": "restyle", "args": [change, [0]]}


def boundary_chart(X: Floats, names: tuple[str, ...], jumps: Jumps) -> Chart:
    """Sides of cells, the darker and thicker the surer a jump across them; the lines that the draws agree on."""
    assert jumps.boundaries is not None
    segments, probability = boundary_segments(jumps.boundaries)
    data = [points(X[:, 0], X[:, 1], "data", COLORS[0], 4.0, hoverinfo="skip")]
    for low, high in SHADES:
        chosen = segments[(probability >= low) & ((probability < high) | (high == 1.0))]
        grey = int(225.0 - 225.0 * high)
        look = {"color": f"rgb({grey},{grey},{grey})", "width": 1.0 + 5.0 * high}
        data.append(_pieces(chosen, f"{low:.0%} to {high:.0%}", look))
    sure = [(i + 1, jump) for i, jump in enumerate(jumps) if jump.probability >= 0.5]
    data += [_line_of(jump, jumps.boundaries, number) for number, jump in sure]
    box = {"showgrid": False, "zeroline": False}
    panel = {"xaxis": axis(safe(names[0]), **box), "yaxis": axis(safe(names[1]), **box)}
    legend = {"orientation": "v", "x": 1.02, "y": 1.0, "yanchor": "top", "title": {"text": "P(jump)"}}
    caption = (
        f"How probable it is that f jumps by more than {jumps.min_size:.3g} between neighbouring cells. Dashed: the "
        "lines that most draws agree on, numbered as in the table."
    )
    return Chart("boundaries", data, layout(**panel, legend=legend), 480, caption)


def _pieces(segments: Floats, name: str, look: dict[str, Any]) -> dict[str, Any]:
    """Separate pieces in one trace, a gap between them."""
    gap = np.full((len(segments), 1, 2), np.nan)
    path = np.concatenate([segments.reshape(-1, 2, 2), gap], axis=1).reshape(-1, 2)
    return lines(path[:, 0], path[:, 1], "", name, line=look, connectgaps=False, hoverinfo="skip")


def _line_of(jump: Jump, boundaries: BoundaryMap, number: int) -> dict[str, Any]:
    """A jump's line inside the map."""
    ends = clip_line(jump.direction, jump.location, boundaries.x[[0, -1]], boundaries.y[[0, -1]])
    look = {"color": COLORS[1], "width": 2, "dash": "dash"}
    label = f"jump {number}: {jump.size:+.3g}"
    return lines(ends[:, 0], ends[:, 1], "", label, line=look, hovertext=label, hoverinfo="text")


def clip_line(direction: Floats, location: float, x: Floats, y: Floats) -> Floats:
    """Ends of the line `direction . p = location` inside a box, (2, 2); empty when it misses the box.

    Examples
    --------
    >>> clip_line(np.array([1.0, 1.0]), 1.0, np.array([0.0, 2.0]), np.array([0.0, 3.0]))
    array([[0., 1.],
           [1., 0.]])
    """
    a, b = direction
    crossings = [(v, (location - a * v) / b) for v in x if b != 0.0]
    crossings += [((location - b * v) / a, v) for v in y if a != 0.0]
    slack = 1e-9 * (np.ptp(x) + np.ptp(y))
    inside = [p for p in crossings if _within(p[0], x, slack) and _within(p[1], y, slack)]
    return np.array([min(inside), max(inside)] if inside else np.empty((0, 2)))


def _within(value: float, ends: Floats, slack: float) -> bool:
    return bool(ends.min() - slack <= value <= ends.max() + slack)
