"""What convergence is judged by, and what is wanted of each quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import fits
from widestable.diagnostics import MAX_RHAT
from widestable.engine.watched import LAW_ESS_PART, LAW_MAX_RHAT, judge, standard

LAW = {"sharpness": None, "relevance": None, "noise": "outliers"}


@pytest.mark.parametrize(
    "fixed", [{}, LAW, LAW | {"alpha": 1.0}, LAW | {"sharpness": np.inf}, LAW | {"nu": 1.0, "relevance": "equal"}]
)
def test_only_relevances_and_sharpness_are_held_to_less(fixed: dict[str, Any]) -> None:
    X = np.random.default_rng(3).standard_normal((12, 2))
    y = X[:, 0] + (X[:, 1] > 0.0)
    posterior = fits.fit(X, y, n_sweeps=36, **fixed).posterior_
    found = judge(posterior.chains, posterior.model)
    assert len(posterior.names) == found.rhat.size
    is_law = np.array([name.startswith(("sharpness", "relevance")) for name in posterior.names])
    np.testing.assert_array_equal(found.wanted.max_rhat, np.where(is_law, LAW_MAX_RHAT, MAX_RHAT))
    np.testing.assert_array_equal(found.wanted.ess_part, np.where(is_law, LAW_ESS_PART, 1.0))
    assert standard(posterior.model, found.rhat.size).at(np.flatnonzero(is_law)).max_rhat.size == is_law.sum()
