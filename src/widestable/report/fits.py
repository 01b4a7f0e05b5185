"""Charts of the fit: a band for one input, maps for two, slices for more."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..inputs import spread_indices
from ..jumps import BoundaryMap, Jump, Jumps
from ..jumps.result import LIKELY
from ..jumps.words import jump_in_words
from ..plots.maps import boundary_segments, predict_grid
from ..plots.outliers import LABEL, are_outliers, limits_without_far
from ..plots.style import COLORS
from ..regressor import StableRegressor
from .charts import Chart, axis, band, layout, lines, points, safe, short
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
        ringed = [rings(X[rows, 0], X[rows, 1], rows, showlegend=False)] if rows.size else []
        charts = [_map_chart(model, X[keep], names, target), _boundary_chart(X[keep], names, jumps)]
        note = f" A red ring is an {LABEL}." if ringed else ""
        return [chart._replace(data=chart.data + ringed, caption=chart.caption + note) for chart in charts]
    return [_slice_chart(model, X, names, target)]


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
    label = safe(jump_in_words(jump, jumps))
    line = lines([low, jump.location, high], [jump.probability] * 3, COLORS[1], yaxis="y2", mode="lines+markers")
    look = {"line": {"color": COLORS[1], "width": 3}, "marker": {"size": [0, 9, 0], "color": COLORS[1]}}
    return line | look | {"showlegend": False, "hovertext": [label] * 3, "hoverinfo": "text"}


# --- Two inputs ------------------------------------------------------------------------------------------

# Cells of the map along each input.
CELLS = 40
WIDTH = "Width"
# Probabilities with a grey of their own; less probable boundaries are not drawn.
SHADES = ((0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))


def _map_chart(model: StableRegressor, X: FloatArray, names: tuple[str, ...], target: str) -> Chart:
    """A map of the median, with buttons for the ends and the width of the 90% interval."""
    grid = predict_grid(model, CELLS)
    views = {"Median": grid.middle, "5%": grid.lower, "95%": grid.upper, WIDTH: grid.upper - grid.lower}
    # A few extreme cells must not use up the colours.
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
    """The sides of cells, darker and thicker where a jump is more probable, and the lines that most draws agree on."""
    assert jumps.boundaries is not None
    segments, probability = boundary_segments(jumps.boundaries)
    data = [points(X[:, 0], X[:, 1], "data", COLORS[0], 4.0, hoverinfo="skip")]
    for low, high in SHADES:
        chosen = segments[(probability >= low) & ((probability < high) | (high == 1.0))]
        grey = int(225.0 - 225.0 * high)
        look = {"color": f"rgb({grey},{grey},{grey})", "width": 1.0 + 5.0 * high}
        data.append(_pieces(chosen, f"{low:.0%} to {high:.0%}", look))
    likely = [(i + 1, jump) for i, jump in enumerate(jumps) if jump.probability >= LIKELY]
    data += [_line_of(jump, jumps.boundaries, number) for number, jump in likely]
    box = {"showgrid": False, "zeroline": False}
    panel = {"xaxis": axis(safe(names[0]), **box), "yaxis": axis(safe(names[1]), **box)}
    legend = {"orientation": "v", "x": 1.02, "y": 1.0, "yanchor": "top", "title": {"text": "P(jump)"}}
    caption = (
        f"The probability that f jumps by more than {jumps.min_size:.3g} between neighbouring cells. Dashed lines are "
        "jumps that most draws agree on, numbered as in the table."
    )
    return Chart("boundaries", data, layout(**panel, legend=legend), 480, caption)


def _pieces(segments: FloatArray, name: str, look: dict[str, Any]) -> dict[str, Any]:
    """Separate segments in one trace: a NaN between two segments leaves a gap."""
    gap = np.full((len(segments), 1, 2), np.nan)
    path = np.concatenate([segments.reshape(-1, 2, 2), gap], axis=1).reshape(-1, 2)
    return lines(path[:, 0], path[:, 1], "", name, line=look, connectgaps=False, hoverinfo="skip")


def _line_of(jump: Jump, boundaries: BoundaryMap, number: int) -> dict[str, Any]:
    """The line across which f jumps, inside the map."""
    ends = clip_line(jump.direction, jump.location, boundaries.x[[0, -1]], boundaries.y[[0, -1]])
    look = {"color": COLORS[1], "width": 2, "dash": "dash"}
    label = f"jump {number}: {jump.size:+.3g}"
    return lines(ends[:, 0], ends[:, 1], "", label, line=look, hovertext=label, hoverinfo="text")


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


# --- More inputs -----------------------------------------------------------------------------------------

MAX_SLICES = 9
# Thin lines per input, points on each, and panels side by side.
N_ROWS, N_POINTS, N_COLUMNS = 20, 41, 3
THIN = "rgba(0, 114, 178, 0.3)"


def _slice_chart(model: StableRegressor, X: FloatArray, names: tuple[str, ...], target: str) -> Chart:
    """For each input, f along it with the other inputs as in some of the rows, and the average of these lines."""
    found = [_slices(model, X, j) for j in range(X.shape[1])]
    effect = np.array([np.ptp(values.mean(axis=0)) for values in found])
    chosen = np.sort(np.argsort(-effect)[:MAX_SLICES])
    n_columns = 2 if chosen.size == 4 else min(N_COLUMNS, chosen.size)
    n_rows = -(-chosen.size // n_columns)
    panel: dict[str, Any] = {"grid": {"rows": n_rows, "columns": n_columns, "pattern": "independent"}}
    panel["grid"] |= {"ygap": 0.35, "xgap": 0.16}
    data: list[dict[str, Any]] = []
    for k, j in enumerate(chosen):
        suffix = str(k + 1) if k else ""
        data += _slice_panel(_along(X[:, j]), found[j], {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})
        panel[f"xaxis{suffix}"] = axis(safe(names[j]))
        panel[f"yaxis{suffix}"] = axis(safe(target) if k % n_columns == 0 else "", matches="y")
    more = f" Only the {MAX_SLICES} inputs that change f most are shown." if len(names) > MAX_SLICES else ""
    caption = (
        "Each thin line is the posterior median of f along one input, with the other inputs held as in one of "
        f"{len(found[0])} rows. The thick line is their average (partial dependence).{more}"
    )
    return Chart("fit", data, layout(**panel, showlegend=False), 120 + 240 * n_rows, caption)


def _slice_panel(grid: FloatArray, values: FloatArray, where: dict[str, str]) -> list[dict[str, Any]]:
    """All thin lines in one trace, separated by NaN, and the thick line."""
    gap = np.full((len(values), 1), np.nan)
    path = np.concatenate([values, gap], axis=1).ravel()
    x = np.tile(np.append(grid, np.nan), len(values))
    thin = {"line": {"color": THIN, "width": 1}, "hoverinfo": "skip"}
    thick = {"line": {"color": COLORS[0], "width": 3}, "hovertemplate": HOVER}
    return [lines(x, path, "") | thin | where, lines(grid, values.mean(axis=0), "") | thick | where]


def _along(column: FloatArray) -> FloatArray:
    return np.linspace(column.min(), column.max(), N_POINTS)


def _slices(model: StableRegressor, X: FloatArray, j: int) -> FloatArray:
    """Posterior medians of f along input j, shape (rows, points)."""
    base = X[spread_indices(len(X), N_ROWS)]
    rows = np.repeat(base, N_POINTS, axis=0)
    rows[:, j] = np.tile(_along(X[:, j]), len(base))
    return model.posterior_.quantiles(rows, [0.5], noise=False).reshape(len(base), N_POINTS)
