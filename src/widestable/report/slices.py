"""More than two inputs: f along each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plots.style import COLORS
from ..regressor import StableRegressor
from .charts import Chart, Floats, axis, layout, lines, safe

MAX_SLICES = 9
N_ROWS, N_POINTS, N_COLUMNS = 20, 41, 3
THIN = "rgba(0, 114, 178, 0.3)"


def slice_chart(model: StableRegressor, X: Floats, names: tuple[str, ...], target: str) -> Chart:
    """For each input, f along it with the others as in some rows, and the average of these lines."""
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
        data += _panel(_along(X[:, j]), found[j], {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})
        panel[f"xaxis{suffix}"] = axis(safe(names[j]))
        panel[f"yaxis{suffix}"] = axis(safe(target) if k % n_columns == 0 else "", matches="y")
    more = f" The {MAX_SLICES} inputs that change f most are shown." if len(names) > MAX_SLICES else ""
    caption = (
        f"Each thin line is the posterior median of f along one input, the others held as in one of {len(found[0])} "
        f"rows; the thick line is their average (partial dependence).{more}"
    )
    return Chart("fit", data, layout(**panel, showlegend=False), 120 + 240 * n_rows, caption)


def _panel(grid: Floats, values: Floats, where: dict[str, str]) -> list[dict[str, Any]]:
    """All thin lines in one trace, a gap between them, and the thick one."""
    gap = np.full((len(values), 1), np.nan)
    path = np.concatenate([values, gap], axis=1).ravel()
    x = np.tile(np.append(grid, np.nan), len(values))
    thin = {"line": {"color": THIN, "width": 1}, "hoverinfo": "skip"}
    thick = {"line": {"color": COLORS[0], "width": 3}, "hovertemplate": "%{x}: %{y}<extra></extra>"}
    return [lines(x, path, "") | thin | where, lines(grid, values.mean(axis=0), "") | thick | where]


def _along(column: Floats) -> Floats:
    return np.linspace(column.min(), column.max(), N_POINTS)


def _slices(model: StableRegressor, X: Floats, j: int) -> Floats:
    """Medians of f along input j, (rows, points)."""
    base = X[np.unique(np.linspace(0, len(X) - 1, N_ROWS).round().astype(int))]
    rows = np.repeat(base, N_POINTS, axis=0)
    rows[:, j] = np.tile(_along(X[:, j]), len(base))
    return model.posterior_.quantiles(rows, [0.5], noise=False).reshape(len(base), N_POINTS)
