"""A posterior as tables: a pandas summary, acceptance rates, an ArviZ tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._types import FloatArray
from .engine.chain import MOVES
from .engine.run import Sample
from .inputs import unscale_inputs, unscale_outputs

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
    """See `Posterior.names`; in the order of `engine.run.quantities`."""
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

    found = dict(zip(posterior.names, zip(*posterior.convergence(), strict=True), strict=True))
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

    data, rows, f = posterior.data, posterior.model.rows, posterior.f
    y = unscale_outputs(data.y[rows], data.scaling)
    groups: dict[str, dict[str, Any]] = {
        "posterior": {name: getattr(posterior, name) for name in (*posterior.inferred, "f")},
        "sample_stats": {"lp": posterior.log_density, "n_atoms": posterior.n_atoms},
        "observed_data": {"y": y},
    }
    if posterior.model.has_spikes:
        groups["sample_stats"]["n_outliers"] = posterior.n_outliers
    noise_sd = np.sqrt(posterior.sigma2)[:, :, None]
    if log_likelihood:
        groups["log_likelihood"] = {"y": _log_likelihood(posterior, y, f, noise_sd)}
    if posterior_predictive:
        groups["posterior_predictive"] = {"y": f + noise_sd * _draw_noise(posterior, f.shape, rng)}
    dims = {"f": ["row"], "y": ["row"], "relevance": ["input"]}
    tree = from_dict(groups, dims=dims, coords={"row": rows, "input": posterior.input_names})
    rates = acceptance(posterior.sample)
    stats = tree["sample_stats"].to_dataset().assign_coords(move=list(rates.index))
    tree["sample_stats"] = stats.assign(acceptance_rate=(("chain", "move"), rates.to_numpy().T))
    return tree


def _log_likelihood(posterior: Posterior, y: FloatArray, f: FloatArray, noise_sd: FloatArray) -> FloatArray:
    """Log density of the mean output of each stored row; with outliers, of all its observations, averaged over c."""
    data, model = posterior.data, posterior.model
    if not model.has_spikes:
        return _log_normal(y, f, noise_sd / np.sqrt(data.weight[model.rows]))
    p, c = posterior._stack("p_outlier")[:, :, None], np.exp(model.spike_log_c)
    found, place = np.zeros(f.shape), np.full(data.y.size, -1)
    place[model.rows] = np.arange(model.rows.size)
    for row, given, weight in zip(place[data.obs_row], data.obs_y, data.obs_weight, strict=True):
        if row >= 0:
            at, mean = unscale_outputs(given, data.scaling), f[:, :, row, None]
            usual = _log_normal(at, mean, noise_sd / np.sqrt(weight)) + np.log1p(-p)
            outlying = _log_normal(at, mean, noise_sd * np.sqrt(1.0 / weight + c)) + np.log(p / c.size)
            found[:, :, row] += np.logaddexp.reduce(np.concatenate([usual, outlying], axis=2), axis=2)
    return found


def _draw_noise(posterior: Posterior, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Noise of new observations, over the noise s.d."""
    noise = rng.standard_normal(shape)
    if posterior.model.has_spikes:
        is_outlier = rng.random(shape) < posterior._stack("p_outlier")[:, :, None]
        log_c = rng.choice(posterior.model.spike_log_c, int(is_outlier.sum()))
        noise[is_outlier] *= np.sqrt(1.0 + np.exp(log_c))
    return noise


def _log_normal(y: FloatArray, mean: FloatArray, sd: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi))
