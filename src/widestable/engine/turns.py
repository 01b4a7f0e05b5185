"""Chains in threads of one process: they take turns, so that all are about equally far when they are stopped."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

# Seconds after which the main thread looks up from waiting.
LOOK_UP = 0.5


class Turns:
    """Lets some chains work at a time, those first that are behind.

    Parameters
    ----------
    n_at_once : int
        How many may work at a time.

    Examples
    --------
    >>> turns = Turns(1)
    >>> with turns.take(0):
    ...     pass
    """

    def __init__(self, n_at_once: int) -> None:
        self._n_free = n_at_once
        self._waiting: list[tuple[int, int, threading.Event]] = []
        self._lock = threading.Lock()

    @contextmanager
    def take(self, n_done: int) -> Iterator[None]:
        """Wait for a turn and hold it; a chain that has done less goes first."""
        mine = threading.Event()
        with self._lock:
            if self._n_free > 0:
                self._n_free -= 1
                mine.set()
            else:
                heapq.heappush(self._waiting, (n_done, threading.get_ident(), mine))
        mine.wait()
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    heapq.heappop(self._waiting)[2].set()
                else:
                    self._n_free += 1


def run_all(
    jobs: Sequence[Callable[[], Result]], n_threads: int, stopped: threading.Event
) -> tuple[list[Result], bool]:
    """Run jobs in threads; Ctrl-C or an error sets `stopped`, which the jobs must heed.

    Parameters
    ----------
    jobs : sequence of callables
        What to do.
    n_threads : int
        How many of them may be under way.
    stopped : threading.Event
        Tells the jobs to return what they have.

    Returns
    -------
    results : list
        What each job returned.
    interrupted : bool
        Whether Ctrl-C cut them short.

    Examples
    --------
    >>> run_all([lambda: 1, lambda: 2], 2, threading.Event())
    ([1, 2], False)
    """
    # Work starts when all jobs are handed over: Ctrl-C in between has nothing to keep.
    handed_over = threading.Event()

    def run(job: Callable[[], Result]) -> Result:
        handed_over.wait()
        return job()

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            futures = [pool.submit(run, job) for job in jobs]
            handed_over.set()
            return [_result(future) for future in futures], False
        except KeyboardInterrupt:
            stopped.set()
            if not handed_over.is_set():
                raise
            return [_result(future) for future in futures], True
        except BaseException:
            stopped.set()
            raise
        finally:
            handed_over.set()


def _result(future: Future[Result]) -> Result:
    """What a job returns. A wait without end would not see a Ctrl-C that came in the moment before it."""
    while wait([future], timeout=LOOK_UP).not_done:
        pass
    return future.result()
