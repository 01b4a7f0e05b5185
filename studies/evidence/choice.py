"""The rule for the default, applied to results."""

from __future__ import annotations

import numpy as np
import pandas as pd

from studies.evidence.plan import LEAST_CONVERGED, MAX_RATIO, METHODS, OURS, PAPER, PROBLEMS
from studies.evidence.table import means
from studies.results import number


def candidates(frame: pd.DataFrame, found: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return what the rule looks at, and more, for each of our combinations.

    Parameters
    ----------
    frame : DataFrame
        Results on data sets that are complete; at least those of ours. CRPS and MAE are compared on these.
    found : DataFrame or None
        All results; by default `frame`. What concerns one combination alone counts on every data set that it has.

    Returns
    -------
    DataFrame
        By method: `log_ratio`, the mean of log(CRPS / best CRPS) over problems, and `log_ratio_error`, its standard
        error; `mae_ratio`, the same for MAE; `steps`, CRPS over that of the paper's model on problems that are
        constant between jumps; `converged`, share of the data sets; `coverage`; `seconds`, the median; `eligible`.
    """
    ours = [name for name in OURS if name in set(frame["method"])]
    crps, mae = means(frame, "crps"), means(frame, "mae")
    # A failure is infinitely bad, and makes a combination ineligible.
    log_ratio, mae_ratio = (np.log(part.div(part.min(axis=1), axis=0))[ours].fillna(np.inf) for part in (crps, mae))
    steps = [name for name in crps.index if PROBLEMS[name].kind == "steps"]
    of_paper = np.log(crps[ours].loc[steps].div(crps.loc[steps, PAPER], axis=0)) if PAPER in crps else crps[[]]
    found = frame if found is None else found
    rows = found[found["method"].isin(ours)].groupby("method")
    table = pd.DataFrame(
        {
            "log_ratio": log_ratio.mean(),
            "log_ratio_error": log_ratio.where(np.isfinite(log_ratio)).std() / np.sqrt(len(log_ratio)),
            "mae_ratio": mae_ratio.mean(),
            "steps": np.exp(of_paper.mean()),
            "converged": rows["converged"].mean(),
            "coverage": rows["coverage"].mean(),
            "seconds": rows["seconds"].median(),
        },
        index=ours,
    )
    good = (table["converged"] > LEAST_CONVERGED) & (table["steps"] <= MAX_RATIO) & np.isfinite(table["log_ratio"])
    return table.assign(eligible=good)


def chosen(table: pd.DataFrame) -> str | None:
    """Return the eligible combination with the smallest mean log ratio; None if none is eligible."""
    left = table[table["eligible"]]
    return None if left.empty else str(left["log_ratio"].idxmin())


HEADER = [
    "combination",
    "mean log CRPS ratio to the best",
    "the same for MAE",
    "CRPS over the paper's model, steps",
    "converged",
    "coverage",
    "seconds",
    "eligible",
]


def in_cells(table: pd.DataFrame) -> list[list[str]]:
    """Return the table as text, best combination first."""
    best = chosen(table)
    rows = []
    for name, line in table.sort_values("log_ratio").iterrows():
        title = METHODS[str(name)].title
        rows.append(
            [
                f"**{title}**" if name == best else title,
                f"{line['log_ratio']:.3f} ({line['log_ratio_error']:.3f})",
                number(line["mae_ratio"]),
                number(line["steps"]),
                f"{line['converged']:.0%}",
                number(line["coverage"], 2),
                number(line["seconds"], 0),
                "yes" if line["eligible"] else "no",
            ]
        )
    return rows
