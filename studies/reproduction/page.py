"""Write docs/reproduction.md: what was run and how, targets, one section per study, discussion, data."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from studies.methods import METHODS, STABLE
from studies.problems import FUNCTIONS
from studies.reproduction import comparisons
from studies.reproduction.presets import Preset
from studies.reproduction.published import RESULTS
from studies.reproduction.sections import SECTIONS
from studies.reproduction.session import STUDIES
from studies.results import Kept, Summary, markdown_table

PACKAGES = ("widestable", "numpy", "scikit-learn", "numpyro", "jax", "stochtree")
QUICK_NOTE = "**This is a smoke run: budgets are tiny and the numbers mean nothing.**"
DISCUSSION = Path(__file__).with_name("discussion.md")
# Everything inferred: the model of the paper, and the default.
OURS = ("jumps_inferred", "jumps_default")
OTHERS = tuple(name for name in METHODS if name not in STABLE)
# What this package set out to reach on the real data.
TARGET_REAL_ESTATE_MAE = 0.415
TARGET_SP500_MAE = 0.056


def write_page(out: Path, cache: Path, preset: Preset, data: Path | None = None) -> None:
    """Write the page and its figures from kept results.

    Parameters
    ----------
    out : Path
        The page; its figures go to a folder of the same name beside it.
    cache : Path
        Folder where results are kept.
    preset : Preset
        The preset whose results are shown.
    data : Path or None
        Folder of the real data, which two figures show; by default WIDESTABLE_DATA.
    """
    kept = {name: Kept.of(cache, study.plan(preset)) for name, study in STUDIES.items()}
    parts = [_head(preset, kept)]
    if preset.name == "quick":
        parts.append(QUICK_NOTE)
    parts += ["## Targets", targets(kept)]
    for name, study in STUDIES.items():
        parts += [f"## {study.title}", _command(name, preset, kept[name])]
        if kept[name].found:
            parts.append(SECTIONS[name](kept[name], out.with_suffix(""), data))
    parts.append(DISCUSSION.read_text(encoding="utf-8").strip())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _head(preset: Preset, kept: dict[str, Kept]) -> str:
    n_found, n_planned = (
        sum(values) for values in zip(*((len(k.found), k.n_planned) for k in kept.values()), strict=True)
    )
    hours = sum(k.seconds for k in kept.values()) / 3600.0
    return "\n\n".join(
        [
            "# The paper's experiments, run with this package",
            "Written by `make reproduce` (`python -m studies.reproduction`), not by hand, except the last two "
            "sections. The paper is Loría & Bhadra (UAI 2024). *Stable, published sampler* is its Algorithm 1 with the "
            "errors in its formulas corrected; the other lines called Stable are this package's jump engine.",
            f"Preset `{preset.name}`: {n_found} of {n_planned} pieces, {hours:.2f} core hours, "
            f"{date.today():%d %B %Y}, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
            f"{_versions()}. The results are in `studies/reproduction/{RESULTS.name}`, from which "
            "`--only-page --published` writes this page.",
        ]
    )


def _versions() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _command(name: str, preset: Preset, kept: Kept) -> str:
    command = f"`python -m studies.reproduction {name} --preset {preset.name}`"
    if not kept.found:
        return f"Not run yet: {command}."
    missing = kept.n_planned - len(kept.found)
    rest = f"; {missing} of {kept.n_planned} pieces are missing" if missing else ""
    return f"{command}, {kept.seconds / 60.0:.1f} core minutes{rest}."


# --- Targets ---------------------------------------------------------------------------------------------


def targets(kept: Mapping[str, Kept]) -> str:
    """Return a table: target, the paper's model and our default, the best other, which of ours reach it."""
    rows = _jump_functions(kept["simulated"])
    rows += _real_estate(kept["real_estate"])
    rows += [_limit(kept["sp500"], "S&P 500, MAE", comparisons.CLOSES, TARGET_SP500_MAE)]
    return markdown_table(["target", "the paper's model", "our default", "to beat", "reached by"], rows)


def _jump_functions(kept: Kept) -> list[list[str]]:
    """Return one row per function that jumps and score: ours should be the smallest."""
    rows = []
    for function in FUNCTIONS:
        if function.has_jumps:
            for name, title in (("mae_truth", "MAE to the truth"), ("crps", "CRPS")):
                rows.append(_beat(kept, f"{function.title}, {title}", function.name, name, OTHERS))
    return rows


def _real_estate(kept: Kept) -> list[list[str]]:
    limit = _limit(kept, "real estate, MAE", comparisons.ROWS, TARGET_REAL_ESTATE_MAE)
    return [limit, _beat(kept, "real estate, CRPS", comparisons.ROWS, "crps", ("bart", "gp_ml", "gp_bayes"))]


def _best(kept: Kept, name: str, data: str, methods: tuple[str, ...]) -> tuple[str, Summary] | None:
    found = {method: kept.score(name, method, data) for method in methods}
    present = {method: summary for method, summary in found.items() if summary is not None}
    return min(present.items(), key=lambda item: item[1].mean) if present else None


def _beat(kept: Kept, title: str, data: str, name: str, others: tuple[str, ...]) -> list[str]:
    theirs = _best(kept, name, data, others)
    if theirs is None:
        return [title, "–", "–", "–", "not run"]
    best = f"{theirs[1]} ({METHODS[theirs[0]].title})"
    return _row(title, [kept.score(name, method, data) for method in OURS], best, theirs[1].mean)


def _limit(kept: Kept, title: str, data: str, limit: float) -> list[str]:
    return _row(title, [kept.score("mae", method, data) for method in OURS], f"{limit:.3f}", limit)


def _row(title: str, ours: list[Summary | None], to_beat: str, limit: float) -> list[str]:
    if None in ours:
        return [title, "–", "–", to_beat, "not run"]
    reached = [summary is not None and summary.mean <= limit for summary in ours]
    words = {(True, True): "both", (True, False): "the paper's", (False, True): "ours", (False, False): "**none**"}
    return [title, *map(str, ours), to_beat, words[reached[0], reached[1]]]
