"""Training rows and new rows, checked, merged and scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from .checks import check_outputs, check_rows, check_weights, names_of
from .ordering import near_together
from .scaling import Scaling, constant_columns, measure, no_scaling, scale_inputs, scale_outputs
from .sums import Floats, exact_dot

# Beyond this many distinct rows near ones are put together.
MANY_ROWS = 2000


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
    rows = check_rows(X)
    outputs = check_outputs(y)
    check_consistent_length(rows, outputs)
    weight = check_weights(sample_weight, len(rows))
    kept = weight > 0.0
    rows, outputs, weight = rows[kept], outputs[kept], weight[kept]
    scaling = measure(rows, outputs, weight) if standardize else no_scaling(rows.shape[1])
    if standardize:
        rows = np.where(constant_columns(rows), scaling.x_mean, rows)
    return _merge(
        scale_inputs(rows, scaling),
        scale_outputs(outputs, scaling),
        weight,
        kept=kept,
        scaling=scaling,
        feature_names=names_of(X),
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
    rows = check_rows(X)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but widestable is expecting {n_features} features as input: "
            "pass the columns the model was fitted on."
        )
    names = names_of(X)
    if feature_names is not None and names is not None and names != tuple(feature_names):
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            f"Got {list(names)}, expected {list(feature_names)}: rename or reorder the columns."
        )
    scaled = scale_inputs(rows, scaling)
    if not np.all(np.isfinite(scaled)):
        raise ValueError("X is too far from the training rows: scaled like them it overflows. Check its units.")
    return scaled


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
        ss_within=exact_dot(weight, within**2) if np.abs(within).max() < 1e140 else math.inf,
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
            mean[k] = exact_dot(weight[run], y[run]) / total[k]
    return mean, total
