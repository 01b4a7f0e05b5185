"""What this package set out to reach, and whether the kept results reach it."""

from __future__ import annotations

from collections.abc import Mapping

from studies.reproduction import paper
from studies.problems import FUNCTIONS
from studies.methods import METHODS, STABLE
from studies.reproduction.page.kept import Kept, Summary, markdown_table
from studies.reproduction import real_data

# Everything inferred, with sign units and with units whose sharpness is inferred too.
OURS = ("jumps_inferred", "jumps_smooth")
OTHERS = tuple(name for name in METHODS if name not in STABLE)


def targets(kept: Mapping[str, Kept]) -> str:
    """A table: target, ours with sign and with smooth units, the best other, which of ours reach it."""
    rows = _jump_functions(kept["simulated"])
    rows += _real_estate(kept["real_estate"])
    rows += [_limit(kept["sp500"], "S&P 500, MAE", real_data.CLOSES, paper.TARGET_SP500_MAE)]
    return markdown_table(["target", "sign units", "sharpness inferred too", "to beat", "reached by"], rows)


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
    words = {(True, True): "both", (True, False): "sign units", (False, True): "inferred", (False, False): "**none**"}
    return [title, *map(str, ours), to_beat, words[reached[0], reached[1]]]
