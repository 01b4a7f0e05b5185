"""What all functions of stable laws take: arrays of float64, and alpha checked and halved."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Size = int | tuple[int, ...]


def floats(values: ArrayLike) -> Floats:
    """The values as an array of float64."""
    return np.asarray(values, dtype=np.float64)


def halves(alpha: ArrayLike) -> tuple[Floats, Floats]:
    """`a = alpha/2` and `1 - a`, after checking alpha."""
    alpha = floats(alpha)
    if not np.all((alpha > 0.0) & (alpha <= 2.0)):
        raise ValueError(
            f"alpha must lie in (0, 2], got {alpha}: pass 1.0, the usual value, or 2 for the Gaussian limit."
        )
    return alpha / 2.0, (2.0 - alpha) / 2.0
