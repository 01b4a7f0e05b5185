"""The one gate for data: check, merge repeated rows, standardise, and undo it.

Everything behind this gate may assume float64, C-contiguous, finite arrays with distinct rows in an order of their own:
sorted, or near ones together where they are many. The order of the given rows changes no bit of what comes out except
`index` and `kept`, and an integer weight equals writing the row that many times, to the last bit: sums are exact and
rounded once.

An estimator calls it like this; scikit-learn's `validate_data` then records and compares names only:

    data = check_training(X, y, sample_weight, standardize=self.standardize)
    validate_data(self, X, skip_check_array=True)
    ...
    rows = check_new_rows(X, n_features=self.n_features_in_, scaling=data.scaling)
    validate_data(self, X, reset=False, skip_check_array=True)
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from .ordering import near_together

Floats = NDArray[np.float64]

# A column whose values agree to this many units in the last place is constant: 0.1 + 0.2 beside 0.3.
ROUNDING = 8.0 * np.finfo(np.float64).eps
# Beyond this many distinct rows near ones are put together.
MANY_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Scaling:
    """Location and scale of each input column, (d,), and of the output; `(x - mean) / scale` is scaled."""

    x_mean: Floats
    x_scale: Floats
    y_mean: float
    y_scale: float


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What the engines see: n distinct rows, in lexicographic order, in scaled units.

    Attributes
    ----------
    X : (n, d) distinct rows.
    y : (n,) weighted mean of the outputs at each distinct row.
    weight : (n,) total weight of each distinct row, positive.
    index : (n_kept,) the distinct row of each kept given row, in the given order.
    kept : (n_given,) False for given rows of weight zero, which are dropped.
    n_observations : sum of the weights.
    ss_within : sum of `w * (y - mean)**2` within distinct rows.
    scaling : how to get back to the user's units.
    feature_names : names of the columns, if the input had any.
    """

    X: Floats
    y: Floats
    weight: Floats
    index: NDArray[np.intp]
    kept: NDArray[np.bool_]
    n_observations: float
    ss_within: float
    scaling: Scaling
    feature_names: tuple[str, ...] | None


def check_training(X: Any, y: Any, sample_weight: Any = None, *, standardize: bool = True) -> TrainingData:
    """Check, merge, sort and scale training data.

    Parameters
    ----------
    X : array, list, or pandas or polars frame, shape (n_given, d).
    y : shape (n_given,).
    sample_weight : None, a number, or shape (n_given,); how many observations each row stands for.
    standardize : divide the columns of X, and y, by their weighted standard deviation, after removing the
        weighted mean. Constant columns are only shifted. False leaves all units alone.

    Examples
    --------
    >>> data = check_training([[2.0], [1.0], [2.0]], [5.0, 3.0, 7.0], standardize=False)
    >>> data.X.ravel(), data.y, data.weight, data.index
    (array([1., 2.]), array([3., 6.]), array([1., 2.]), array([1, 0, 1]))
    >>> data.n_observations, data.ss_within
    (3.0, 2.0)
    """
    rows = _check_rows(X)
    outputs = _check_outputs(y)
    check_consistent_length(rows, outputs)
    weight = _check_weights(sample_weight, len(rows))
    kept = weight > 0.0
    rows, outputs, weight = rows[kept], outputs[kept], weight[kept]
    scaling = _measure(rows, outputs, weight) if standardize else _no_scaling(rows.shape[1])
    if standardize:
        rows = np.where(_constant_columns(rows), scaling.x_mean, rows)
    return _merge(
        scale_inputs(rows, scaling),
        scale_outputs(outputs, scaling),
        weight,
        kept=kept,
        scaling=scaling,
        feature_names=_names_of(X),
    )


def check_new_rows(X: Any, *, n_features: int, scaling: Scaling, feature_names: Sequence[str] | None = None) -> Floats:
    """Check rows to predict at and scale them like the training rows, shape (m, d), order and repeats kept.

    Examples
    --------
    >>> scaling = check_training([[0.0], [4.0]], [0.0, 1.0]).scaling
    >>> check_new_rows([[2.0], [6.0]], n_features=1, scaling=scaling)
    array([[0.],
           [2.]])
    """
    rows = _check_rows(X)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but widestable is expecting {n_features} features as input: "
            "pass the columns the model was fitted on."
        )
    names = _names_of(X)
    if feature_names is not None and names is not None and names != tuple(feature_names):
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            f"Got {list(names)}, expected {list(feature_names)}: rename or reorder the columns."
        )
    scaled = scale_inputs(rows, scaling)
    if not np.all(np.isfinite(scaled)):
        raise ValueError("X is too far from the training rows: scaled like them it overflows. Check its units.")
    return scaled


# --- Scaling and its inverse -----------------------------------------------------------------------------


def scale_inputs(X: Floats, scaling: Scaling) -> Floats:
    """`(x - mean) / scale` for each column."""
    return _shift_and_divide(X, scaling.x_mean, scaling.x_scale)


def unscale_inputs(X: Floats, scaling: Scaling) -> Floats:
    """Scaled inputs in the user's units."""
    return np.asarray(X * scaling.x_scale + scaling.x_mean)


def scale_outputs(y: Floats, scaling: Scaling) -> Floats:
    """`(y - mean) / scale`."""
    return _shift_and_divide(y, scaling.y_mean, scaling.y_scale)


def unscale_outputs(y: Floats, scaling: Scaling) -> Floats:
    """Scaled outputs (y, f, their means and quantiles) in the user's units; variances need `y_scale**2`.

    Examples
    --------
    >>> scaling = Scaling(np.zeros(1), np.ones(1), y_mean=10.0, y_scale=2.0)
    >>> unscale_outputs(scale_outputs(np.array([9.0, 13.0]), scaling), scaling)
    array([ 9., 13.])
    """
    return np.asarray(y * scaling.y_scale + scaling.y_mean)


def _shift_and_divide(values: Floats, mean: Floats | float, scale: Floats | float) -> Floats:
    with np.errstate(over="ignore"):
        shifted = values - mean
        # The difference of two of the largest numbers overflows; that of their halves does not.
        halved = (values / 2.0 - np.divide(mean, 2.0)) / np.divide(scale, 2.0)
        scaled = np.where(np.isfinite(shifted), shifted / scale, halved)
    return np.ascontiguousarray(scaled + 0.0)  # -0.0 becomes 0.0


def _no_scaling(d: int) -> Scaling:
    return Scaling(np.zeros(d), np.ones(d), 0.0, 1.0)


def _measure(X: Floats, y: Floats, weight: Floats) -> Scaling:
    """Weighted mean and s.d. of each column and of y; exact sums make them independent of the order of rows."""
    x_mean, x_scale = np.array([_mean_and_sd(column, weight) for column in X.T]).T
    y_mean, y_scale = _mean_and_sd(y, weight)
    return Scaling(np.ascontiguousarray(x_mean), np.ascontiguousarray(x_scale), y_mean, y_scale)


def _mean_and_sd(x: Floats, weight: Floats) -> tuple[float, float]:
    if _constant_columns(x[:, None])[0]:
        return float(x.min()), 1.0
    # Dividing by a power of two is exact, and keeps squares of 1e300 and 1e-300 inside float64.
    unit = 2.0 ** (math.frexp(float(np.abs(x).max()))[1] - 1)
    x = x / unit
    total = math.fsum(weight.tolist())
    mean = _exact_dot(weight, x) / total
    variance = _exact_dot(weight, (x - mean) ** 2) / total
    return mean * unit, math.sqrt(variance) * unit or 1.0


def _constant_columns(X: Floats) -> NDArray[np.bool_]:
    """Columns whose spread is rounding, or too small to divide by."""
    largest = np.abs(X).max(axis=0)
    half_spread = X.max(axis=0) / 2.0 - X.min(axis=0) / 2.0
    return np.asarray(half_spread <= np.maximum(ROUNDING * largest / 2.0, np.finfo(np.float64).tiny))


def _exact_dot(a: Floats, b: Floats) -> float:
    """`sum a_i b_i`, rounded once: each product is split into its value and its rounding error (Dekker)."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return math.fsum(np.concatenate([product, error]).tolist())


def _split(a: Floats) -> tuple[Floats, Floats]:
    """High and low half of each number, 26 bits each."""
    shifted = a * 134217729.0
    high = shifted - (shifted - a)
    return high, a - high


# --- Merging ---------------------------------------------------------------------------------------------


def _merge(X: Floats, y: Floats, weight: Floats, **fields: Any) -> TrainingData:
    """Add up repeated rows; the likelihood needs their mean, total weight and sum of squares within."""
    order = np.lexsort((weight, y, *X.T[::-1]))
    X, y, weight = X[order], y[order], weight[order]
    is_first = np.ones(len(X), dtype=bool)
    is_first[1:] = np.any(X[1:] != X[:-1], axis=1)
    group = np.cumsum(is_first) - 1
    index = np.empty_like(group)
    index[order] = group
    mean, total = _mean_and_total_within(y, weight, np.flatnonzero(is_first))
    rows, within = X[is_first], y - mean[group]
    place = near_together(rows) if len(rows) > MANY_ROWS else np.arange(len(rows))
    index = np.argsort(place)[index]
    return TrainingData(
        X=np.ascontiguousarray(rows[place]),
        y=mean[place],
        weight=total[place],
        index=index,
        n_observations=math.fsum(weight.tolist()),
        # Infinite where squares leave float64; `check_units` refuses that.
        ss_within=_exact_dot(weight, within**2) if np.abs(within).max() < 1e140 else math.inf,
        **fields,
    )


def _mean_and_total_within(y: Floats, weight: Floats, first: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Weighted mean of y and total weight of each run of rows; y is sorted within runs."""
    mean, total = y[first], weight[first]
    last = np.append(first[1:], len(y)) - 1
    for k in np.flatnonzero(last > first):
        run = slice(first[k], last[k] + 1)
        total[k] = math.fsum(weight[run].tolist())
        if y[first[k]] < y[last[k]]:
            mean[k] = _exact_dot(weight[run], y[run]) / total[k]
    return mean, total


# --- Checks ----------------------------------------------------------------------------------------------


def _check_rows(X: Any) -> Floats:
    rows = _to_floats(X, "X")
    _refuse_nonfinite(rows, "X", _names_of(X))
    return rows


def _check_outputs(y: Any) -> Floats:
    if y is None:
        raise ValueError("The model requires y to be passed, but the target y is None: pass a number a row.")
    outputs = _to_floats(y, "y")
    if outputs.ndim == 2 and outputs.shape[1] != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {outputs.shape} instead. "
            "Several outputs are not supported: fit one model for each column of y."
        )
    outputs = np.asarray(column_or_1d(outputs, warn=True))
    _refuse_nonfinite(outputs, "y")
    return outputs


def _check_weights(sample_weight: Any, n: int) -> Floats:
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight)
    weight = _to_floats(sample_weight, "sample_weight")
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n,)}! Sample weights must be a 1D array or "
            "scalar: pass one weight for each row of X."
        )
    _refuse_nonfinite(weight, "sample_weight")
    for row in np.flatnonzero(weight < 0.0):
        raise ValueError(
            f"Negative values in data passed to sample_weight: {weight[row]} at {_place((row,))}. "
            "A weight says how many observations a row stands for: pass zero to leave a row out."
        )
    if not np.any(weight):
        raise ValueError(
            f"Sample weights must contain at least one non-zero number, got {n} zeros: nothing is left. "
            "Pass positive weights, or none."
        )
    return weight


def _to_floats(values: Any, name: str) -> Floats:
    """float64 by scikit-learn's rules, with its messages, and with the place of what is no number."""
    _refuse_other_types(values, name)
    rules = {"ensure_2d": name == "X", "ensure_min_samples": int(name == "X"), "ensure_all_finite": False}
    try:
        return np.asarray(check_array(values, dtype=np.float64, order="C", input_name=name, **rules))
    except OverflowError as error:
        raise ValueError(f"Input {name} contains a value too large for float64: rescale it.") from error
    except TypeError as error:
        if "complex" in str(error):
            raise ValueError(
                f"Complex data not supported: {name} must hold real numbers: pass its real part."
            ) from error
        raise
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(f"Rows of {name} differ in length or hold lists: pass a table of numbers.") from error
        if (place := _first_text(values)) is None:
            raise
        raise ValueError(f"{name} must hold numbers, got {place}: encode text as numbers.") from error


def _names_of(X: Any) -> tuple[str, ...] | None:
    """Column names of a frame, if all are text (scikit-learn's rule)."""
    names = tuple(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _refuse_other_types(values: Any, name: str) -> None:
    """Raise for text columns of a pandas or polars frame, and say which, and for dates anywhere."""
    found = []
    for j, label in enumerate(getattr(values, "columns", ())):
        column = np.asarray(values.iloc[:, j] if hasattr(values, "iloc") else values[label])
        rows = () if column.dtype.kind in "biufc" else range(len(column))
        found += [f"{label!r} ({column[i]} in row {i})" for i in rows if not _is_number(column[i])][:1]
    if found:
        raise ValueError(f"{name} must hold numbers: encode or drop column {', '.join(found)}.")
    if hasattr(values, "__array__") and np.asarray(values).dtype.kind in ("m", "M"):
        raise ValueError(f"{name} must hold numbers, got dates or times: convert them, to days for example.")


def _is_number(value: Any) -> bool:
    """Whether float() takes it; missing and complex values are left to later checks, which name them."""
    if value is None or isinstance(value, complex) or type(value).__name__ == "NAType":
        return True
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, np.datetime64 | np.timedelta64)


def _first_text(values: Any) -> str | None:
    """Where the first text that is no number stands in an array or list."""
    try:
        cells = np.asarray(values, dtype=object)
    except ValueError:  # ragged lists
        return None
    for place, value in np.ndenumerate(cells):
        if isinstance(value, str | bytes) and not _is_number(value):
            return f"{value!r} at {_place(place)}"
    return None


def _refuse_nonfinite(values: Floats, name: str, names: tuple[str, ...] | None = None) -> None:
    what, bad = "NaN", np.isnan(values)
    if not bad.any():
        what, bad = "infinity or a value too large for dtype('float64')", np.isinf(values)
    if bad.any():
        first, n_more = tuple(np.argwhere(bad)[0]), int(bad.sum()) - 1
        more = f" and in {n_more} more place(s)" if n_more else ""
        raise ValueError(
            f"Input {name} contains {what} at {_place(first, names)}{more}. "
            "Expected finite numbers: drop these rows or fill them in (scikit-learn has imputers)."
        )


def _place(place: tuple[Any, ...], names: tuple[str, ...] | None = None) -> str:
    """Row and column in words."""
    words = f"row {place[0]}" if place else "the only value"
    if len(place) > 1:
        words += f", column {repr(names[place[1]]) if names else place[1]}"
    return f"{words} (counting from 0)"
