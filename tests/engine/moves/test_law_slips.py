"""Slips in the moves of the law are noticed.

Some show in the joint distribution of `tests.engine.invariance`, which takes minutes. The others would need far more
replicates than that, so each is noticed by an exact check of the property that it breaks: a proposal can be taken
back, the energy along a path stays, the chain goes where the proposals have led.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.checks import P_VALUE
from tests.engine.chains import some_chain, some_data
from tests.engine.invariance import Case, p_values
from widestable import _jit
from widestable.engine import law, law_density
from widestable.engine.chain import N_STEP_KINDS, new_tuning
from widestable.engine.moves import law as moves

SIGN, SMOOTH = Case(n_visits=4, d=2, relevance=True), Case(n_visits=4, d=2, relevance=True, smooth=True)
SHARPNESS_ALONE = Case(n_visits=4, smooth=True)
SHARPNESS = (math.inf, 1.5)


class Slip(NamedTuple):
    """What a slip would make of a line of `moves/law.py` or of `law_density.py`."""

    right: str
    wrong: str = "pass"


JACOBIAN = Slip("log_jacobian = len(before) * float(np.log(scale).sum())", "log_jacobian = 0.0")
OF_RELEVANCE = Slip(
    "total += log_prior_log_relevance(np.log(law.relevance[model.relevant]), model.relevance_scale)",
)
HELD_BY_SCALES = "= log_v - place.log_sigma2 + math.log(model.row_y.size) > math.log(above)"
PATH_JACOBIAN = "log_jacobian + float(np.log(stretch).sum())"
WANDERED = Slip("+ log_jacobian - change", "+ log_jacobian")


@contextmanager
def compiling_in_memory() -> Iterator[None]:
    """Keep code that holds a slip out of the cache on disk."""
    kept = _jit.kernel
    _jit.kernel = _jit.allocating_kernel
    try:
        yield
    finally:
        _jit.kernel = kept


def with_slip(slip: Slip) -> Any:
    """Changed copies of both modules, with the names of both."""
    sources = {module: Path(module.__file__).read_text(encoding="utf-8") for module in (law_density, moves)}
    found = sum(source.count(slip.right) for source in sources.values())
    assert found == 1, f"{found} lines hold {slip.right!r}: bring this test up to date"
    names: dict[str, Any] = {}
    with compiling_in_memory(), pytest.MonkeyPatch.context() as patch:
        for original, source in sources.items():
            copy = ModuleType(original.__name__)
            copy.__package__ = original.__package__
            patch.setitem(sys.modules, original.__name__, copy)
            exec(compile(source.replace(slip.right, slip.wrong), "slip", "exec"), vars(copy))
            names |= vars(copy)
    return SimpleNamespace(**names)


# --- Slips that show in the joint distribution -----------------------------------------------------------

IN_DISTRIBUTION = {
    "no Jacobian, sign units": (SIGN, JACOBIAN),
    "no Jacobian, smooth units": (SMOOTH, JACOBIAN),
    "no prior ratio of held hyperplanes": (
        SMOOTH,
        Slip("log_jacobian += 0.5 * float((before**2).sum() - (moved**2).sum())"),
    ),
    "no Jacobian of the kept length": (SIGN, Slip("log_jacobian -= width * float(np.log(stretch).sum())")),
    "length carried by sign units": (SIGN, Slip("moved /= stretch[:, None]")),
    "no prior ratio of the relevance, sign units": (SIGN, OF_RELEVANCE),
    "no prior ratio of the relevance, smooth units": (SMOOTH, OF_RELEVANCE),
    "no prior ratio of the sharpness": (
        SHARPNESS_ALONE,
        Slip("total += log_prior_log_sharpness(math.log(law.sharpness))"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_DISTRIBUTION)
def test_a_slip_shows_in_the_distribution(name: str) -> None:
    case, slip = IN_DISTRIBUTION[name]
    found = p_values(case, 1, 600, np.random.default_rng(20260101), with_slip(slip).update_law)
    assert min(found.values()) < P_VALUE / len(found), f"not noticed: {found}"


# --- Slips that break an exact property ------------------------------------------------------------------


class Scene(NamedTuple):
    """A chain at some place."""

    model: Any
    chain: Any
    work: Any
    place: Any
    law: Any


def set_scene(code: Any, sharpness: float, seed: int) -> Scene:
    rng = np.random.default_rng(seed)
    model = some_data(rng, math.inf if math.isinf(sharpness) else None, log_nu_sd=0.7, log_sigma2_floor=-6.0)
    chain, law, work = some_chain(model, sharpness, rng)
    place = code.Place(law, chain.log_nu, chain.log_sigma2, chain.alpha, chain.h[:6].copy())
    place = place._replace(log_density=code.log_density(model, chain.log_mark[:6], place))
    return Scene(model, chain, work, place, law)


def check_steps_can_be_taken_back(code: Any) -> None:
    """The same choices lead back, with the opposite log ratio."""
    for seed in range(8 * N_STEP_KINDS):
        scene, kind = set_scene(code, 1.5, seed), seed % N_STEP_KINDS
        change = 0.5 * np.random.default_rng(seed).standard_normal(7) * [1, 1, 0, 1, 0, 0, 0]
        there, log_ratio = attempt(code, scene, scene.place, change, kind, seed)
        back, other = attempt(code, scene, there, -change, kind, seed)
        assert math.isfinite(log_ratio)
        np.testing.assert_allclose(back.numbers, scene.place.numbers, atol=1e-9)
        np.testing.assert_allclose(back.h, scene.place.h, atol=1e-9)
        assert other == pytest.approx(-log_ratio, abs=1e-7)


def attempt(code: Any, scene: Scene, place: Any, change: np.ndarray, kind: int, seed: int) -> tuple[Any, float]:
    """A step of one kind from a place, with the choices of a seed."""
    found: tuple[Any, float] = code._try(
        scene.chain, scene.model, place, place.at(place.numbers + change), kind, np.random.default_rng(seed)
    )
    return found


def check_leaps_are_judged_by_the_likelihood(code: Any) -> None:
    """All else has been looked at on the way: the prior of the law, and the Jacobian of the held hyperplanes."""
    ratios: list[float] = []
    code.propose_leap.__globals__["accept"] = lambda rng, log_ratio: ratios.append(log_ratio) or True
    for seed in range(8):
        scene = set_scene(code, math.inf, seed)
        place, log_mark = scene.place, scene.chain.log_mark[:6]
        new = code.propose_leap(scene.chain, scene.model, place, new_tuning(3), np.random.default_rng(seed)).place
        assert np.all(new.law.relevance[:2] != place.law.relevance[:2])
        before, after = (
            law_density.log_density(scene.model, log_mark, here) - law.log_prior_log_relevance(here.numbers[:2], 2.0)
            for here in (place, new)
        )
        assert ratios[-1] == pytest.approx(after - before, abs=1e-9)


def walked(code: Any, sharpness: float, seed: int, step: float, n_steps: int) -> tuple[Scene, Any, Callable[..., Any]]:
    """A path in which all sign units are held, and half of the smooth ones; with seeds from 2 on, of the law alone."""
    scene, rng = set_scene(code, sharpness, seed), np.random.default_rng(seed)
    active = code._all_active(scene.model) if seed < 2 else code._active(scene.model)
    p = active.size
    factor = step * np.linalg.cholesky(np.full((p, p), 0.3) + np.eye(p))
    is_held = np.arange(6) < (6 if math.isinf(sharpness) else 3)
    held = code.Held(is_held, math.isinf(sharpness) or seed % 2 == 0)

    def walk(place: Any, momentum: np.ndarray) -> Any:
        return code.walk(scene.model, scene.chain.log_mark[:6], place, held, active, factor, momentum, n_steps)

    return scene, walk(scene.place, rng.standard_normal(p)), walk


def check_paths_lead_back(code: Any) -> None:
    """With the opposite momentum, and the opposite log ratio."""
    for sharpness in SHARPNESS:
        for seed in range(4):
            scene, end, walk = walked(code, sharpness, seed, 0.05, 7)
            back = walk(end.place, -end.momentum)
            assert math.isfinite(end.log_ratio)
            assert not np.allclose(end.place.numbers, scene.place.numbers, atol=1e-2)
            np.testing.assert_allclose(back.place.numbers, scene.place.numbers, atol=1e-8)
            np.testing.assert_allclose(back.place.h, scene.place.h, atol=1e-8)
            assert back.log_ratio == pytest.approx(-end.log_ratio, abs=1e-7)


def check_energy_stays(code: Any) -> None:
    """One short step changes it by the third power of the step, unless density and gradient disagree."""
    for sharpness in SHARPNESS:
        for seed in range(4):
            log_ratio = walked(code, sharpness, seed, 1e-4, 1)[1].log_ratio
            assert abs(log_ratio) < 1e-7


def check_paths_hold_by_what_they_leave_alone(code: Any) -> None:
    """The same choices hold the same atoms wherever numbers and hyperplanes go, or a path could not lead back."""
    scene, seen = set_scene(code, 1.5, 0), []

    def walk(model: Any, log_mark: Any, place: Any, held: Any, active: Any, *others: Any) -> Any:
        seen.append((held.atoms, active))
        return code.Walked(place, np.zeros(1), -math.inf, np.zeros((1, 7)))

    code.propose_path.__globals__["walk"] = walk
    sizes = set()
    for seed in range(40):
        code.propose_path(scene.chain, scene.model, scene.place, new_tuning(3), np.random.default_rng(seed))
        atoms, active = seen[-1]
        numbers = scene.place.numbers
        numbers[active] += np.linspace(-0.9, 0.6, active.size)
        there = scene.place.at(numbers)._replace(h=scene.place.h[::-1] ** 2)
        code.propose_path(scene.chain, scene.model, there, new_tuning(3), np.random.default_rng(seed))
        np.testing.assert_array_equal(seen[-1][0], atoms)
        sizes.add(active.size)
    assert 0 < np.mean([atoms for atoms, _ in seen]) < 1
    assert len(sizes) == 2


def check_chain_goes_there(code: Any) -> None:
    """After a visit the chain is where the accepted proposal was, and has its likelihood."""
    scene = set_scene(code, 1.5, 0)
    there = scene.place.at(scene.place.numbers + np.array([0.2, -0.3, 0.0, 0.4, 0.5, -0.2, 0.1]))
    there = there._replace(h=scene.place.h[::-1] + 0.1)
    expected = code.log_density(scene.model, scene.chain.log_mark[:6], there)
    tried = code.Tried(there, 0, 1.0)
    globals_ = code.update_law.__globals__
    globals_["propose_path"] = globals_["propose_step"] = lambda *others: tried
    rng = np.random.default_rng(0)
    chain, law, *_ = code.update_law(scene.chain, scene.model, scene.work, scene.law, new_tuning(3), rng, None)
    assert (chain.alpha, chain.log_nu, chain.log_sigma2) == (there.alpha, there.log_nu, there.log_sigma2)
    assert law is there.law
    np.testing.assert_array_equal(chain.h[:6], there.h)
    prior = code.log_prior(scene.model, there, chain.kernel.log_diagonal)
    assert chain.log_likelihood + prior == pytest.approx(expected, abs=1e-8)


def check_nothing_below_the_floor(code: Any) -> None:
    scene = set_scene(code, 1.5, 0)
    below = scene.place._replace(log_sigma2=scene.model.log_sigma2_floor - 0.01)
    assert code.log_prior(scene.model, below, 0.0) == -math.inf
    assert code.log_prior(scene.model, scene.place, 0.0) > -math.inf


CHECKS = {
    check: check.__name__
    for check in (
        check_steps_can_be_taken_back,
        check_leaps_are_judged_by_the_likelihood,
        check_paths_lead_back,
        check_energy_stays,
        check_paths_hold_by_what_they_leave_alone,
        check_chain_goes_there,
        check_nothing_below_the_floor,
    )
}
EXACT = {
    "held by their hyperplanes": (check_steps_can_be_taken_back, Slip(HELD_BY_SCALES, "= place.h[:, 0] > 0.5")),
    "held by the sharpness": (
        check_steps_can_be_taken_back,
        Slip(HELD_BY_SCALES, "= np.full(log_mark.size, place.law.sharpness > 1.5)"),
    ),
    "nu moved by the new law alone": (
        check_steps_can_be_taken_back,
        Slip(
            "change = view(model.X, place.law).log_diagonal - view(model.X, new.law).log_diagonal",
            "change = -view(model.X, new.law).log_diagonal",
        ),
    ),
    "what a leap was accepted by counted twice": (check_leaps_are_judged_by_the_likelihood, WANDERED),
    "no Jacobian of held atoms in a leap": (check_leaps_are_judged_by_the_likelihood, JACOBIAN),
    "no prior ratio of the relevance in a leap": (check_leaps_are_judged_by_the_likelihood, OF_RELEVANCE),
    "a step forwards too long": (
        check_paths_lead_back,
        Slip("free[active] += factor @ momentum", "free[active] += factor @ momentum + 0.01"),
    ),
    "one kick forgotten": (
        check_paths_lead_back,
        Slip("        momentum = momentum + 0.5 * (factor.T @ gradient[active])\n    log_ratio", "    log_ratio"),
    ),
    "no kinetic energy": (check_energy_stays, Slip("+ energy - 0.5 * float(momentum @ momentum)", "+ energy")),
    "no Jacobian of held atoms in a path": (check_energy_stays, Slip(PATH_JACOBIAN, "float(np.log(stretch).sum())")),
    "no Jacobian of the free numbers": (check_energy_stays, Slip(PATH_JACOBIAN, "log_jacobian")),
    "no prior of sigma2": (check_energy_stays, Slip("value += log_prior_log_sigma2(place.log_sigma2)")),
    "no prior of nu": (
        check_energy_stays,
        Slip("value -= 0.5 * ((place.log_nu + log_diagonal) / model.log_nu_sd) ** 2"),
    ),
    "no likelihood": (
        check_energy_stays,
        Slip(
            "place._replace(log_density=solved.value + _within(model, place) + prior)",
            "place._replace(log_density=prior)",
        ),
    ),
    "paths hold by hyperplanes": (
        check_paths_hold_by_what_they_leave_alone,
        Slip("np.exp(log_mark) < model.n_atoms * rng.uniform(*marks)", "place.h[:, 0] > rng.uniform(*marks)"),
    ),
    "paths of all numbers hold by scales": (
        check_paths_hold_by_what_they_leave_alone,
        Slip("rng), by_direction), _active(model)", "rng), by_direction), _all_active(model)"),
    ),
    "alpha left behind": (check_chain_goes_there, Slip("alpha=place.alpha", "alpha=chain.alpha")),
    "nu left behind": (check_chain_goes_there, Slip("log_nu=place.log_nu,", "log_nu=chain.log_nu,")),
    "hyperplanes left behind": (check_chain_goes_there, Slip("chain.h[: chain.n_atoms] = place.h")),
    "no floor of sigma2": (
        check_nothing_below_the_floor,
        Slip("model.infer_sigma2 and place.log_sigma2 < model.log_sigma2_floor", "False"),
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=CHECKS.values())
def test_moves_pass(check: Callable[[Any], None]) -> None:
    check(with_slip(Slip("N_LEAPS = 2", "N_LEAPS = 2")))


@pytest.mark.parametrize("name", EXACT)
def test_a_slip_breaks_an_exact_property(name: str) -> None:
    check, slip = EXACT[name]
    with pytest.raises(AssertionError):
        check(with_slip(slip))


@pytest.mark.parametrize("name", IN_DISTRIBUTION)
def test_a_slip_can_be_planted(name: str) -> None:
    with_slip(IN_DISTRIBUTION[name][1])
