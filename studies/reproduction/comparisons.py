"""Studies that compare methods: simulated functions, house prices, S&P 500, time, and error over (alpha, nu)."""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from studies.datasets import (
    Table,
    cut,
    load_real_estate,
    load_sp500,
    random_rows,
    scaled_rows,
    standardise,
    whole_locations,
)
from studies.forecasts import mixing, score
from studies.methods import METHODS
from studies.problems import FUNCTIONS, Floats, Problem, simulate
from studies.reproduction.presets import Preset
from studies.runner import Piece, Result
from studies.sampling import fit

REAL_ESTATE, SP500 = "real_estate", "sp500"
ROWS, LOCATIONS, MAP, CLOSES = "random_rows", "whole_locations", "map", "closes"
MAP_METHOD = "jumps_inferred"
MAP_SIDE = 36
TIMED = ("three_jumps", "quadrants")
ABLATION_METHOD = "jumps_given"


def compare(piece: Piece, problem: Problem, *, keep_predictions: bool) -> Result:
    """Fit, predict and score one method on one problem; keep the predictions if figures need them."""
    started = time.perf_counter()
    forecast = METHODS[piece.method].fit(problem.X, problem.y, problem.X_new, seed_of(piece), **piece.settings)
    result: Result = {"fit_seconds": time.perf_counter() - started, "n_iterations": forecast.n_iterations}
    result |= {"scores": score(forecast, problem), "mixing": mixing(forecast), "info": forecast.info}
    if keep_predictions:
        result |= {"point": forecast.point, "lower": forecast.ends[:, 0], "upper": forecast.ends[:, 1]}
    return result


def seed_of(piece: Piece) -> int:
    """Return the seed of a piece, the same in every run."""
    return zlib.crc32(piece.name.encode()) % 2**31


# --- Nine simulated functions ----------------------------------------------------------------------------


def plan_simulated(preset: Preset) -> list[Piece]:
    """Plan every method on every training set of every function; the first training sets come first."""
    return [
        Piece("simulated", name, function.name, repeat, preset.settings(function.name, name), method.version)
        for repeat in range(preset.n_repeats)
        for function in FUNCTIONS
        for name, method in METHODS.items()
    ]


def run_simulated(piece: Piece, data: Path | None) -> Result:
    """Fit and score; the figures show the predictions of the first training set."""
    return compare(piece, simulate(piece.data, piece.repeat), keep_predictions=piece.repeat == 0)


# --- Real data -------------------------------------------------------------------------------------------


def plan_real_estate(preset: Preset) -> list[Piece]:
    """Plan both kinds of splits, and one map of the whole city."""
    pieces = [piece for data in (ROWS, LOCATIONS) for piece in _plan_splits(preset, REAL_ESTATE, data)]
    settings = preset.settings(REAL_ESTATE, MAP_METHOD)
    return [*pieces, Piece(REAL_ESTATE, MAP_METHOD, MAP, 0, settings, METHODS[MAP_METHOD].version)]


def plan_sp500(preset: Preset) -> list[Piece]:
    """Plan splits of random days."""
    return _plan_splits(preset, SP500, CLOSES)


def _plan_splits(preset: Preset, study: str, data: str) -> list[Piece]:
    return [
        Piece(study, name, data, split, preset.settings(study, name), method.version)
        for name, method in METHODS.items()
        for split in range(_n_splits(preset, study, data, name))
    ]


def _n_splits(preset: Preset, study: str, data: str, method: str) -> int:
    """Return the number of splits; the slow published sampler takes part in a few, and only in the paper's kind."""
    if data == LOCATIONS:
        return 0 if method == "published" else preset.n_location_splits
    return preset.n_splits if method != "published" else min(preset.n_published[study], preset.n_splits)


def run_real_estate(piece: Piece, data: Path | None) -> Result:
    """Fit and score one split, or draw the map."""
    raw = load_real_estate(data)
    table = standardise(raw)
    if piece.data == MAP:
        return _map(piece, raw, table)
    split = random_rows if piece.data == ROWS else whole_locations
    return compare(piece, cut(table, split(table, piece.repeat)), keep_predictions=False)


def run_sp500(piece: Piece, data: Path | None) -> Result:
    """Fit and score one split; the figure shows the predictions of the first."""
    return compare(piece, split_sp500(data, piece.repeat), keep_predictions=piece.repeat == 0)


def split_sp500(data: Path | None, repeat: int) -> Problem:
    """Return one split of the closing values; DataError without data."""
    table = standardise(load_sp500(data))
    return cut(table, random_rows(table, repeat))


def _map(piece: Piece, raw: Table, table: Table) -> Result:
    """Return the 5%, 50% and 95% quantiles of a new price on a grid over the city, from all rows."""
    axes = [np.linspace(low, high, MAP_SIDE) for low, high in zip(raw.X.min(axis=0), raw.X.max(axis=0), strict=True)]
    grid: Floats = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    model = fit(table.X, table.y, seed_of(piece), **piece.settings)
    quantiles = model.predict_quantiles(scaled_rows(grid, raw.X), [0.05, 0.5, 0.95])
    prices = raw.y.mean() + raw.y.std() * quantiles
    return {"latitude": axes[0], "longitude": axes[1], "quantiles": prices.T}


# --- Time ------------------------------------------------------------------------------------------------


def plan_timing(preset: Preset) -> list[Piece]:
    """Plan every method on one function of one input and one of two, without a search for alpha and nu."""
    return [
        Piece("timing", name, function, 0, _without_search(preset.settings(function, name)), method.version)
        for function in TIMED
        for name, method in METHODS.items()
    ]


def _without_search(settings: dict[str, Any]) -> dict[str, Any]:
    """Take the middle of the grid: only the time matters, not which pair a search would find."""
    if "alphas" not in settings:
        return settings
    middle = settings["alphas"][len(settings["alphas"]) // 2]
    return settings | {"alphas": [middle], "nus": [1.0]}


def run_timing(piece: Piece, data: Path | None) -> Result:
    """Fit twice and return the processor time of the second fit, because the first compiles."""
    problem = simulate(piece.data, 0)
    method = METHODS[piece.method]
    for _ in range(2):
        started = time.process_time()
        forecast = method.fit(problem.X, problem.y, problem.X_new, seed_of(piece), **piece.settings)
        seconds = time.process_time() - started
    return {"fit_seconds": seconds, "n_iterations": forecast.n_iterations, "mixing": mixing(forecast)}


# --- Error over a grid of (alpha, nu) --------------------------------------------------------------------


def plan_ablation(preset: Preset) -> list[Piece]:
    """Plan one piece per function and alpha."""
    grid = {name: value for name, value in preset.ablation.items() if name not in ("functions", "alphas")}
    return [
        Piece("ablation", ABLATION_METHOD, function, k, grid | {"alpha": alpha}, METHODS[ABLATION_METHOD].version)
        for function in preset.ablation["functions"]
        for k, alpha in enumerate(preset.ablation["alphas"])
    ]


def run_ablation(piece: Piece, data: Path | None) -> Result:
    """Return the MAE to the truth and to the noisy test sets for each nu at one alpha."""
    problem = simulate(piece.data, 0)
    budget = {name: piece.settings[name] for name in ("alpha", "n_chains", "n_sweeps")}
    found: list[tuple[float, float]] = []
    for nu in piece.settings["nus"]:
        point = fit(problem.X, problem.y, seed_of(piece), nu=nu, standardize=False, **budget).predict(problem.X_new)
        found.append((np.abs(point - problem.target).mean(), np.abs(point - problem.y_new).mean()))
    truth, noisy = zip(*found, strict=True)
    return {"alpha": piece.settings["alpha"], "nus": piece.settings["nus"], "mae_truth": truth, "mae": noisy}
