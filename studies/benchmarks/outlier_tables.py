"""Tables of the benchmark `outliers`: what was found among planted outliers and jumps, scores, and time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studies.benchmarks.law_tables import Scores, paired_ratio, scores_of
from studies.benchmarks.measure import show
from studies.results import Kept, summarise
from studies.runner import Piece, Result

FIRST, SECOND = "outliers", "normal"
# Lines of the nine functions begin like this; their data sets are also taken together.
GROUPS = ("clean_", "share_")


def show_all(kept: Kept, planted: list[str], ours: list[str]) -> None:
    """Print the tables of all results.

    Parameters
    ----------
    kept : Kept
    planted : list of str
        Lines with planted outliers and jumps; the others have scores at new rows.
    ours : list of str
        Those methods that are ours, whose sweeps are shown.
    """
    lines = list(dict.fromkeys(piece.data for piece, _ in kept.found))
    if some := [line for line in lines if line in planted]:
        _show_planted(kept, some, ours)
    scored = [line for line in lines if line not in planted]
    for lines_of in (_of_group(scored, "clean_"), _of_group(scored, "share_"), _of_group(scored, "")):
        if lines_of:
            _show_scores(kept, lines_of, ours)


def _of_group(lines: list[str], prefix: str) -> list[str]:
    """Return the lines that begin so, or those of no group."""
    return [line for line in lines if (line.startswith(prefix) if prefix else not line.startswith(GROUPS))]


# --- Planted outliers and jumps --------------------------------------------------------------------------


def _show_planted(kept: Kept, lines: list[str], ours: list[str]) -> None:
    columns = ["line", "noise", "outliers found", "rows wrongly flagged", "true jumps found", "false jumps"]
    columns += ["data sets with false jumps", "MAE to the truth", "ratio to normal", "converged", "sweeps", "seconds"]
    rows = [row for line in lines for method in ours if (row := _planted(kept, line, method))]
    show("Planted outliers and jumps, over data sets", columns, rows)
    rows = [[line, str(repeat), *_per_set(kept, line, repeat)] for line in lines for repeat in _sets(kept, line)]
    show(f"The same for each data set, {FIRST} / {SECOND}", ["line", "data set", *PER_SET, "MAE ratio"], rows)


def _planted(kept: Kept, line: str, method: str) -> list[str]:
    results = [result for _, result in kept.select(method, line)]
    if not results:
        return []
    total = {name: sum(result["found"][name] for result in results) for name in results[0]["found"]}
    n_with = sum(result["found"]["false_jumps"] > 0 for result in results)
    first, second = (scores_of(kept, "mae_truth", name, line) for name in (method, SECOND))
    return [
        line,
        method,
        f"{total['outliers']} of {total['n_outliers']}" if method == FIRST else "–",
        str(total["flagged"]) if method == FIRST else "–",
        f"{total['jumps']} of {total['n_jumps']}",
        str(total["false_jumps"]),
        f"{n_with} of {len(results)}",
        str(summarise(list(first.values()))),
        paired_ratio(first, second) if method == FIRST else "–",
        *_effort(results),
    ]


def _effort(results: list[Result]) -> list[str]:
    """Return how many converged, the median sweeps, and the median processor seconds."""
    n_converged = sum(result["info"]["converged"] is True for result in results)
    sweeps = np.median([result["info"]["n_sweeps"] for result in results])
    seconds = np.median([result["fit_seconds"] for result in results])
    return [f"{n_converged} of {len(results)}", f"{sweeps:.0f}", f"{seconds:.0f}"]


def _sets(kept: Kept, line: str) -> list[int]:
    return sorted({piece.repeat for piece, _ in kept.select(None, line)})


PER_SET: dict[str, Callable[[Result], str]] = {
    "outliers found": lambda result: f"{result['found']['outliers']} of {result['found']['n_outliers']}",
    "wrongly flagged": lambda result: str(result["found"]["flagged"]),
    "true jumps": lambda result: f"{result['found']['jumps']} of {result['found']['n_jumps']}",
    "false jumps": lambda result: str(result["found"]["false_jumps"]),
    "MAE": lambda result: f"{result['scores']['mae_truth']:.3f}",
    "converged": lambda result: "yes" if result["info"]["converged"] else "no",
    "sweeps": lambda result: str(result["info"]["n_sweeps"]),
    "seconds": lambda result: f"{result['fit_seconds']:.0f}",
}
# Nothing of these is known with normal noise.
OF_FIRST = ("outliers found", "wrongly flagged")


def _per_set(kept: Kept, line: str, repeat: int) -> list[str]:
    of = {piece.method: result for piece, result in kept.select(None, line) if piece.repeat == repeat}
    cells = []
    for name, cell in PER_SET.items():
        methods = (FIRST,) if name in OF_FIRST else (FIRST, SECOND)
        cells.append(" / ".join(cell(of[method]) if method in of else "–" for method in methods))
    if FIRST not in of or SECOND not in of:
        return [*cells, "–"]
    return [*cells, f"{of[FIRST]['scores']['mae_truth'] / of[SECOND]['scores']['mae_truth']:.2f}"]


# --- Scores at new rows ----------------------------------------------------------------------------------


def _show_scores(kept: Kept, lines: list[str], ours: list[str]) -> None:
    titles = {"mae_truth": "MAE to the truth", "mae": "MAE to new observations", "crps": "CRPS", "coverage": "Coverage"}
    methods = list(dict.fromkeys(piece.method for piece, _ in kept.found if piece.data in lines))
    known = [name for name in titles if all(name in result["scores"] for piece, result in _of_lines(kept, lines))]
    for name in known:
        rows = [[line, *_means(kept, name, line, methods)] for line in lines]
        if len(lines) > 1:
            rows.append(["all of them", *_means_of_all(kept, name, lines, methods)])
        title = f"{titles[name]}{' of 90% intervals' if name == 'coverage' else ''}"
        show(f"{title}, mean over data sets (standard error)", ["line", *methods], rows)
    rows = [[line, *(_ratio(kept, name, [line]) for name in known if name != "coverage")] for line in lines]
    if len(lines) > 1:
        rows.append(["all of them", *(_ratio(kept, name, lines) for name in known if name != "coverage")])
    columns = ["line", *(titles[name] for name in known if name != "coverage")]
    show("outliers over normal, paired ratios ± standard error", columns, rows)
    rows = [
        [line, method, *_effort([result for _, result in found])]
        for line in lines
        for method in ours
        if (found := list(kept.select(method, line)))
    ]
    show("Sweeps and processor seconds of our fits", ["line", "noise", "converged", "sweeps", "seconds"], rows)


def _of_lines(kept: Kept, lines: list[str]) -> list[tuple[Piece, Result]]:
    return [(piece, result) for piece, result in kept.found if piece.data in lines]


def _means(kept: Kept, name: str, line: str, methods: list[str]) -> list[str]:
    found = [kept.score(name, method, line) for method in methods]
    return ["–" if summary is None else str(summary) for summary in found]


def _means_of_all(kept: Kept, name: str, lines: list[str], methods: list[str]) -> list[str]:
    """Return the mean of each method over those data sets of the lines that all methods have."""
    scores = [_scores_of_all(kept, name, lines, method) for method in methods]
    common = set.intersection(*(set(of) for of in scores))
    return [f"{np.mean([of[key] for key in common]):.3f}" if common else "–" for of in scores]


def _scores_of_all(kept: Kept, name: str, lines: list[str], method: str) -> Scores:
    """Return the score of each data set of the lines by a number of its own."""
    scores = [scores_of(kept, name, method, line) for line in lines]
    return {1000 * i + repeat: value for i, of in enumerate(scores) for repeat, value in of.items()}


def _ratio(kept: Kept, name: str, lines: list[str]) -> str:
    """Return the ratio of means over all data sets of the lines."""
    return paired_ratio(*(_scores_of_all(kept, name, lines, method) for method in (FIRST, SECOND)))
