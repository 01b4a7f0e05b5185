"""What all commands share: errors in one sentence, options, and output for people or for scripts."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

FAILED, NOT_CONVERGED, INTERRUPTED = 1, 3, 130

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that fit wrote.", show_default=False)]
# Flags take no value, so their help shows none.
FLAG: dict[str, Any] = {"metavar": ""}
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", **FLAG)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts, and nothing else.", **FLAG)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.", **FLAG)]
Jobs = Annotated[int, typer.Option("--jobs", help="Threads; -1 for all processors.")]


class OneSentence(TyperGroup):
    """Errors that users can do something about end in one sentence and an exit code; others keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            fail(str(error) or "Interrupted.", INTERRUPTED)
        except BrokenPipeError:
            os._exit(0)  # the reader of our output has gone, as `head` does
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            fail(f"{name}{error.strerror or error}.")
        except ValueError as error:
            fail(str(error))


def visible(text: str) -> str:
    """Control characters made visible: a column name must not be able to command the terminal.

    Examples
    --------
    >>> visible("price\\x1b[31m")
    'price\\\\x1b[31m'
    """
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Terminal:
    """A stream that shows control characters instead of passing them on, for data that go to a person's terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write what can be seen of `text`."""
        self._stream.write(visible(text))


def fail(message: str, code: int = FAILED) -> None:
    """Print a sentence on standard error and leave."""
    typer.echo(visible(f"Error: {message}"), err=True)
    raise typer.Exit(code)


def say(text: str, *, quiet: bool) -> None:
    """A line for people, on standard output."""
    if not quiet:
        typer.echo(visible(text))


def note(text: str, *, quiet: bool) -> None:
    """A remark on standard error, so that output can be piped."""
    if not quiet:
        typer.echo(visible(text), err=True)


@contextmanager
def log_shown(wanted: bool) -> Iterator[None]:
    """Show what the library logs on standard error, with the time of day."""
    logger = logging.getLogger("widestable")
    handler, level = logging.StreamHandler(), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    if wanted:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def emit(values: dict[str, Any]) -> None:
    """One JSON object on standard output; what JSON has no number for becomes null."""
    typer.echo(json.dumps(plain(values), indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """The same with null in place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Raise if something is there and --force was not given."""
    if path.exists() and not force:
        raise FileExistsError(0, "it is there already: pass --force to overwrite it, or another --out", str(path))
    if path.is_dir():
        raise IsADirectoryError(0, "it is a folder: pass a file name", str(path))
