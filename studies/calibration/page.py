"""Write docs/calibration.md and its figures from kept results; what has none stays as the page has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from studies.calibration.simulations import COVERAGES, LARGEST_Y
from studies.calibration.uniformity import band, judge, pointwise
from studies.results import markdown_table
from studies.runner import Result
from studies.sampling import N_ATOMS

Results = dict[str, list[Result]]

TITLES = {
    "sign": "Sign units, jump engine, alpha, nu and sigma2 inferred; f from the exact partition",
    "outliers": "Noise with outliers: sign units, jump engine; f from the exact partition",
    "relevance": "Two inputs, outliers, relevances inferred: sign units, jump engine; f from a wide network",
    "law": "Two inputs, jump engine, the sharpness and the relevance of each input inferred too; f from a wide network",
    "gibbs": "Blocked sampler on the exact partition, alpha = 1.1 and nu given; f from the exact partition",
    "broken": "A broken sampler, for comparison: sign units, every row counted twice",
}
COVERAGE_TITLE = "Coverage of intervals for a new observation"
INTRODUCTION = f"""# Calibration

Each simulation draws the parameters from the prior (alpha ~ U(0.5, 1.95), log nu ~ N(0, 1.5^2), or N(0, 3^2) where
the sharpness is inferred, sigma2 half-Cauchy, and the sharpness, the relevances, and the probability of an outlier
where they are inferred), then f, then data at 15 rows, which are not standardised. f comes from another route than
the jump engine's: from the exact partition, or from a wide network. (The blocked sampler uses the same partition, but
draws in another way.) If a sampler is right, the rank of the true value among nearly independent posterior draws is
uniform. The jump engine keeps {N_ATOMS:g} atoms on average, its default. Data with some |y| above {LARGEST_Y:g} are
drawn again, and so are those whose sigma2 is below the floor that the jump engine gives it for such y: its prior ends
there. Both leave the ranks uniform. The largest step is the largest difference of f between rows that follow each
other along the first input; the largest spike is the largest distance of an outlier from f plus noise. Ties are
broken at random. `make sbc` writes this page; finished simulations are kept and not run again.

The tables show p-values of uniformity: chi-square in 20 bins, Kolmogorov-Smirnov, and simultaneous bands around the
distribution function of the ranks. The pictures show this function minus its diagonal, with the 95% band.
"""


def write_page(path: Path, results: Results, n_draws: dict[str, int], functions: Results) -> None:
    """Write the page, and one picture per kind beside it.

    Kinds and functions without results keep the section and the row that the page has already.

    Parameters
    ----------
    path : Path
    results : dict
        Results of the simulations by kind.
    n_draws : dict
        Draws that a truth is ranked among, by kind.
    functions : dict
        Coverage on simulated functions, by title.
    """
    old = read_sections(path)
    parts = [INTRODUCTION]
    for kind, title in TITLES.items():
        if found := results.get(kind):
            parts.append(f"{_section(kind, found, n_draws[kind])}\n{_picture(path, kind, found, n_draws[kind])}")
        elif title in old:
            parts.append(old[title])
    parts.append(_coverage(results, functions, old.get(COVERAGE_TITLE, "")))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")


def read_sections(path: Path) -> dict[str, str]:
    """Return the sections of a page by title; none if there is no page."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return {section.partition("\n")[0]: f"## {section.rstrip()}\n" for section in sections}


def ranks_of(results: list[Result]) -> dict[str, Any]:
    """Return the ranks by quantity, each of shape (simulations,)."""
    return {name: np.array([r["ranks"][name] for r in results]) for name in results[0]["ranks"]}


def _section(kind: str, results: list[Result], n_draws: int) -> str:
    n_redrawn = sum(r["n_redrawn"] for r in results)
    again = "1 data set was" if n_redrawn == 1 else f"{n_redrawn} data sets were"
    rows = [[name, *(f"{p:.3f}" for p in judge(ranks, n_draws))] for name, ranks in ranks_of(results).items()]
    parts = [
        f"## {TITLES[kind]}\n",
        f"{len(results)} simulations, ranks among {n_draws} draws; {again} drawn again.\n",
        markdown_table(["quantity", "chi-square", "Kolmogorov-Smirnov", "bands"], rows),
    ]
    return "\n".join(parts) + "\n"


def _picture(path: Path, kind: str, results: list[Result], n_draws: int) -> str:
    from matplotlib.figure import Figure

    ranks = ranks_of(results)
    figure = Figure(figsize=(9.0, 4.5), layout="constrained")
    axes = figure.subplots(2, -(-len(ranks) // 2), sharex=True, sharey=True).ravel()
    for ax, (name, values) in zip(axes, ranks.items(), strict=False):
        places, low, high = band(len(values), n_draws)
        below, _ = pointwise(values, n_draws)
        ax.fill_between(places, low - places, high - places, color="0.85", linewidth=0.0)
        ax.step(places, below / len(values) - places, color="C0", where="post")
        ax.set_title(name, fontsize=9)
    for ax in axes[len(ranks) :]:
        ax.set_axis_off()
    figure.supxlabel("rank of the truth, 0 to 1", fontsize=9)
    figure.supylabel("distribution function minus its diagonal", fontsize=9)
    target = path.parent / "images" / f"calibration_{kind}.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=100)
    return f"![Ranks beside their band: {kind}](images/{target.name})\n"


def _coverage(results: Results, functions: Results, old: str) -> str:
    named = {f"prior, {kind}": results.get(kind, []) for kind in TITLES} | functions
    rows = [_coverage_row(name, found) if found else _old_row(name, old) for name, found in named.items()]
    table = markdown_table(["data", *(f"{c:.0%}" for c in COVERAGES), "intervals"], [row for row in rows if row])
    return f"## {COVERAGE_TITLE}\n\n{table}\n"


def _coverage_row(name: str, found: list[Result]) -> list[str]:
    inside = np.concatenate([np.asarray(r["inside"], dtype=float).reshape(-1, len(COVERAGES)) for r in found])
    means = [f"{value:.3f}" for value in inside.mean(axis=0)]
    return [name, *means, str(found[0].get("n_each", 1) * len(inside))]


def _old_row(name: str, section: str) -> list[str]:
    """Return the row of a table that begins with a name, or nothing."""
    rows = ([cell.strip() for cell in line.strip("| ").split("|")] for line in section.splitlines())
    return next((cells for cells in rows if cells[0] == name), [])
