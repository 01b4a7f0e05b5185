"""One BLAS thread: the last bits of a decomposition, and so the draws, must not depend on the machine's load."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  (brings its own BLAS, which must be there before the libraries are looked for)
from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = threading.Lock()
_limits: list[Any] = []
_n_inside = 0


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so it is done once."""
    return ThreadpoolController()


def _take_control() -> None:
    """Make threadpoolctl heed this thread.

    From version 3.8 on, the first thread that sets the limit of OpenBLAS keeps control of it, and what other threads
    set is silently ignored. The limit itself holds for the whole process.
    """
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of all threads of this process that are inside leaves."""
    global _n_inside
    with _lock:
        _n_inside += 1
        if _n_inside == 1:
            _take_control()
            _limits.append(_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0:
                _take_control()
                _limits.pop().restore_original_limits()
                _take_control()
