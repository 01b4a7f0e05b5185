"""scikit-learn's own checks of estimators, on the shortest runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

from widestable import StableRegressor

SHORT = StableRegressor(n_sweeps=48, n_atoms=5, n_chains=1, random_state=0)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([SHORT])
def test_sklearn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9.1"), reason="older ones have fewer checks")
def test_all_checks_are_there() -> None:
    assert len(list(estimator_checks_generator(SHORT))) >= 59
