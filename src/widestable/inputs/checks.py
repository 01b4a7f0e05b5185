"""Turn X, y and weights into arrays of finite float64, or raise an error that says what is wrong and where."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from .._types import FloatArray


def check_outputs(y: Any, *, may_be_missing: bool = False) -> FloatArray:
    """Return y as one finite output per row, shape (n,); NaN where one is missing, if that may be."""
    if y is None:
        raise ValueError("The model requires y to be passed, but the target y is None: pass one number per row.")
    outputs = to_floats(y, "y")
    if outputs.ndim == 2 and outputs.shape[1] != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {outputs.shape} instead. "
            "Several outputs are not supported: fit one model for each column of y."
        )
    outputs = np.asarray(column_or_1d(outputs, warn=True))
    refuse_nonfinite(np.where(np.isnan(outputs), 0.0, outputs) if may_be_missing else outputs, "y")
    return outputs


def check_weights(sample_weight: Any, n: int) -> FloatArray:
    """Return the weights of n rows, none negative, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight)
    weight = to_floats(sample_weight, "sample_weight")
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n,)}! Sample weights must be a 1D array or "
            "scalar: pass one weight for each row of X."
        )
    refuse_nonfinite(weight, "sample_weight")
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


def check_noise_variance(noise_variance: Any, n: int) -> FloatArray:
    """Return the noise variances of n rows, all positive."""
    variance = to_floats(noise_variance, "noise_variance")
    if variance.shape != (n,):
        raise ValueError(
            f"Got noise_variance of shape {variance.shape}, expected {(n,)}: pass one variance for each row of X, or "
            "StableRegressor(sigma2=...) if all are equal."
        )
    refuse_nonfinite(variance, "noise_variance")
    for row in np.flatnonzero(variance <= 0.0):
        raise ValueError(
            f"Got noise_variance = {variance[row]} at {_place((row,))}, expected a number above 0: pass variances, in "
            "squared units of y, and very small ones for outputs without noise."
        )
    return variance


def to_floats(values: Any, name: str) -> FloatArray:
    """Convert to float64 by scikit-learn's rules and with its messages; say where a value is not a number."""
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


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a frame, if all are text (scikit-learn's rule)."""
    names = tuple(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def name_of(y: Any) -> str | None:
    """Return the name of a series or of the only column of a frame, if it is text."""
    names = names_of(y) or (getattr(y, "name", None),)
    return names[0] if len(names) == 1 and isinstance(names[0], str) and names[0] else None


def _refuse_other_types(values: Any, name: str) -> None:
    """Raise for columns of a pandas or polars frame that hold no numbers, naming them, and for dates anywhere."""
    found = []
    for j, label in enumerate(getattr(values, "columns", ())):
        column = np.asarray(values.iloc[:, j] if hasattr(values, "iloc") else values[label])
        rows = () if column.dtype.kind in "biufc" else range(len(column))
        found += [f"{label!r} ({column[i]} in row {i})" for i in rows if not is_number(column[i])][:1]
    if found:
        raise ValueError(f"{name} must hold numbers: encode or drop column {', '.join(found)}.")
    if hasattr(values, "__array__") and np.asarray(values).dtype.kind in ("m", "M"):
        raise ValueError(f"{name} must hold numbers, got dates or times: convert them, to days for example.")


def is_number(value: Any) -> bool:
    """Return whether float() takes the value; missing, complex and huge ones are left to later checks."""
    if value is None or isinstance(value, complex) or type(value).__name__ == "NAType":
        return True
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return not isinstance(value, np.datetime64 | np.timedelta64)


def _first_text(values: Any) -> str | None:
    """Return where in an array or list the first text stands that is not a number, or None."""
    try:
        cells = np.asarray(values, dtype=object)
    except ValueError:  # ragged lists
        return None
    for place, value in np.ndenumerate(cells):
        if isinstance(value, str | bytes) and not is_number(value):
            return f"{value!r} at {_place(place)}"
    return None


def refuse_nonfinite(values: FloatArray, name: str, names: tuple[str, ...] | None = None) -> None:
    """Raise for NaN or infinity, naming the first place."""
    what, bad = "NaN", np.isnan(values)
    if not bad.any():
        what, bad = "infinity or a value too large for dtype('float64')", np.isinf(values)
    if bad.any():
        first, n_more = tuple(np.argwhere(bad)[0]), int(bad.sum()) - 1
        more = f" and in {n_more} more place(s)" if n_more else ""
        may_be_missing = what == "NaN" and name != "sample_weight"
        how = ', or pass missing="drop" or missing="indicator" (--missing)' if may_be_missing else ""
        raise ValueError(
            f"Input {name} contains {what} at {_place(first, names)}{more}. "
            f"Expected finite numbers: drop these rows or fill them in (scikit-learn has imputers){how}."
        )


def _place(place: tuple[Any, ...], names: tuple[str, ...] | None = None) -> str:
    """Return row and column in words."""
    words = f"row {place[0]}" if place else "the only value"
    if len(place) > 1:
        words += f", column {repr(names[place[1]]) if names else place[1]}"
    return f"{words} (counting from 0)"
