"""Draws with given atoms, and slow, obvious twins of what is computed from them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from widestable.engine.draws import ChainDraws
from widestable.inputs import TrainingData, check_training
from widestable.jumps.steps import step_width
from widestable.network import sign_patterns

Atoms = list[tuple[list[float], float]]


def data_of(X: list[list[float]]) -> TrainingData:
    """Training rows that are not rescaled."""
    return check_training(X, np.zeros(len(X)), standardize=False)


def draws_of(*draws: Atoms, width: int, sharpness: float | list[float] = np.inf) -> ChainDraws:
    """A chain with the given (h, size) in each draw, noise variance 1, and nothing else."""
    n = len(draws)
    atoms = [atom for draw in draws for atom in draw]
    given = {
        "theta": np.zeros((n, 3)),
        "n_atoms": np.array([len(draw) for draw in draws]),
        "h": np.array([h for h, _ in atoms], dtype=float).reshape(-1, width),
        "log_mark": np.zeros(len(atoms)),
        "size": np.array([size for _, size in atoms], dtype=float),
        "n_spikes": np.zeros(n, np.int64),
        "sharpness": np.broadcast_to(np.asarray(sharpness, dtype=float), (n,)).copy(),
    }
    given |= {"spike": np.empty(0, np.int64), "spike_log_c": np.empty(0), "spike_size": np.empty(0)}
    empty = {field.name: np.zeros(n) for field in fields(ChainDraws)}
    return ChainDraws(**{name: given.get(name, value) for name, value in empty.items()})


def slow_probability(
    data: TrainingData, chain: ChainDraws, a: np.ndarray, b: np.ndarray, size: float, max_width: float
) -> float:
    """For one pair of places, draw by draw and atom by atom."""
    first = np.concatenate([[0], np.cumsum(chain.n_atoms)])
    n_found = 0
    for i in range(len(chain)):
        change: dict[tuple[int, ...], float] = {}
        for k in range(first[i], first[i + 1]):
            rows = sign_patterns(chain.h[k], data.X)
            at_a, at_b = sign_patterns(chain.h[k], np.array([a, b]))
            if step_width(chain.h[[k]], chain.sharpness[[i]])[0] <= max_width:
                split = tuple((rows * rows[0]).tolist())
                change[split] = change.get(split, 0.0) + chain.size[k] * (float(at_b) - float(at_a))
        n_found += any(abs(total) > size for total in change.values())
    return n_found / len(chain)
