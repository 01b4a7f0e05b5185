"""The promise of the library on its first example, over many simulated data sets."""

from __future__ import annotations

import numpy as np
import pytest
from studies.benchmarks.three_jumps import run_one


@pytest.mark.slow
def test_coverage_and_error_over_50_data_sets() -> None:
    scores = [run_one(seed)[0] for seed in range(50)]
    ours, *others = (np.array([row[i][1:] for row in scores]).mean(axis=0) for i in range(3))
    mae, _, coverage, _ = ours
    assert 0.86 <= coverage <= 0.94
    assert all(mae < 0.5 * other[0] for other in others)
