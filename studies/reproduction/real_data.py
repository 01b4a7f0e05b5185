"""Studies: Taipei house prices (random rows, and whole locations, held out) and S&P 500 closes, every method."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.datasets import Table, load_real_estate, load_sp500
from studies.problems import Floats
from studies.methods import METHODS
from studies.methods.jumps import fit
from studies.pieces import Piece, Result
from studies.reproduction.presets import Preset
from studies.splits import cut, random_rows, scaled_rows, standardise, whole_locations
from studies.reproduction.comparison import compare, seed_of

REAL_ESTATE, SP500 = "real_estate", "sp500"
ROWS, LOCATIONS, MAP, CLOSES = "random_rows", "whole_locations", "map", "closes"
MAP_METHOD = "jumps_inferred"
MAP_SIDE = 36


def plan_real_estate(preset: Preset) -> list[Piece]:
    """Both kinds of splits, and one map of the whole city."""
    pieces = [piece for data in (ROWS, LOCATIONS) for piece in _plan(preset, REAL_ESTATE, data)]
    settings = preset.settings(REAL_ESTATE, MAP_METHOD)
    return [*pieces, Piece(REAL_ESTATE, MAP_METHOD, MAP, 0, settings, METHODS[MAP_METHOD].version)]


def plan_sp500(preset: Preset) -> list[Piece]:
    """Splits of random days."""
    return _plan(preset, SP500, CLOSES)


def _plan(preset: Preset, study: str, data: str) -> list[Piece]:
    return [
        Piece(study, name, data, split, preset.settings(study, name), method.version)
        for name, method in METHODS.items()
        for split in range(_n_splits(preset, study, data, name))
    ]


def _n_splits(preset: Preset, study: str, data: str, method: str) -> int:
    """The published sampler takes part in a few splits only, as the paper splits."""
    if data == LOCATIONS:
        return 0 if method == "published" else preset.n_location_splits
    return preset.n_splits if method != "published" else min(preset.n_published[study], preset.n_splits)


def run_real_estate(piece: Piece, data: Path | None) -> Result:
    """Fit and score one split, or draw the map."""
    raw = load_real_estate(data)
    table = standardise(raw)
    if piece.data == MAP:
        return _map(piece, raw, table)
    cutter = random_rows if piece.data == ROWS else whole_locations
    return compare(piece, cut(table, cutter(table, piece.repeat)), keep_predictions=False)


def run_sp500(piece: Piece, data: Path | None) -> Result:
    """Fit and score one split; predictions of the first are kept for the figure."""
    table = standardise(load_sp500(data))
    rows = random_rows(table, piece.repeat)
    result = compare(piece, cut(table, rows), keep_predictions=piece.repeat == 0)
    if piece.repeat == 0:
        result |= {"x_new": table.X[rows[1], 0], "y_new": table.y[rows[1]], "x": table.X[rows[0], 0]}
        result |= {"y": table.y[rows[0]]}
    return result


def _map(piece: Piece, raw: Table, table: Table) -> Result:
    """5%, 50% and 95% quantiles of a new observation on a grid over the city, from all rows."""
    axes = [np.linspace(low, high, MAP_SIDE) for low, high in zip(raw.X.min(axis=0), raw.X.max(axis=0), strict=True)]
    grid: Floats = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    model = fit(table.X, table.y, seed_of(piece), **piece.settings)
    quantiles = model.predict_quantiles(scaled_rows(grid, raw.X), [0.05, 0.5, 0.95])
    prices = raw.y.mean() + raw.y.std() * quantiles
    return {"latitude": axes[0], "longitude": axes[1], "quantiles": prices.T, "rows": raw.X, "prices": raw.y}
