"""Each shared check passes on a right target and fails on one that is a little wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import checks

N = 20_000


def test_check_mean(rng: np.random.Generator) -> None:
    draws = rng.normal(size=(N, 3))
    checks.check_mean(draws, [0.0, 0.0, 0.0])
    with pytest.raises(AssertionError, match="column 1"):
        checks.check_mean(draws, [0.0, 0.05, 0.0])


def test_check_mean_of_a_constant() -> None:
    checks.check_mean(np.ones(5), 1.0)
    with pytest.raises(AssertionError):
        checks.check_mean(np.ones(5), 1.0001)


def test_check_cdf(rng: np.random.Generator) -> None:
    draws = rng.standard_cauchy(N)
    checks.check_cdf(draws, stats.cauchy.cdf)
    with pytest.raises(AssertionError):
        checks.check_cdf(draws, stats.cauchy(scale=1.15).cdf)


def test_check_frequencies(rng: np.random.Generator) -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    counts = rng.multinomial(N, p)
    checks.check_frequencies(counts, p)
    with pytest.raises(AssertionError, match="counts"):
        checks.check_frequencies(counts, [0.115, 0.185, 0.3, 0.4])
    with pytest.raises(AssertionError, match="sum to"):
        checks.check_frequencies(counts, 1.01 * p)


def test_check_same_law(rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(2, N, 2))
    checks.check_same_law(first, second)
    with pytest.raises(AssertionError):
        checks.check_same_law(first, 1.06 * second)


def test_check_same_law_sees_dependence_behind_equal_margins(rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(2, N, 2))
    second[:, 1] = 0.15 * second[:, 0] + np.sqrt(1 - 0.15**2) * second[:, 1]
    with pytest.raises(AssertionError, match="along"):
        checks.check_same_law(first, second)


def test_check_characteristic_function(rng: np.random.Generator) -> None:
    draws = rng.normal(size=(N, 3))
    checks.check_characteristic_function(draws, lambda c: np.exp(-c @ c / 2))
    with pytest.raises(AssertionError):
        checks.check_characteristic_function(draws, lambda c: np.exp(-c @ c / 2 * 1.08))


def test_contrasts_span_values_and_increments() -> None:
    rows = checks.contrasts(3).tolist()
    assert [1.0, 0.0, 0.0] in rows
    assert [-1.0, 0.0, 1.0] in rows
    assert [1.0, 1.0, 1.0] in rows
    assert [1.0, -2.0, 1.0] in rows
    assert checks.contrasts(1).tolist() == [[1.0]]
