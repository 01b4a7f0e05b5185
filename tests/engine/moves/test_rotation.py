"""Rotations along an ellipse, against all cells of a line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.checks import check_mean
from tests.engine.chains import build, equal_law, sweep
from tests.engine.invariance import NOTHING
from widestable.engine.chain import new_state
from widestable.engine.model import Model, make_model
from widestable.exact.line import line_cells
from widestable.inputs import check_training
from widestable.network import arcsine_kernel
from widestable.stable import log_remainder, log_scale_of_mark

ALPHA, NU, SIGMA2, N_ATOMS = 1.0, 20.0, 0.5, 2.0
# A jump that may be in several places, most of them between rows that lie close together.
X7 = np.array([[-1.5], [-0.7], [-0.6], [0.1], [0.2], [0.9], [1.0]])
Y7 = np.array([-1.3, -0.9, 0.4, -0.5, 0.8, 0.3, 1.4])
MARKS = N_ATOMS * (np.arange(4000) + 0.5) / 4000


def by_brute_force(model: Model) -> np.ndarray:
    """Probability of every cell of an atom; its mark is integrated out."""
    signs, q = line_cells(model.X[:, 0])
    K = math.exp(log_remainder(ALPHA, math.log(NU), N_ATOMS)) * arcsine_kernel(model.X)
    v = np.exp(log_scale_of_mark(np.log(MARKS), ALPHA, math.log(NU)))[:, None, None]
    found = np.empty(len(signs))
    for cell, tau in enumerate(signs.astype(float)):
        Q = K + SIGMA2 * np.eye(len(tau)) + v * np.outer(tau, tau)
        quadratic = model.row_y @ np.linalg.solve(Q, model.row_y[:, None])[:, :, 0].T
        found[cell] = math.log(q[cell]) + logsumexp(-0.5 * (np.linalg.slogdet(Q)[1] + quadratic))
    return np.exp(found - logsumexp(found))


@pytest.mark.statistical
@pytest.mark.parametrize("n_steps", [1, 3, 10])
def test_rotations_agree_with_all_cells(n_steps: int, rng: np.random.Generator) -> None:
    """Long walks along few ellipses: a slip in their direction would show here, and hardly in short ones."""
    model = make_model(check_training(X7, Y7, standardize=False), alpha=ALPHA, nu=NU, sigma2=SIGMA2, n_atoms=N_ATOMS)
    signs, _ = line_cells(model.X[:, 0])
    state = new_state(
        ALPHA, math.log(NU), math.log(SIGMA2), equal_law(model), np.array([[0.0, 1.0]]), np.array([-1.0]), rng
    )
    plan, n_draws = NOTHING._replace(n_passes=1, n_rotations=3, n_steps=n_steps, n_reflections=0), 200_000
    _, out = sweep(build(model, state), model, 4 * n_draws, rng, plan, thin=4)
    tau = np.sign(out.h[:, 0] @ np.column_stack([np.ones(len(model.X)), model.X]).T)
    cell = np.argmax((tau * tau[:, :1]) @ signs.T == len(model.X), axis=1)
    here = (cell[:, None] == np.arange(len(signs))).astype(float)
    # Batches of draws are nearly independent.
    check_mean(here.reshape(200, n_draws // 200, -1).mean(axis=1), by_brute_force(model))
