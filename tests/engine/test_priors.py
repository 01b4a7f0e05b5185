"""Prior densities of alpha, nu and sigma2."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

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
