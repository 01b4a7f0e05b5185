"""Arrays and numbers of a posterior, and a posterior made of them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from ..engine.chain import Spikes, State, Tuning
from ..engine.draws import ChainDraws
from ..engine.kernel import Law
from ..engine.model import Model, data_fields
from ..engine.run import Round, Sample
from ..inputs import Columns, Scaling, TrainingData
from ..parameters import MAX_ATOMS
from ..posterior import Posterior
from .archive import Arrays, require

OF_DATA = ("X", "y", "weight", "obs_row", "obs_y", "obs_weight", "observation")
OF_MODEL = ("rows", "landmark_rows", "node_rows", "leader", "relevant", "spike_log_c")
OF_STATE = ("h", "log_mark", "log_step", "tally")
# What the model takes from the data; the rest of it is in the file.
FROM_DATA = (
    "X",
    "weight",
    "row_y",
    "sum_y2",
    "n_extra",
    "ss_within",
    "sum_log_weight",
    "obs_row",
    "obs_y",
    "obs_weight",
)
MODEL_NUMBERS = tuple(name for name in Model._fields if name not in FROM_DATA + OF_MODEL)


# --- Out of a posterior ----------------------------------------------------------------------------------


def arrays_of(posterior: Posterior) -> Arrays:
    """Data, model, draws, and the states from which chains go on."""
    data, model = posterior.data, posterior.model
    arrays: Arrays = {f"data.{name}": getattr(data, name) for name in OF_DATA}
    arrays |= {"data.x_mean": data.scaling.x_mean, "data.x_scale": data.scaling.x_scale}
    arrays |= {f"model.{name}": getattr(model, name) for name in OF_MODEL}
    for c, (draws, state) in enumerate(zip(posterior.chains, posterior.sample.states, strict=True)):
        arrays |= {f"chain{c}.{field.name}": getattr(draws, field.name) for field in fields(ChainDraws)}
        arrays |= {f"state{c}.{name}": getattr(state, name) for name in OF_STATE}
        arrays[f"state{c}.parameters"] = np.array([state.alpha, state.log_nu, state.log_sigma2, state.law.sharpness])
        arrays[f"state{c}.relevance"] = state.law.relevance
        arrays |= {f"state{c}.spike": state.spikes.observation, f"state{c}.log_c": state.spikes.log_c}
        arrays |= {f"state{c}.law_{name}": value for name, value in state.tuning._asdict().items()}
    return arrays


def meta_of(posterior: Posterior, parameters: dict[str, Any], names: Any) -> dict[str, Any]:
    """Numbers, names and random streams, as JSON knows them."""
    data, sample = posterior.data, posterior.sample
    names = data.columns.names if names is None else names
    return {
        "parameters": {name: to_plain(value) for name, value in parameters.items()},
        "feature_names": None if names is None else list(names),
        "columns": data.columns.to_meta(),
        "target": data.target,
        "noise_variance": data.noise_variance,
        "y_mean": data.scaling.y_mean,
        "y_scale": data.scaling.y_scale,
        "n_observations": data.n_observations,
        "ss_within": data.ss_within,
        "model": {name: getattr(posterior.model, name) for name in MODEL_NUMBERS},
        "n_chains": len(posterior.chains),
        "rounds": sample.rounds,
        "thin": sample.thin,
        "n_sweeps": sample.n_sweeps,
        "converged": sample.converged,
        "interrupted": sample.interrupted,
        "out_of_time": sample.out_of_time,
        "rng": [state.rng.bit_generator.state for state in sample.states],
    }


def to_plain(value: Any) -> Any:
    """Numbers as JSON knows them, infinity as text, arrays as lists; a random stream is not kept."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): to_plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [to_plain(item) for item in value]
    return value if isinstance(value, int | float | bool | str) else None


def from_plain(value: Any) -> Any:
    """The inverse of `to_plain`, up to the kind of a number or a sequence."""
    return float(value) if value in ("inf", "-inf") else value


# --- Back to a posterior ---------------------------------------------------------------------------------


def posterior_of(meta: dict[str, Any], arrays: Arrays) -> Posterior:
    """The posterior of contents that were checked."""
    data = _data_of(meta, arrays)
    names = [field.name for field in fields(ChainDraws)]
    sample = Sample(
        chains=tuple(ChainDraws(**{n: arrays[f"chain{c}.{n}"] for n in names}) for c in range(meta["n_chains"])),
        rounds=tuple(Round(int(n_sweeps), int(n_draws)) for n_sweeps, n_draws in meta["rounds"]),
        states=tuple(_state_of(meta, arrays, c) for c in range(meta["n_chains"])),
        thin=meta["thin"],
        n_sweeps=meta["n_sweeps"],
        converged=meta["converged"],
        interrupted=meta["interrupted"],
        out_of_time=meta["out_of_time"],
    )
    return Posterior(data, _model_of(meta, arrays, data), sample)


def _data_of(meta: dict[str, Any], arrays: Arrays) -> TrainingData:
    """The distinct rows and observations."""
    kept = arrays["data.observation"] >= 0
    names = None if meta["feature_names"] is None else tuple(meta["feature_names"])
    scaling = Scaling(arrays["data.x_mean"], arrays["data.x_scale"], meta["y_mean"], meta["y_scale"])
    return TrainingData(
        **{name: arrays[f"data.{name}"] for name in OF_DATA},
        index=arrays["data.obs_row"][arrays["data.observation"][kept]],
        kept=kept,
        n_observations=meta["n_observations"],
        ss_within=meta["ss_within"],
        scaling=scaling,
        columns=Columns.from_meta(meta["columns"], names),
        least_variance=math.exp(meta["model"]["log_sigma2_floor"]),
        target=meta["target"],
        noise_variance=meta["noise_variance"],
    )


def _model_of(meta: dict[str, Any], arrays: Arrays, data: TrainingData) -> Model:
    numbers: dict[str, Any] = {name: meta["model"][name] for name in MODEL_NUMBERS}
    require(0.0 < numbers["n_atoms"] <= MAX_ATOMS, "the expected number of atoms")
    numbers |= {name: arrays[f"model.{name}"] for name in OF_MODEL}
    return Model(**data_fields(data), **numbers)


def _state_of(meta: dict[str, Any], arrays: Arrays, c: int) -> State:
    """A chain that goes on from the same atoms and random numbers."""
    rng = np.random.default_rng(0)
    rng.bit_generator.state = meta["rng"][c]
    alpha, log_nu, log_sigma2, sharpness = arrays[f"state{c}.parameters"].tolist()
    law = Law(arrays[f"state{c}.relevance"], sharpness)
    tuning = Tuning(**{name: arrays[f"state{c}.law_{name}"] for name in Tuning._fields})
    of_state = {name: arrays[f"state{c}.{name}"] for name in OF_STATE}
    spikes = Spikes(arrays[f"state{c}.spike"], arrays[f"state{c}.log_c"])
    return State(alpha, log_nu, log_sigma2, law, **of_state, spikes=spikes, tuning=tuning, rng=rng)
