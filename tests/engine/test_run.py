"""Running chains: the same draws however the work is cut, shared or interrupted."""

from __future__ import annotations

import _thread
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import widestable.engine.run as engine
from tests.checks import check_cdf, check_frequencies, check_mean, check_p_value
from tests.engine.chains import FREE, equal_law, new_sample, one_thread, run_fixed, run_until_converged
from tests.engine.invariance import poisson_p_value
from widestable._types import FloatArray
from widestable.diagnostics import LEAST_DRAWS
from widestable.engine.chain import BIRTH, DEATH, NOISE_SHARE, ROTATION, SIGMA2, Chain
from widestable.engine.draws import ChainDraws, concatenate
from widestable.engine.model import Model, make_model
from widestable.engine.run import LATE_PART, Sample, Setup, extend, sample_until_converged, warm_up
from widestable.engine.sweep import HOLD_SPIKES, Plan
from widestable.engine.turns import Turns, run_all
from widestable.engine.watched import quantities
from widestable.inputs import Scaling, TrainingData, check_training
from widestable.inputs.columns import Column, Columns
from widestable.network import arcsine_kernel
from widestable.progress import Reporter

X = np.linspace(-2.0, 2.0, 12)[:, None]


def step_data(rng: np.random.Generator) -> TrainingData:
    return check_training(X, 4.0 * (X[:, 0] > 0.3) + 0.3 * rng.standard_normal(12), standardize=False)


@pytest.fixture
def model(rng: np.random.Generator) -> Model:
    return make_model(step_data(rng), **FREE, n_atoms=15)


def inferred_law(rng: np.random.Generator) -> Model:
    """The same with relevance and sharpness inferred."""
    return make_model(step_data(rng), **FREE, n_atoms=15, sharpness=None, infer_relevance=True)


@pytest.fixture(params=["fixed law", "inferred law"])
def start(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple[Model, Sample]:
    """A model and two chains at their starting points, with the law of the paper or with an inferred one."""
    if request.param == "inferred law":
        model = inferred_law(rng)
        return model, new_sample(model, law=equal_law(model, 1.0))
    model = make_model(step_data(rng), **FREE, n_atoms=15)
    return model, new_sample(model)


def assert_same(first: Sample, second: Sample) -> None:
    for one, two in zip(first.chains, second.chains, strict=True):
        for field in fields(ChainDraws):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(two, field.name), err_msg=field.name)


def test_same_draws_for_any_number_of_jobs(start: tuple[Model, Sample]) -> None:
    model, sample = start
    one = run_fixed(sample, Setup(model, n_jobs=1), 60)
    two = run_fixed(sample, Setup(model, n_jobs=2), 60)
    assert_same(one, two)


def test_same_draws_however_the_calls_are_cut(start: tuple[Model, Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    model, sample = start
    long = run_fixed(sample, Setup(model), 60)
    monkeypatch.setattr(engine, "SECONDS_PER_CALL", 1e-9)
    short = run_fixed(sample, Setup(model), 60)
    assert_same(long, short)


def test_continued_run_equals_an_uninterrupted_one(start: tuple[Model, Sample]) -> None:
    model, sample = start
    first = extend(warm_up(sample, Setup(model), 20), Setup(model), 10)
    straight = extend(first, Setup(model), 30)
    again = extend(pickle.loads(pickle.dumps(first)), Setup(model), 30)
    assert_same(straight, again)
    assert again.n_sweeps == straight.n_sweeps == 60


def test_an_inferred_law_moves_and_a_fixed_one_does_not(start: tuple[Model, Sample]) -> None:
    model, sample = start
    draws = run_fixed(sample, Setup(model), 240).chains[0]
    moves = model.infer_sharpness
    assert (np.unique(draws.sharpness).size > 3) == (np.unique(draws.relevance).size > 3) == moves


def test_a_shared_kernel_changes_nothing(model: Model) -> None:
    assert_same(run_fixed(new_sample(model), one_thread(model), 60), run_fixed(new_sample(model), Setup(model), 60))


def test_attempts_are_counted_from_the_end_of_the_warm_up(model: Model) -> None:
    setup = Setup(model, plan=Plan(n_births=3))
    sample = extend(warm_up(new_sample(model), setup, 40), setup, 30)
    for state in sample.states:
        attempts, accepted = state.tally.T
        assert attempts[[BIRTH, DEATH]].sum() == 3 * 30
        assert attempts[SIGMA2] == Plan().n_parameters * 30
        assert attempts[NOISE_SHARE] == 0  # for many rows only
        assert 0 < accepted[ROTATION] < attempts[ROTATION]
        assert (accepted <= attempts).all()


def test_seeds_make_chains_differ(model: Model) -> None:
    one, two = run_fixed(new_sample(model), Setup(model), 30).chains
    assert not np.isin(one.alpha, two.alpha).any()


def test_run_until_converged_says_so(model: Model) -> None:
    sample = run_until_converged(new_sample(model, 4), Setup(model, n_jobs=2), max_sweeps=40_000)
    assert sample.converged
    assert sample.n_draws <= engine.MAX_DRAWS
    assert quantities(sample.chains, model).shape == (4, sample.n_draws, 3 + 12)


def test_run_stops_at_max_sweeps(model: Model) -> None:
    sample = run_until_converged(new_sample(model), Setup(model), max_sweeps=600)
    assert sample.n_sweeps == 600
    assert sample.converged is False


class StopAfter(Reporter):
    """Presses Ctrl-C after a number of sweeps."""

    def __init__(self, n_sweeps: int) -> None:
        super().__init__()
        self.left, self.pressed = n_sweeps, False

    def advance(self, n_sweeps: int) -> None:
        self.left -= n_sweeps
        if self.left < 0:
            if not self.pressed:
                self.pressed = True
                os.kill(os.getpid(), signal.SIGINT)
            # The main thread needs a moment to see it.
            assert self.stopped.wait(30.0)


class Slow(Reporter):
    """Makes every compiled call take a while, so that a round has many."""

    def advance(self, n_sweeps: int) -> None:
        time.sleep(0.005)


def check_is_first_part(cut: Sample, whole: Sample) -> None:
    assert 0 < cut.n_draws < whole.n_draws
    assert len({len(chain) for chain in cut.chains}) == 1
    for part, chain in zip(cut.chains, whole.chains, strict=True):
        np.testing.assert_array_equal(part.f, chain.f[: len(part)])


@pytest.fixture
def signals() -> Iterator[None]:
    """Ctrl-C as in a terminal: a process in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_draws_of_an_unfinished_round(
    n_jobs: int, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round has 20 sweeps of each chain; taking turns, both are in the middle of their fifth when it is cut."""
    whole = run_fixed(new_sample(model), Setup(model), 240)
    monkeypatch.setattr(engine, "SECONDS_PER_CALL", 1e-9)
    cut = run_fixed(new_sample(model), Setup(model, n_jobs=n_jobs, report=StopAfter(2 * 170)), 240)
    assert cut.interrupted
    assert cut.rounds[-1].n_sweeps < 20
    check_is_first_part(cut, whole)


def test_the_end_of_the_time_keeps_the_draws_made_so_far(model: Model) -> None:
    whole = run_fixed(new_sample(model), Setup(model), 2400)
    cut = run_fixed(new_sample(model), Setup(model, report=Slow(), deadline=time.time() + 0.4), 2400)
    assert cut.out_of_time
    assert not cut.interrupted
    # The warm-up may be shorter too, and then the draws are others.
    assert LEAST_DRAWS <= cut.n_draws < whole.n_draws
    assert len({len(chain) for chain in cut.chains}) == 1


def test_without_any_time_there_are_still_draws(model: Model) -> None:
    cut = run_fixed(new_sample(model), Setup(model, deadline=time.time() - 1.0), 2400)
    assert cut.out_of_time
    assert LEAST_DRAWS <= cut.n_draws < 40


def test_chains_that_are_behind_go_first() -> None:
    turns, order, barrier = Turns(1), [], threading.Barrier(4)

    def work(n_done: int) -> None:
        barrier.wait()
        with turns.take(n_done):
            order.append(n_done)

    threads = [threading.Thread(target=work, args=(n_done,)) for n_done in (3, 1, 2)]
    with turns.take(0):
        for thread in threads:
            thread.start()
        barrier.wait()
        time.sleep(0.2)
    for thread in threads:
        thread.join()
    assert order == [1, 2, 3]


def test_an_error_in_a_chain_stops_the_others() -> None:
    stopped = threading.Event()

    def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_all([fail, lambda: stopped.wait(30.0)], 2, stopped)
    assert stopped.is_set()


@pytest.mark.usefixtures("signals")
def test_a_ctrl_c_that_does_not_wake_the_main_thread_is_seen() -> None:
    """As when it comes in the moment before the main thread begins to wait."""
    stopped = threading.Event()

    def press() -> bool:
        _thread.interrupt_main()
        return stopped.wait(10.0)

    assert run_all([press], 1, stopped) == ([True], True)


ENDLESS_RUN = """
import signal, numpy as np
import widestable.engine.run as engine
from tests.engine.chains import FREE, new_sample
from widestable.engine.model import make_model
from widestable.inputs import check_training
signal.signal(signal.SIGINT, signal.default_int_handler)
engine.has_converged = lambda draws, suspects, standard: (False, suspects)
X = np.linspace(-1.0, 1.0, 8)[:, None]
model = make_model(check_training(X, X[:, 0]), **FREE, n_atoms=15)
start, setup = new_sample(model), engine.Setup(model, n_jobs=2)
rounds = engine.sample_until_converged(start, setup, 10**8)
sample = engine.finish(start, rounds, lambda sample: print("round", flush=True))
print("kept", sample.n_draws, sample.interrupted, flush=True)
"""


def test_ctrl_c_reaches_threads() -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS_RUN], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "round\n"
        process.send_signal(signal.SIGINT)
        try:
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    last = rest.splitlines()[-1].split()
    assert last[0] == "kept"
    assert int(last[1]) >= 256
    assert last[2] == "True"


@pytest.mark.usefixtures("signals")
def test_ctrl_c_before_any_draw_is_an_interrupt(model: Model) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_fixed(new_sample(model), Setup(model, report=StopAfter(1)), 240)


def test_draws_are_put_together_as_they_were_cut(model: Model) -> None:
    draws = run_fixed(new_sample(model), Setup(model), 96).chains[0]
    early = np.arange(len(draws)) < 20
    again = concatenate([draws.where(early), draws.where(~early)])
    assert len(draws.where(early)) == 20
    for field in fields(ChainDraws):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(draws, field.name), err_msg=field.name)


def test_early_rounds_are_forgotten_and_thinning_twice_is_thinning_by_the_product(model: Model) -> None:
    sample = replace(warm_up(new_sample(model), Setup(model), 16), thin=1)
    for _ in range(6):
        sample = extend(sample, Setup(model), 16)
    # Of 112 sweeps 80 are left without the first round; without the second, 64 would be less than two thirds.
    f = sample.chains[1].f[16:]
    half = engine.forget(sample, LATE_PART, 40)
    quarter, at_once = engine.forget(half, LATE_PART, 20), engine.forget(sample, LATE_PART, 20)
    assert_same(quarter, at_once)
    for kept, step in ((half, 2), (quarter, 4), (at_once, 4)):
        assert kept.thin == step
        assert kept.rounds == (engine.Round(16, 16 // step),) * 5
        np.testing.assert_array_equal(kept.chains[1].f, f[step - 1 :: step])


@pytest.mark.parametrize(
    ("longest", "n_kept", "converged"),
    [(10_000, 96, True), (95, 80, True), (79, 80, False)],
    ids=["all is kept", "what came before the late part is dropped", "so it is at the end"],
)
def test_most_of_a_run_is_kept_if_it_has_converged(
    model: Model, monkeypatch: pytest.MonkeyPatch, longest: int, n_kept: int, converged: bool
) -> None:
    """At the end there are 96 draws after 16 sweeps of warm-up; 80 of them are the last two thirds, in whole rounds."""

    def judge(draws: FloatArray, suspects: Any, standard: Any) -> tuple[bool, Any]:
        return 80 <= draws.shape[1] <= longest and is_late, suspects

    monkeypatch.setattr(engine, "has_converged", judge)
    monkeypatch.setattr(engine, "_next_round", lambda sample, most: 16 if sample.n_sweeps < most else 0)
    warm, is_late = replace(warm_up(new_sample(model), Setup(model), 16), thin=1), False
    for sample in sample_until_converged(warm, Setup(model), 112):
        assert sample.n_sweeps == 112 or (sample.n_draws == sample.n_sweeps - 16 and not sample.converged)
        is_late = sample.n_sweeps == 96
    assert (sample.n_draws, sample.converged) == (n_kept, converged)


def test_jumps_are_straightened_in_warm_up_alone(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def straighten(chain: Chain, *_: Any) -> Chain:
        seen.append(chain.n_sweeps)
        return chain

    monkeypatch.setattr(engine, "straighten", straighten)
    sample = warm_up(new_sample(model, n_chains=1), Setup(model), 2 * HOLD_SPIKES + 10)
    extend(sample, Setup(model), HOLD_SPIKES)
    assert seen == [HOLD_SPIKES, 2 * HOLD_SPIKES, 2 * HOLD_SPIKES + 10]


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows_run(n: int, rng: np.random.Generator) -> None:
    model = make_model(check_training(X[:n], X[:n, 0]), **FREE, n_atoms=10)
    sample = run_fixed(new_sample(model), Setup(model), 60)
    assert np.isfinite(quantities(sample.chains, model)).all()


def test_alpha_two_is_gaussian_process_regression(rng: np.random.Generator) -> None:
    data = step_data(rng)
    model = make_model(data, alpha=2.0, nu=1.7, sigma2=0.2, n_atoms=30)
    sample = run_fixed(new_sample(model, 1, alpha=2.0, nu=1.7, sigma2=0.2), Setup(model), 1500)
    K = 1.7 * arcsine_kernel(data.X)
    weights = np.linalg.solve(K + 0.2 * np.eye(12), data.y)
    draws = sample.chains[0]
    # What prediction uses is exact; draws of f have the closed-form mean and covariance.
    np.testing.assert_allclose(draws.coefficient, np.tile(weights, (len(draws), 1)), atol=1e-10)
    covariance = K - K @ np.linalg.solve(K + 0.2 * np.eye(12), K)
    check_mean(draws.f, K @ weights)
    centred = draws.f - K @ weights
    check_mean((centred[:, :, None] * centred[:, None, :]).reshape(len(draws), -1), covariance.ravel())


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.8, 2.0])
def test_density_scales_with_y(alpha: float, rng: np.random.Generator) -> None:
    """p(c y | c^2 nu, c^2 sigma2) = c^-n p(y | nu, sigma2)."""
    data, c = step_data(rng), 3.7
    scaled = check_training(X, c * data.y, standardize=False)
    values = []
    for given, factor in ((data, 1.0), (scaled, c * c)):
        fixed = {"alpha": alpha, "nu": 0.8 * factor, "sigma2": 0.3 * factor}
        model = make_model(given, **fixed, n_atoms=15)
        values.append(run_fixed(new_sample(model, 1, **fixed), Setup(model), 30).chains[0].log_density)
    np.testing.assert_allclose(values[1], values[0] - 12 * math.log(c), rtol=1e-9)


def no_data() -> TrainingData:
    empty = np.zeros(0)
    scaling = Scaling(np.zeros(1), np.ones(1), 0.0, 1.0)
    rows, kept, columns = np.zeros(0, np.int64), np.zeros(0, bool), Columns((Column("number"),))
    return TrainingData(
        np.zeros((0, 1)), empty, empty, rows, kept, rows, empty, empty, rows, 0.0, 0.0, scaling, columns
    )


@pytest.mark.statistical
def test_no_data_gives_the_prior() -> None:
    model = make_model(no_data(), **FREE, n_atoms=6)
    sample = run_fixed(new_sample(model, 800, seed=5), one_thread(model), 300)
    # Starts are far from the prior in alpha and nu; the last draw of each chain is an independent one.
    last = [draws.where(np.arange(len(draws)) == len(draws) - 1) for draws in sample.chains]
    alpha = np.array([d.alpha[-1] for d in last])
    check_cdf((alpha - 0.05) / 1.94, lambda x: np.clip(x, 0.0, 1.0))
    check_cdf(np.concatenate([np.exp(d.log_mark) for d in last]) / 6.0, lambda x: np.clip(x, 0.0, 1.0))
    check_p_value(poisson_p_value(np.array([d.n_atoms[-1] for d in last]), 6.0), "number of atoms")
    signs = np.concatenate([d.h[:, 0] * d.h[:, 1] > 0 for d in last])
    check_frequencies(np.bincount(signs), np.array([0.5, 0.5]))
