"""Tables of the benchmark `law`: errors, paired ratios, and how our chains mixed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from studies.benchmarks.measure import show
from studies.problems import Floats
from studies.results import Kept, Summary, number, summarise
from studies.runner import Result

# Scores of one method on one problem, by the number of the data set.
Scores = dict[int, float]
GPS = ("gp_gaussian", "gp_matern")
TITLES = {"mae_truth": "MAE to the truth", "crps": "CRPS of new observations", "coverage": "Coverage of 90% intervals"}
RATIOS = {
    "law_inferred over the better GP": ("law_inferred", GPS),
    "law_inferred over sign_equal": ("law_inferred", ("sign_equal",)),
    "sign_relevance over sign_equal": ("sign_relevance", ("sign_equal",)),
    "law_inferred over the best other": ("law_inferred", (*GPS, "bart", "forest")),
}
PARTS = {"relevance": "log r", "sharpness": "log w", "f": "f", "parameters": "alpha, nu, sigma2"}
LARGEST_RHAT = 1.01


def show_all(kept: Kept, ours: list[str]) -> None:
    """Print the tables of all results.

    Parameters
    ----------
    kept : Kept
    ours : list of str
        Those methods that are ours, whose mixing is shown.
    """
    problems = list(dict.fromkeys(piece.data for piece, _ in kept.found))
    methods = list(dict.fromkeys(piece.method for piece, _ in kept.found))
    for name, title in TITLES.items():
        rows = [[problem, *_cells(kept.score(name, method, problem) for method in methods)] for problem in problems]
        show(f"{title}, mean over data sets (standard error)", ["problem", *methods], rows)
    for name in ("mae_truth", "crps"):
        rows = [[problem, *ratios(kept, name, problem)] for problem in problems]
        show(f"{TITLES[name]}, paired ratios ± standard error", ["problem", *RATIOS], rows)
    rows = [[problem, *_cells(_seconds(kept, method, problem) for method in methods)] for problem in problems]
    show("Processor seconds of the fit", ["problem", *methods], rows)
    rows = [row for problem in problems for method in ours if (row := _mixing(kept, method, problem))]
    columns = ["problem", "method", "sweeps", *(f"R-hat of {title}" for title in PARTS.values()), "least ESS"]
    show("Worst mixing over data sets (data sets with R-hat <= 1.01)", columns, rows)


def _cells(summaries: Iterable[Summary | None]) -> list[str]:
    return ["–" if summary is None else str(summary) for summary in summaries]


def _seconds(kept: Kept, method: str, problem: str) -> Summary | None:
    values = [float(result["fit_seconds"]) for _, result in kept.select(method, problem)]
    return summarise(values) if values else None


# --- Paired ratios ---------------------------------------------------------------------------------------


def ratios(kept: Kept, name: str, problem: str) -> list[str]:
    """Return one cell per ratio; of several methods the one with the smallest mean score is taken."""
    cells = []
    for ours, others in RATIOS.values():
        first = scores_of(kept, name, ours, problem)
        found = [scores for other in others if (scores := scores_of(kept, name, other, problem))]
        if not first or not found:
            cells.append("–")
            continue
        cells.append(paired_ratio(first, min(found, key=lambda scores: np.mean(list(scores.values())))))
    return cells


def scores_of(kept: Kept, name: str, method: str, problem: str) -> Scores:
    """Return a score of each data set by its number."""
    return {piece.repeat: float(result["scores"][name]) for piece, result in kept.select(method, problem)}


def paired_ratio(first: Scores, second: Scores) -> str:
    """Return the ratio of means over the data sets that both have, with its standard error by the jackknife.

    Examples
    --------
    >>> paired_ratio({0: 1.0, 1: 2.0, 2: 9.0}, {0: 2.0, 1: 4.0})
    '0.500 ± 0.000'
    """
    both = sorted(first.keys() & second.keys())
    a, b = (np.array([scores[repeat] for repeat in both]) for scores in (first, second))
    if not both:
        return "–"
    ratio = a.sum() / b.sum()
    return f"{ratio:.3f} ± {jackknife_error(a, b):.3f}" if len(both) > 1 else f"{ratio:.3f}"


def jackknife_error(a: Floats, b: Floats) -> float:
    """Return the standard error of `a.sum() / b.sum()` over pairs, by leaving each of them out."""
    without = (a.sum() - a) / (b.sum() - b)
    return float(np.sqrt((len(a) - 1) * np.mean((without - without.mean()) ** 2)))


# --- Mixing ----------------------------------------------------------------------------------------------


def _mixing(kept: Kept, method: str, problem: str) -> list[str]:
    """Return a row: median sweeps, worst R-hat of each part with the number of good data sets, and the least ESS."""
    results = [result for _, result in kept.select(method, problem)]
    if not results:
        return []
    sweeps = number(np.median([result["info"]["n_sweeps"] for result in results]), 0)
    sizes = np.array([part["ess"] for r in results for part in r["info"]["mixing"].values()], dtype=float)
    return [problem, method, sweeps, *(_rhat(results, part) for part in PARTS), number(sizes.min(), 0)]


def _rhat(results: list[Result], part: str) -> str:
    # R-hat is kept as None where it is not defined.
    values = np.array([r["info"]["mixing"][part]["rhat"] for r in results if part in r["info"]["mixing"]], dtype=float)
    return f"{values.max():.3f} ({np.sum(values <= LARGEST_RHAT)} of {values.size})" if values.size else "–"
