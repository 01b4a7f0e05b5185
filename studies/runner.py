"""Run pieces in parallel processes, keep each result at once, show progress, stop cleanly."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import LokyBackend, get_active_backend

from studies import pieces
from studies.pieces import Piece, Result

# (piece, folder of the data or None) -> result.
Run = Callable[[Piece, Path | None], Result]


class Outcome(NamedTuple):
    """A finished piece; `error` is None when its result was kept."""

    piece: Piece
    seconds: float
    error: str | None


class Places(NamedTuple):
    """Where results are kept and data are found."""

    cache: Path
    data: Path | None = None


def run_piece(run: Run, piece: Piece, places: Places) -> Outcome:
    """Run one piece on one thread and keep its result; an error is reported, and the others go on."""
    from threadpoolctl import threadpool_limits

    started, started_cpu = time.perf_counter(), time.process_time()
    _compile_into(places.cache)
    try:
        with threadpool_limits(1):
            result = run(piece, places.data)
        seconds = time.perf_counter() - started
        times = {"seconds": seconds, "cpu_seconds": time.process_time() - started_cpu}
        pieces.write(places.cache, piece, times | result)
        return Outcome(piece, seconds, None)
    except Exception as error:
        return Outcome(piece, time.perf_counter() - started, f"{type(error).__name__}: {error}")


def _compile_into(cache: Path) -> None:
    """JAX keeps compiled code in a folder, if it is told so before it starts."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache.resolve() / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")


def run_all(
    jobs: Sequence[tuple[Run, Piece]], places: Places, *, n_jobs: int = 1, progress: bool | None = None
) -> list[Outcome]:
    """Run what has no result yet. Ctrl-C loses only the pieces under way."""
    todo = [(run, piece) for run, piece in jobs if pieces.read(places.cache, piece) is None]
    outcomes: list[Outcome] = []
    if n_jobs != 1 and len(todo) > 1:
        _compile_engine()
    with _progress(len(todo), progress) as report:
        for outcome in _outcomes(todo, places, n_jobs):
            outcomes.append(outcome)
            report(outcome)
    return outcomes


def _outcomes(todo: Sequence[tuple[Run, Piece]], places: Places, n_jobs: int) -> Iterator[Outcome]:
    if n_jobs == 1 or len(todo) < 2:
        yield from (run_piece(run, piece, places) for run, piece in todo)
        return
    tasks = (delayed(run_piece)(run, piece, places) for run, piece in todo)
    with _processes():
        yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch=2 * n_jobs)(tasks)


def _processes() -> AbstractContextManager[Any]:
    """Processes of this machine, unless the caller has chosen a cluster."""
    is_chosen = not isinstance(get_active_backend()[0], LokyBackend)
    return nullcontext() if is_chosen else parallel_config(backend="loky", inner_max_num_threads=1)


def _compile_engine() -> None:
    """Compile once, into numba's cache, before several processes would each compile the same."""
    from studies.methods.jumps import fit

    X = np.linspace(0.0, 1.0, 6)[:, None]
    for sharpness in (np.inf, None):
        fit(X, X[:, 0], 0, n_chains=1, n_sweeps=24, sharpness=sharpness).predict(X)


@contextmanager
def _progress(total: int, progress: bool | None) -> Iterator[Callable[[Outcome], None]]:
    """A function to be told of each finished piece: a bar in a terminal, a line a piece elsewhere, or nothing."""
    if progress is False or total == 0:
        yield lambda outcome: None
        return
    if not sys.stderr.isatty():
        counter = iter(range(1, total + 1))
        yield lambda outcome: print(f"{next(counter)}/{total} {_line(outcome)}", file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda outcome: bar.update(task, advance=1, description=_line(outcome))


def _line(outcome: Outcome) -> str:
    state = f"{outcome.seconds:.1f} s" if outcome.error is None else f"failed ({outcome.error})"
    return f"{outcome.piece.name} {state}"
