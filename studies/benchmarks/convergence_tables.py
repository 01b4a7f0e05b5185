"""Tables and the picture of the benchmark `convergence`, from kept results: medians over seeds."""

from __future__ import annotations

import math
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from studies.benchmarks.measure import show
from studies.problems import Floats
from studies.results import Kept, number
from studies.runner import Result

# Times of which the tables over time tell are powers of it.
FACTOR = 4.0
# Safe for colour-blind readers (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PANEL_WIDTH, PANEL_HEIGHT, PANELS_ACROSS = 4.0, 3.0, 4
# Names of methods that fit above a panel.
NAMES_PER_PANEL = 3


def show_all(kept: Kept, budget: float) -> None:
    """Print how long convergence took and how well chains mixed; then mixing and CRPS after 1, 4, 16, ... seconds."""
    pairs = list(dict.fromkeys((piece.data, piece.method) for piece, _ in kept.found))
    columns = ["problem", "method", "converged", "s to converge", "sweeps", "ms per sweep", "R-hat", "least ESS"]
    columns += ["ESS per s", "tenth per s", "CRPS"]
    rows = [[problem, method, *_mixing(_results(kept, problem, method), budget)] for problem, method in pairs]
    show("Until R-hat <= 1.01 and ESS >= 400 at every row; 4 chains, 1 thread", columns, rows)
    times = [FACTOR**k for k in range(math.floor(math.log(max(budget, 1.0), FACTOR)) + 1)]
    columns = ["problem", "method", *(f"{t:.0f}" for t in times)]
    rows = [[problem, method, *_mixing_over_time(_results(kept, problem, method), times)] for problem, method in pairs]
    show("Worst R-hat and least ESS after so many seconds; a run that has converged keeps its last ones", columns, rows)
    rows = [
        [problem, method, *_over_time(_results(kept, problem, method), "crps", times, 4)] for problem, method in pairs
    ]
    show("CRPS of held-out data after so many seconds", columns, rows)


def _results(kept: Kept, problem: str, method: str) -> list[Result]:
    return [result for _, result in kept.select(method, problem)]


def _mixing(results: list[Result], budget: float) -> list[str]:
    """Return the cells of a row. A run that did not converge would have taken longer than all that did."""
    took = np.median([result["run_seconds"] if result["converged"] else np.inf for result in results])
    per_second = [[_last(result, name) / result["run_seconds"] for result in results] for name in ("ess", "ess_tenth")]
    return [
        f"{sum(result['converged'] for result in results)} of {len(results)}",
        f"{took:.1f}" if np.isfinite(took) else f"> {budget:g}",
        number(np.median([result["n_iterations"] for result in results]), 0),
        _median([1e3 * _float(result["seconds_per_sweep"]) for result in results], 2),
        _median([_last(result, "rhat") for result in results], 3),
        _median([_last(result, "ess") for result in results], 0),
        *(_median(values, 1) for values in per_second),
        _median([_last(result, "crps") for result in results], 4),
    ]


def _mixing_over_time(results: list[Result], times: list[float]) -> list[str]:
    """Return cells such as "1.02, 150": with R-hat alone, or ESS alone, neither would tell much."""
    rhat, ess = (_over_time(results, name, times, digits) for name, digits in (("rhat", 3), ("ess", 0)))
    return ["–" if "–" in pair else ", ".join(pair) for pair in zip(rhat, ess, strict=True)]


def _over_time(results: list[Result], name: str, times: list[float], digits: int) -> list[str]:
    table = np.array([value_at(result["curve"], name, times) for result in results])
    return [_median(column, digits) for column in table.T]


def value_at(curve: dict[str, list[Any]], name: str, times: list[float]) -> Floats:
    """Return a value at the last look before some times; NaN before the first look, the last one ever after.

    Examples
    --------
    >>> value_at({"seconds": [1.0, 3.0], "crps": [0.5, 0.4]}, "crps", [0.5, 1.0, 2.0, 9.0])
    array([nan, 0.5, 0.5, 0.4])
    """
    values = np.array([np.nan, *curve[name]], dtype=float)
    return values[np.searchsorted(np.array(curve["seconds"], dtype=float), times, side="right")]


def _last(result: Result, name: str) -> float:
    """Return a value at the end of a run, NaN if there were no draws by then."""
    values = result["curve"][name]
    return _float(values[-1]) if values else np.nan


def _float(value: Any) -> float:
    """Return a kept number; None stands for NaN, and text for an infinity."""
    return np.nan if value is None else float(value)


def _median(values: Any, digits: int) -> str:
    """Return the median as text; a dash if it is not known for every seed."""
    middle = float(np.median(values))
    return number(None if np.isnan(middle) else middle, digits)


# --- The picture -----------------------------------------------------------------------------------------


def draw(kept: Kept, path: Path) -> None:
    """Write a picture of the CRPS over time: one panel per problem, one line per method, a dot where it converged.

    Lines are medians over the seeds from the time when all of them have draws to the time when the last has ended.
    Faint lines are the seeds themselves.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    problems = list(dict.fromkeys(piece.data for piece, _ in kept.found))
    methods = list(dict.fromkeys(piece.method for piece, _ in kept.found))
    n_across = min(PANELS_ACROSS, len(problems))
    n_down = -(-len(problems) // n_across)
    figure = Figure(figsize=(PANEL_WIDTH * n_across, PANEL_HEIGHT * n_down + 0.6), layout="constrained")
    panels = figure.subplots(n_down, n_across, squeeze=False).ravel()
    colours = dict(zip(dict.fromkeys(map(_base, methods)), cycle(COLOURS), strict=False))
    lines: dict[str, Any] = {}
    for panel, problem in zip(panels, problems, strict=False):
        for method in methods:
            if line := _draw_line(panel, _results(kept, problem, method), method, colours[_base(method)]):
                lines[method] = line
        panel.set(xscale="log", title=problem, xlabel="processor seconds, 4 chains", ylabel="CRPS")
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter("")
    for panel in panels[len(problems) :]:
        panel.set_axis_off()
    figure.legend(
        lines.values(), lines.keys(), loc="outside upper center", ncols=min(len(lines), NAMES_PER_PANEL * n_across) or 1
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _base(method: str) -> str:
    """Return the method without the name of its source tree: both have the same colour."""
    return method.split("@")[0]


def _draw_line(panel: Any, results: list[Result], method: str, colour: str) -> Any:
    """Draw one method and return its line; None without draws."""
    curves = [result["curve"] for result in results if result["curve"]["seconds"]]
    if not curves or len(curves) < len(results):
        return None
    for curve in curves:
        panel.plot(curve["seconds"], curve["crps"], color=colour, linewidth=0.6, alpha=0.35)
    times = sorted({t for curve in curves for t in curve["seconds"]})
    middle = np.median([value_at(curve, "crps", times) for curve in curves], axis=0)
    (line,) = panel.plot(times, middle, color=colour, linewidth=1.8, linestyle="-" if method == _base(method) else "--")
    for result in results:
        if result["converged"]:
            panel.plot(result["curve"]["seconds"][-1], result["curve"]["crps"][-1], "o", color=colour, markersize=4)
    return line
