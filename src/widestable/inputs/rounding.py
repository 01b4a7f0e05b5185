"""How exact outputs can be: the least variance of the noise, from their spread and from how they were rounded."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from .scaling import ROUNDING

# The noise s.d. is at least 1e-4 times the spread of y. Outputs without noise are still followed to four digits, and
# the sums of the engine, which lose the ratio of the two variances, keep half of the digits of float64.
LEAST_SHARE = 1e-8
# Two or three levels are more likely a function with a few values than numbers that were rounded.
LEAST_LEVELS = 4
# Steps between levels are the same up to this part of a step. Numbers that are not rounded do not pass by chance.
SAME_STEP = 0.01


def least_noise_variance(y: FloatArray, weight: FloatArray, spread: float) -> float:
    """Return the floor of the noise variance, in the squared units of y.

    Rounding to multiples of `step` adds an error of variance `step**2 / 12`. Repeated observations may share that
    error, so their agreement does not show that there is none.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Outputs as given.
    weight : ndarray of shape (n,)
        How many observations each stands for.
    spread : float
        Standard deviation of y, or 1 where y is constant.

    Returns
    -------
    float
        At least 1e-8 of the variance. At most a twelfth of it, because a step above the s.d. of y is no rounding error
        that could be added to a smooth function.

    Examples
    --------
    >>> ratings = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0])
    >>> 12.0 * least_noise_variance(ratings, np.full(8, 2.0), ratings.std())
    1.0
    >>> least_noise_variance(ratings + 0.1 * np.sin(np.arange(8)), np.full(8, 2.0), 1.0)
    1e-08
    """
    step = min(rounding_step(y, weight), spread)
    return float(max(LEAST_SHARE * spread * spread, step * step / 12.0))


def rounding_step(y: FloatArray, weight: FloatArray) -> float:
    """Return the step between outputs that look rounded, or 0.

    They do if the steps between their distinct values, four or more, are multiples of the smallest, and if there are at
    least two observations per value. A noise-free line over a grid has equal steps, too, but no value twice.

    Examples
    --------
    >>> rounding_step(np.array([0.1, 0.2, 0.3, 0.3, 0.5, 0.5, 0.7, 0.7]), np.ones(8)) > 0.0
    False
    >>> round(rounding_step(np.array([0.1, 0.2, 0.3, 0.3, 0.5, 0.5, 0.2, 0.1]), np.ones(8)), 6)
    0.1
    """
    values = np.sort(y)
    # 0.1 + 0.2 and 0.3 are one value.
    is_new = np.diff(values / 2.0) > 0.5 * ROUNDING * float(np.abs(y).max())
    levels = values[np.append(True, is_new)]
    if levels.size < LEAST_LEVELS or float(weight.sum()) < 2.0 * levels.size:
        return 0.0
    # Halves, because the difference of two huge numbers overflows.
    above = levels / 2.0 - levels[0] / 2.0
    step = float(np.diff(above).min())
    multiple = above / step
    return 2.0 * step if bool(np.all(np.abs(multiple - np.rint(multiple)) < SAME_STEP)) else 0.0
