"""The charts of the fit that suit the number of inputs."""

from __future__ import annotations

import numpy as np

from ..jumps import Jumps
from ..regressor import StableRegressor
from .charts import Chart, Floats
from .line import line_chart
from .plane import boundary_chart, map_chart
from .slices import slice_chart

# Data points drawn; more are thinned evenly.
MAX_POINTS = 3000


def fit_charts(
    model: StableRegressor, X: Floats, y: Floats, names: tuple[str, ...], target: str, jumps: Jumps
) -> list[Chart]:
    """A band for one input, a map and a boundary map for two, slices for more; the first one is the fit itself."""
    keep = np.linspace(0, len(y) - 1, min(len(y), MAX_POINTS)).round().astype(int)
    if len(names) == 1:
        return [line_chart(model, X[keep, 0], y[keep], names[0], target, jumps)]
    if len(names) == 2:
        return [map_chart(model, X[keep], names, target), boundary_chart(X[keep], names, jumps)]
    return [slice_chart(model, X, names, target)]
