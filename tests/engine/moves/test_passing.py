"""Hyperplanes that pass observations, against all cells of a line and all subsets of outliers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

from tests.checks import check_mean
from tests.engine.chains import build, equal_law, sweep
from tests.engine.invariance import NOTHING
from widestable.engine.chain import new_state
from widestable.engine.model import Model, make_model
from widestable.exact.line import line_cells
from widestable.inputs import check_training
from widestable.network import arcsine_kernel
from widestable.stable import log_remainder, log_scale_of_mark

ALPHA, NU, SIGMA2, N_ATOMS = 1.0, 2.0, 0.05, 2.0
# A step between the second row and the third, or one row later and an outlier. Two observations are in one row.
X5 = np.array([[-1.0], [-0.3], [0.2], [0.2], [0.9]])
Y5 = np.array([-1.6, -1.3, 1.1, -1.2, 1.5])
W5 = np.array([1.0, 1.0, 1.0, 2.5, 1.0])
MARKS = N_ATOMS * (np.arange(400) + 0.5) / 400


def five() -> Model:
    data = check_training(X5, Y5, W5, standardize=False)
    model = make_model(data, alpha=ALPHA, nu=NU, sigma2=SIGMA2, n_atoms=N_ATOMS, has_spikes=True)
    return model._replace(spike_log_c=np.log([10.0, 300.0]), spike_a=1.0, spike_b=4.0)


def by_brute_force(model: Model) -> dict[tuple[int, ...], float]:
    """Probability of every cell of an atom, and off (0) or c (1 or 2) for each observation; the mark integrated out."""
    signs, q = line_cells(model.X[:, 0])
    rows, n = model.obs_row, model.obs_row.size
    K = math.exp(log_remainder(ALPHA, math.log(NU), N_ATOMS)) * arcsine_kernel(model.X)[np.ix_(rows, rows)]
    v = np.exp(log_scale_of_mark(np.log(MARKS), ALPHA, math.log(NU)))[:, None, None]
    found = {}
    for choice in product(range(3), repeat=n):
        c = np.array([0.0, *np.exp(model.spike_log_c)])[list(choice)]
        k = np.count_nonzero(choice)
        log_prior = betaln(model.spike_a + k, model.spike_b + n - k) - k * math.log(2.0)
        for cell, tau in enumerate(signs[:, rows].astype(float)):
            Q = K + SIGMA2 * np.diag(1.0 / model.obs_weight + c) + v * np.outer(tau, tau)
            quadratic = model.obs_y @ np.linalg.solve(Q, model.obs_y[:, None])[:, :, 0].T
            log_likelihood = -0.5 * (np.linalg.slogdet(Q)[1] + quadratic)
            found[(cell, *choice)] = math.log(q[cell]) + log_prior + logsumexp(log_likelihood)
    total = logsumexp(list(found.values()))
    return {key: math.exp(value - total) for key, value in found.items()}


def looks_of(cell: np.ndarray, choice: np.ndarray, n_cells: int) -> np.ndarray:
    """Indicators of each cell, of each outlier, of its larger c, and of each cell with each outlier."""
    here = cell[:, None] == np.arange(n_cells)
    on = choice > 0
    both = (here[:, :, None] & on[:, None, :]).reshape(len(cell), -1)
    return np.hstack([here, on, choice == 2, both]).astype(float)


@pytest.mark.statistical
def test_passing_agrees_with_all_cells_and_subsets(rng: np.random.Generator) -> None:
    """No other move draws spikes here, so every change of one is that of an observation that was passed."""
    model, n_draws = five(), 40_000
    signs, _ = line_cells(model.X[:, 0])
    expected = by_brute_force(model)
    keys = np.array(list(expected))
    target = np.array(list(expected.values())) @ looks_of(keys[:, 0], keys[:, 1:], len(signs))
    start = new_state(
        ALPHA, math.log(NU), math.log(SIGMA2), equal_law(model), np.array([[0.0, 1.0]]), np.array([-1.0]), rng
    )
    _, out = sweep(build(model, start), model, 4 * n_draws, rng, NOTHING._replace(n_passes=1), thin=4)
    tau = np.sign(out.h[:, 0] @ np.column_stack([np.ones(len(model.X)), model.X]).T)
    cell = np.argmax((tau * tau[:, :1]) @ signs.T == len(model.X), axis=1)
    choice = np.zeros((n_draws, model.obs_row.size), dtype=int)
    for draw, k in enumerate(out.n_spikes):
        choice[draw, out.spike[draw, :k]] = np.searchsorted(model.spike_log_c, out.spike_log_c[draw, :k] - 1e-9) + 1
    # Batches of draws are nearly independent.
    check_mean(looks_of(cell, choice, len(signs)).reshape(100, n_draws // 100, -1).mean(axis=1), target)
