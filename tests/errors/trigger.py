"""What a trigger is: a way to meet one message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Env(NamedTuple):
    """What a trigger may use: an empty folder, a way to patch, and a finished run (do not write into it)."""

    folder: Path
    patch: pytest.MonkeyPatch
    run: Path

    def write(self, name: str, text: str) -> Path:
        """A file of the folder with that text."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


class Trigger(NamedTuple):
    """A part of a message that no other has, what the message says it got, and what provokes it.

    `do` raises the error, warns, or returns the outcome of a command.
    """

    part: str
    got: str
    do: Callable[[Env], Any]
