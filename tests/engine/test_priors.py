"""Prior densities of alpha, nu and sigma2."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tests.engine.invariance import NOTHING, Case, replicate, small_model
from widestable.engine.priors import log_prior_alpha, log_prior_log_nu, log_prior_log_sigma2


def test_alpha_is_uniform_on_its_range() -> None:
    model = SimpleNamespace(alpha_low=0.3, alpha_high=1.7)
    assert [log_prior_alpha.py_func(alpha, model) for alpha in (0.2, 0.4, 1.6, 1.8)] == [-math.inf, 0.0, 0.0, -math.inf]


def test_nu_is_log_normal_as_the_squared_scale_of_f() -> None:
    """f has variance nu k: with k = 0.2 the same function has five times the nu."""
    kernel, model = SimpleNamespace(log_diagonal=math.log(0.2)), SimpleNamespace(log_nu_sd=1.3)
    log_nu = np.array([-1.0, 0.4, 2.5])
    found = np.array([log_prior_log_nu.py_func(value, kernel, model) for value in log_nu])
    expected = stats.norm.logpdf(log_nu, loc=math.log(5.0), scale=1.3)
    np.testing.assert_allclose(np.diff(found), np.diff(expected))


@pytest.mark.parametrize("log_sigma2", [-800.0, -1.0, 0.0, 2.0, 800.0])
def test_sigma2_is_half_cauchy(log_sigma2: float) -> None:
    expected = log_sigma2 - np.logaddexp(0.0, 2.0 * log_sigma2)
    assert log_prior_log_sigma2(log_sigma2) == pytest.approx(expected)


MOVES = {
    "parameters, low rank": Case(NOTHING._replace(n_parameters=20), low_rank=True),
    "parameters with outliers": Case(
        NOTHING._replace(n_parameters=20), spikes=True, changes={"spike_a": 3.0, "spike_b": 3.0}
    ),
    "law": Case(n_visits=5, smooth=True, relevance=True),
}


@pytest.mark.parametrize("case", MOVES)
def test_no_move_leaves_sigma2_below_its_floor(case: str, rng: np.random.Generator) -> None:
    floored = MOVES[case]._replace(changes={**MOVES[case].changes, "log_sigma2_floor": -0.5})
    pairs = [replicate(small_model(floored), floored, 1, rng) for _ in range(30)]
    assert sum(after.sigma2 != before.sigma2 for before, after in pairs) > 10
    assert min(after.sigma2 for _, after in pairs) >= math.exp(-0.5)
