"""Outlying observations in the system of a chain, against dense algebra over the observations themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.engine.chains import FREE, build, equal_law, start_chain, sweep
from widestable import stable
from widestable.engine.chain import Chain, Spikes, make_work, spikes_of
from widestable.engine.kernel import Law, make_kernel
from widestable.engine.law_density import Held, Place, density_and_gradient, log_density, log_prior
from widestable.engine.model import Model, make_model
from widestable.engine.spikes import inflate
from widestable.engine.sweep import Plan
from widestable.inputs import TrainingData, check_training
from widestable.network import arcsine_kernel, unit_patterns


def spiky_data(rng: np.random.Generator, n: int = 18) -> TrainingData:
    """A jump with outliers, rows with several observations, and weights."""
    X = rng.standard_normal((n, 2))
    X = np.vstack([X, X[: n // 2], X[:3]])
    y = 2.0 * (X[:, 0] > 0.1) + 0.3 * rng.standard_normal(len(X))
    y[[1, n, n + 2]] += [6.0, -20.0, 300.0]
    return check_training(X, y, rng.uniform(0.5, 2.5, len(X)), standardize=False)


def spiky_model(data: TrainingData, **changes: object) -> Model:
    return make_model(data, **(FREE | {"n_atoms": 12} | changes), has_spikes=True)


def dense_covariance(chain: Chain, law: Law, model: Model) -> np.ndarray:
    """Covariance of the observations, each of weight w as the mean of w equal ones."""
    X = (model.X * law.relevance)[model.obs_row]
    k, n_spikes = chain.n_atoms, chain.n_spikes
    v = np.exp(stable.log_scale_of_mark(chain.log_mark[:k], chain.alpha, chain.log_nu))
    tau = unit_patterns(chain.h[:k], X, law.sharpness)
    g = np.exp(stable.log_remainder(chain.alpha, chain.log_nu, model.n_atoms))
    of_noise = 1.0 / model.obs_weight
    of_noise[chain.spike[:n_spikes]] += np.exp(chain.log_c[:n_spikes])
    noise = np.diag(math.exp(chain.log_sigma2) * of_noise)
    return (tau.T * v) @ tau + g * arcsine_kernel(X, sharpness=law.sharpness) + noise


def dense_log_likelihood(chain: Chain, law: Law, model: Model) -> float:
    """log p(y) with one Cholesky factor over the observations, up to what depends on neither spikes nor parameters."""
    Q = dense_covariance(chain, law, model)
    L = np.linalg.cholesky(Q)
    z = np.linalg.solve(L, model.obs_y)
    value = -0.5 * z @ z - np.log(np.diag(L)).sum() - 0.5 * z.size * math.log(2.0 * math.pi)
    beyond = model.obs_weight.sum() - z.size
    value -= 0.5 * beyond * (math.log(2.0 * math.pi) + chain.log_sigma2)
    # The engine leaves out constants of the weights.
    return float(value - 0.5 * np.log(model.obs_weight).sum() + 0.5 * np.log(model.weight).sum())


@pytest.mark.parametrize("sharpness", [math.inf, 1.5])
@pytest.mark.parametrize("max_dense_rows", [2000, 10])
def test_system_equals_dense(sharpness: float, max_dense_rows: int, rng: np.random.Generator) -> None:
    data = spiky_data(rng)
    model = spiky_model(data, sharpness=sharpness, max_dense_rows=max_dense_rows)
    law = Law(np.array([1.0, 0.4]), sharpness)
    chain, n_spikes = start_chain(model, rng, law), 0
    for _ in range(4):
        # Parameters, scan and atoms change the system in place; sweeps end with one built from scratch.
        chain, _ = sweep(chain, model, 63, rng)
        n_spikes = max(n_spikes, chain.n_spikes)
        if max_dense_rows == 2000:
            assert chain.log_likelihood == pytest.approx(dense_log_likelihood(chain, law, model), abs=1e-6)
        again = build(model, state(chain, law, rng))
        assert chain.log_likelihood == pytest.approx(again.log_likelihood, abs=1e-6)
    assert n_spikes >= 2


def state(chain: Chain, law: Law, rng: np.random.Generator):
    from widestable.engine.chain import new_state

    k = chain.n_atoms
    atoms = chain.h[:k].copy(), chain.log_mark[:k].copy()
    return new_state(chain.alpha, chain.log_nu, chain.log_sigma2, law, *atoms, rng, spikes_of(chain))
