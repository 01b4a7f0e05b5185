"""Training rows and new rows: checked, merged and scaled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .._types import FloatArray, IntArray
from .checks import check_noise_variance, check_outputs, check_weights, name_of
from .columns import Columns, learn
from .rounding import least_noise_variance
from .rows import near_together
from .scaling import Scaling, constant_columns, exact_dot, measure, no_scaling, scale_inputs, scale_outputs

# With more distinct rows than this, near rows are put together.
MANY_ROWS = 2000


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What the samplers see: n distinct rows, in scaled units.

    The rows are in lexicographic order, or, when there are many, ordered so that near rows are together.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Distinct rows.
    y : ndarray of shape (n,)
        Weighted mean of the outputs at each distinct row.
    weight : ndarray of shape (n,)
        Total weight of each distinct row, positive.
    index : ndarray of int, shape (n_kept,)
        Distinct row of each kept given row, in the given order.
    kept : ndarray of bool, shape (n_given,)
        False for given rows of weight zero, which are dropped.
    obs_row, obs_y, obs_weight : ndarray of shape (n_obs,)
        Distinct row, output and total weight of each *observation*, a distinct pair (x, y), in the order of the rows.
    observation : ndarray of int, shape (n_given,)
        Observation of each given row; -1 for those that are dropped.
    n_observations : float
        Sum of the weights.
    ss_within : float
        Sum of `w * (y - mean)**2` within distinct rows.
    scaling : Scaling
        How to get back to the user's units.
    columns : Columns
        What the given columns are, and how they become the columns of X.
    least_variance : float
        Floor of the noise variance: a small part of the variance of y, and what rounding adds (`rounding.py`).
    target : str or None
        Name of the output, if it had one.
    noise_variance : float or None
        Where the noise variance of each row is known: their harmonic mean, in squared units of the user. Weight w then
        means noise of this variance over w, and not w copies.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray
    index: NDArray[np.intp]
    kept: NDArray[np.bool_]
    obs_row: IntArray
    obs_y: FloatArray
    obs_weight: FloatArray
    observation: IntArray
    n_observations: float
    ss_within: float
    scaling: Scaling
    columns: Columns
    least_variance: float = 0.0
    target: str | None = None
    noise_variance: float | None = None


def check_training(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    noise_variance: Any = None,
    standardize: bool = True,
    robust: bool = False,
    missing: str = "error",
) -> TrainingData:
    """Check, merge, sort and scale training data.

    Parameters
    ----------
    X : array_like or frame of shape (n_given, inputs)
        Inputs: numbers, dates and categories. Frames may be of pandas or polars.
    y : array_like of shape (n_given,)
        Outputs.
    sample_weight : array_like of shape (n_given,), float or None, default=None
        How many observations each row stands for.
    noise_variance : array_like of shape (n_given,) or None, default=None
        The noise variance of each row, in squared units of y. It takes the place of weights.
    standardize : bool, default=True
        Whether to remove the weighted mean of each column of X, and of y, and to divide by the weighted standard
        deviation, or by a fixed number where the column says whether a category has a level. Constant columns are only
        shifted. False leaves all units alone.
    robust : bool, default=False
        Whether outputs that are far from all others do not count for the mean and standard deviation of y.
    missing : str, default="error"
        What to do about missing inputs: "error", "drop" the row, or "indicator". Rows without an output are dropped
        unless it is "error".

    Returns
    -------
    TrainingData
        Distinct rows with their mean outputs and weights.

    Examples
    --------
    >>> data = check_training([[2.0], [1.0], [2.0]], [5.0, 3.0, 7.0], standardize=False)
    >>> data.X.ravel(), data.y, data.weight, data.index
    (array([1., 2.]), array([3., 6.]), array([1., 2.]), array([1, 0, 1]))
    >>> data.n_observations, data.ss_within
    (3.0, 2.0)
    """
    columns, rows = learn(X, missing)
    outputs = check_outputs(y, may_be_missing=missing != "error")
    if len(rows) != outputs.size:
        # The words of scikit-learn, and what to do.
        sizes = f"[{len(rows)}, {outputs.size}]"
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {sizes}. Pass one output per row."
        )
    weight = check_weights(sample_weight, len(rows))
    variance = None if noise_variance is None else check_noise_variance(noise_variance, len(rows))
    kept = (weight > 0.0) & ~np.isnan(rows).any(axis=1) & ~np.isnan(outputs)
    if not kept.any():
        raise ValueError(
            f"Each of the {len(rows)} rows has a missing value or no weight, expected some without: fill them in, or "
            "drop columns with many missing values."
        )
    if not kept.all() and not columns.are_numbers:
        # Rows that are left out tell nothing: not their levels, and not which date is the first.
        columns, rows = learn(_safe_indexing(X, np.flatnonzero(kept)), missing)
    else:
        rows = rows[kept]
    outputs, weight, typical = outputs[kept], weight[kept], None
    if variance is not None:
        # Relative to their harmonic mean, precisions are weights of mean 1.
        typical = float(1.0 / np.mean(1.0 / variance[kept]))
        weight = typical / variance[kept]
    measured = measure(rows, outputs, weight, robust, columns.fixed_scales)
    scaling = measured if standardize else no_scaling(rows.shape[1])
    # Divided by itself the scale is exactly 1, whatever the units of y.
    spread = measured.y_scale / scaling.y_scale
    if standardize:
        rows = np.where(constant_columns(rows), scaling.x_mean, rows)
    return _merge(
        scale_inputs(rows, scaling),
        scale_outputs(outputs, scaling),
        weight,
        kept=kept,
        scaling=scaling,
        columns=columns,
        target=name_of(y),
        noise_variance=typical,
        least_variance=least_noise_variance(outputs / scaling.y_scale, weight, spread),
    )


def check_new_rows(
    X: Any, *, columns: Columns, scaling: Scaling, missing: str = "indicator", unknown: str = "error"
) -> FloatArray:
    """Check rows to predict at and scale them like the training rows.

    Parameters
    ----------
    X : array_like or frame of shape (m, inputs)
        Rows.
    columns : Columns
        What the training columns were; their names are compared with those of X if both have names.
    scaling : Scaling
        Scaling of the training rows.
    missing, unknown : str
        What to do about missing values and new levels of a category: see `Columns.encode`.

    Returns
    -------
    ndarray of shape (m, d)
        Scaled rows; order and repeats are kept. NaN in rows that are dropped.

    Examples
    --------
    >>> data = check_training([[0.0], [4.0]], [0.0, 1.0])
    >>> check_new_rows([[2.0], [6.0]], columns=data.columns, scaling=data.scaling)
    array([[0.],
           [2.]])
    """
    rows = columns.encode(X, missing=missing, unknown=unknown)
    scaled = scale_inputs(rows, scaling)
    if not np.all(np.isfinite(scaled) | np.isnan(rows)):
        raise ValueError("X is too far from the training rows: scaled like them it overflows. Check its units.")
    return scaled


def at_whole_rows(compute: Callable[..., FloatArray], *tables: FloatArray) -> FloatArray:
    """What `compute` finds, one entry per row of some tables; NaN where a row of any of them has NaN.

    Examples
    --------
    >>> at_whole_rows(lambda rows: rows.sum(axis=1), np.array([[1.0, 2.0], [np.nan, 3.0]]))
    array([ 3., nan])
    """
    is_whole = ~np.any([np.isnan(rows).any(axis=1) for rows in tables], axis=0)
    if is_whole.all():
        return compute(*tables)
    # Where no row is whole, one at the origin tells the shape.
    found = compute(*(rows[is_whole] if is_whole.any() else np.zeros((1, rows.shape[1])) for rows in tables))
    out = np.full((is_whole.size, *found.shape[1:]), np.nan)
    out[is_whole] = found[: is_whole.sum()]
    return out


# --- Merging ---------------------------------------------------------------------------------------------


def _merge(X: FloatArray, y: FloatArray, weight: FloatArray, *, kept: NDArray[np.bool_], **fields: Any) -> TrainingData:
    """Merge repeated rows; the likelihood needs their mean, total weight and sum of squares within."""
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
    rank = np.argsort(place)
    index = rank[index]
    return TrainingData(
        X=np.ascontiguousarray(rows[place]),
        y=mean[place],
        weight=total[place],
        index=index,
        kept=kept,
        **_observations(rank[group], y, weight, order, kept),
        n_observations=math.fsum(weight.tolist()),
        # Infinite where squares leave the range of float64; `check_units` refuses that.
        ss_within=exact_dot(weight, within**2) if np.abs(within).max() < 1e140 else math.inf,
        **fields,
    )


def _observations(
    row: IntArray, y: FloatArray, weight: FloatArray, order: NDArray[np.intp], kept: NDArray[np.bool_]
) -> dict[str, Any]:
    """Distinct pairs of row and output; `order` sorts the kept given rows, and the first three are in that order."""
    near = np.argsort(row, kind="stable")
    row, y, weight, order = row[near], y[near], weight[near], order[near]
    is_new = np.ones(row.size, dtype=bool)
    is_new[1:] = (row[1:] != row[:-1]) | (y[1:] != y[:-1])
    first = np.flatnonzero(is_new)
    observation = np.full(kept.size, -1, dtype=np.int64)
    observation[np.flatnonzero(kept)[order]] = np.cumsum(is_new) - 1
    return {
        "obs_row": row[first].astype(np.int64),
        "obs_y": y[first],
        "obs_weight": _mean_and_total_within(y, weight, first)[1],
        "observation": observation,
    }


def _mean_and_total_within(y: FloatArray, weight: FloatArray, first: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Return weighted mean of y and total weight of each run of equal rows; y is sorted within runs."""
    mean, total = y[first], weight[first]
    last = np.append(first[1:], len(y)) - 1
    for k in np.flatnonzero(last > first):
        run = slice(first[k], last[k] + 1)
        total[k] = math.fsum(weight[run].tolist())
        if y[first[k]] < y[last[k]]:  # otherwise all are equal, and so is their mean
            mean[k] = exact_dot(weight[run], y[run]) / total[k]
    return mean, total
