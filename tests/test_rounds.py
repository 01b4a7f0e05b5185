"""A run that is stopped at any round and resumed ends with the draws of one that was not."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import fits
from widestable import StableRegressor, rounds
from widestable.engine.draws import ChainDraws
from widestable.engine.run import Sample
from widestable.progress import Reporter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class CrashError(Exception):
    """Stands for a loss of power."""


def crash_after(n_rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the n-th checkpoint be written, and stop there."""
    real, count = rounds.write, iter(range(1, 100))

    def write(*args: Any) -> None:
        real(*args)
        if next(count) == n_rounds:
            raise CrashError

    monkeypatch.setattr(rounds, "write", write)


@pytest.mark.parametrize("n_rounds", [1, 3])
@pytest.mark.parametrize(
    "how",
    [{"n_sweeps": 90}, {"n_sweeps": 90, "sharpness": None}, {"max_sweeps": 2200, "alpha": 1.3}],
    ids=["fixed", "smooth", "until converged"],
)
def test_a_resumed_run_has_the_same_draws(
    how: dict[str, Any], n_rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = fits.line_data()
    path = tmp_path / "checkpoint.zip"
    model = StableRegressor(n_chains=2, n_atoms=8, random_state=3, **how)
    whole = model.fit(X, y).posterior_
    with monkeypatch.context() as patch:
        crash_after(n_rounds, patch)
        with pytest.raises(CrashError):
            model.fit(X, y, checkpoint=path)
    resumed = model.fit(X, y, checkpoint=path).posterior_
    assert resumed.rounds == whole.rounds
    assert resumed.n_sweeps == whole.n_sweeps
    for mine, theirs in zip(resumed.chains, whole.chains, strict=True):
        for field in fields(ChainDraws):
            np.testing.assert_array_equal(getattr(mine, field.name), getattr(theirs, field.name), field.name)


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
    model.set_params(n_atoms=30, n_jobs=2, progress=False).fit(X, y, checkpoint=path)


def test_r_hat_so_far_is_told_only_to_those_who_see_it() -> None:
    posterior = fits.line().posterior_
    told: list[str] = []

    class Listener(Reporter):
        def tell(self, note: Any) -> None:
            told.append(note())

    seen: list[Sample] = []
    setup = rounds.Setup(posterior.model, report=Listener())
    rounds.telling(setup, seen.append)(posterior.sample)
    worst = posterior.convergence().rhat[: rounds.N_SUSPECTS].max()
    assert told == [f"2 chains, R-hat {worst:.2f}"]
    assert len(seen) == 1
    rounds.telling(rounds.Setup(posterior.model))(posterior.sample)
    assert len(told) == 1
    few = rounds.Sample((), posterior.states, 1, 0, None, False)
    assert np.isnan(rounds.rhat_so_far(few, posterior.model))
