"""Which inputs matter: charts of the shares of the variance and of the relevances, and how to read them."""

from __future__ import annotations

from typing import Any

from .._types import FloatArray
from ..plots.inputs import input_order, relevance_quantiles
from ..plots.style import COLORS
from ..regressor import StableRegressor
from .charts import Chart, axis, label, layout

# Show at most this many inputs.
MAX_INPUTS = 20


def input_charts(model: StableRegressor, names: tuple[str, ...]) -> list[Chart]:
    """Share of the variance and relevance of each input; nothing for one input whose relevance is fixed."""
    inferred = "relevance" in model.posterior_.inferred
    if len(names) == 1 and not inferred:
        return []
    shares = model.input_shares()
    order = input_order(shares["share"].to_numpy(), MAX_INPUTS)
    labels = [label(names[j]) for j in order]
    more = f" Only the {MAX_INPUTS} inputs with the largest shares are shown." if len(names) > MAX_INPUTS else ""
    what = (
        "The share of the variance of f that each input explains, alone or together with others: median and 90% "
        f"interval.{more}"
    )
    fixed = "" if inferred else " Here the relevances are fixed."
    how_fast = (
        "Relevance is an inverse length scale of the scaled input: it tells how fast f changes along it. A strong but "
        f"linear input can rank low here; its share tells how much it matters.{fixed}"
    )
    share_axis = axis("share of the variance", range=[-0.03, 1.03], tickformat=".0%")
    return [
        _chart("shares", shares[["5%", "share", "95%"]].to_numpy()[order], COLORS[1], labels, share_axis, what),
        _chart("relevance", relevance_quantiles(model)[order], COLORS[0], labels, _log_axis("relevance"), how_fast),
    ]


def _log_axis(title: str) -> dict[str, Any]:
    return axis(title, type="log", dtick=1)


def _chart(name: str, quantiles: FloatArray, color: str, labels: list[str], x: dict[str, Any], caption: str) -> Chart:
    """A dot at each median, and a line from 5% to 95%, one row per input."""
    low, middle, high = quantiles.T
    text = [f"{b:.3g} ({a:.3g} to {c:.3g})" for a, b, c in quantiles]
    bars = {"type": "data", "symmetric": False, "array": _digits(high - middle), "arrayminus": _digits(middle - low)}
    look = {"error_x": bars | {"thickness": 3, "width": 0}, "marker": {"color": color, "size": 9}}
    place = {"x": _digits(middle), "y": list(range(len(labels)))}
    dots = {"type": "scatter", "mode": "markers", "hovertext": text, "hoverinfo": "text"} | look | place
    y = axis("", range=[len(labels) - 0.5, -0.5], tickvals=place["y"], ticktext=labels)
    return Chart(name, [dots], layout(xaxis=x, yaxis=y, showlegend=False), 100 + 28 * len(labels), caption)


def _digits(values: FloatArray) -> list[float]:
    """Values with 12 digits: the end of an interval is a difference, and on a log scale it must be right when small."""
    return [float(f"{value:.12g}") for value in values]
