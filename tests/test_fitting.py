"""A run that is stopped at any round and resumed ends with the draws of one that was not; R-hat is told on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import fits
from widestable import Posterior, StableRegressor, fitting, storage
from widestable.diagnostics import Convergence
from widestable.engine.draws import ChainDraws
from widestable.engine.run import Round, start
from widestable.inputs import check_training
from widestable.progress import Reporter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class CrashError(Exception):
    """Stands for a loss of power."""


def crash_after(n_rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the n-th checkpoint be written, and stop there."""
    real, count = storage.write, iter(range(1, 100))

    def write(*args: Any) -> None:
        real(*args)
        if next(count) == n_rounds:
            raise CrashError

    monkeypatch.setattr(storage, "write", write)


@pytest.mark.parametrize(
    "how",
    [
        {"n_sweeps": 90},
        {"n_sweeps": 90, "sharpness": None, "relevance": None},
        {"n_sweeps": 90, "relevance": [0.7], "priors": {"alpha": (0.5, 1.5)}},
        {"max_sweeps": 2200, "alpha": 1.3},
    ],
    ids=["fixed length", "inferred law", "given law and prior", "until converged"],
)
def test_a_resumed_run_has_the_same_draws(how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after the first round, and again two rounds later."""
    X, y = fits.line_data()
    path = tmp_path / "checkpoint.zip"
    model = StableRegressor(n_chains=2, n_atoms=8, random_state=3, **how)
    whole = model.fit(X, y).posterior_
    for n_rounds in (1, 2):
        with monkeypatch.context() as patch:
            crash_after(n_rounds, patch)
            with pytest.raises(CrashError):
                model.fit(X, y, checkpoint=path)
    resumed = model.fit(X, y, checkpoint=path).posterior_
    assert resumed.sample.rounds == whole.sample.rounds
    assert resumed.n_sweeps == whole.n_sweeps
    for mine, theirs in zip(resumed.chains, whole.chains, strict=True):
        for field in fields(ChainDraws):
            np.testing.assert_array_equal(getattr(mine, field.name), getattr(theirs, field.name), field.name)


@pytest.mark.parametrize("how", [{}, {"sharpness": None, "relevance": None}], ids=["given law", "inferred law"])
def test_chains_start_above_the_floor_of_the_noise(how: dict[str, Any]) -> None:
    """Repeated rows agree on their ratings, and the Gaussian limit is best without noise. A fixed sigma2 stays."""
    x = np.repeat(np.linspace(0.0, 1.0, 20), 2)[:, None]
    data = check_training(x, np.round(3.0 + 2.0 * np.sin(5.0 * x[:, 0])))
    parameters = StableRegressor(random_state=0, n_chains=8, **how).get_params()
    started = fitting.start(data, parameters)
    assert started.model.log_sigma2_floor == pytest.approx(np.log(1.0 / 12.0 / data.scaling.y_scale**2))
    assert all(state.log_sigma2 > started.model.log_sigma2_floor for state in started.sample.states)
    fixed = fitting.start(data, parameters | {"sigma2": 1e-12})
    assert {state.log_sigma2 for state in fixed.sample.states} == {np.log(1e-12 / data.scaling.y_scale**2)}


def test_a_finished_run_is_not_sampled_again(tmp_path: Path) -> None:
    X, y = fits.line_data()
    path = tmp_path / "checkpoint.zip"
    model = StableRegressor(n_chains=2, n_sweeps=60, random_state=0)
    first = model.fit(X, y, checkpoint=path).posterior_
    before = path.stat().st_mtime_ns
    np.testing.assert_array_equal(model.fit(X, y, checkpoint=path).posterior_.f, first.f)
    assert path.stat().st_mtime_ns == before


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    X, y = fits.line_data()
    path = tmp_path / "checkpoint.zip"
    model = StableRegressor(n_chains=2, n_sweeps=60, random_state=0).fit(X, y, checkpoint=path)
    with pytest.raises(ValueError, match="was made with other data: delete it"):
        model.fit(X, y + 1.0 * (y > 31.0), checkpoint=path)
    with pytest.raises(ValueError, match="was made with another n_atoms: delete it"):
        model.set_params(n_atoms=12).fit(X, y, checkpoint=path)
    with pytest.raises(ValueError, match="was made with another random_state: delete it"):
        model.set_params(n_atoms=15, random_state=np.random.default_rng(0)).fit(X, y, checkpoint=path)
    model.set_params(random_state=0, n_jobs=2, progress=False).fit(X, y, checkpoint=path)


def test_parameters_that_are_arrays_are_compared_number_by_number(tmp_path: Path) -> None:
    X, y = fits.line_data()
    X = np.column_stack([X, (X - 100.0) ** 2])
    path = tmp_path / "checkpoint.zip"
    model = StableRegressor(n_chains=2, n_sweeps=30, random_state=0, relevance=np.array([0.7, 0.5]))
    first = model.fit(X, y, checkpoint=path).posterior_
    with pytest.raises(ValueError, match="was made with another relevance: delete it"):
        model.set_params(relevance=np.array([0.7, 0.6])).fit(X, y, checkpoint=path)
    again = model.set_params(relevance=(0.7, 0.5)).fit(X, y, checkpoint=path).posterior_
    np.testing.assert_array_equal(again.f, first.f)


# --- What is told on the way -----------------------------------------------------------------------------


def run_nothing(posterior: Posterior) -> list[Posterior]:
    """Go through a run of one round that is there already; return what is kept of it."""
    kept: list[Posterior] = []
    fitting.run_rounds(posterior, lambda sample, setup: iter([sample]), kept.append, n_jobs=1, progress=False)
    return kept


def test_r_hat_so_far_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = fits.line().posterior_
    told: list[str] = []

    class Listener(Reporter):
        def tell(self, note: Any) -> None:
            told.append(note())

    @contextmanager
    def listening(progress: bool | None) -> Iterator[Reporter]:
        yield Listener()

    monkeypatch.setattr(fitting, "reporter", listening)
    assert [kept.sample for kept in run_nothing(posterior)] == [posterior.sample]
    run_nothing(replace(posterior, sample=start(posterior.sample.states)))
    found = posterior.convergence()
    worst, least = found.rhat[: fitting.N_SUSPECTS].max(), found.ess[: fitting.N_SUSPECTS].min()
    assert told == [f"R-hat {worst:.2f} (1.01 wanted), ESS {least:.0f} (400)", "2 chains"]


def test_the_time_that_is_left_is_told_while_chains_converge() -> None:
    """R-hat of 1.02 and 1000 kept sweeps: as many again are missing."""
    posterior = fits.line().posterior_
    sample = replace(posterior.sample, converged=False, rounds=(Round(1000, posterior.sample.n_draws),), n_sweeps=1500)
    found = Convergence(np.array([1.02]), np.array([500.0]))
    assert fitting.n_missing(sample, found) == pytest.approx(1000.0)
    assert fitting.likely_needed(sample, found) == " About 1,000 more sweeps per chain are likely needed."
    lost = Convergence(np.array([1.5]), np.array([5.0]))
    assert fitting.likely_needed(sample, lost) == ""
    assert "fit with a larger max_sweeps" in fitting.remedy(sample, lost)
    assert "fit with a larger n_sweeps" in fitting.remedy(replace(sample, converged=None), lost)
    assert "The time was over after 1500 sweeps" in fitting.remedy(replace(sample, out_of_time=True), found)


@pytest.mark.parametrize(
    ("seconds_left", "is_over", "told"),
    [(30.0, False, "about 30 s left"), (-1.0, False, "about 0 s left"), (-1.0, True, ")")],
)
def test_no_negative_time_is_left(
    seconds_left: float, is_over: bool, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round that the end of the time cuts short is told after it."""
    posterior = fits.line().posterior_
    sample = replace(posterior.sample, converged=False, out_of_time=is_over)
    monkeypatch.setattr(fitting, "n_missing", lambda sample, found: 1e9)
    monkeypatch.setattr(fitting.time, "time", lambda: 1000.0)
    clock = fitting.Clock(900.0, 0, 1000.0 + seconds_left)
    assert fitting._how_far(sample, posterior.model, clock).endswith(told)


def test_r_hat_is_not_computed_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> float:
        raise AssertionError("computed")

    monkeypatch.setattr(fitting, "_how_far", fail)
    assert len(run_nothing(fits.line().posterior_)) == 1
