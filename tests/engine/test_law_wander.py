"""Relevances that wander by their prior and by held hyperplanes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.checks import P_VALUE, check_p_value
from widestable.engine.kernel import Law
from widestable.engine.law import draw_log_relevance, log_prior_log_relevance
from widestable.engine.law_density import Held, hold
from widestable.engine.law_wander import log_density_of_held, wander

ALL = np.arange(3)


def test_density_is_prior_and_jacobian(rng: np.random.Generator) -> None:
    h, first, new = rng.standard_normal((5, 4)), rng.standard_normal(3), rng.standard_normal(3)
    _, log_jacobian = hold(
        h, Held(np.ones(5, dtype=bool), True), Law(np.exp(first), math.inf), Law(np.exp(new), math.inf)
    )
    expected = log_jacobian + log_prior_log_relevance(new, 1.5) - log_prior_log_relevance(first, 1.5)
    before, after = (log_density_of_held(here, first, ALL, h**2, 1.5) for here in (first, new))
    assert after - before == pytest.approx(expected, abs=1e-9)
    moved = first.copy()
    change = wander(moved, ALL, ALL, h**2, 1.5, 50, rng)
    assert np.all(moved != first)
    assert change == pytest.approx(log_density_of_held(moved, first, ALL, h**2, 1.5) - before, abs=1e-9)


def test_only_free_relevances_move_and_columns_of_one_input_together(rng: np.random.Generator) -> None:
    log_relevance = np.array([0.3, -0.1, -0.1, 0.7])
    wander(log_relevance, np.array([0, 1]), np.array([0, 1, 1, 3]), np.ones((1, 5)), 2.0, 40, rng)
    assert log_relevance[0] != 0.3
    assert log_relevance[1] == log_relevance[2] != -0.1
    assert log_relevance[3] == 0.7


def _draws(scale: float | None, rng: np.random.Generator) -> np.ndarray:
    """Relevances, and the bias of a hyperplane drawn under them; with a scale, after wandering with it held."""
    found = []
    for _ in range(1500):
        log_relevance, h = draw_log_relevance(3, 1.5, rng), rng.standard_normal((4, 4))
        if scale is not None:
            first = log_relevance.copy()
            wander(log_relevance, ALL, ALL, h**2, scale, 40, rng)
            h *= np.exp(np.append(0.0, first - log_relevance))
        found.append([*log_relevance, abs(h[0, 0]) / np.linalg.norm(h[0])])
    return np.array(found)


def _p_values(scale: float, rng: np.random.Generator) -> list[float]:
    samples = _draws(None, rng), _draws(scale, rng)
    return [float(stats.ks_2samp(*(sample[:, j] for sample in samples)).pvalue) for j in range(4)]


@pytest.mark.statistical
def test_prior_is_invariant(rng: np.random.Generator) -> None:
    found = _p_values(1.5, rng)
    for k, p_value in enumerate(found):
        check_p_value(p_value, f"number {k}", len(found))


@pytest.mark.statistical
def test_another_prior_is_noticed(rng: np.random.Generator) -> None:
    assert min(_p_values(0.4, rng)) < P_VALUE / 4
