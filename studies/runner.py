"""Pieces of work: run them in parallel processes, keep each result in a small file, never run one twice."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import LokyBackend, get_active_backend

from studies.methods.jax_setup import keep_compiled_code
from studies.sampling import compile_engine

Result = dict[str, Any]
DIGITS = 6


@dataclass(frozen=True)
class Piece:
    """One method on one data set: the smallest thing that is run and kept.

    Attributes
    ----------
    study : str
        Name of the study.
    method, data : str
        Names of the method and of the data set.
    repeat : int
        Number of the training set or split.
    settings : dict
        Everything else that determines the result, as JSON values.
    version : int
        Version of the method's code.
    """

    study: str
    method: str
    data: str
    repeat: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    version: int = 1

    @property
    def name(self) -> str:
        """A readable name. It is not unique, because it leaves out settings and version."""
        return f"{self.study}-{self.data}-{self.method}-{self.repeat}"

    @property
    def file_name(self) -> str:
        """A unique name, which ends in a hash of everything that determines the result."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


# (piece, folder of the data or None) -> result.
Run = Callable[[Piece, Path | None], Result]


class Outcome(NamedTuple):
    """A finished piece; `error` is None if its result was kept."""

    piece: Piece
    seconds: float
    error: str | None


class Places(NamedTuple):
    """Where results are kept and data are found."""

    cache: Path
    data: Path | None = None


# --- Files -----------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return JSON values with six digits; arrays become lists, NaN becomes None, infinities become text.

    Examples
    --------
    >>> plain({"a": np.array([1.0, 1 / 3]), "b": np.nan, "c": np.int64(3)})
    {'a': [1.0, 0.333333], 'b': None, 'c': 3}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _plain_float(float(value))
    return value


def _plain_float(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return str(value) if math.isinf(value) else float(f"{value:.{DIGITS}g}")


def read(cache: Path, piece: Piece) -> Result | None:
    """Return the kept result, or None if the piece has not been run with these settings."""
    path = cache / piece.file_name
    if not path.is_file():
        return None
    found: Result = json.loads(path.read_text(encoding="utf-8"))["result"]
    return found


def write(cache: Path, piece: Piece, result: Result) -> None:
    """Keep a result. The file is written under another name and renamed, so it is complete or absent."""
    cache.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"piece": asdict(piece), "result": plain(result)}, allow_nan=False)
    handle, temporary = tempfile.mkstemp(dir=cache, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, cache / piece.file_name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# --- Runs ------------------------------------------------------------------------------------------------


def run_piece(run: Run, piece: Piece, places: Places) -> Outcome:
    """Run one piece on one thread and keep its result; an error is reported and does not stop the others."""
    from threadpoolctl import threadpool_limits

    started, started_cpu = time.perf_counter(), time.process_time()
    keep_compiled_code(places.cache)
    try:
        with threadpool_limits(1):
            result = run(piece, places.data)
        seconds = time.perf_counter() - started
        times = {"seconds": seconds, "cpu_seconds": time.process_time() - started_cpu}
        write(places.cache, piece, times | result)
        return Outcome(piece, seconds, None)
    except Exception as error:
        return Outcome(piece, time.perf_counter() - started, f"{type(error).__name__}: {error}")


def run_all(
    jobs: Sequence[tuple[Run, Piece]], places: Places, *, n_jobs: int = 1, progress: bool | None = None
) -> list[Outcome]:
    """Run every piece that has no result yet. Ctrl-C loses only the pieces under way.

    Parameters
    ----------
    jobs : sequence of (Run, Piece)
    places : Places
    n_jobs : int
        Number of processes.
    progress : bool or None
        False shows nothing. Otherwise a terminal gets a bar, and anything else one line per piece.

    Returns
    -------
    list of Outcome
        One per piece that was run.
    """
    todo = [(run, piece) for run, piece in jobs if read(places.cache, piece) is None]
    outcomes: list[Outcome] = []
    if n_jobs != 1 and len(todo) > 1:
        compile_engine()  # once, so that the processes find it in numba's cache
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
    """Use processes on this machine, unless the caller has chosen a cluster."""
    is_chosen = not isinstance(get_active_backend()[0], LokyBackend)
    return nullcontext() if is_chosen else parallel_config(backend="loky", inner_max_num_threads=1)


@contextmanager
def _progress(total: int, progress: bool | None) -> Iterator[Callable[[Outcome], None]]:
    """Yield a function to call with each finished piece."""
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


def run_and_tell(run: Run, pieces: Sequence[Piece], cache: Path, n_jobs: int) -> None:
    """Run what has no result yet, and print what failed."""
    for outcome in run_all([(run, piece) for piece in pieces], Places(cache), n_jobs=n_jobs):
        if outcome.error is not None:
            print(f"{outcome.piece.name} failed: {outcome.error}", flush=True)
