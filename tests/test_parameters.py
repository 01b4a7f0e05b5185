from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import fits
from widestable import StableRegressor


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.0), ("alpha", 2.1), ("alpha", np.nan), ("alpha", "1"), ("nu", 0.0), ("nu", -1.0), ("nu", np.inf),
        ("sigma2", 0.0), ("n_atoms", 0), ("n_atoms", 1e9), ("n_atoms", None), ("standardize", "yes"), ("n_chains", 0),
        ("n_chains", 2.0), ("n_chains", True), ("n_sweeps", 11), ("n_sweeps", 100.0), ("max_sweeps", 3),
        ("n_jobs", 0), ("random_state", "a"), ("random_state", -1), ("progress", 1),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused_with_a_remedy(name: str, value: object) -> None:
    model = StableRegressor(**{name: value})
    with pytest.raises(ValueError, match=rf"^Got {name} = .*, expected .*: .+\.$"):
        model.fit([[0.0], [1.0]], [0.0, 1.0])
    assert not hasattr(model, "posterior_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numpy_scalars_are_fine_as_parameters() -> None:
    values = {"alpha": np.float32(1.5), "n_chains": np.int64(1), "n_sweeps": np.int32(30), "n_atoms": np.int8(5)}
    model = StableRegressor(**values, standardize=np.True_, random_state=np.int64(3))
    plain = StableRegressor(alpha=1.5, n_chains=1, n_sweeps=30, n_atoms=5, random_state=3)
    predictions = [m.fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.3]]) for m in (model, plain)]
    np.testing.assert_array_equal(*predictions)


X, Y = fits.line_data()


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        (X * 1e198, Y, {}, r"^Column 0 of X \(.*\) spreads over 4e\+198 and reaches .*: rescale it\.$"),
        (X, Y * 1e199, {}, r"^y spreads over about \S+e\+199, .*: rescale y"),
        (X, Y, {"nu": 1e200}, r"^Got nu = 1e\+200, which is .* squared spreads of y.*: pass nu in squared units of y"),
        (X, Y, {"sigma2": 1e-200}, r"^Got sigma2 = 1e-200, which is .* squared spreads of y.*: pass sigma2 in"),
        (X, Y, {"sharpness": 1e-9}, r"^Got sharpness = 1e-09, so smooth that f is constant.*: pass a larger one"),
    ],
)
def test_numbers_that_float64_cannot_follow_are_refused(
    X: np.ndarray, y: np.ndarray, parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        StableRegressor(**parameters).fit(X, y)
