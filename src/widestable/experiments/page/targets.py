"""What this package set out to reach, and whether the kept results reach it."""

from __future__ import annotations

from collections.abc import Mapping

from widestable.experiments import paper
from widestable.experiments.functions import FUNCTIONS
from widestable.experiments.methods import METHODS, STABLE
from widestable.experiments.page.kept import Kept, Summary, markdown_table
from widestable.experiments.studies import real_data

OURS = "jumps_inferred"
OTHERS = tuple(name for name in METHODS if name not in STABLE)


def targets(kept: Mapping[str, Kept]) -> str:
    """A table: target, ours, the best other, reached or not."""
    rows = _jump_functions(kept["simulated"])
    rows += _real_estate(kept["real_estate"])
    rows += [_limit(kept["sp500"], "S&P 500, MAE", real_data.CLOSES, paper.TARGET_SP500_MAE)]
    return markdown_table(["target", "ours", "to beat", "reached"], rows)


def _jump_functions(kept: Kept) -> list[list[str]]:
    """Stable with everything inferred has the smallest MAE to the truth and CRPS."""
    rows = []
    for function in FUNCTIONS:
        if function.has_jumps:
            for name, title in (("mae_truth", "MAE to the truth"), ("crps", "CRPS")):
                rows.append(_beat(kept, f"{function.title}, {title}", function.name, name, OTHERS))
    return rows


def _real_estate(kept: Kept) -> list[list[str]]:
    limit = _limit(kept, "real estate, MAE", real_data.ROWS, paper.TARGET_REAL_ESTATE_MAE)
    return [limit, _beat(kept, "real estate, CRPS", real_data.ROWS, "crps", ("bart", "gp_ml", "gp_bayes"))]


def _best(kept: Kept, name: str, data: str, methods: tuple[str, ...]) -> tuple[str, Summary] | None:
    found = {method: kept.score(name, method, data) for method in methods}
    present = {method: summary for method, summary in found.items() if summary is not None}
    return min(present.items(), key=lambda item: item[1].mean) if present else None


def _beat(kept: Kept, title: str, data: str, name: str, others: tuple[str, ...]) -> list[str]:
    ours, theirs = kept.score(name, OURS, data), _best(kept, name, data, others)
    if ours is None or theirs is None:
        return [title, "–", "–", "not run"]
    return [
        title,
        str(ours),
        f"{theirs[1]} ({METHODS[theirs[0]].title})",
        "yes" if ours.mean < theirs[1].mean else "**no**",
    ]


def _limit(kept: Kept, title: str, data: str, limit: float) -> list[str]:
    ours = kept.score("mae", OURS, data)
    if ours is None:
        return [title, "–", f"{limit:.3f}", "not run"]
    return [title, str(ours), f"{limit:.3f}", "yes" if ours.mean <= limit else "**no**"]
