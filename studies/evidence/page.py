"""Write docs/evidence.md from results: ranks, the default, wins and losses in words, scores, failures, the list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from studies.evidence import choice, ranks, series, table
from studies.evidence.listing import the_list
from studies.evidence.plan import KINDS, METHODS, OTHERS, OURS, PAPER, PROBLEMS, SCORES
from studies.results import markdown_table
from studies.runner import Piece
from widestable.diagnostics import MAX_RHAT, TARGET_ESS

PICTURE = "evidence_ranks.png"
# Differences below this share of the CRPS are called a draw.
DRAW = 0.02
GROUPS = {
    "all problems": tuple(KINDS),
    "real data": ("real",),
    "data with jumps": ("steps", "jumps"),
    "no jumps": ("smooth",),
    "other noise": ("noise",),
}
TITLES = {name: method.title for name, method in METHODS.items()}
HEAD = """# One time limit, many problems, many methods

Written by `python -m studies.evidence page` from `studies/evidence/results.csv`, not by hand."""


def write_page(out: Path, found: pd.DataFrame, plan: Sequence[Piece], of_series: pd.DataFrame) -> None:
    """Write the page and its picture.

    Parameters
    ----------
    out : Path
        The page; the picture goes to the folder `images` beside it.
    found : DataFrame
        Results, see `table.gather`.
    plan : sequence of Piece
        Everything that was to be run.
    of_series : DataFrame
        Results on series.
    """
    parts = [HEAD, _state(found, plan)]
    if _has_ours(found) and not table.complete(found, plan).empty:
        parts += _results(found, plan, out.parent / "images" / PICTURE)
    if _has_ours(found):
        parts += ["## Failures and missing pieces", failures(found)]
        if missing := _missing(found, plan):
            parts.append(f"Not run, by method, with the number of the data set:\n\n{missing_in_words(missing)}")
    parts += ["## Series with change points", series.section(of_series), "## The list", the_list()]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def _state(found: pd.DataFrame, plan: Sequence[Piece]) -> str:
    """Return how much of the plan there is, what it took, and what is missing."""
    if found.empty:
        return "Nothing has been run yet: `python -m studies.evidence run`."
    if not _has_ours(found):
        text = f"{len(found)} of {len(plan)} pieces have been run, all of other methods."
        return f"{text} Tables follow when ours have been run, too: `python -m studies.evidence run`."
    hours = found["cpu_seconds"].sum() / 3600.0
    text = f"{len(found)} of {len(plan)} pieces, {hours:.1f} core hours. {', '.join(pd.unique(found['versions']))}."
    if n_missing := len(_missing(found, plan)):
        text += f"\n\n**{n_missing} pieces are missing**; the section on failures names them. Scores are compared on "
        text += "those data sets on which every method of the table that is planned there has a result; convergence, "
        text += "coverage and seconds of a method are over all data sets that it has."
    return text


def _has_ours(found: pd.DataFrame) -> bool:
    """Whether there is anything to compare the other methods with."""
    return bool(found["method"].isin(OURS).any())


def _missing(found: pd.DataFrame, plan: Sequence[Piece]) -> list[Piece]:
    there = set(found["piece"])
    return [piece for piece in plan if piece.file_name not in there]


def missing_in_words(missing: Sequence[Piece]) -> str:
    """Return the missing pieces, methods that lack the same data sets together."""
    by_method: dict[str, list[str]] = {}
    for piece in missing:
        by_method.setdefault(piece.method, []).append(f"{piece.data} {piece.repeat}")
    by_sets: dict[str, list[str]] = {}
    for method, sets in by_method.items():
        by_sets.setdefault(", ".join(sets), []).append(f"`{method}`")
    return "\n".join(f"- {', '.join(methods)}: {sets}" for sets, methods in by_sets.items())


def _results(found: pd.DataFrame, plan: Sequence[Piece], picture: Path) -> list[str]:
    """Return the sections that are made of complete data sets; ranks and the default need more than one method."""
    everywhere, there = table.complete(found, plan), set(found["method"])
    best, sections = None, []
    if PAPER in there:
        options = choice.candidates(everywhere, found)
        best = choice.chosen(options)
        sections += ["## The default", _default(options, best, _n_sets(everywhere))]
    shown = [name for name in dict.fromkeys((best, PAPER, *OTHERS)) if name in there]
    frame = table.complete(found[found["method"].isin(shown)], plan)
    crps = table.means(frame, "crps")
    if len(compared := [name for name in shown if np.isinf(METHODS[name].max_rows)]) > 1:
        ranked = ranks.rank(crps[compared])
        ranks.draw(ranked, TITLES, {name for name in compared if name in OURS}, picture)
        sections += ["## Average ranks", _ranks(crps[compared], _n_sets(frame)), _picture(ranked)]
    if best is not None:
        sections += ["## Wins and losses", wins_and_losses(crps, best)]
    sections += ["## Scores", *_scores(frame, shown)]
    of_ours = table.means(everywhere, "crps")[[name for name in OURS if name in there]]
    sections += ["## Our eight combinations, CRPS", _score_table(of_ours)]
    return [*sections, "## Time and convergence", _time(found)]


def _n_sets(frame: pd.DataFrame) -> int:
    return int(frame.groupby(["problem", "repeat"]).ngroups)


def _default(options: pd.DataFrame, best: str | None, n_sets: int) -> str:
    words = "No combination is eligible by the rule below." if best is None else f"Chosen: **{TITLES[best]}**."
    lines = markdown_table(choice.HEADER, choice.in_cells(options))
    return f"{words} Ratios are of {n_sets} data sets; mean log ratios have standard errors over problems.\n\n{lines}"


# --- Ranks -----------------------------------------------------------------------------------------------


def _ranks(crps: pd.DataFrame, n_sets: int) -> str:
    """Return a table of average ranks by group of problems, with standard errors."""
    parts = {}
    for title, kinds in GROUPS.items():
        rows = crps[[PROBLEMS[name].kind in kinds for name in crps.index]]
        if len(rows):
            parts[f"{title} ({len(rows)})"] = ranks.rank(rows)
    order = next(iter(parts.values())).mean.index
    rows_of = [
        [TITLES[name], *(f"{part.mean[name]:.2f} ({part.error[name]:.2f})" for part in parts.values())]
        for name in order
    ]
    text = f"By CRPS on {n_sets} data sets, 1 is best; in brackets the standard error over problems."
    return f"{text}\n\n{markdown_table(['method', *parts], rows_of)}"


def _picture(ranked: ranks.Ranked) -> str:
    text = f"![Average ranks over {ranked.n_problems} problems](images/{PICTURE})\n\n"
    text += f"Methods that one bar joins do not differ: their average ranks over {ranked.n_problems} problems are less "
    return text + f"than {ranked.critical:.2f} apart."


# --- Wins and losses -------------------------------------------------------------------------------------


def wins_and_losses(crps: pd.DataFrame, best: str) -> str:
    """Return sentences: ours against each competitor, and each problem where ours is not the best.

    Parameters
    ----------
    crps : DataFrame
        Mean CRPS, problems by methods.
    best : str
        Which of ours.
    """
    others = [name for name in crps.columns if name in OTHERS]
    lines = [f"Here ours is *{TITLES[best].removeprefix('ours: ')}*. CRPS within {DRAW:.0%} is level."]
    lines += ["\n".join(f"- {_against(crps[best], crps[name], name)}" for name in others)]
    behind, ahead = [], []
    for problem, row in crps.iterrows():
        theirs = row[others].dropna()
        if theirs.empty or np.isnan(row[best]):
            continue
        ratio = row[best] / theirs.min()
        words = f"{PROBLEMS[str(problem)].title} ({TITLES[str(theirs.idxmin())]}, {ratio - 1.0:+.0%})"
        (behind if ratio > 1.0 + DRAW else ahead).append(words)
    lines.append(_sentence("Ours is behind the best competitor", behind, "nowhere"))
    lines.append(_sentence("Ours is ahead of every competitor, or level with the best,", ahead, "nowhere"))
    return "\n\n".join(lines)


def _against(ours: pd.Series, theirs: pd.Series, name: str) -> str:
    both = ours.notna() & theirs.notna()
    ratio = ours[both] / theirs[both]
    won, lost = int((ratio < 1.0 - DRAW).sum()), int((ratio > 1.0 + DRAW).sum())
    text = f"{TITLES[name]}: ours is better on {won}, worse on {lost} and level on {len(ratio) - won - lost} problems"
    if len(ratio):
        text += f"; its CRPS is {np.exp(np.log(ratio).mean()):.2f} times theirs (geometric mean)"
    n_failed = int((ours.notna() & theirs.isna()).sum())
    return text + (f"; {n_failed} without a result of theirs." if n_failed else ".")


def _sentence(start: str, names: list[str], none: str) -> str:
    return f"{start} {f'on {len(names)}: ' + ', '.join(names) if names else none}."


# --- Scores ----------------------------------------------------------------------------------------------


def _scores(frame: pd.DataFrame, shown: list[str]) -> list[str]:
    """Return one table per score."""
    parts = []
    for score, title in SCORES.items():
        parts += [f"### {title[0].upper()}{title[1:]}", _score_table(table.means(frame, score)[shown], score)]
    return parts


def _score_table(values: pd.DataFrame, score: str = "crps") -> str:
    """Return a table with the best of each row in bold; coverage and width have no best."""
    rows = []
    for problem, row in values.iterrows():
        smallest = row.round(3).min() if score not in ("coverage", "width") else np.nan
        rows.append([PROBLEMS[str(problem)].title, *(_cell(value, smallest) for value in row)])
    return markdown_table(["problem", *(TITLES[name] for name in values.columns)], rows)


def _cell(value: float, smallest: float) -> str:
    if np.isnan(value):
        return "–"
    return f"**{value:.3f}**" if round(value, 3) == smallest else f"{value:.3f}"


def _time(frame: pd.DataFrame) -> str:
    rows = []
    for name, group in frame.groupby("method", sort=False):
        good = group[group["failed"].isna()]
        cells = [f"{good['seconds'].median():.1f}", f"{good['seconds'].max():.1f}"] if len(good) else ["–", "–"]
        if good["rhat"].notna().any():
            cells += [f"{good['converged'].mean():.0%}", f"{good['rhat'].median():.3f}"]
            cells += [f"{good['rhat'].max():.2f}", f"{good['ess'].median():.0f}"]
        else:
            cells += ["–"] * 4
        rows.append([TITLES[str(name)], *cells, str(int(group["failed"].notna().sum()))])
    header = ["method", "median seconds", "longest", "converged", "median R-hat"]
    text = f"Over data sets. Converged: R-hat of f at most {MAX_RHAT} and ESS at least {TARGET_ESS:g}. Methods without "
    text += "chains have neither."
    return f"{text}\n\n{markdown_table([*header, 'worst R-hat', 'median least ESS', 'failed'], rows)}"


def failures(found: pd.DataFrame) -> str:
    """Return which methods failed where, and why."""
    failed = found[found["failed"].notna()]
    if failed.empty:
        return "No method failed."
    rows = [
        [TITLES[r.method], f"{r.problem} {r.repeat}", str(r.failed), f"{r.seconds:.0f}"] for r in failed.itertuples()
    ]
    return markdown_table(["method", "data set", "what it said", "seconds"], rows)
