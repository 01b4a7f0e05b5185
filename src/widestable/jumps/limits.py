"""What counts as a jump: a step that is large enough and narrow enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..engine.draws import ChainDraws
from ..inputs import TrainingData

# A step wider than this part of the inputs' standard deviation is a slope.
WIDEST = 0.25


class Limits(NamedTuple):
    """Least change of f and greatest width of a step that counts as a jump, in the model's units."""

    size: float
    width: float


def check_limits(
    data: TrainingData, chains: Sequence[ChainDraws], size: float | None, max_width: float | None
) -> Limits:
    """Limits in the model's units from those of the user; None is the noise s.d., and a quarter of the inputs' s.d."""
    if size is not None and not size >= 0.0:
        raise ValueError(f"Got size = {size}, expected a number of zero or more: give it in the units of y.")
    if max_width is not None and not max_width >= 0.0:
        raise ValueError(
            f"Got max_width = {max_width}, expected a number of zero or more: pass inf to count every step."
        )
    noise_sd = float(np.sqrt(np.median(np.exp(np.concatenate([draws.log_sigma2 for draws in chains])))))
    return Limits(
        size=noise_sd if size is None else size / data.scaling.y_scale,
        width=WIDEST * _input_sd(data) if max_width is None else max_width / width_unit(data),
    )


def width_unit(data: TrainingData) -> float:
    """Widths are in the user's units for one input, in standardised units for several."""
    return float(data.scaling.x_scale[0]) if data.X.shape[1] == 1 else 1.0


def _input_sd(data: TrainingData) -> float:
    """Root mean variance of the columns, 1 when they are standardised."""
    mean = np.average(data.X, axis=0, weights=data.weight)
    variance = np.average((data.X - mean) ** 2, axis=0, weights=data.weight)
    varying = variance[variance > 0.0]
    return float(np.sqrt(varying.mean())) if varying.size else 1.0
