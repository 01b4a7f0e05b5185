"""Charts of the fit: a band for one input, maps for two, the effect of each input for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..effects import N_ROWS, effects, strongest
from ..jumps import BoundaryMap, Jump, Jumps
from ..jumps.result import LIKELY
from ..jumps.words import jump_in_words
from ..plots.maps import predict_grid
from ..plots.outliers import LABEL, are_outliers, limits_without_far
from ..plots.style import COLORS, map_order
from ..regressor import StableRegressor
from .charts import Chart, axis, band, label, layout, lines, points, safe, short
from .outliers import marks, rings, rows_to_show

# Draw at most this many rows of the data.
MAX_POINTS = 3000
HOVER = "%{x}: %{y}<extra></extra>"


def fit_charts(
    model: StableRegressor, X: FloatArray, y: FloatArray, names: tuple[str, ...], target: str, jumps: Jumps
) -> list[Chart]:
    """The charts that suit the number of inputs. The first shows the fit itself, any others its jumps."""
    is_outlier = are_outliers(model, X, y)
    keep, rows = rows_to_show(is_outlier, MAX_POINTS), np.flatnonzero(is_outlier)
    if len(names) == 1:
        return [_band_chart(model, X[:, 0], y, keep, rows, names[0], target, jumps)]
    if len(names) == 2:
        across, up = map_order(names)
        ringed = [rings(X[rows, across], X[rows, up], rows, showlegend=False)] if rows.size else []
        charts = [_map_chart(model, X[keep], names, target), _boundary_chart(X[keep], names, jumps)]
        note = f" A red ring is an {LABEL}." if ringed else ""
        return [chart._replace(data=chart.data + ringed, caption=chart.caption + note) for chart in charts]
    return [effect_chart(model, names, target, "fit")]


# --- One input -------------------------------------------------------------------------------------------


def _band_chart(
    model: StableRegressor,
    x: FloatArray,
    y: FloatArray,
    keep: IntArray,
    outliers: IntArray,
    name: str,
    target: str,
    jumps: Jumps,
) -> Chart:
    """Median of f and 90% band of new observations, with the jumps in a panel below; `keep` are the rows to show."""
    margin = 0.03 * (float(np.ptp(x)) or 1.0)
    grid = np.linspace(x.min() - margin, x.max() + margin, 401)
    lower, upper = model.posterior_.quantiles(grid[:, None], [0.05, 0.95]).T
    middle = model.posterior_.quantiles(grid[:, None], [0.5], noise=False)[:, 0]
    ordinary = np.setdiff1d(keep, outliers)
    limits = limits_without_far(np.concatenate([lower, upper, y[ordinary]]), y[outliers])
    inside = keep if limits is None else keep[(y[keep] >= limits[0]) & (y[keep] <= limits[1])]
    data = [
        *band(grid, lower, upper, "90% of new observations"),
        lines(grid, middle, COLORS[0], "posterior median", hovertemplate=HOVER),
        points(x[inside], y[inside], "data", size=5.0, hovertemplate=HOVER),
        *marks(x[outliers], y[outliers], outliers, limits, (x.min(), x.max())),
        *_gap_bars(jumps),
        *(_location(jump, jumps) for jump in jumps.likely),
    ]
    panels = {
        "xaxis": axis(safe(name), anchor="y2", domain=[0.0, 1.0]),
        "yaxis": axis(safe(target), domain=[0.3, 1.0], **({} if limits is None else {"range": short(limits)})),
        "yaxis2": axis("P(jump)", domain=[0.0, 0.2], range=[0.0, 1.08], tickvals=[0, 0.5, 1]),
    }
    caption = (
        "Above: the posterior median of f, the central 90% interval of a new observation, and the data. Below: the "
        f"probability that f jumps by more than {jumps.min_size:.3g} between neighbouring points. Each horizontal line "
        "with a dot is the 90% interval for the location of a jump."
    )
    if outliers.size:
        caption += f" A red ring is an {LABEL}"
        caption += "." if limits is None else "; an arrow is one beyond the axis, with its value."
    return Chart("fit", data, layout(**panels, bargap=0), 520, caption)


def _gap_bars(jumps: Jumps) -> list[dict[str, Any]]:
    """Probability of a jump between each pair of neighbouring points."""
    if jumps.gaps is None:
        return []
    low, high, probability, _ = jumps.gaps
    text = [f"{a} to {b}: {p:.2f}" for a, b, p in zip(short(low), short(high), probability, strict=True)]
    bars = {"type": "bar", "x": short(0.5 * (low + high)), "y": short(probability), "width": short(high - low)}
    look = {"marker": {"color": COLORS[1], "opacity": 0.4}, "showlegend": False}
    return [bars | look | {"yaxis": "y2", "hovertext": text, "hoverinfo": "text"}]


def _location(jump: Jump, jumps: Jumps) -> dict[str, Any]:
    """The 90% interval for the location of a jump, at the height of its probability."""
    low, high = jump.location_interval
    words = safe(jump_in_words(jump, jumps))
    line = lines([low, jump.location, high], [jump.probability] * 3, COLORS[1], yaxis="y2", mode="lines+markers")
    look = {"line": {"color": COLORS[1], "width": 3}, "marker": {"size": [0, 9, 0], "color": COLORS[1]}}
    return line | look | {"showlegend": False, "hovertext": [words] * 3, "hoverinfo": "text"}


# --- Two inputs ------------------------------------------------------------------------------------------

WIDTH = "Width"


def _map_chart(model: StableRegressor, X: FloatArray, names: tuple[str, ...], target: str) -> Chart:
    """A map of the median, with buttons for the ends and the width of the 90% interval."""
    grid, (across, up) = predict_grid(model), map_order(names)
    views = {"Median": grid.middle, "5%": grid.lower, "95%": grid.upper, WIDTH: grid.upper - grid.lower}
    views = {label: values.T if across else values for label, values in views.items()}
    # A few extreme cells must not use up the colours.
    limits = float(np.quantile(grid.lower, 0.05)), float(np.quantile(grid.upper, 0.95))
    heat = {
        "type": "heatmap",
        "x": short((grid.x, grid.y)[across]),
        "y": short((grid.x, grid.y)[up]),
        "z": short(views["Median"], 4),
        "zmin": short(limits[0]),
        "zmax": short(limits[1]),
        "colorscale": "Viridis",
        "zsmooth": "best",
        "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": safe(target), "side": "right"}},
        "hovertemplate": "%{x}, %{y}: %{z}<extra></extra>",
    }
    mark = {"color": "white", "size": 5, "line": {"color": "#444444", "width": 1}}
    data = [heat, points(X[:, across], X[:, up], "data", marker=mark, hoverinfo="skip")]
    panel = {
        "xaxis": axis(safe(names[across]), showgrid=False),
        "yaxis": axis(safe(names[up]), showgrid=False),
        "updatemenus": [_menu([_button(label, values, limits) for label, values in views.items()])],
        "margin": {"l": 58, "r": 18, "t": 56, "b": 46},
        "showlegend": False,
    }
    caption = (
        "The posterior median of f. The buttons switch to the ends and the width of the central 90% interval of a new "
        "observation. White dots are the data."
    )
    return Chart("fit", data, layout(**panel), 500, caption)


def _menu(buttons: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of buttons above the map."""
    place = {"x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "pad": {"b": 4}}
    look = {"bgcolor": "white", "bordercolor": "#c8c8c8", "font": {"size": 12}}
    return {"type": "buttons", "direction": "right", "buttons": buttons, "showactive": True} | place | look


def _button(label: str, values: FloatArray, limits: tuple[float, float]) -> dict[str, Any]:
    """A button that shows other values. The three quantiles share one colour scale; the width has its own."""
    low, high = (0.0, float(values.max())) if label == WIDTH else limits
    change = {"z": [short(values, 4)], "zmin": [short(low)], "zmax": [short(high)]}
    return {"label": label, "method": "restyle", "args": [change, [0]]}


def _boundary_chart(X: FloatArray, names: tuple[str, ...], jumps: Jumps) -> Chart:
    """Dark where a jump passes close by in most draws, and the lines that most draws agree on."""
    assert jumps.boundaries is not None
    found, (across, up) = jumps.boundaries, map_order(names)
    heat = {
        "type": "heatmap",
        "x": short((found.x, found.y)[across]),
        "y": short((found.x, found.y)[up]),
        "z": short(found.probability.T if across else found.probability, 3),
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": [[0.0, "#ffffff"], [1.0, "#111111"]],
        "zsmooth": "best",
        "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": "P(jump)", "side": "right"}},
        "hovertemplate": "%{x}, %{y}: %{z}<extra></extra>",
    }
    data = [heat, points(X[:, across], X[:, up], "data", COLORS[0], 4.0, hoverinfo="skip", showlegend=False)]
    likely = [(i + 1, jump) for i, jump in enumerate(jumps) if jump.probability >= LIKELY]
    data += [_line_of(jump, found, number, (across, up)) for number, jump in likely]
    box = {"showgrid": False, "zeroline": False}
    panel = {"xaxis": axis(safe(names[across]), **box), "yaxis": axis(safe(names[up]), **box)}
    caption = (
        f"The probability that f jumps by more than {jumps.min_size:.3g} close to each point: within "
        f"{found.reach[0]:.2g} along {safe(names[0])} or {found.reach[1]:.2g} along {safe(names[1])}. Dashed lines are "
        "jumps that most draws agree on, numbered as in the table."
    )
    return Chart("boundaries", data, layout(**panel), 480, caption)


def _line_of(jump: Jump, found: BoundaryMap, number: int, order: tuple[int, int]) -> dict[str, Any]:
    """The line across which f jumps, inside the map; `order` says which input is on which axis."""
    ends = clip_line(jump.direction, jump.location, found.x[[0, -1]], found.y[[0, -1]])[:, order]
    look = {"color": COLORS[1], "width": 2, "dash": "dash"}
    words = f"jump {number}: {jump.size:+.3g}"
    return lines(ends[:, 0], ends[:, 1], "", words, line=look, hovertext=words, hoverinfo="text")


def clip_line(direction: FloatArray, location: float, x: FloatArray, y: FloatArray) -> FloatArray:
    """Ends of the line `direction . p = location` inside a box, shape (2, 2); empty if the line misses the box.

    Examples
    --------
    >>> clip_line(np.array([1.0, 1.0]), 1.0, np.array([0.0, 2.0]), np.array([0.0, 3.0]))
    array([[0., 1.],
           [1., 0.]])
    """
    a, b = direction
    # Cross the line with all four sides, and keep the crossings that belong to the box.
    crossings = [(v, (location - a * v) / b) for v in x if b != 0.0]
    crossings += [((location - b * v) / a, v) for v in y if a != 0.0]
    slack = 1e-9 * (np.ptp(x) + np.ptp(y))
    inside = [p for p in crossings if _within(p[0], x, slack) and _within(p[1], y, slack)]
    return np.array([min(inside), max(inside)] if inside else np.empty((0, 2)))


def _within(value: float, ends: FloatArray, slack: float) -> bool:
    return bool(ends.min() - slack <= value <= ends.max() + slack)


# --- Any number of inputs --------------------------------------------------------------------------------

MAX_EFFECTS, N_COLUMNS = 9, 3


def effect_chart(model: StableRegressor, names: tuple[str, ...], target: str, name: str = "effects") -> Chart:
    """For each input, f along it averaged over the other inputs (partial dependence), with a 90% band."""
    found = effects(model.posterior_, range(len(names)))
    chosen = strongest(found, MAX_EFFECTS)
    n_columns = 2 if len(chosen) == 4 else min(N_COLUMNS, len(chosen))
    n_rows = -(-len(chosen) // n_columns)
    panel: dict[str, Any] = {"grid": {"rows": n_rows, "columns": n_columns, "pattern": "independent"}}
    panel["grid"] |= {"ygap": 0.35, "xgap": 0.16}
    data: list[dict[str, Any]] = []
    for k, j in enumerate(chosen):
        suffix, effect = str(k + 1) if k else "", found[j]
        middle = lines(effect.x, effect.middle, COLORS[0], hovertemplate=HOVER)
        where = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        data += [trace | where for trace in (*band(effect.x, effect.lower, effect.upper, ""), middle)]
        panel[f"xaxis{suffix}"] = axis(label(names[j]))
        shared = {"matches": "y"} if k else {}
        panel[f"yaxis{suffix}"] = axis("" if k % n_columns else label(target), **shared)
    more = f" Only the {MAX_EFFECTS} inputs that change f most are shown." if len(names) > MAX_EFFECTS else ""
    caption = (
        f"The effect of each input: f along it, averaged over up to {N_ROWS} rows that keep their other inputs "
        f"(partial dependence). Median and 90% band of this average.{more}"
    )
    return Chart(name, data, layout(**panel, showlegend=False), 120 + 240 * n_rows, caption)
