"""Chains in threads of one process: they take turns, so that all are about equally far when they are stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


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
        self._waiting: set[tuple[int, int]] = set()
        self._changed = threading.Condition()

    @contextmanager
    def take(self, n_done: int) -> Iterator[None]:
        """Wait for a turn and hold it; a chain that has done less goes first."""
        me = n_done, threading.get_ident()
        with self._changed:
            self._waiting.add(me)
            self._changed.wait_for(lambda: self._n_free > 0 and min(self._waiting) == me)
            self._waiting.remove(me)
            self._n_free -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._n_free += 1
                self._changed.notify_all()


def run_all(jobs: Sequence[Callable[[], Result]], stopped: threading.Event) -> tuple[list[Result], bool]:
    """Run each job in a thread of its own; Ctrl-C or an error sets `stopped`, which the jobs must heed.

    Parameters
    ----------
    jobs : sequence of callables
        What to do.
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
    >>> run_all([lambda: 1, lambda: 2], threading.Event())
    ([1, 2], False)
    """
    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in futures], False
        except KeyboardInterrupt:
            stopped.set()
            return [future.result() for future in futures], True
        except BaseException:
            stopped.set()
            raise
