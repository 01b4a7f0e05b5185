"""Tell when something is compiled: a first fit takes a minute that later ones do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class Once(event.Listener):  # type: ignore[misc]
    """Calls `tell` at the first compilation; code that comes from the cache on disk is none."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        """Nothing to do."""


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if anything is compiled inside."""
    with event.install_listener("numba:compile", Once(tell)):
        yield
