"""Outlying observations in the system of a chain, against dense algebra over the observations themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.engine.chains import FREE, build, start_chain, sweep
from widestable import stable
from widestable.engine.chain import Chain, State, new_state, spikes_of
from widestable.engine.kernel import Law, make_kernel
from widestable.engine.law_density import Held, Place, density_and_gradient, log_density, log_prior
from widestable.engine.model import Model, make_model
from widestable.engine.observations import inflate
from widestable.engine.screen import find_outliers, spikes_at
from widestable.inputs import TrainingData, check_training
from widestable.network import unit_patterns


def spiky_data(rng: np.random.Generator, n: int = 18) -> TrainingData:
    """A jump with outliers, rows with several observations, and weights."""
    X = rng.standard_normal((n, 2))
    X = np.vstack([X, X[: n // 2], X[:3]])
    y = 2.0 * (X[:, 0] > 0.1) + 0.3 * rng.standard_normal(len(X))
    y[[1, n, n + 2]] += [6.0, -20.0, 300.0]
    return check_training(X, y, rng.uniform(0.5, 2.5, len(X)), standardize=False)


def spiky_model(data: TrainingData, **changes: object) -> Model:
    return make_model(data, **(FREE | {"n_atoms": 12} | changes), has_spikes=True)


def state_of(chain: Chain, law: Law, rng: np.random.Generator) -> State:
    k = chain.n_atoms
    atoms = chain.h[:k].copy(), chain.log_mark[:k].copy()
    return new_state(chain.alpha, chain.log_nu, chain.log_sigma2, law, *atoms, rng, spikes_of(chain))


def dense_log_likelihood(chain: Chain, law: Law, model: Model) -> float:
    """log p(y) with one Cholesky factor over the observations, each of weight w the mean of w equal ones."""
    kernel, k, n_spikes = make_kernel(model, law), chain.n_atoms, chain.n_spikes
    v = np.exp(stable.log_scale_of_mark(chain.log_mark[:k], chain.alpha, chain.log_nu))
    tau = unit_patterns(chain.h[:k], model.X * law.relevance, law.sharpness)
    g = np.exp(stable.log_remainder(chain.alpha, chain.log_nu, model.n_atoms))
    B = kernel.basis / model.weight[:, None]
    K = (B * (kernel.eigenvalues - kernel.rest_eigenvalue)) @ B.T + np.diag(kernel.rest_eigenvalue / model.weight)
    row = model.obs_row
    of_noise = 1.0 / model.obs_weight
    of_noise[chain.spike[:n_spikes]] += np.exp(chain.log_c[:n_spikes])
    Q = ((tau.T * v) @ tau + g * K)[np.ix_(row, row)] + np.diag(math.exp(chain.log_sigma2) * of_noise)
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
    model = spiky_model(spiky_data(rng), sharpness=sharpness, max_dense_rows=max_dense_rows)
    law = Law(np.array([1.0, 0.4]), sharpness)
    chain, found = start_chain(model, rng, law), []
    for _ in range(4):
        chain, _ = sweep(chain, model, 63, rng)
        found.append(chain.n_spikes)
        assert chain.log_likelihood == pytest.approx(dense_log_likelihood(chain, law, model), abs=1e-6)
        # The patterns that sweeps have changed in place are those of the atoms and spikes.
        assert chain.log_likelihood == pytest.approx(build(model, state_of(chain, law, rng)).log_likelihood, abs=1e-6)
    assert max(found) >= 2


@pytest.mark.parametrize("sharpness", [math.inf, 1.5])
def test_law_sees_the_same_likelihood(sharpness: float, rng: np.random.Generator) -> None:
    """Spikes as smaller weights, and the gradient of that density."""
    model = spiky_model(
        spiky_data(rng), sharpness=None if math.isfinite(sharpness) else sharpness, infer_relevance=True
    )
    law = Law(np.array([1.0, 0.4]), sharpness)
    chain, _ = sweep(start_chain(model, rng, law), model, 60, rng)
    assert chain.n_spikes >= 2
    seen, constant = inflate(model, spikes_of(chain))
    k = chain.n_atoms
    place = Place(law, chain.log_nu, chain.log_sigma2, chain.alpha, chain.h[:k])
    expected = chain.log_likelihood - constant + log_prior(model, place, chain.kernel.log_diagonal)
    assert log_density(seen, chain.log_mark[:k], place) == pytest.approx(expected, abs=1e-6)
    held = Held(np.zeros(k, dtype=bool), True)

    def at(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        found, log_jacobian, gradient = density_and_gradient(seen, chain.log_mark[:k], place, held, numbers)
        return found.log_density + log_jacobian, gradient

    _, gradient = at(place.numbers)
    step = np.zeros(place.numbers.size)
    step[-2] = 1e-5  # log sigma2, which spikes follow
    slope = (at(place.numbers + step)[0] - at(place.numbers - step)[0]) / 2e-5
    assert gradient[-2] == pytest.approx(slope, rel=1e-5, abs=1e-4)


def test_weight_two_is_a_row_written_twice(rng: np.random.Generator) -> None:
    """One spike for both: the system is the same to the last bit."""
    X = rng.standard_normal((12, 1))
    X[5] = X[4]
    y = rng.standard_normal(12)
    y[3] += 30.0
    twice = check_training(np.append(X, X[3:4], axis=0), np.append(y, y[3]), standardize=False)
    weighted = check_training(X, y, np.where(np.arange(12) == 3, 2.0, 1.0), standardize=False)
    looks = []
    for data in (twice, weighted):
        model, own = spiky_model(data), np.random.default_rng(1)
        chain, _ = sweep(start_chain(model, own), model, 40, own)
        looks.append((chain.log_likelihood, chain.n_spikes, *chain.spike[: chain.n_spikes]))
    assert looks[0] == looks[1]
    assert twice.observation[3] == twice.observation[12]


def test_screen_finds_outliers_and_spares_steps() -> None:
    rng = np.random.default_rng(3)
    x = np.linspace(0.0, 10.0, 150)
    y = 3.0 * (x > 6.0) + 4.0 * ((x > 3.0) & (x < 3.34)) + 0.5 * rng.standard_normal(150)
    y[[20, 21, 120]] += [4.0, 500.0, -15.0]
    model = spiky_model(check_training(x[:, None], y))
    outliers = find_outliers(model)
    assert sorted(outliers.observation) == [20, 21, 120]
    log_sigma2 = outliers.log_variance
    spikes = spikes_at(model, outliers, log_sigma2)
    size = 0.5 * (spikes.log_c + log_sigma2)
    np.testing.assert_allclose(size, np.log(np.abs(outliers.residual)), atol=0.25)
    assert find_outliers(model._replace(has_spikes=False)).observation.size == 0
