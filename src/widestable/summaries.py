"""A posterior as tables: a pandas summary, acceptance rates, an ArviZ tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import pointwise
from ._types import FloatArray
from .engine.chain import MOVES
from .engine.run import Sample
from .inputs import unscale_inputs

if TYPE_CHECKING:
    from .posterior import Posterior

PARAMETERS = ("alpha", "nu", "sigma2", "sharpness", "relevance")
# Its name among the quantities that convergence is judged by.
N_OUTLIERS = "number of outliers"
OF_F = "f at row "
# Inputs that the name of a row tells of.
MAX_NAMED = 3
QUANTILES = {"median": 0.5, "5%": 0.05, "95%": 0.95}


def acceptance(sample: Sample) -> Any:
    """Acceptance rate of each kind of move that was tried since warm-up, one column per chain."""
    import pandas  # type: ignore[import-untyped]

    tallies = np.stack([state.tally for state in sample.states], axis=1)
    tried = tallies[:, :, 0].sum(axis=1) > 0
    rates = tallies[tried, :, 1] / np.maximum(tallies[tried, :, 0], 1)
    moves = [move for move, flag in zip(MOVES, tried, strict=True) if flag]
    return pandas.DataFrame(rates, index=moves, columns=range(len(sample.states)))


def names(posterior: Posterior) -> list[str]:
    """See `Posterior.names`; in the order of `engine.watched.quantities`."""
    parameters = [name for name in posterior.inferred if name != "relevance"]
    columns = posterior.data.columns
    relevances = [f"relevance of {columns.labels[columns.input_of_column[j]]}" for j in posterior.model.relevant]
    counts = [N_OUTLIERS] if posterior.model.has_spikes else []
    return [*parameters, *relevances, *counts, *_names_of_rows(posterior)]


def _names_of_rows(posterior: Posterior) -> list[str]:
    """The stored rows by their place in the data given to `fit`, from 0, with their first inputs."""
    data, rows = posterior.data, posterior.model.rows
    given = np.flatnonzero(data.kept)[np.unique(data.index, return_index=True)[1]][rows]
    columns = data.columns
    inputs = columns.decode(unscale_inputs(data.X[rows], data.scaling))[:, :MAX_NAMED]
    more = ", ..." if len(columns) > MAX_NAMED else ""
    values = [", ".join(f"{columns.labels[j]} = {columns.show(j, v)}" for j, v in enumerate(row)) for row in inputs]
    return [f"{OF_F}{row} ({text}{more})" for row, text in zip(given, values, strict=True)]


def summary(posterior: Posterior) -> Any:
    """See `Posterior.summary`."""
    import pandas

    found = dict(zip(posterior.names, zip(*posterior.convergence()[:2], strict=True), strict=True))
    table: dict[str, dict[str, float]] = {}
    values = {name: getattr(posterior, name) for name in PARAMETERS if name != "relevance"}
    for j, name in enumerate(posterior.input_names):
        values[f"relevance of {name}"] = posterior.relevance[:, :, j]
    if posterior.model.has_spikes:
        values[N_OUTLIERS] = posterior.n_outliers
    for name, draws in values.items():
        row = {label: _quantile(draws, q) for label, q in QUANTILES.items()}
        table[name] = row | dict(zip(("rhat", "ess"), found.get(name, (np.nan, np.nan)), strict=True))
    of_f = [found[name] for name in posterior.names if name.startswith(OF_F)]
    table["f (worst)"] = {"rhat": max(r for r, _ in of_f), "ess": min(e for _, e in of_f)}
    for move, rate in acceptance(posterior.sample).mean(axis=1).items():
        table[f"move: {move}"] = {"accepted": rate}
    return pandas.DataFrame.from_dict(table, orient="index")


def _quantile(values: FloatArray, q: float) -> float:
    """A quantile; infinity, the sharpness of sign units, is no number to interpolate with."""
    return float(np.quantile(values, q, method="linear" if np.isfinite(values).all() else "lower"))


def outlier_probability(posterior: Posterior) -> FloatArray:
    """See `Posterior.outlier_probability`."""
    data = posterior.data
    spikes = np.concatenate([draws.spike for draws in posterior.chains])
    of_observation = np.bincount(spikes, minlength=data.obs_row.size) / sum(len(draws) for draws in posterior.chains)
    return np.where(data.observation >= 0, of_observation[data.observation], np.nan)


def to_arviz(posterior: Posterior, log_likelihood: bool, posterior_predictive: bool, rng: np.random.Generator) -> Any:
    """See `Posterior.to_arviz`."""
    from arviz_base import from_dict

    groups: dict[str, dict[str, Any]] = {
        "posterior": {name: getattr(posterior, name) for name in (*posterior.inferred, "f")},
        "sample_stats": {"lp": posterior.log_density, "n_atoms": posterior.n_atoms},
        "observed_data": {"y": pointwise.observed(posterior)},
    }
    if posterior.model.has_spikes:
        groups["sample_stats"]["n_outliers"] = posterior.n_outliers
    if log_likelihood:
        groups["log_likelihood"] = {"y": pointwise.log_likelihood(posterior)}
    if posterior_predictive:
        groups["posterior_predictive"] = {"y": pointwise.predictive(posterior, rng)}
    dims = {"f": ["row"], "y": ["observation"], "relevance": ["input"]}
    coords: dict[str, Any] = {"row": posterior.model.rows, "input": posterior.input_names}
    coords["observation"] = pointwise.given_rows(posterior)
    tree = from_dict(groups, dims=dims, coords=coords)
    rates = acceptance(posterior.sample)
    stats = tree["sample_stats"].to_dataset().assign_coords(move=list(rates.index))
    tree["sample_stats"] = stats.assign(acceptance_rate=(("chain", "move"), rates.to_numpy().T))
    return tree
