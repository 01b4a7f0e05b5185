"""Moves of the law of the hyperplanes: they leave the posterior invariant, and slips in them are noticed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests import twins
from tests.checks import check_p_value
from tests.engine.chains import some_chain, some_data
from tests.engine.invariance import NOTHING, Case, p_values
from widestable.engine.chain import make_chain, new_state, new_tuning
from widestable.engine.kernel import Law
from widestable.engine.law import LOG_SHARPNESS_HIGH, LOG_SHARPNESS_LOW
from widestable.engine.law_density import (
    ALPHA,
    LOG_SHARPNESS,
    Held,
    Place,
    density_and_gradient,
    from_free,
    hold,
    log_density,
    log_prior,
    slope_of_log_stretch,
    to_free,
)
from widestable.engine.moves.law import OF_STEPS, Tried, _learn, nothing_learned, settle, update_law
from widestable.engine.sweep import rebuild
from widestable.network import arcsine_kernel, unit_patterns
from widestable.stable import log_remainder, log_scale_of_mark

SHARPNESS = pytest.mark.parametrize("sharpness", [math.inf, 0.7, 20.0])

# --- Invariance ------------------------------------------------------------------------------------------

SIGN, SMOOTH = {"relevance": True}, {"relevance": True, "smooth": True}
FLOOR = {"log_sigma2_floor": -0.5}
# The last two of three columns share one relevance.
TIED = {"leader": np.array([0, 1, 1]), "relevant": np.array([0, 1])}
CASES = {
    "sign units, one input": Case(n_visits=5, **SIGN),
    "sign units, two inputs": Case(n_visits=5, d=2, **SIGN),
    "sign units, five inputs": Case(n_visits=5, d=5, **SIGN),
    "smooth units, one input": Case(n_visits=5, **SMOOTH),
    "smooth units, two inputs": Case(n_visits=5, d=2, **SMOOTH),
    "smooth units, five inputs": Case(n_visits=5, d=5, **SMOOTH),
    "sharpness alone": Case(n_visits=5, smooth=True),
    "sigma2 above a high floor": Case(n_visits=5, changes=FLOOR, **SMOOTH),
    "nu fixed": Case(n_visits=5, d=2, changes={"infer_nu": False}, **SMOOTH),
    "sign units, two of three columns one input": Case(n_visits=5, d=3, changes=TIED, **SIGN),
    "smooth units, two of three columns one input": Case(n_visits=5, d=3, changes=TIED, **SMOOTH),
    "between sweeps": Case(NOTHING._replace(n_parameters=2, n_passes=1), n_visits=1, d=2, **SMOOTH),
}


@pytest.mark.statistical
@pytest.mark.parametrize("case", [name for name in CASES if "units" in name or "floor" in name])
def test_prior_is_invariant(case: str, rng: np.random.Generator) -> None:
    check_invariance(CASES[case]._replace(n_visits=2), 500, rng)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_prior_is_invariant_in_a_long_run(case: str, rng: np.random.Generator) -> None:
    check_invariance(CASES[case], 3000, rng)


def check_invariance(case: Case, n_replicates: int, rng: np.random.Generator) -> None:
    found = p_values(case, 1, n_replicates, rng)
    for name, p_value in found.items():
        check_p_value(p_value, name, len(found))


# --- One proposal ----------------------------------------------------------------------------------------


@SHARPNESS
def test_likelihood_is_that_of_the_engine_and_of_dense_algebra(sharpness: float, rng: np.random.Generator) -> None:
    model = some_data(rng, sharpness)
    chain, law, _ = some_chain(model, sharpness, rng)
    place = Place(law, chain.log_nu, chain.log_sigma2, chain.alpha, chain.h[:6])
    prior = log_prior(model, place, chain.kernel.log_diagonal)
    value = log_density(model, chain.log_mark[:6], place) - prior
    assert value == pytest.approx(chain.log_likelihood, abs=1e-8)
    X = model.X * law.relevance
    tau = unit_patterns(chain.h[:6], X, sharpness)
    v = np.exp(log_scale_of_mark(chain.log_mark[:6], chain.alpha, chain.log_nu))
    g, sigma2 = math.exp(log_remainder(chain.alpha, chain.log_nu, model.n_atoms)), math.exp(chain.log_sigma2)
    covariance = g * arcsine_kernel(X, sharpness=sharpness) + np.diag(sigma2 / model.weight) + (tau.T * v) @ tau
    within = stats.norm.logpdf(0.0, scale=math.sqrt(sigma2)) * model.n_extra - 0.5 * model.ss_within / sigma2
    expected = twins.log_normal_density(model.row_y, covariance) + within
    assert value == pytest.approx(expected, abs=1e-8)
    elsewhere = place._replace(log_nu=chain.log_nu + 0.1)
    prior = log_prior(model, elsewhere, chain.kernel.log_diagonal)
    assert log_density(model, chain.log_mark[:6], elsewhere) - prior != pytest.approx(expected, abs=1e-3)


@SHARPNESS
@pytest.mark.parametrize("by_direction", [True, False])
def test_gradient_is_that_of_finite_differences(sharpness: float, by_direction: bool, rng: np.random.Generator) -> None:
    """Sign units have one as long as no atom passes a row: here all atoms are held."""
    if math.isinf(sharpness) and not by_direction:
        pytest.skip("sign units are held by direction only")
    model = some_data(rng, None if math.isfinite(sharpness) else math.inf)
    chain, law, _ = some_chain(model, sharpness, rng)
    start = Place(law, chain.log_nu, chain.log_sigma2, chain.alpha, chain.h[:6].copy())
    held = Held(np.arange(6) < (6 if math.isinf(sharpness) else 3), by_direction)

    def density(numbers: np.ndarray) -> float:
        place, log_jacobian, _ = density_and_gradient(model, chain.log_mark[:6], start, held, numbers)
        return place.log_density + log_jacobian

    # The third input is constant: its relevance has no prior, and does not move.
    numbers = start.numbers + 0.1 * rng.standard_normal(7) * (np.arange(7) != 2)
    place, _, gradient = density_and_gradient(model, chain.log_mark[:6], start, held, numbers)
    assert place.log_density == pytest.approx(log_density(model, chain.log_mark[:6], place), abs=1e-9)
    slopes = [(density(numbers + e) - density(numbers - e)) / 2e-5 for e in 1e-5 * np.eye(7)]
    moving = [0, 1, 4, 5, 6] if math.isinf(sharpness) else [0, 1, 3, 4, 5, 6]
    np.testing.assert_allclose(gradient[moving], np.array(slopes)[moving], rtol=1e-5, atol=1e-5)


@SHARPNESS
@pytest.mark.parametrize("by_direction", [True, False])
def test_columns_of_one_input_have_one_number(sharpness: float, by_direction: bool, rng: np.random.Generator) -> None:
    """Its derivative is that of moving them together, and moves keep them together."""
    if math.isinf(sharpness) and not by_direction:
        pytest.skip("sign units are held by direction only")
    model = some_data(rng, None if math.isfinite(sharpness) else math.inf)._replace(
        leader=np.array([0, 0, 2]), relevant=np.array([0])
    )
    chain, law, work = some_chain(model, sharpness, rng)
    law = law._replace(relevance=law.relevance[model.leader])
    chain = make_chain(model, new_state(1.3, 0.2, -1.0, law, chain.h[:6], chain.log_mark[:6], rng))
    chain = rebuild(chain, model, work)
    start = Place(law, chain.log_nu, chain.log_sigma2, chain.alpha, chain.h[:6].copy())
    held = Held(np.arange(6) < (6 if math.isinf(sharpness) else 3), by_direction)

    def density(numbers: np.ndarray) -> float:
        place, log_jacobian, _ = density_and_gradient(model, chain.log_mark[:6], start, held, numbers)
        assert place.law.relevance[1] == place.law.relevance[0]
        return place.log_density + log_jacobian

    _, _, gradient = density_and_gradient(model, chain.log_mark[:6], start, held, start.numbers)
    slope = (density(start.numbers + 1e-5 * np.eye(7)[0]) - density(start.numbers - 1e-5 * np.eye(7)[0])) / 2e-5
    assert gradient[0] == pytest.approx(slope, rel=1e-5, abs=1e-5)
    assert gradient[1] == 0.0
    tuning = new_state(1.3, 0.2, -1.0, law, chain.h, chain.log_mark, rng).tuning
    first = law.relevance
    for _ in range(20):
        chain, law, _, _ = update_law(chain, model, work, law, tuning, rng, None)
        assert law.relevance[1] == law.relevance[0]
    assert law.relevance[0] != first[0]
    assert law.relevance[2] == first[2]


@pytest.mark.parametrize("free", [-30.0, -1.3, 0.0, 2.1, 30.0])
def test_free_numbers_reach_the_whole_range(free: float, rng: np.random.Generator) -> None:
    model, here, step = some_data(rng, None), np.array([0.3, -0.2, 0.0, free, 1.0, -1.0, -free]), 1e-4
    numbers, stretch = from_free(model, here)
    assert LOG_SHARPNESS_LOW <= numbers[LOG_SHARPNESS] <= LOG_SHARPNESS_HIGH
    assert model.alpha_low <= numbers[ALPHA] <= model.alpha_high
    if abs(free) < 20.0:
        np.testing.assert_allclose(to_free(model, numbers), here, rtol=1e-9, atol=1e-9)
    before, after = (from_free(model, here + sign * step) for sign in (-1.0, 1.0))
    np.testing.assert_allclose((after[0] - before[0]) / (2.0 * step), stretch, rtol=1e-6, atol=1e-12)
    assert np.isfinite(to_free(model, numbers)).all()
    slope = np.log(after[1] / before[1]) / (2.0 * step)
    np.testing.assert_allclose(slope_of_log_stretch(model, here), slope, atol=1e-6)


@SHARPNESS
def test_held_hyperplanes_stay_where_they_are_in_the_data(sharpness: float, rng: np.random.Generator) -> None:
    """Their patterns stay, those of the others follow the law; lengths mean nothing to sign units and are kept."""
    X, h, is_held = rng.standard_normal((40, 3)), rng.standard_normal((8, 4)), np.arange(8) % 2 == 0
    old, new = (Law(np.exp(rng.standard_normal(3)), sharpness * factor) for factor in (1.0, 1.7))
    moved, _ = hold(h, Held(is_held, math.isinf(sharpness)), old, new)
    before = unit_patterns(h, X * old.relevance, old.sharpness)
    after = unit_patterns(moved, X * new.relevance, new.sharpness)
    np.testing.assert_allclose(after[is_held], before[is_held], atol=1e-12)
    np.testing.assert_array_equal(moved[~is_held], h[~is_held])
    assert not np.allclose(after[~is_held], before[~is_held], atol=1e-3)
    # By direction, lengths stay and so do the sides that rows are on.
    moved, _ = hold(h, Held(is_held, True), old, new)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), np.linalg.norm(h, axis=1))
    after = unit_patterns(moved, X * new.relevance, new.sharpness)
    np.testing.assert_array_equal(np.sign(after[is_held]), np.sign(before[is_held]))


@SHARPNESS
@pytest.mark.parametrize("by_direction", [True, False])
def test_jacobian_is_that_of_finite_differences(sharpness: float, by_direction: bool, rng: np.random.Generator) -> None:
    """Of the map of held hyperplanes, times the ratio of their normal densities."""
    h, step = rng.standard_normal((2, 3)), 1e-5
    old, new = (Law(np.exp(rng.standard_normal(2)), sharpness * factor) for factor in (1.0, 1.7))
    is_held = Held(np.array([True, True]), by_direction)
    moved, log_jacobian = hold(h, is_held, old, new)
    steps = step * np.eye(6).reshape(6, 2, 3)
    slopes = [(hold(h + e, is_held, old, new)[0] - hold(h - e, is_held, old, new)[0]).ravel() for e in steps]
    expected = np.linalg.slogdet(np.array(slopes) / (2.0 * step))[1]
    expected += stats.norm.logpdf(moved).sum() - stats.norm.logpdf(h).sum()
    assert log_jacobian == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("sharpness", [math.inf, 0.7, None])
def test_only_what_is_inferred_moves(sharpness: float | None, rng: np.random.Generator) -> None:
    model = some_data(rng, sharpness)
    first = 1.5 if sharpness is None else sharpness
    chain, law, work = some_chain(model, first, rng)
    now, tuning = law, new_state(1.3, 0.2, -1.0, law, chain.h, chain.log_mark, rng).tuning
    for _ in range(30):
        chain, now, same, _ = update_law(chain, model, work, now, tuning, rng, None)
        assert same is tuning
    assert now.relevance[2] == law.relevance[2]
    assert np.all(now.relevance[:2] != law.relevance[:2])
    assert (now.sharpness == first) == (sharpness is not None)
    fresh = rebuild(chain, model, work)
    assert chain.log_likelihood == pytest.approx(fresh.log_likelihood, abs=1e-9)


def test_steps_adapt_during_warm_up(rng: np.random.Generator) -> None:
    """Steps that are far too small grow, and the scales of paths are learned."""
    model = some_data(rng, None)
    chain, law, work = some_chain(model, 1.5, rng)
    tuning = new_state(1.3, 0.2, -1.0, law, chain.h, chain.log_mark, rng).tuning
    tuning = tuning._replace(log_step=np.full_like(tuning.log_step, -7.0))
    learned: Any = nothing_learned(tuning)
    first = tuning.covariance
    for _ in range(100):
        chain, law, tuning, learned = update_law(chain, model, work, law, tuning, rng, learned)
    tried = learned.n > 8
    assert tried.sum() > 10
    assert np.all(tuning.log_step[tried] > -5.0)
    assert np.all(tuning.covariance != first)
    assert np.linalg.eigvalsh(tuning.covariance).min() > 0.0


def test_steps_far_too_long_do_no_harm(rng: np.random.Generator) -> None:
    """Proposals far outside the range of the prior are rejected, and step sizes stay finite."""
    model = some_data(rng, None)
    chain, law, work = some_chain(model, 1.5, rng)
    tuning = new_state(1.3, 0.2, -1.0, law, chain.h, chain.log_mark, rng).tuning
    tuning = tuning._replace(log_step=np.full_like(tuning.log_step, math.log(60.0)))
    for _ in range(40):
        chain, law, steps, _ = update_law(chain, model, work, law, tuning, rng, nothing_learned(tuning))
        assert np.all(np.isfinite(steps.log_step))
    assert math.log(0.1) <= math.log(law.sharpness) <= math.log(1000.0)


def test_settled_steps_are_steadier_than_single_ones(rng: np.random.Generator) -> None:
    """A step is accepted with probability exp(-step), or not at all: the rate wanted, 0.35, is a log step near 0.05."""
    tuning = new_tuning(2)
    last, settled = [], []
    for _ in range(40):
        now, learned = tuning, nothing_learned(tuning)
        for _ in range(60):
            accepted = rng.random() < math.exp(-math.exp(now.log_step[0]))
            now, learned = _learn(
                now, learned, Tried(Place(Law(np.ones(2), 1.0), 0.0, 0.0, 1.0, np.ones((1, 3))), 0, accepted)
            )
        last.append(now.log_step[0])
        settled.append(settle(now, learned).log_step[0])
    wanted = math.log(-math.log(OF_STEPS))
    assert np.mean(settled) == pytest.approx(wanted, abs=0.25)
    assert np.std(settled) < 0.7 * np.std(last)
    assert np.all(settle(now, learned).log_step[1:] == tuning.log_step[1:])
