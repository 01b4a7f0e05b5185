"""The list as the page shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.evidence.data import REAL
from studies.evidence.plan import KINDS, LIMIT, METHODS, N_SETS, OURS, PROBLEMS, RULE, TOO_LONG, n_rows
from studies.results import markdown_table

TEXT = Path(__file__).with_name("list.md")


def the_list() -> str:
    """Return the list in Markdown: what is run, on what, for how long, how it is scored, and the rule."""
    parts = {"n_sets": N_SETS, "limit": f"{LIMIT:g}", "too_long": f"{TOO_LONG:g}", "rule": RULE}
    text = TEXT.read_text(encoding="utf-8").strip()
    return text.format(problems=_problems(), methods=_methods(), **parts)


def _problems() -> str:
    rows = []
    for name, task in PROBLEMS.items():
        d = REAL[name].shape[1] if name in REAL else task.make(0).X.shape[1]
        source = REAL[name].source if name in REAL else "simulated"
        rows.append([task.title, f"`{name}`", KINDS[task.kind], str(n_rows(name)), str(d), source])
    return markdown_table(["problem", "name", "kind", "training rows", "inputs", "source"], rows)


def _methods() -> str:
    rows = []
    for name, method in METHODS.items():
        most = f"{method.max_rows:g}" if np.isfinite(method.max_rows) else "any"
        rows.append([method.title, f"`{name}`", "ours" if name in OURS else method.package, most, method.about])
    return markdown_table(["method", "name", "package", "rows", "settings"], rows)
