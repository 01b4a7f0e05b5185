"""One input: the band, the data, and the jumps underneath."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jumps import Jump, Jumps
from ..jumps.result import places_in_words
from ..plots.style import COLORS
from ..regressor import StableRegressor
from .charts import Chart, Floats, axis, band, layout, lines, points, safe, short

HOVER = "%{x}: %{y}<extra></extra>"


def line_chart(model: StableRegressor, x: Floats, y: Floats, name: str, target: str, jumps: Jumps) -> Chart:
    """Median and 90% band of new observations; probabilities and places of jumps below."""
    margin = 0.03 * (float(np.ptp(x)) or 1.0)
    grid = np.linspace(x.min() - margin, x.max() + margin, 401)
    lower, upper = model.posterior_.quantiles(grid[:, None], [0.05, 0.95]).T
    middle = model.posterior_.quantiles(grid[:, None], [0.5], noise=False)[:, 0]
    data = [
        *band(grid, lower, upper, "90% of new observations"),
        lines(grid, middle, COLORS[0], "posterior median", hovertemplate=HOVER),
        points(x, y, "data", size=5.0, hovertemplate=HOVER),
        *_gap_bars(jumps),
        *(_place(jump) for jump in jumps if jump.probability >= 0.5),
    ]
    panels = {
        "xaxis": axis(safe(name), anchor="y2", domain=[0.0, 1.0]),
        "yaxis": axis(safe(target), domain=[0.3, 1.0]),
        "yaxis2": axis("P(jump)", domain=[0.0, 0.2], range=[0.0, 1.08], tickvals=[0, 0.5, 1]),
    }
    caption = (
        "Above: the posterior median of f, the central 90% interval of a new observation, and the data. Below: the "
        f"probability that f jumps by more than {jumps.min_size:.3g} between neighbouring points; lines with dots are "
        "the 90% intervals of where the jumps are."
    )
    return Chart("fit", data, layout(**panels, bargap=0), 520, caption)


def _gap_bars(jumps: Jumps) -> list[dict[str, Any]]:
    if jumps.gaps is None:
        return []
    low, high, probability, _ = jumps.gaps
    text = [f"{a} to {b}: {p:.2f}" for a, b, p in zip(short(low), short(high), probability, strict=True)]
    bars = {"type": "bar", "x": short(0.5 * (low + high)), "y": short(probability), "width": short(high - low)}
    look = {"marker": {"color": COLORS[1], "opacity": 0.4}, "showlegend": False}
    return [bars | look | {"yaxis": "y2", "hovertext": text, "hoverinfo": "text"}]


def _place(jump: Jump) -> dict[str, Any]:
    """The 90% interval of a jump's location, at the height of its probability."""
    low, high = jump.location_interval
    where, left, right = places_in_words(jump)
    label = f"jump of {jump.size:+.3g} at {where} ({left} to {right}), probability {jump.probability:.2f}"
    line = lines([low, jump.location, high], [jump.probability] * 3, COLORS[1], yaxis="y2", mode="lines+markers")
    look = {"line": {"color": COLORS[1], "width": 3}, "marker": {"size": [0, 9, 0], "color": COLORS[1]}}
    return line | look | {"showlegend": False, "hovertext": [label] * 3, "hoverinfo": "text"}
