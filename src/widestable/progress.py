"""Progress of long work: a rich bar in a terminal, silence elsewhere, and the same interface for both."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._jit import when_compiling

logger = logging.getLogger(__name__)

# A bar over new rows is shown from this many rows on.
MIN_ROWS_FOR_BAR = 2000
# Columns of a terminal that the whole line about sampling needs, and those that it needs without bar and speed.
WIDE, MEDIUM = 132, 92


def wants_bar(progress: bool | None) -> bool:
    """Whether to show a bar; None means only when a person is looking at a terminal."""
    return sys.stderr.isatty() if progress is None else progress


# --- Sampling --------------------------------------------------------------------------------------------


class Reporter:
    """Counts sweeps from several threads and shows nothing. Sent to another process, it stays silent there."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def advance(self, n_sweeps: int) -> None:
        """Tell that sweeps were made."""

    def extend(self, n_sweeps: int | None, message: str) -> None:
        """Tell that so many more sweeps are to come, or some number, and why."""

    def tell(self, note: Callable[[], str]) -> None:
        """Show a note, which is made only if someone sees it."""

    def say(self, line: str) -> None:
        """Print a line above the bar."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Reporter, ())


class BarReporter(Reporter):
    """Shows a rich progress bar."""

    def __init__(self, bar: Any) -> None:
        super().__init__()
        self._bar = bar
        self._lock = threading.Lock()
        self._total: int | None = 0
        self._task = bar.add_task("sampling", total=None, note="", visible=False)

    def advance(self, n_sweeps: int) -> None:
        with self._lock:
            self._bar.advance(self._task, n_sweeps)

    def extend(self, n_sweeps: int | None, message: str) -> None:
        with self._lock:
            self._total = None if n_sweeps is None or self._total is None else self._total + n_sweeps
            self._bar.update(self._task, total=self._total, description=message, visible=True)

    def tell(self, note: Callable[[], str]) -> None:
        text = note()
        with self._lock:
            self._bar.update(self._task, note=text, visible=True)

    def say(self, line: str) -> None:
        self._bar.console.print(line)


@contextmanager
def reporter(progress: bool | None) -> Iterator[Reporter]:
    """A reporter for one run: a bar when asked for, or when None and standard error is a terminal."""
    if not wants_bar(progress):
        yield Reporter()
        return
    from rich.console import Console

    with _bar(*_sampling_columns(Console(stderr=True).width)) as bar:
        yield BarReporter(bar)


def _sampling_columns(width: int) -> list[Any]:
    """Columns of the line about sampling: fewer in a narrow terminal, so that it is never two lines."""
    from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:,.0f} per second" if task.speed else "")

    class Counts(ProgressColumn):
        def render(self, task: Any) -> Text:
            total = "" if task.total is None else f"/{task.total:,.0f}"
            return Text(f"{task.completed:,.0f}{total} sweeps")

    class All(Counts):
        def render(self, task: Any) -> Text:
            return Text(f"{task.description} {super().render(task)} {task.fields['note']}")

    if width < WIDE:
        # One column, which is cut off at its end where even that is too long.
        text = All(table_column=Column(no_wrap=True))
        return [text] if width < MEDIUM else [text, TimeElapsedColumn()]
    what, note = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    return [what, BarColumn(bar_width=24), Counts(), Speed(), note, TimeElapsedColumn()]


@contextmanager
def row_bar(n_rows: int, progress: bool | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of rows just predicted; it moves a bar when one is wanted."""
    if not wants_bar(progress) or (progress is None and n_rows < MIN_ROWS_FOR_BAR):
        yield lambda n_done: None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    counts = TextColumn("{task.completed:.0f}/{task.total} rows")
    with _bar(TextColumn("predicting"), BarColumn(), counts, TimeElapsedColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("predicting", total=n_rows)
        yield lambda n_done: bar.advance(task, n_done)


def _bar(*columns: Any) -> Any:
    """A rich progress bar on standard error."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True))


# --- Waiting before the first sweep ----------------------------------------------------------------------


@contextmanager
def compilation_told(report: Reporter) -> Iterator[None]:
    """Say so when the sampler has to be compiled first, and how far that is."""
    is_told = False

    def tell(n_done: int, n_all: int) -> None:
        nonlocal is_told
        if not is_told:
            is_told = True
            logger.info("Compiling the sampler")
            report.say("Compiling the sampler: about a minute, the first time only.")
        report.tell(lambda: f"compiling: {n_done} of {n_all} functions" if n_done < n_all else "")

    with when_compiling(tell):
        yield


def tell_preparation(n_rows: int, progress: bool | None) -> None:
    """Say so, where a bar would be shown, when decomposing the kernel of many rows takes a while."""
    what = f"Decomposing the kernel of {n_rows:,} rows"
    logger.info(what)
    if wants_bar(progress):
        from rich.console import Console

        Console(stderr=True).print(f"{what}: up to a minute on one processor.")
