from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from widestable._blas import one_blas_thread


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    """As on a machine with two cores. The main thread has set a limit, which must not keep others from doing so."""
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot use two threads")
        yield


def test_the_limit_holds_inside_and_ends_outside() -> None:
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            pass
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_the_limit_ends_when_the_last_of_several_threads_leaves() -> None:
    """The thread that leaves last is not the one that set the limit."""
    first_is_inside, both_are_inside = threading.Event(), threading.Event()
    seen: list[set[int]] = []

    def enter_first() -> None:
        with one_blas_thread():
            seen.append(blas_threads())
            first_is_inside.set()
            both_are_inside.wait(60.0)

    thread = threading.Thread(target=enter_first)
    thread.start()
    assert first_is_inside.wait(60.0)
    with one_blas_thread():
        both_are_inside.set()
        thread.join()
        seen.append(blas_threads())
    assert seen == [{1}, {1}]
    assert blas_threads() == {2}
