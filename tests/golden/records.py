"""Summaries of a posterior: how they are made, written and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from scipy.stats import norm

from tests.checks import check_p_value
from tests.exact.agreement import mean_and_error
from tests.golden.engines import Case, Length

FOLDER = Path(__file__).parent
PROBABILITIES = (0.05, 0.5, 0.95)
DIGITS = 5


class Summary(NamedTuple):
    """Summaries of k quantities; each `_error` is the Monte Carlo standard error of the field before it."""

    mean: np.ndarray  # (k,)
    mean_error: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray
    quantiles: np.ndarray  # (k, 3)
    quantiles_error: np.ndarray
    below: np.ndarray  # (k, 3) probability of lying below the cuts
    below_error: np.ndarray


class Golden(NamedTuple):
    """A case, cut points near its quantiles, and the summaries of each engine."""

    case: Case
    cuts: np.ndarray  # (k, 3)
    lengths: dict[str, Length]
    engines: dict[str, Summary]


def pooled_quantiles(*draws: np.ndarray) -> np.ndarray:
    """Return the quantiles of all draws together, shape (k, 3)."""
    pooled = np.concatenate([x.reshape(-1, x.shape[2]) for x in draws])
    return np.quantile(pooled, PROBABILITIES, axis=0).T


def summarise(draws: np.ndarray, cuts: np.ndarray) -> Summary:
    """Summarise draws, (chains, draws, k)."""
    mean, mean_error = mean_and_error(draws)
    where = {"chain_axis": 0, "draw_axis": 1}
    quantiles_error = [array_stats.mcse(draws, method="quantile", prob=p, **where) for p in PROBABILITIES]
    below = [mean_and_error(draws < cuts[:, j]) for j in range(len(PROBABILITIES))]
    return Summary(
        mean=mean,
        mean_error=mean_error,
        sd=draws.std(axis=(0, 1)),
        sd_error=array_stats.mcse(draws, method="sd", **where),
        quantiles=pooled_quantiles(draws),
        quantiles_error=np.stack(quantiles_error).T,
        below=np.stack([share for share, _ in below]).T,
        below_error=np.stack([error for _, error in below]).T,
    )


def check_same(one: Summary, other: Summary, case: Case, bias: float = 0.0) -> None:
    """Check that means, standard deviations and probabilities below the cuts agree up to Monte Carlo error and `bias`.

    All z-tests together share one p-value. `bias` is in posterior standard deviations for means and standard
    deviations, and in probability for quantiles. Quantiles are compared through the probability below a common cut,
    because the error of a quantile is hard to know where a posterior has two peaks. At new rows standard deviations
    are not compared: with alpha below 3/2 their own variance is infinite.
    """
    scale, is_new = other.sd, np.zeros(len(other.sd), dtype=bool)
    is_new[len(case.y) : -1] = True
    z = [
        _z(one.mean / scale, one.mean_error / scale, other.mean / scale, other.mean_error / scale, bias),
        _z(one.sd / scale, one.sd_error / scale, other.sd / scale, other.sd_error / scale, bias)[~is_new],
        _z(one.below, one.below_error, other.below, other.below_error, bias).ravel(),
    ]
    worst = float(np.max(np.concatenate(z)))
    check_p_value(2.0 * norm.sf(worst), f"posteriors differ by {worst:.1f} Monte Carlo errors", sum(map(np.size, z)))


def _z(a: np.ndarray, error_a: np.ndarray, b: np.ndarray, error_b: np.ndarray, bias: float) -> np.ndarray:
    return np.maximum(np.abs(a - b) - bias, 0.0) / np.hypot(error_a, error_b)


# --- Files ---------------------------------------------------------------------------------------------------


def names(case: Case) -> list[str]:
    """Return the names of the quantities, in order."""
    rows = [f"f at row {i}" for i in range(len(case.y))]
    return [*rows, *(f"f at new row {i}" for i in range(len(case.X_new))), "log sigma2"]


def write(path: Path, about: str, golden: Golden) -> None:
    """Write one JSON object, one line per entry, with five digits (the data with all of theirs)."""
    content: dict[str, Any] = {"about": about, "probabilities": PROBABILITIES, "quantities": names(golden.case)}
    content |= {key: _plain(value) for key, value in golden.case._asdict().items()}
    content["cuts"] = _plain(golden.cuts, DIGITS)
    for engine, summary in golden.engines.items():
        content |= {f"{engine}.run": golden.lengths[engine]._asdict()}
        content |= {f"{engine}.{key}": _plain(value, DIGITS) for key, value in summary._asdict().items()}
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read(path: Path) -> Golden:
    """Read what `write` wrote."""
    content = json.loads(path.read_text(encoding="utf-8"))
    case = Case(*(np.array(content[key]) if key in ("X", "y", "X_new") else content[key] for key in Case._fields))
    engines = [key.removesuffix(".run") for key in content if key.endswith(".run")]
    return Golden(
        case,
        np.array(content["cuts"]),
        {engine: Length(**content[f"{engine}.run"]) for engine in engines},
        {e: Summary(*(np.array(content[f"{e}.{key}"]) for key in Summary._fields)) for e in engines},
    )


def _plain(value: Any, digits: int = 17) -> Any:
    """Return nested lists of numbers with this many significant digits."""
    if isinstance(value, np.ndarray | list):
        return [_plain(item, digits) for item in value]
    return float(f"{value:.{digits}g}")
