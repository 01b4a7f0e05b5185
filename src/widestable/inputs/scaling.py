"""Location and scale of columns and outputs: measure them, remove them and put them back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray

# A column whose values differ by less than this, relatively, is constant: 0.1 + 0.2 equals 0.3.
ROUNDING = 8.0 * np.finfo(np.float64).eps
# Interquartile range of a standard normal variable.
IQR_OF_NORMAL = 1.349
# An output so many robust standard deviations from the median does not count for the scale of y.
FAR = 5.0


@dataclass(frozen=True, eq=False)
class Scaling:
    """Location and scale of each input column and of the output; scaled values are `(x - mean) / scale`.

    Attributes
    ----------
    x_mean : ndarray of shape (d,)
        Location of each column.
    x_scale : ndarray of shape (d,)
        Scale of each column.
    y_mean : float
        Location of the output.
    y_scale : float
        Scale of the output.
    """

    x_mean: FloatArray
    x_scale: FloatArray
    y_mean: float
    y_scale: float


def scale_inputs(X: FloatArray, scaling: Scaling) -> FloatArray:
    """Return `(x - mean) / scale` for each column."""
    return _shift_and_divide(X, scaling.x_mean, scaling.x_scale)


def unscale_inputs(X: FloatArray, scaling: Scaling) -> FloatArray:
    """Return scaled inputs in the user's units."""
    return np.asarray(X * scaling.x_scale + scaling.x_mean)


def scale_outputs(y: FloatArray, scaling: Scaling) -> FloatArray:
    """Return `(y - mean) / scale`."""
    return _shift_and_divide(y, scaling.y_mean, scaling.y_scale)


def unscale_outputs(y: FloatArray, scaling: Scaling) -> FloatArray:
    """Return scaled outputs (y, f, their means and quantiles) in the user's units; variances need `y_scale**2`.

    Examples
    --------
    >>> scaling = Scaling(np.zeros(1), np.ones(1), y_mean=10.0, y_scale=2.0)
    >>> unscale_outputs(scale_outputs(np.array([9.0, 13.0]), scaling), scaling)
    array([ 9., 13.])
    """
    return np.asarray(y * scaling.y_scale + scaling.y_mean)


def _shift_and_divide(values: FloatArray, mean: FloatArray | float, scale: FloatArray | float) -> FloatArray:
    """Return `(values - mean) / scale` without overflow on the way."""
    with np.errstate(over="ignore"):
        shifted = values - mean
        # The difference of two huge numbers overflows; that of their halves does not.
        halved = (values / 2.0 - np.divide(mean, 2.0)) / np.divide(scale, 2.0)
        scaled = np.where(np.isfinite(shifted), shifted / scale, halved)
    return np.ascontiguousarray(scaled + 0.0)  # -0.0 becomes 0.0


def no_scaling(d: int) -> Scaling:
    """Return a scaling that leaves d columns and the output as they are."""
    return Scaling(np.zeros(d), np.ones(d), 0.0, 1.0)


def measure(
    X: FloatArray, y: FloatArray, weight: FloatArray, robust: bool = False, fixed: FloatArray | None = None
) -> Scaling:
    """Return weighted mean and s.d. of each column and of y; exact sums make them independent of the order of rows.

    With `robust`, outputs that are far from all others do not count for y. Where `fixed` is not NaN, it is the scale of
    the column.
    """
    x_mean, x_scale = np.array([_mean_and_sd(column, weight) for column in X.T]).T
    x_scale = x_scale if fixed is None else np.where(np.isnan(fixed), x_scale, fixed)
    y_mean, y_scale = _mean_and_sd_of_near(y, weight) if robust else _mean_and_sd(y, weight)
    return Scaling(np.ascontiguousarray(x_mean), np.ascontiguousarray(x_scale), y_mean, y_scale)


def _mean_and_sd(x: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return weighted mean and s.d.; the s.d. of a constant column is 1."""
    if constant_columns(x[:, None])[0]:
        return float(x.min()), 1.0
    # Dividing by a power of two is exact, and keeps squares of 1e300 and 1e-300 inside float64.
    unit = 2.0 ** (math.frexp(float(np.abs(x).max()))[1] - 1)
    x = x / unit
    total = math.fsum(weight.tolist())
    mean = exact_dot(weight, x) / total
    variance = exact_dot(weight, (x - mean) ** 2) / total
    return mean * unit, math.sqrt(variance) * unit or 1.0


def _mean_and_sd_of_near(x: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return weighted mean and s.d. of what is within 5 times the interquartile range / 1.349 of the median.

    These are mean and s.d. of all where there is nothing far, or where the quartiles are equal and nothing can be said.
    """
    low, middle, high = (weighted_quantile(x, weight, q) for q in (0.25, 0.5, 0.75))
    spread = high / IQR_OF_NORMAL - low / IQR_OF_NORMAL
    if not (math.isfinite(spread) and spread > max(ROUNDING * max(abs(low), abs(high)), np.finfo(np.float64).tiny)):
        return _mean_and_sd(x, weight)
    near = np.abs(x / FAR - middle / FAR) <= spread
    return _mean_and_sd(x[near], weight[near])


def weighted_quantile(x: FloatArray, weight: FloatArray, q: float) -> float:
    """Return the value at which the weight of smaller ones passes q of the total; the middle of two where it meets q.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4), 0.5)
    2.5
    """
    order = np.lexsort((weight, x))
    below = np.cumsum(weight[order])
    below *= 1.0 / below[-1]
    low = int(np.searchsorted(below, q - 1e-9))
    high = int(np.searchsorted(below, q + 1e-9))
    low, high = min(low, x.size - 1), min(high, x.size - 1)
    return float(x[order[low]] / 2.0 + x[order[high]] / 2.0)


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Return which columns have a spread that is rounding error, or too small to divide by."""
    largest = np.abs(X).max(axis=0)
    half_spread = X.max(axis=0) / 2.0 - X.min(axis=0) / 2.0
    return np.asarray(half_spread <= np.maximum(ROUNDING * largest / 2.0, np.finfo(np.float64).tiny))


# --- Sums that are rounded once, so that the order of their terms changes no bit -------------------------


def exact_dot(a: FloatArray, b: FloatArray) -> float:
    """Return `sum a_i b_i`, rounded once: each product is split into its value and its rounding error (Dekker)."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return math.fsum(np.concatenate([product, error]).tolist())


def _split(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the high and the low half of each number, 26 bits each."""
    shifted = a * 134217729.0  # 2**27 + 1
    high = shifted - (shifted - a)
    return high, a - high
