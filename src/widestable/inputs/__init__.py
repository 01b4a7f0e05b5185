"""The one gate for data: check it, merge repeated rows, standardise, and convert back.

Everything behind this gate may assume finite, C-contiguous float64 arrays with distinct rows. The rows are sorted, or,
when there are many, ordered so that near rows are together. The order in which rows are given affects only `index` and
`kept`; everything else is the same to the last bit. An integer weight gives exactly what repeating the row that many
times would give. Both hold because sums are exact and rounded once.

An estimator calls the gate like this. scikit-learn's `validate_data` then only records and compares names:

    data = check_training(X, y, sample_weight, standardize=self.standardize)
    validate_data(self, X, skip_check_array=True)
    ...
    rows = check_new_rows(X, columns=data.columns, scaling=data.scaling)
    validate_data(self, X, reset=False, skip_check_array=True)
"""

from .cells import CATEGORY, DATE, NUMBER
from .columns import MISSING, UNKNOWN, Columns
from .dates import show_dates, unit_of
from .rows import spread_indices
from .scaling import Scaling, scale_inputs, scale_outputs, unscale_inputs, unscale_outputs
from .training import TrainingData, at_whole_rows, check_new_rows, check_training

__all__ = [
    "CATEGORY",
    "DATE",
    "MISSING",
    "NUMBER",
    "UNKNOWN",
    "Columns",
    "Scaling",
    "TrainingData",
    "at_whole_rows",
    "check_new_rows",
    "check_training",
    "scale_inputs",
    "scale_outputs",
    "show_dates",
    "spread_indices",
    "unit_of",
    "unscale_inputs",
    "unscale_outputs",
]
