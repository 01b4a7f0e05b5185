"""Charts of the fit: a band for one input, maps for two, slices for more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..effects import N_ROWS, Effect, effects, strongest
from ..inputs import Columns, scale_inputs
from ..jumps import BoundaryMap, Jump, Jumps
from ..jumps.result import LIKELY
from ..jumps.words import jump_in_words
from ..plots.maps import predict_grid
from ..plots.outliers import LABEL, are_outliers, limits_without_far
from ..plots.style import COLORS, is_dated, is_text, map_order
from ..predict.mixture import Job
from ..regressor import StableRegressor
from .charts import Chart, axis, band, label, layout, lines, points, safe, short
from .outliers import marks, rings, rows_to_show

# Draw at most this many rows of the data.
MAX_POINTS = 3000
HOVER = "%{x}: %{y}<extra></extra>"


def fit_charts(
    model: StableRegressor, X: FloatArray, y: FloatArray, names: tuple[str, ...], target: str, jumps: Jumps
) -> list[Chart]:
    """The charts that suit the inputs. The first shows the fit itself, any others its jumps.

    X holds the columns of the engine, as `Columns.encode` makes them.
    """
    is_outlier, columns = are_outliers(model, X, y), model.posterior_.data.columns
    keep, rows = rows_to_show(is_outlier, MAX_POINTS), np.flatnonzero(is_outlier)
    if len(names) == 1 and columns.is_plain:
        return [_band_chart(model, X[:, 0], y, keep, rows, names[0], target, jumps)]
    if len(names) == 2:
        x, z = _on_map(columns, X, names)
        ringed = [rings(x[rows], z[rows], rows, showlegend=False)] if rows.size else []
        charts = [_map_chart(model, x[keep], z[keep], names, target)]
        if jumps.boundaries is not None:
            charts.append(_boundary_chart(jumps, jumps.boundaries, x[keep], z[keep]))
        note = f" A red ring is an {LABEL}." if ringed else ""
        return [chart._replace(data=chart.data + ringed, caption=chart.caption + note) for chart in charts]
    return [effect_chart(model, names, target, "fit")]


def _axis(title: str, values: NDArray[Any], **changes: Any) -> dict[str, Any]:
    """An axis of numbers, dates or levels, whichever the values are; the title must be safe already."""
    if is_dated(values):
        return axis(title, type="date", **changes)
    if is_text(values):
        levels = {"tickvals": short(values), "ticktext": [label(str(level)) for level in values]}
        return axis(title, type="category", **levels, **changes)
    return axis(title, **changes)


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
    posterior, columns = model.posterior_, model.posterior_.data.columns
    rows = scale_inputs(grid[:, None], posterior.data.scaling)
    lower, upper = posterior._quantiles_at(rows, [0.05, 0.95], True, Job()).T
    middle = posterior._quantiles_at(rows, [0.5], False, Job())[:, 0]
    at, x = columns.values(0, grid), columns.values(0, x)
    ordinary = np.setdiff1d(keep, outliers)
    limits = limits_without_far(np.concatenate([lower, upper, y[ordinary]]), y[outliers])
    inside = keep if limits is None else keep[(y[keep] >= limits[0]) & (y[keep] <= limits[1])]
    data = [
        *band(at, lower, upper, "90% of new observations"),
        lines(at, middle, COLORS[0], "posterior median", hovertemplate=HOVER),
        points(x[inside], y[inside], "data", size=5.0, hovertemplate=HOVER),
        *marks(x[outliers], y[outliers], outliers, limits, (x.min(), x.max())),
        *_gap_bars(jumps),
        *(_location(jump, jumps) for jump in jumps.likely),
    ]
    panels = {
        "xaxis": _axis(safe(name), at, anchor="y2", domain=[0.0, 1.0]),
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
    width = high - low
    # Plotly measures along an axis of dates in milliseconds.
    length = short(width / np.timedelta64(1, "ms") if jumps.over_dates else width)
    bars = {"type": "bar", "x": short(low + width / 2), "y": short(probability), "width": length}
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


def _on_map(columns: Columns, X: FloatArray, names: tuple[str, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows along both axes of a map, as the user has them."""
    given, (across, up) = columns.decode(X), map_order(names)
    return columns.values(across, given[:, across]), columns.values(up, given[:, up])


def _map_chart(model: StableRegressor, x: NDArray[Any], y: NDArray[Any], names: tuple[str, ...], target: str) -> Chart:
    """A map of the median, with buttons for the ends and the width of the 90% interval."""
    grid, (across, up) = predict_grid(model), map_order(names)
    along, upwards = (grid.x, grid.y)[across], (grid.x, grid.y)[up]
    views = {"Median": grid.middle, "5%": grid.lower, "95%": grid.upper, WIDTH: grid.upper - grid.lower}
    views = {name: values.T if across else values for name, values in views.items()}
    # A few extreme cells must not use up the colours.
    limits = float(np.quantile(grid.lower, 0.05)), float(np.quantile(grid.upper, 0.95))
    heat = {
        "type": "heatmap",
        "x": short(along),
        "y": short(upwards),
        "z": short(views["Median"], 4),
        "zmin": short(limits[0]),
        "zmax": short(limits[1]),
        "colorscale": "Viridis",
        # Between levels there is nothing.
        "zsmooth": False if is_text(along) or is_text(upwards) else "best",
        "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": safe(target), "side": "right"}},
        "hovertemplate": "%{x}, %{y}: %{z}<extra></extra>",
    }
    mark = {"color": "white", "size": 5, "line": {"color": "#444444", "width": 1}}
    data = [heat, points(x, y, "data", marker=mark, hoverinfo="skip")]
    panel = {
        "xaxis": _axis(safe(names[across]), along, showgrid=False),
        "yaxis": _axis(safe(names[up]), upwards, showgrid=False),
        "updatemenus": [_menu([_button(name, values, limits) for name, values in views.items()])],
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


def _button(name: str, values: FloatArray, limits: tuple[float, float]) -> dict[str, Any]:
    """A button that shows other values. The three quantiles share one colour scale; the width has its own."""
    low, high = (0.0, float(values.max())) if name == WIDTH else limits
    change = {"z": [short(values, 4)], "zmin": [short(low)], "zmax": [short(high)]}
    return {"label": name, "method": "restyle", "args": [change, [0]]}


def _boundary_chart(jumps: Jumps, found: BoundaryMap, x: NDArray[Any], y: NDArray[Any]) -> Chart:
    """Dark where a jump passes close by in most draws, and the lines that most draws agree on."""
    names = jumps.names
    across, up = map_order(names)
    along, upwards = found.axes[across], found.axes[up]
    heat = {
        "type": "heatmap",
        "x": short(along),
        "y": short(upwards),
        "z": short(found.probability.T if across else found.probability, 3),
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": [[0.0, "#ffffff"], [1.0, "#111111"]],
        "zsmooth": "best",
        "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": "P(jump)", "side": "right"}},
        "hovertemplate": "%{x}, %{y}: %{z}<extra></extra>",
    }
    data = [heat, points(x, y, "data", COLORS[0], 4.0, hoverinfo="skip", showlegend=False)]
    likely = [(i + 1, jump) for i, jump in enumerate(jumps) if jump.probability >= LIKELY]
    data += [_line_of(jump, found, number, (across, up)) for number, jump in likely]
    box = {"showgrid": False, "zeroline": False}
    panel = {"xaxis": _axis(safe(names[across]), along, **box), "yaxis": _axis(safe(names[up]), upwards, **box)}
    within = [
        f"{reach:.2g}{' days' * is_dated(values)} along {safe(name)}"
        for reach, values, name in zip(found.reach, found.axes, names, strict=True)
    ]
    caption = (
        f"The probability that f jumps by more than {jumps.min_size:.3g} close to each point: within "
        f"{' or '.join(within)}. Dashed lines are jumps that most draws agree on, numbered as in the table."
    )
    return Chart("boundaries", data, layout(**panel), 480, caption)


def _line_of(jump: Jump, found: BoundaryMap, number: int, order: tuple[int, int]) -> dict[str, Any]:
    """The line across which f jumps, inside the map; `order` says which input is on which axis."""
    ends = clip_line(jump.direction, jump.location, found.x[[0, -1]], found.y[[0, -1]])
    x, y = (found._replace(x=ends[:, 0], y=ends[:, 1]).axes[j] for j in order)
    look = {"color": COLORS[1], "width": 2, "dash": "dash"}
    words = f"jump {number}: {jump.size:+.3g}"
    return lines(x, y, "", words, line=look, hovertext=words, hoverinfo="text")


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
        suffix = str(k + 1) if k else ""
        where = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        data += [trace | where for trace in _effect(found[j])]
        panel[f"xaxis{suffix}"] = _axis(label(names[j]), found[j].x)
        shared = {"matches": "y"} if k else {}
        panel[f"yaxis{suffix}"] = axis("" if k % n_columns else label(target), **shared)
    more = f" Only the {MAX_EFFECTS} inputs that change f most are shown." if len(names) > MAX_EFFECTS else ""
    caption = (
        f"The effect of each input: f along it, averaged over up to {N_ROWS} rows that keep their other inputs "
        f"(partial dependence). Median and 90% band of this average.{more}"
    )
    return Chart(name, data, layout(**panel, showlegend=False), 120 + 240 * n_rows, caption)


def _effect(effect: Effect) -> list[dict[str, Any]]:
    """A line in a band, or a dot with an interval at each level of a category."""
    x, lower, middle, upper = effect
    if not is_text(x):
        return [*band(x, lower, upper, ""), lines(x, middle, COLORS[0], hovertemplate=HOVER)]
    bars = {"type": "data", "symmetric": False, "array": short(upper - middle), "arrayminus": short(middle - lower)}
    look = {"error_y": bars | {"thickness": 2, "width": 0, "color": "rgba(0, 114, 178, 0.5)"}}
    return [points(x, middle, "", COLORS[0], 9.0, hovertemplate=HOVER) | look]
