"""Series with change points: simulated ones whose changes are known, and real ones that people have annotated."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from studies.datasets import why_missing
from studies.evidence import changes
from studies.evidence.data import nile, r_frame
from studies.evidence.plan import OURS
from studies.evidence.segments import MARGIN, compare, covering
from studies.evidence.table import Layout, means
from studies.methods.limited import at_most
from studies.problems import Floats
from studies.results import markdown_table
from studies.runner import Piece, Result
from studies.sampling import compile_engine

STUDY = "series"
N_SETS = 3
N_ROWS, N_CHANGES, APART = 200, 3, 25
# Sizes of changes, in noise s.d.
SMALLEST, LARGEST = 2.0, 4.0
RESULTS = Path(__file__).with_name("series.csv")


class Series(NamedTuple):
    """A series, (n,), the change points that each person has annotated, and how many observations a season has, if any.

    Those of simulated series are the true ones.
    """

    y: Floats
    annotations: tuple[tuple[int, ...], ...]
    period: int | None = None


class Source(NamedTuple):
    """Title, origin, how to make series number so and so, and how many there are."""

    title: str
    origin: str
    make: Callable[[int], Series]
    n_sets: int = N_SETS


def shifts(repeat: int, *, n_changes: int = N_CHANGES, rise: float = 0.0, outliers: float = 0.0) -> Series:
    """Return 200 observations with noise of s.d. 1 and a mean that changes by 2 to 4, up or down.

    Parameters
    ----------
    repeat : int
        Number of the series.
    n_changes : int
        Changes, at least 25 apart from each other and the ends.
    rise : float
        By how much the mean rises besides, evenly over the series.
    outliers : float
        Share of observations that are 8 to 30 off.
    """
    rng = np.random.default_rng([repeat, 30])
    points = _apart(rng, n_changes)
    sizes = rng.uniform(SMALLEST, LARGEST, n_changes) * rng.choice([-1.0, 1.0], n_changes)
    row = np.arange(N_ROWS)
    f = rise * row / N_ROWS + sum(
        (size * (row >= at) for size, at in zip(sizes, points, strict=True)), np.zeros(N_ROWS)
    )
    y = f + rng.standard_normal(N_ROWS)
    off = rng.choice(N_ROWS, round(outliers * N_ROWS), replace=False)
    y[off] += rng.uniform(8.0, 30.0, off.size) * rng.choice([-1.0, 1.0], off.size)
    return Series(y, (tuple(points),))


def _apart(rng: np.random.Generator, n: int) -> list[int]:
    """Draw n sorted indices that are far from each other and from the ends."""
    room = N_ROWS - (n + 1) * APART
    return [int(at) + (i + 1) * APART for i, at in enumerate(np.sort(rng.integers(0, room + 1, n)))]


def _nile(repeat: int) -> Series:
    return Series(nile().y, ((), (28,), (), (28,), (28,)))


def _drivers(repeat: int) -> Series:
    y = r_frame("datasets", "UKDriverDeaths")["x"].to_numpy(float)
    return Series(y, ((61, 169), (60, 169), (), (60, 169), (60, 79, 169)), 12)


def _coal(repeat: int) -> Series:
    years = np.floor(r_frame("boot", "coal")["date"].to_numpy(float)).astype(int)
    return Series(np.bincount(years - 1851, minlength=112).astype(float), ((39,),))


TCPD = "annotations of the Turing Change Point Dataset"
SOURCES = {
    "shifts": Source("changes of the mean", "simulated", shifts),
    "trend": Source("the same on a slope", "simulated", partial(shifts, rise=6.0)),
    "outliers": Source("the same with 5% outliers", "simulated", partial(shifts, outliers=0.05)),
    "nothing": Source("no change", "simulated", partial(shifts, n_changes=0)),
    "nile": Source("flow of the Nile, 1871-1970", f"statsmodels; {TCPD}", _nile, 1),
    "drivers": Source("drivers killed or injured in Britain", f"R, datasets::UKDriverDeaths; {TCPD}", _drivers, 1),
    "coal": Source("coal-mining disasters per year", "R, boot::coal; 1890, Raftery and Akman (1986)", _coal, 1),
}


class Method(NamedTuple):
    """A method with its settings."""

    title: str
    find: Callable[..., list[int]]
    settings: dict[str, Any]
    about: str
    module: str | None = None  # None for what is written here

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return self.module is None or find_spec(self.module) is not None

    @property
    def versions(self) -> str:
        """Name and version of its package."""
        return "studies" if self.module is None else f"{self.module} {version(self.module)}"


SHOWN = ("sign_equal_normal", "sign_equal_outliers", "sign_inferred_outliers", "smooth_inferred_outliers")
METHODS = {
    name: Method(OURS[name].title, changes.ours, OURS[name].settings, "jumps with a probability of at least 0.5")
    for name in SHOWN
}
METHODS |= {
    "pelt": Method(
        "PELT, ruptures",
        changes.pelt,
        {},
        "changes of the mean, penalty 2 sigma² log n, sigma from differences",
        "ruptures",
    ),
    "beast": Method(
        "Rbeast",
        changes.beast,
        {},
        "the package's priors, changes of the trend as ours; monthly data have a season",
        "Rbeast",
    ),
    "beast_outliers": Method(
        "Rbeast, outliers", changes.beast, {"outliers": True}, "the same with the package's model of outliers", "Rbeast"
    ),
    "online": Method(
        "Bayesian online",
        changes.online,
        {"expected_length": 100.0},
        "Adams and MacKay (2007), a change per 100 observations, normal segments, most probable segmentation",
    ),
}


# --- Pieces ----------------------------------------------------------------------------------------------


def pieces() -> list[Piece]:
    """Plan every method on every series, the first of each kind first."""
    return [
        Piece(STUDY, method, name, repeat, METHODS[method].settings)
        for repeat in range(N_SETS)
        for name, source in SOURCES.items()
        if repeat < source.n_sets
        for method in METHODS
    ]


def without_data(name: str) -> str:
    """Return why a series cannot be had, empty if it can."""
    return why_missing(partial(SOURCES[name].make, 0))


def run_piece(piece: Piece, data: Path | None) -> Result:
    """Find the changes and compare them; what goes wrong in a method is part of its result."""
    series, method = SOURCES[piece.data].make(piece.repeat), METHODS[piece.method]
    if piece.method in OURS:
        compile_engine()
    started = time.process_time()
    versions = OURS[piece.method].versions if piece.method in OURS else method.versions
    try:
        with at_most(600.0):
            season = {"period": series.period} if method.find is changes.beast else {}
            found = method.find(series.y, piece.repeat, **season, **piece.settings)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        return {"failed": reason, "fit_seconds": time.process_time() - started, "versions": versions}
    scores = compare(series.annotations, found)._asdict()
    scores["covering"] = covering(series.annotations, found, len(series.y))
    seconds = time.process_time() - started
    return {"scores": scores, "found": found, "fit_seconds": seconds, "versions": versions}


def row(piece: Piece, result: Result) -> dict[str, Any]:
    """Return one line of the table."""
    found = {name: result.get("scores", {}).get(name) for name in ("f1", "covering", "precision", "recall")}
    found |= {"seconds": result["fit_seconds"], "cpu_seconds": result.get("cpu_seconds")}
    found |= {"found": " ".join(str(point) for point in result.get("found", [])), "failed": result.get("failed")}
    found |= {"versions": result["versions"], "piece": piece.file_name}
    return {"problem": piece.data, "method": piece.method, "repeat": piece.repeat} | found


LAYOUT = Layout(
    row,
    ("f1", "covering", "precision", "recall", "seconds", "cpu_seconds"),
    ("problem", "method", "found", "failed", "versions", "piece"),
)


# --- The section of the page -----------------------------------------------------------------------------


def section(frame: pd.DataFrame) -> str:
    """Return what the page says about series.

    Parameters
    ----------
    frame : DataFrame
        Results, see `table.gather`.
    """
    text = [
        f"F1 with a margin of {MARGIN} observations and the covering metric, both of van den Burg and Williams (2020), "
        "at best 1; means over series. People disagree about real series: no answer covers what all of them say.",
        _list(),
    ]
    if frame.empty:
        return "\n\n".join([*text, "Not run yet: `python -m studies.evidence series`."])
    missing = len(pieces()) - len(frame)
    if missing:
        text.append(f"{missing} of {len(pieces())} pieces are missing.")
    for score, title in (("f1", "F1"), ("covering", "Covering")):
        text += [f"### {title}", _scores(means(frame, score))]
    return "\n\n".join([*text, "### Real series: what was found", _found(frame), _failed(frame)]).strip()


def _list() -> str:
    series = [[source.title, f"`{name}`", str(source.n_sets), source.origin] for name, source in SOURCES.items()]
    methods = [[method.title, f"`{name}`", method.about] for name, method in METHODS.items()]
    tables = markdown_table(["series", "name", "number", "source"], series)
    return f"{tables}\n\n{markdown_table(['method', 'name', 'settings'], methods)}"


def _scores(values: pd.DataFrame) -> str:
    rows = []
    lines = [(SOURCES[str(name)].title, line) for name, line in values.iterrows()]
    if not values.isna().any(axis=None):
        lines.append(("mean", values.mean()))
    for title, line in lines:
        largest = line.round(2).max()
        cells = [f"{value:.2f}" if value == value else "–" for value in line]
        rows.append([title, *(f"**{cell}**" if cell == f"{largest:.2f}" else cell for cell in cells)])
    return markdown_table(["series", *(METHODS[str(name)].title for name in values.columns)], rows)


def _found(frame: pd.DataFrame) -> str:
    real = [name for name, source in SOURCES.items() if source.n_sets == 1 and name in set(frame["problem"])]
    rows = []
    for method, title in ((name, METHODS[name].title) for name in pd.unique(frame["method"])):
        lines = frame[(frame["method"] == method) & frame["problem"].isin(real)].set_index("problem")["found"]
        rows.append([title, *(_points(lines[name]) if name in lines else "–" for name in real)])
    return markdown_table(["index of each change", *(SOURCES[name].title for name in real)], rows)


def _points(found: str | None) -> str:
    return ", ".join(found.split()) if found else "none"


def _failed(frame: pd.DataFrame) -> str:
    failed = frame[frame["failed"].notna()]
    return "\n".join(
        f"- {METHODS[r.method].title} failed on {r.problem} {r.repeat}: {r.failed}" for r in failed.itertuples()
    )
