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

from .scaling import Scaling, scale_inputs, scale_outputs, unscale_inputs, unscale_outputs
from .training import TrainingData, check_new_rows, check_training

__all__ = [
    "Scaling",
    "TrainingData",
    "check_new_rows",
    "check_training",
    "scale_inputs",
    "scale_outputs",
    "unscale_inputs",
    "unscale_outputs",
]
