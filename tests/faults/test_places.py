"""Where a fit may be called from: a spawned process, a running event loop, a thread that is not the main one.

And how much of the machine it takes there: no more threads than cores, one by default.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from tests import fits
from tests.test_regressor import same_draws
from widestable import StableRegressor
from widestable.engine import run

ADVANCE = run.advance


@pytest.fixture(autouse=True)
def _one_filter_for_all_threads() -> Iterator[None]:
    """All threads of a process share the warning filters, so they are set once around the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.fixture(autouse=True)
def _python_handles_ctrl_c() -> Iterator[None]:
    """Handle Ctrl-C even if the shell that started the tests ignores it, as it does for background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def make(**parameters: Any) -> StableRegressor:
    return StableRegressor(**({"n_chains": 2, "n_sweeps": 60, "random_state": 0} | parameters))


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def fit_and_predict() -> tuple[np.ndarray, list[int], set[int]]:
    """Quantiles, the number of BLAS threads before the fit, and those inside it. A spawned process calls it by name."""
    X, y = fits.line_data()
    before, inside, eigh = blas_threads(), set(), np.linalg.eigh

    def recording_eigh(*args: Any) -> Any:
        inside.update(blas_threads())
        return eigh(*args)

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", ConvergenceWarning)
        patch.setattr(np.linalg, "eigh", recording_eigh)
        model = make(sharpness=None, n_jobs=2).fit(X, y)
        return model.predict_quantiles(X[:5], [0.05, 0.5, 0.95]), before, inside


def test_a_spawned_process_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its linear algebra keeps to one thread inside the chains, though it is allowed two."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there, before, inside = pool.apply_async(fit_and_predict).get(timeout=300.0)
    np.testing.assert_array_equal(there, fit_and_predict()[0])
    assert inside == {1}, f"threads in the chains: {inside}, before: {before}"


# --- As in a notebook ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("progress", [False, True], ids=["silent", "bar"])
def test_a_running_event_loop_does_not_matter(progress: bool) -> None:
    """In the loop's own thread, as a notebook's cell, and in a worker thread, where signals cannot be handled."""
    X, y = fits.line_data()

    async def cell() -> tuple[StableRegressor, StableRegressor]:
        here = make(progress=progress).fit(X, y)
        return here, await asyncio.to_thread(make(progress=progress).fit, X, y)

    alone = make().fit(X, y)
    for model in asyncio.run(cell()):
        assert same_draws(model, alone)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def interrupt_at_call(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real SIGINT, as Ctrl-C or a notebook's stop button send it, while the n-th stretch of a chain runs."""
    calls: list[int] = []

    def advance(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == n:
            signal.raise_signal(signal.SIGINT)
        return ADVANCE(*args)

    monkeypatch.setattr(run, "advance", advance)


def test_ctrl_c_in_a_cell_keeps_whole_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = fits.line_data()

    async def cell() -> StableRegressor:
        return make().fit(X, y)

    interrupt_at_call(15, monkeypatch)
    loop = asyncio.new_event_loop()
    try:
        with pytest.warns(UserWarning, match="Sampling was interrupted"):
            model = loop.run_until_complete(cell())
    finally:
        loop.close()
    assert model.posterior_.interrupted
    assert np.isfinite(model.predict(X)).all()


def test_ctrl_c_in_the_main_thread_leaves_a_fit_in_another_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = fits.line_data()
    started, found = threading.Event(), []

    def advance(*args: Any) -> Any:
        started.set()
        return ADVANCE(*args)

    monkeypatch.setattr(run, "advance", advance)
    thread = threading.Thread(target=lambda: found.append(make(progress=True).fit(X, y)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        assert started.wait(60.0)
        signal.raise_signal(signal.SIGINT)
    thread.join(60.0)
    assert same_draws(found[0], make().fit(X, y))


# --- How much of the machine --------------------------------------------------------------------------------


def most_at_once(monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> int:
    """The largest number of chains that made sweeps at the same time in one fit."""
    lock, running, most, make_sweeps = threading.Lock(), [0], [0], run.make_sweeps

    def counted(*args: Any, **others: Any) -> Any:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        try:
            return make_sweeps(*args, **others)
        finally:
            with lock:
                running[0] -= 1

    monkeypatch.setattr(run, "make_sweeps", counted)
    make(**parameters).fit(*fits.line_data())
    return most[0]


def test_chains_run_one_at_a_time_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_at_once(monkeypatch, n_chains=4) == 1


def test_no_more_chains_run_at_once_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    n_chains = 2 * joblib.cpu_count() + 2
    assert 1 <= most_at_once(monkeypatch, n_chains=n_chains, n_jobs=-1) <= joblib.cpu_count()
    assert most_at_once(monkeypatch, n_chains=2, n_jobs=8) <= 2
