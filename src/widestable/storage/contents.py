"""Arrays and numbers of a posterior, and a posterior made of them; formats 1 and 2 are brought up to date."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from ..engine.draws import ChainDraws
from ..engine.kernel import Rank
from ..engine.model import Model
from ..engine.names import ATOMS, SHARPNESS
from ..engine.run import ChainState
from ..engine.state import assemble_model, chain_from_atoms
from ..inputs import Scaling, TrainingData
from ..parameters import MAX_ATOMS
from ..posterior import Posterior
from .archive import Arrays, require

MAX_GRID = 1000
OF_DATA = ("X", "y", "weight")
OF_MODEL = ("rows", "grid", "grid_log_prior")
OF_STATE = ("theta", "h", "log_mark", "log_step")
OF_PRIOR = ("n_atoms", "alpha_low", "alpha_high", "log_nu_sd")
MODEL_NUMBERS = (*OF_PRIOR, "infer_alpha", "infer_nu", "infer_sigma2", "has_atoms")


# --- Out of a posterior ----------------------------------------------------------------------------------


def arrays_of(posterior: Posterior) -> Arrays:
    """Data, model, draws, and the states from which chains go on."""
    data, model = posterior.data, posterior.model
    arrays: Arrays = {f"data.{name}": getattr(data, name) for name in OF_DATA}
    arrays |= {"data.x_mean": data.scaling.x_mean, "data.x_scale": data.scaling.x_scale}
    arrays |= {f"model.{name}": getattr(model, name) for name in OF_MODEL}
    for c, (draws, state) in enumerate(zip(posterior.chains, posterior.states, strict=True)):
        arrays |= {f"chain{c}.{field.name}": getattr(draws, field.name) for field in fields(ChainDraws)}
        n_atoms = state.chain.counts[ATOMS]
        arrays |= {f"state{c}.{name}": getattr(state.chain, name) for name in OF_STATE}
        arrays |= {f"state{c}.{name}": getattr(state.chain, name)[:n_atoms] for name in ("h", "log_mark")}
        arrays[f"state{c}.place"] = state.chain.counts[[SHARPNESS]]
    return arrays


def meta_of(posterior: Posterior, parameters: dict[str, Any], names: Any) -> dict[str, Any]:
    """Numbers, names and random streams, as JSON knows them."""
    data = posterior.data
    names = data.feature_names if names is None else names
    return {
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "feature_names": None if names is None else list(names),
        "y_mean": data.scaling.y_mean,
        "y_scale": data.scaling.y_scale,
        "n_observations": data.n_observations,
        "ss_within": data.ss_within,
        "model": {name: getattr(posterior.model, name) for name in MODEL_NUMBERS},
        "rank": Rank(len(posterior.model.landmarks), posterior.model.grid_eigenvalues.shape[1]),
        "n_chains": len(posterior.chains),
        "rounds": posterior.rounds,
        "thin": posterior.thin,
        "n_sweeps": posterior.n_sweeps,
        "converged": posterior.converged,
        "interrupted": posterior.interrupted,
        "rng": [state.rng.bit_generator.state for state in posterior.states],
    }


def _plain(value: Any) -> Any:
    """Numbers as JSON knows them, infinity as text; a random stream is not kept."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    return value if isinstance(value, int | float | bool) else None


def from_plain(value: Any) -> Any:
    """The inverse of `_plain`, up to the kind of a number."""
    return float(value) if isinstance(value, str) else value


# --- Back to a posterior ---------------------------------------------------------------------------------


def upgrade(meta: dict[str, Any], arrays: Arrays) -> None:
    """Bring the contents of an older format up to date, in place."""
    if meta["version"] == 1:
        _upgrade_1(meta, arrays)
    if meta["version"] < 3:
        meta["rank"] = 2 * [len(arrays["data.X"])]


def _upgrade_1(meta: dict[str, Any], arrays: Arrays) -> None:
    """Format 1 had sign units only, and coefficients in an eigenbasis that it kept."""
    basis = arrays.pop("model.basis")
    for name in ("eigenvalues", "y"):
        del arrays[f"model.{name}"]
    arrays |= {"model.grid": np.array([math.inf]), "model.grid_log_prior": np.zeros(1)}
    for c in range(meta["n_chains"]):
        arrays[f"chain{c}.coefficient"] = arrays[f"chain{c}.coefficient"] @ basis.T
        arrays[f"chain{c}.sharpness"] = np.full(len(arrays[f"chain{c}.theta"]), math.inf)
        arrays[f"state{c}.place"] = np.zeros(1, np.int64)
    meta["parameters"]["sharpness"] = "inf"


def posterior_of(meta: dict[str, Any], arrays: Arrays) -> Posterior:
    """The posterior of contents that were checked."""
    data = _data_of(meta, arrays)
    model = _model_of(meta, arrays, data)
    names = [field.name for field in fields(ChainDraws)]
    chains = tuple(ChainDraws(**{n: arrays[f"chain{c}.{n}"] for n in names}) for c in range(meta["n_chains"]))
    states = tuple(_state_of(meta, arrays, model, c) for c in range(meta["n_chains"]))
    rounds = tuple((int(n_sweeps), int(n_draws)) for n_sweeps, n_draws in meta["rounds"])
    how = (meta["thin"], meta["n_sweeps"], meta["converged"], meta["interrupted"])
    return Posterior(data, model, chains, rounds, states, *how)


def _data_of(meta: dict[str, Any], arrays: Arrays) -> TrainingData:
    """The distinct rows; which given row was which is not kept."""
    n = len(arrays["data.X"])
    scaling = Scaling(arrays["data.x_mean"], arrays["data.x_scale"], meta["y_mean"], meta["y_scale"])
    return TrainingData(
        **{name: arrays[f"data.{name}"] for name in OF_DATA},
        index=np.arange(n),
        kept=np.ones(n, dtype=bool),
        n_observations=meta["n_observations"],
        ss_within=meta["ss_within"],
        scaling=scaling,
        feature_names=None if meta["feature_names"] is None else tuple(meta["feature_names"]),
    )


def _model_of(meta: dict[str, Any], arrays: Arrays, data: TrainingData) -> Model:
    numbers = {name: meta["model"][name] for name in MODEL_NUMBERS}
    require(0.0 < numbers["n_atoms"] <= MAX_ATOMS, "the expected number of atoms")
    require(arrays["model.grid"].size <= MAX_GRID, "the number of values of the sharpness")
    model = assemble_model(data, arrays["model.grid"], arrays["model.grid_log_prior"], Rank(*meta["rank"]), **numbers)
    return model._replace(rows=arrays["model.rows"])


def _state_of(meta: dict[str, Any], arrays: Arrays, model: Model, c: int) -> ChainState:
    """A chain that goes on from the same atoms and random numbers."""
    rng = np.random.default_rng(0)
    rng.bit_generator.state = meta["rng"][c]
    theta, h, log_mark = (arrays[f"state{c}.{name}"] for name in ("theta", "h", "log_mark"))
    chain = chain_from_atoms(model, theta, h, log_mark, int(arrays[f"state{c}.place"][0]))
    log_step = arrays[f"state{c}.log_step"]
    if log_step.shape == chain.log_step.shape:  # otherwise the engine has other moves by now: adapted anew
        chain.log_step[:] = log_step
    return ChainState(chain, rng)
