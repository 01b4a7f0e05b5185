"""What all commands share: options, errors in one sentence, and output for people or for programs."""

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
from joblib import cpu_count
from typer.core import TyperGroup

# Exit codes; typer itself uses 2 for wrong usage, and shells use 130 for Ctrl-C.
FAILED, NOT_CONVERGED, INTERRUPTED = 1, 3, 130

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder written by fit.", show_default=False)]
# Flags take no value, so their help should not show one.
FLAG: dict[str, Any] = {"metavar": ""}
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.", **FLAG)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.", **FLAG)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there already.", **FLAG)]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        help="Number of threads; -1 for all processors. Default: one per chain, up to all.",
        show_default=False,
    ),
]


def n_threads(jobs: int | None, n_chains: int | None = None) -> int:
    """The threads that were asked for; otherwise one per chain, or all processors where there are no chains to run.

    Examples
    --------
    >>> n_threads(3, n_chains=4), n_threads(None, n_chains=1)
    (3, 1)
    """
    # Processors that this process may use: containers and batch systems give fewer than there are.
    n_processors = int(cpu_count())
    return jobs if jobs is not None else min(n_chains or n_processors, n_processors)


class OneSentence(TyperGroup):
    """Reports errors that users can act on in one sentence with an exit code; others keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            fail(str(error) or "Interrupted.", INTERRUPTED)
        except BrokenPipeError:
            os._exit(0)  # the reader of our output has closed the pipe, as `head` does
        except OSError as error:
            name = f"{error.filename}: " if error.filename else ""
            fail(f"{name}{error.strerror or error}.")
        except ValueError as error:
            fail(str(error))


def visible(text: str) -> str:
    """Make control characters visible, so that a column name cannot control the terminal.

    Examples
    --------
    >>> visible("price\\x1b[31m")
    'price\\\\x1b[31m'
    """
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Terminal:
    """A text stream that makes control characters visible, for data shown on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write `text`, with its control characters made visible."""
        self._stream.write(visible(text))


def fail(message: str, code: int = FAILED) -> None:
    """Print a sentence on standard error and exit."""
    typer.echo(visible(f"Error: {message}"), err=True)
    raise typer.Exit(code)


def say(text: str, *, quiet: bool) -> None:
    """Print text for people on standard output."""
    if not quiet:
        typer.echo(visible(text))


def note(text: str, *, quiet: bool) -> None:
    """Print a remark on standard error, so that it does not get into a pipe."""
    if not quiet:
        typer.echo(visible(text), err=True)


@contextmanager
def log_shown(wanted: bool) -> Iterator[None]:
    """If `wanted`, show on standard error what the library logs, with the time of day."""
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
    """Print one JSON object on standard output; NaN and infinity become null."""
    typer.echo(json.dumps(plain(values), indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """The same value with None in place of NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Raise an error if `path` is a folder, or exists and --force was not given."""
    if path.exists() and not force:
        raise FileExistsError(0, "it is there already: pass --force to overwrite it, or another --out", str(path))
    if path.is_dir():
        raise IsADirectoryError(0, "it is a folder: pass a file name", str(path))
