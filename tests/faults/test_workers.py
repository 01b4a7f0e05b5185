"""Chains in threads and in processes: the same draws, no extra threads, and a clear error when a process dies."""

from __future__ import annotations

import os
import threading
import time
import warnings
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning

from tests import fits
from tests.test_regressor import same_draws
from widestable import StableRegressor
from widestable.engine import run
from widestable.engine.chain import State
from widestable.engine.run import Setup
from widestable.parameters import PAPER

ADVANCE = run.advance


def die_in_second_round(setup: Setup, state: State, n_sweeps: int, thin: int, adapt: bool) -> Any:
    """Like `advance`, but a worker process exits once the first round has been drawn."""
    if not adapt and os.getpid() != PARENT and os.path.exists(MARK):
        os._exit(9)
    return ADVANCE(setup, state, n_sweeps, thin, adapt)


PARENT = int(os.environ.get("WIDESTABLE_TEST_PARENT", "0"))
MARK = os.environ.get("WIDESTABLE_TEST_MARK", "")


def test_a_process_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error that joblib raises, without a process; the slow test below kills one."""

    def die(*args: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(run, "run_round", die)
    with pytest.raises(RuntimeError, match=r"A process that ran a chain died: .* Fit with checkpoint="):
        fits.fit(*fits.line_data())


def test_chains_in_processes_have_the_draws_of_chains_in_threads() -> None:
    X, y = fits.line_data()
    model = StableRegressor.paper(n_chains=2, n_sweeps=24, n_jobs=2, random_state=0, progress=False)
    with parallel_config(backend="loky"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert same_draws(model, fits.fit(X, y, random_state=0, n_sweeps=24))


@pytest.mark.slow
def test_a_process_that_dies_is_told_and_whole_rounds_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = tmp_path / "checkpoint.zip"
    for module_name, value in (("PARENT", os.getpid()), ("MARK", str(checkpoint))):
        monkeypatch.setitem(globals(), module_name, value)
        monkeypatch.setenv(f"WIDESTABLE_TEST_{module_name}", str(value))
    monkeypatch.setattr(run, "advance", die_in_second_round)
    X, y = fits.line_data()
    model = StableRegressor.paper(n_chains=2, n_sweeps=60, n_jobs=2, random_state=0, progress=False)
    with parallel_config(backend="loky"), pytest.raises(RuntimeError, match="A process that ran a chain died"):
        model.fit(X, y, checkpoint=checkpoint)
    monkeypatch.setattr(run, "advance", ADVANCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(n_jobs=1).fit(X, y, checkpoint=checkpoint)
    assert same_draws(model, fits.fit(X, y, random_state=0, n_sweeps=60))


def test_two_fits_in_two_threads_give_what_they_give_alone() -> None:
    X, y = fits.line_data()
    found: dict[int, StableRegressor] = {}
    # All threads of a process share the warning filters, so they are set once around both.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)

        def fit(seed: int) -> None:
            settings = PAPER | {"sharpness": None, "n_chains": 2, "n_sweeps": 60, "random_state": seed}
            found[seed] = StableRegressor(**settings, progress=False).fit(X, y)

        threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for seed, model in found.items():
        assert same_draws(model, fits.fit(X, y, random_state=seed, sharpness=None))
    assert sorted(found) == [1, 2]


def test_one_thread_is_busy_by_default() -> None:
    """Processor time never exceeds the time on the clock: no library underneath starts threads of its own."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), rng.standard_normal(300)
    started, busy = time.perf_counter(), time.process_time()
    fits.fit(X, y, n_sweeps=12).predict(X[:50])
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    assert busy < 1.2 * seconds + 0.3
