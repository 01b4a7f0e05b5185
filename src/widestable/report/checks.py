"""Charts of what stands behind the fit: parameters, chains, residuals, number of jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from ..jumps import Jumps
from ..plots.chains import rank_counts
from ..plots.style import COLORS
from ..posterior import Posterior
from .charts import GRID, Chart, Floats, axis, histogram, layout, lines, points, safe, short

MAX_RESIDUALS = 2000
MAX_TRACE = 400
LABELS = {"alpha": "alpha", "nu": "nu", "sigma": "noise s.d.", "sharpness": "sharpness"}


def parameters_of(posterior: Posterior) -> dict[str, Floats]:
    """Draws of the inferred parameters, (chains, draws) each; the noise as a standard deviation."""
    found = {name: np.asarray(getattr(posterior, name)) for name in posterior.inferred}
    return {"sigma" if name == "sigma2" else name: np.sqrt(v) if name == "sigma2" else v for name, v in found.items()}


def parameter_chart(posterior: Posterior) -> Chart | None:
    """Histograms side by side."""
    found = parameters_of(posterior)
    if not found:
        return None
    data, panel = [], _grid(1, len(found))
    for k, (name, draws) in enumerate(found.items()):
        suffix = "" if k == 0 else str(k + 1)
        log = name in {"nu", "sharpness"}
        height, centre, width = histogram(draws.ravel(), log)
        bars = {"type": "bar", "x": short(centre), "y": short(height), "width": short(width), "showlegend": False}
        look = {"marker": {"color": COLORS[0], "opacity": 0.5, "line": {"width": 0}}, "hoverinfo": "skip"}
        data.append(bars | look | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})
        panel[f"xaxis{suffix}"] = axis(LABELS.get(name, name), type="log" if log else "linear")
        panel[f"yaxis{suffix}"] = axis("", showticklabels=False, showgrid=False)
    return Chart(
        "parameters", data, layout(**panel, bargap=0), 230, "Posterior of each parameter, all chains together."
    )


def chain_chart(posterior: Posterior) -> Chart | None:
    """Traces on the left, ranks on the right, one row a parameter."""
    found = parameters_of(posterior)
    if not found:
        return None
    data: list[dict[str, Any]] = []
    panel = _grid(len(found), 2)
    for k, (name, draws) in enumerate(found.items()):
        left, right = ("" if k == 0 else str(2 * k + 1)), str(2 * k + 2)
        keep = np.unique(np.linspace(0, draws.shape[1] - 1, MAX_TRACE).round().astype(int))
        counts, edges = rank_counts(draws)
        for c, (chain, count) in enumerate(zip(draws, counts, strict=True)):
            color, common = COLORS[c % len(COLORS)], {"legendgroup": str(c), "hoverinfo": "skip"}
            trace = lines(keep, chain[keep], color, f"chain {c + 1}", showlegend=k == 0)
            data.append(trace | common | {"xaxis": f"x{left}", "yaxis": f"y{left}"} | _thin(color))
            ranks = lines(edges, np.append(count, count[-1]), color, showlegend=False)
            data.append(ranks | common | {"xaxis": f"x{right}", "yaxis": f"y{right}"} | _thin(color, shape="hv"))
        last = k == len(found) - 1
        log = {"type": "log"} if name in {"nu", "sharpness"} else {}
        panel |= {f"xaxis{left}": axis("draw" if last else ""), f"yaxis{left}": axis(LABELS.get(name, name), **log)}
        panel |= {f"xaxis{right}": axis("rank" if last else ""), f"yaxis{right}": axis("draws", rangemode="tozero")}
    caption = (
        "Left, draw after draw: chains that agree lie on top of each other. Right, the ranks of each chain's draws "
        "among all: chains that agree have level histograms."
    )
    return Chart("chains", data, layout(**panel), 110 + 170 * len(found), caption)


def residual_chart(posterior: Posterior, X: Floats, y: Floats, target: str) -> tuple[Chart, float]:
    """Residuals against the median, and their quantiles against a normal's; also the share inside the 90% band."""
    keep = np.unique(np.linspace(0, len(y) - 1, MAX_RESIDUALS).round().astype(int))
    X, y = X[keep], y[keep]
    middle = posterior.quantiles(X, [0.5], noise=False)[:, 0]
    lower, upper = posterior.quantiles(X, [0.05, 0.95]).T
    residual = y - middle
    order = np.sort(residual)
    expected = norm.ppf((np.arange(y.size) + 0.5) / y.size) * float(np.sqrt(np.median(posterior.sigma2)))
    ends = [min(expected[0], order[0]), max(expected[-1], order[-1])]
    second = {"xaxis": "x2", "yaxis": "y2"}
    data = [
        points(middle, residual, "residual", COLORS[0], 5.0, hovertemplate="%{x}: %{y}<extra></extra>"),
        lines([middle.min(), middle.max()], [0.0, 0.0], "#888888", hoverinfo="skip"),
        points(expected, order, "quantiles", COLORS[0], 5.0, hoverinfo="skip", **second),
        lines(ends, ends, "#888888", hoverinfo="skip", **second),
    ]
    panel = _grid(1, 2) | {
        "xaxis": axis(f"predicted {safe(target)}"),
        "yaxis": axis("residual"),
        "xaxis2": axis("expected of normal noise"),
        "yaxis2": axis("residual, sorted"),
    }
    caption = (
        "Left: residuals should have no pattern. Right: on the line when the noise is normal with the inferred s.d."
    )
    inside = float(((lower <= y) & (y <= upper)).mean())
    return Chart("residuals", data, layout(**panel, showlegend=False), 340, caption), inside


def count_chart(jumps: Jumps) -> Chart:
    """Probabilities of each number of jumps."""
    p = jumps.count_probability
    shown = p[: max(int(np.flatnonzero(p >= 0.005)[-1]) + 1, 2)]
    bars = {
        "type": "bar",
        "x": list(range(shown.size)),
        "y": short(shown),
        "marker": {"color": COLORS[1], "opacity": 0.7},
    }
    hover = {"hovertemplate": "%{x} jumps: %{y:.2f}<extra></extra>", "showlegend": False}
    panel = {"xaxis": axis("number of jumps", dtick=1, showgrid=False), "yaxis": axis("probability", gridcolor=GRID)}
    caption = f"How many jumps larger than {jumps.min_size:.3g} f has between the training rows."
    return Chart("counts", [bars | hover], layout(**panel), 240, caption)


def _thin(color: str, **changes: Any) -> dict[str, Any]:
    return {"line": {"color": color, "width": 1.2} | changes}


def _grid(rows: int, columns: int) -> dict[str, Any]:
    return {"grid": {"rows": rows, "columns": columns, "pattern": "independent", "xgap": 0.18, "ygap": 0.3}}
