"""Convergence diagnostics on series whose answer is known."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widestable.diagnostics import (
    BLOCK,
    Convergence,
    Standard,
    convergence,
    ess,
    has_converged,
    missing_part,
    rhat,
    warn_unless_converged,
)


def autoregressive(phi: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Stationary AR(1) chains, whose effective sample size is n (1 - phi) / (1 + phi)."""
    draws = np.empty(shape)
    draws[:, 0] = rng.standard_normal(shape[0])
    for t in range(1, shape[1]):
        draws[:, t] = phi * draws[:, t - 1] + np.sqrt(1.0 - phi**2) * rng.standard_normal(shape[0])
    return draws


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_ess_of_an_autoregression(phi: float, rng: np.random.Generator) -> None:
    found = ess(autoregressive(phi, (4, 5000), rng))
    expected = 20_000 * (1.0 - phi) / (1.0 + phi)
    assert 0.6 * expected < found < 1.2 * expected  # the smaller of bulk and tail, so rather below


def test_rhat_sees_a_chain_elsewhere(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((4, 1000))
    assert rhat(draws) < 1.01
    draws[0] += 2.0
    assert rhat(draws) > 1.1


def test_constant_draws_have_converged() -> None:
    found = convergence(np.ones((2, 100, 1)))
    assert found.rhat[0] == 1.0
    assert found.ess[0] == 200.0


def test_short_chains_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at least 8 draws per chain\. Run the chains for longer"):
        rhat(np.zeros((4, 7)))


def test_one_bad_quantity_among_many_is_found_and_looked_at_first(rng: np.random.Generator) -> None:
    draws = rng.standard_normal((4, 500, 3 * BLOCK))
    good, order = has_converged(draws, np.arange(3 * BLOCK), Standard.of(3 * BLOCK))
    assert good
    draws[0, :, 40] += 2.0
    good, order = has_converged(draws, order, Standard.of(3 * BLOCK))
    assert not good
    assert order[0] == 40
    assert sorted(order) == list(range(3 * BLOCK))


def test_warning_names_quantity_value_and_remedy() -> None:
    found = Convergence(np.array([1.0, 1.2]), np.array([390.0, 900.0]))
    with pytest.warns(ConvergenceWarning, match=r"R-hat of nu is 1\.200.*size of alpha is 390.*Do this\."):
        warn_unless_converged(["alpha", "nu"], found, 4, "Do this.")


def test_no_warning_when_converged() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_unless_converged(["alpha"], Convergence(np.array([1.005]), np.array([401.0])), 4, "Do this.")
    assert caught == []


def test_some_quantities_are_held_to_less() -> None:
    """The first may have an R-hat of 1.05 and a quarter of the effective sample size."""
    standard = Standard(np.array([1.05, 1.01]), np.array([0.25, 1.0]))
    good = Convergence(np.array([1.04, 1.005]), np.array([120.0, 410.0]), standard)
    assert not good.are_bad.any()
    assert good._replace(standard=None).are_bad.tolist() == [True, False]
    assert missing_part(good) < 0.0
    assert (good.worst, good.slowest) == (0, 1)
    bad = good._replace(rhat=np.array([1.06, 1.005]), ess=np.array([90.0, 500.0]))
    assert missing_part(bad) == pytest.approx(0.2)
    with pytest.warns(ConvergenceWarning, match=r"r is 1\.060 \(should be at most 1\.05\).*of r is 90.*100 in all"):
        warn_unless_converged(["r", "f"], bad, 4, "Do this.")


def test_more_sweeps_are_needed_in_proportion_to_what_is_missing() -> None:
    found = Convergence(np.array([1.002, 1.03]), np.array([500.0, 300.0]))
    assert missing_part(found) == pytest.approx(2.0)
    found = Convergence(np.array([1.002, 1.004]), np.array([100.0, 300.0]))
    assert missing_part(found) == pytest.approx(3.0)
    assert missing_part(Convergence(np.array([1.5]), np.array([300.0]))) == math.inf
    assert missing_part(Convergence(np.array([1.0]), np.array([800.0]))) < 0.0
