"""Sections of the page, one per study: text, tables, and links to figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from studies.methods import METHODS
from studies.problems import FUNCTIONS
from studies.reproduction import comparisons, figures, paper, posteriors
from studies.results import Kept, Summary, bold_smallest, markdown_table, number
from studies.runner import Piece, Result

# (results, folder of the figures, folder of the real data) -> text.
Section = Callable[[Kept, Path, Path | None], str]


def simulated(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return one table per score, methods by functions, and the figures."""
    parts = [
        "40 training points on a line or 7x7 on a square, noise s.d. 0.5, judged at 100 or 9x9 other points. Means "
        f"over {_n_repeats(kept)}, standard errors in brackets, smallest in bold. The paper prints no "
        "numbers here, only boxplots for one training set each; the same boxplots are below.",
    ]
    for name, title in _SCORES.items():
        parts += [f"### {title}", _methods_by_functions(kept, name)]
    parts += [_image(figures.boxplots(kept, folder), "MAE over 100 noisy test sets, first training set")]
    parts += [_image(figures.bands(kept, folder), "predictions and 90% bands, first training set")]
    parts += [_image(path, "5%, 50% and 95% quantiles of a new observation") for path in figures.maps(kept, folder)]
    return "\n\n".join(part for part in parts if part)


_SCORES = {
    "mae": "MAE over 100 noisy test sets (the paper's error; 0.40 is the floor)",
    "mae_truth": "MAE to the noise-free truth",
    "crps": "CRPS of new observations",
    "coverage": "Coverage of 90% intervals",
    "width": "Mean width of 90% intervals",
}


def _n_repeats(kept: Kept) -> str:
    n = 1 + max((piece.repeat for piece, _ in kept.found), default=0)
    return f"{n} training sets" if n > 1 else "one training set"


def _methods_by_functions(kept: Kept, name: str) -> str:
    columns = []
    for function in FUNCTIONS:
        cells = [kept.score(name, method, function.name) for method in METHODS]
        plain = [number(cell.mean) if cell else "–" for cell in cells]
        columns.append(plain if name in ("coverage", "width") else bold_smallest(cells))
    rows = [[method.title, *cells] for method, *cells in zip(METHODS.values(), *columns, strict=True)]
    return markdown_table(["", *(function.title for function in FUNCTIONS)], rows)


def real_estate(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return the tables of both kinds of splits, and the map."""
    return "\n\n".join(
        [
            "Latitude and longitude in, price out, all standardised over the whole table; 276 rows to learn from, 138 "
            "to be judged at. The 414 rows are at only 259 locations, so a random split tests many rows at places "
            "that it has already seen. Seconds are processor time, with predictions and scores.",
            "### Random rows held out, as in the paper",
            _real_table(kept, comparisons.ROWS, paper.REAL_ESTATE),
            "### Whole locations held out",
            _real_table(kept, comparisons.LOCATIONS, {}),
            _image(figures.price_map(kept, folder, data), "5%, 50% and 95% quantiles of a new price, all rows"),
        ]
    )


def sp500(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return the table, and a picture of the first split."""
    return "\n\n".join(
        [
            "Day in, closing value out, both standardised; 336 days to learn from, 169 to be judged at.",
            _real_table(kept, comparisons.CLOSES, paper.SP500),
            _image(figures.closes(kept, folder, data), "first split: predictions and 90% bands at the held-out days"),
        ]
    )


def _real_table(kept: Kept, data: str, printed: dict[str, paper.Error]) -> str:
    names = ("mae", "crps", "coverage", "width")
    cells = {name: [kept.score(name, method, data) for method in METHODS] for name in names}
    shown = {name: bold_smallest(cells[name]) for name in ("mae", "crps")}
    rows = []
    for i, (name, method) in enumerate(METHODS.items()):
        mae = cells["mae"][i]
        if mae is None:
            continue
        theirs = f"{printed[name].mae:.3f} ({printed[name].standard_error:.3f})" if name in printed else "–"
        rest = [_plain(cells["coverage"][i]), _plain(cells["width"][i]), str(mae.n), _seconds(kept, name, data)]
        rows.append([method.title, theirs, shown["mae"][i], shown["crps"][i], *rest, _information(kept, name, data)])
    header = [
        "",
        "paper, MAE",
        "MAE",
        "CRPS",
        "90% coverage",
        "90% width",
        "splits",
        "s per split",
        "medians; worst mixing",
    ]
    return markdown_table(header, rows)


def _plain(cell: Summary | None) -> str:
    return "–" if cell is None else number(cell.mean)


def _seconds(kept: Kept, method: str, data: str) -> str:
    """Return the mean processor time, which other work on the machine does not change."""
    return number(np.mean([result["cpu_seconds"] for _, result in kept.select(method, data)]), 1)


_SHOWN = {"alpha": "alpha", "nu": "nu", "sharpness": "sharpness", "kl_weight": "KL weight", "leaf_size": "leaf size"}


def _information(kept: Kept, method: str, data: str) -> str:
    """Return medians of parameters over splits, how many splits converged, the worst R-hat and smallest ESS of f."""
    found = list(kept.select(method, data))
    results = [result for _, result in found]
    shown = []
    for name, title in _SHOWN.items():
        values = [float(r["info"][name]) for r in results if name in r["info"]]
        if values and np.isfinite(np.median(values)):
            shown.append(f"{title} {np.median(values):.3g}")
    stopped = [_converged(piece, result) for piece, result in found if _until_converged(piece)]
    shown += [f"{sum(stopped)} of {len(stopped)} converged"] if stopped else []
    rhats = [r["mixing"]["rhat"] for r in results if r["mixing"].get("rhat") is not None]
    shown += [f"R-hat at most {max(rhats):.3f}"] if rhats else []
    sizes = [r["mixing"]["ess"] for r in results if r["mixing"].get("ess") is not None]
    shown += [f"ESS at least {min(sizes):.0f}"] if sizes else []
    return ", ".join(shown) or "–"


def _until_converged(piece: Piece) -> bool:
    """Return whether the chains of a piece were to stop when they have converged."""
    return "max_sweeps" in piece.settings and piece.settings["n_sweeps"] is None


def _converged(piece: Piece, result: Result) -> bool:
    """Return whether they stopped before the last sweep that they may make, which is rounded down to whole draws."""
    return bool(result["n_iterations"] < 0.999 * piece.settings["n_chains"] * piece.settings["max_sweeps"])


def times(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return seconds, ms per iteration and ms per effective sample beside the paper's."""
    rows = []
    for n_inputs, function in enumerate(comparisons.TIMED, start=1):
        for name, method in METHODS.items():
            result = kept.first(name, function)
            if result is not None:
                rows.append([f"{n_inputs}-D", method.title, *_time_cells(result, paper.TIMES.get((name, n_inputs)))])
    header = [
        "",
        "",
        "paper, s",
        "paper, ms per iteration",
        "s",
        "ms per iteration",
        "ms per effective sample",
        "slowest tenth",
    ]
    note = (
        "Processor time, one method at a time, one core, compilation excluded, predictions included. Iterations are "
        "sweeps, optimiser steps, draws or trees, so compare them within a method; time per effective sample (of f at "
        "the worst new row, and at the slowest tenth of them) compares samplers. The paper's times are those of its "
        "own programs and machine."
    )
    return f"{note}\n\n{markdown_table(header, rows)}"


def _time_cells(result: dict[str, Any], printed: paper.Time | None) -> list[str]:
    seconds, n = float(result["fit_seconds"]), result["n_iterations"]
    theirs = [f"{printed.seconds:g}", f"{printed.milliseconds:g}"] if printed else ["–", "–"]
    found = result["mixing"]
    effective = [number(1e3 * seconds / found[name], 2) if found.get(name) else "–" for name in ("ess", "ess_tenth")]
    return [*theirs, number(seconds, 2), number(1e3 * seconds / n, 3) if n else "–", *effective]


def ablation(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return one table per function of the MAE to the truth over the grid, and a figure."""
    parts = ["MAE to the noise-free truth of the jump engine with alpha and nu given, first training set."]
    for function in FUNCTIONS:
        results = [result for _, result in kept.select(data=function.name)]
        if results:
            header = [function.title, *(f"nu = {nu:g}" for nu in results[0]["nus"])]
            rows = [[f"alpha = {r['alpha']:g}", *(number(value) for value in r["mae_truth"])] for r in results]
            parts.append(markdown_table(header, rows))
    parts.append(_image(figures.ablation(kept, folder), "MAE to the truth over (alpha, nu)"))
    return "\n\n".join(part for part in parts if part)


def covariance(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return the figure with a sentence."""
    text = (
        "Given the scales, the outputs are Gaussian with covariance Q_s, and Q_s is random: below, the 25%, 50% and "
        "75% posterior quantiles of its entries for three jumps, training points in order. Blocks are stretches "
        "without a jump."
    )
    return f"{text}\n\n{_image(figures.covariance(kept, folder), 'quartiles of Q_s')}"


def mixing(kept: Kept, folder: Path, data: Path | None) -> str:
    """Return the worst R-hat and smallest ESS of both samplers, and their traces."""
    rows = []
    for name in posteriors.SAMPLERS:
        result = kept.first(name, posteriors.FUNCTION)
        if result is not None:
            rhat, ess = np.array(result["rhat"], dtype=float), np.array(result["ess"], dtype=float)
            cells = [
                number(np.nanmax(rhat)),
                str(int((rhat > 1.01).sum())),
                number(ess.min(), 0),
                str(result["n_draws"]),
            ]
            rows.append([METHODS[name].title, *cells])
    header = ["", "worst R-hat", "new rows above 1.01, of 100", "least ESS", "draws"]
    text = "Three jumps at the paper's alpha and nu, several chains of each sampler, f at the 100 new points."
    return f"{text}\n\n{markdown_table(header, rows)}\n\n{_image(figures.traces(kept, folder), 'traces and R-hat')}"


def _image(path: Path | None, title: str) -> str:
    return "" if path is None else f"![{title}]({path.parent.name}/{path.name})"


SECTIONS: dict[str, Section] = {
    "simulated": simulated,
    "real_estate": real_estate,
    "sp500": sp500,
    "timing": times,
    "ablation": ablation,
    "covariance": covariance,
    "traces": mixing,
}
