from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import checks, fits
from widestable import importance
from widestable.importance import share_draws
from widestable.inputs import TrainingData, check_training
from widestable.network import arcsine_kernel
from widestable.predict import joint
from widestable.predict.components import Source

Function = Callable[[np.ndarray], np.ndarray]


# --- Shares of a known function --------------------------------------------------------------------------


def known_shares(
    X: np.ndarray, f: Function, monkeypatch: pytest.MonkeyPatch, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`share` and `alone` of each input when every posterior draw is the function f of the scaled inputs."""
    data = check_training(X, np.arange(len(X)), weight)
    return shares_on(data, f, monkeypatch)


def shares_on(data: TrainingData, f: Function, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    def paths(source: object, which: object, blocks: list[np.ndarray], rng: object) -> list[np.ndarray]:
        return [f(rows)[:, None] for rows in blocks]

    monkeypatch.setattr(importance, "choose_draws", lambda source, n_draws: None)
    monkeypatch.setattr(importance, "draw_paths", paths)
    source: Source = None  # type: ignore[assignment]
    share, alone = share_draws(data, source, 1, np.random.default_rng(0))
    return share[0], alone[0]


@pytest.mark.parametrize("n", [37, 200, 1000])
def test_shares_of_an_additive_function_are_those_of_its_terms(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(n).standard_normal((n, 4))

    def terms(Z: np.ndarray) -> np.ndarray:
        return np.stack([2.0 * Z[:, 0], 3.0 * (Z[:, 1] > 0.2), 0.5 * np.sin(3.0 * Z[:, 2]), 0.0 * Z[:, 3]])

    share, alone = known_shares(X, lambda Z: terms(Z).sum(axis=0), monkeypatch)
    # Redrawing a column makes it independent of the others, whose own correlation in the sample stays.
    data = check_training(X, np.arange(n))
    values = terms(data.X)
    for j in range(4):
        own, others = values[j].var(), np.delete(values, j, axis=0).sum(axis=0).var()
        assert share[j] == pytest.approx(own / (own + others), abs=0.015)
        assert alone[j] == pytest.approx(share[j], abs=0.03)
    assert max(share[3], alone[3]) < checks.ROUNDING


def test_an_interaction_is_shared_but_not_alone(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X = rng.choice([-1.0, 1.0], size=(400, 2)) * (1.0 + 0.01 * rng.random((400, 2)))
    share, alone = known_shares(X, lambda Z: Z[:, 0] * Z[:, 1], monkeypatch)
    np.testing.assert_allclose(share, 1.0, atol=0.05)
    np.testing.assert_allclose(alone, 0.0, atol=0.1)


def test_shares_of_dependent_inputs_stay_below_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variance of x1 - x2 over the rows is tiny, so a share of that variance could be anything."""
    x = rng.standard_normal((300, 1))
    X = x + 0.1 * rng.standard_normal((300, 2))
    share, alone = known_shares(X, lambda Z: Z[:, 0] - Z[:, 1], monkeypatch)
    np.testing.assert_allclose(share, 0.5, atol=0.05)
    np.testing.assert_allclose(alone, 0.5, atol=0.05)


def test_a_weight_of_two_is_a_row_twice(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, weight = rng.standard_normal((30, 2)), rng.integers(1, 5, size=30)

    def f(Z: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(Z[:, 0]) + Z[:, 1])

    weighted = known_shares(X, f, monkeypatch, weight.astype(float))
    np.testing.assert_allclose(known_shares(np.repeat(X, weight, axis=0), f, monkeypatch), weighted)
    assert abs(known_shares(X, f, monkeypatch)[0][0] - weighted[0][0]) > 1e-3


def test_a_constant_function_has_nothing_to_share(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X = rng.standard_normal((20, 2))
    for value in (0.0, 7.0):
        assert not np.any(known_shares(X, lambda Z, value=value: np.full(len(Z), value), monkeypatch))
    X[:, 1] = 3.0
    share, _ = known_shares(X, lambda Z: 1e200 * Z.sum(axis=1), monkeypatch)
    np.testing.assert_allclose(share, [1.0, 0.0], atol=0.01)


# --- Draws of f at many rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("sharpness", [np.inf, 0.8])
def test_paths_have_the_moments_of_the_gaussian_posterior(
    sharpness: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At alpha = 2 the posterior is that of a Gaussian process, with moments from dense algebra."""
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    given = {"alpha": 2.0, "nu": 1.5, "sigma2": 0.2, "sharpness": sharpness, "relevance": [2.0, 0.5]}
    posterior = fits.fit(X, y, n_sweeps=12, standardize=False, **given).posterior_
    new, r = np.vstack([rng.standard_normal((2, 2)), X[:1]]), np.array([2.0, 0.5])
    k = 1.5 * arcsine_kernel(new * r, X * r, sharpness)
    solved = np.linalg.solve(1.5 * arcsine_kernel(X * r, sharpness=sharpness) + 0.2 * np.eye(12), k.T)
    mean, covariance = solved.T @ y, 1.5 * arcsine_kernel(new * r, sharpness=sharpness) - k @ solved
    # The moments are right for any number of units; paths of one call share their units, so each is called anew.
    monkeypatch.setattr(joint, "N_UNITS", 32)
    f = np.array([joint.draw_paths(posterior._source, np.zeros(1, np.int64), [new], rng)[0][:, 0] for _ in range(800)])
    checks.check_mean(f, mean)
    i, j = np.triu_indices(3)
    away = f - mean
    checks.check_mean(away[:, i] * away[:, j], covariance[i, j])


@pytest.mark.parametrize("make", [fits.line, fits.plane, fits.smooth])
def test_paths_agree_with_joint_draws(make: Callable[[], object], rng: np.random.Generator) -> None:
    posterior = make().posterior_  # type: ignore[attr-defined]
    source, X = posterior._source, posterior.data.X[::5]
    which = np.arange(source.n_draws)
    paths = np.hstack([joint.draw_paths(source, which, [X], rng)[0] for _ in range(20)])
    exact = joint.joint_draws(source, X, 20 * which.size, False, rng)
    spread = exact.std(axis=1)
    np.testing.assert_allclose(paths.mean(axis=1), exact.mean(axis=1), atol=0.15 * spread.max())
    np.testing.assert_allclose(paths.std(axis=1), spread, rtol=0.15)


# --- Shares of a fit -------------------------------------------------------------------------------------


def test_shares_of_a_fit_hold_the_truth_and_rank_what_relevance_does_not() -> None:
    """A strong slope has a low relevance but the largest share; an input without effect has neither."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (70, 3))
    terms = np.stack([3.0 * X[:, 0], np.sin(5.0 * X[:, 1]), 0.0 * X[:, 2]])
    y = terms.sum(axis=0) + 0.3 * rng.standard_normal(70)
    model = fits.fit(X, y, alpha=2.0, sharpness=0.5, relevance=None, n_sweeps=300)
    table = model.input_shares()
    assert list(table.index) == ["x1", "x2", "x3"]
    truth = terms.var(axis=1) / terms.var(axis=1).sum()
    assert np.all(table["5%"][:2] < truth[:2])
    assert np.all(truth[:2] < table["95%"][:2])
    np.testing.assert_allclose(table["share"], truth, atol=0.03)
    assert table["share"].idxmax() == "x1"
    assert table["95%"]["x3"] < 0.02
    assert model.relevance_.argmax() == 1
    assert np.all(table["alone"] <= table["share"])


def test_shares_of_sign_units_with_equal_relevance() -> None:
    table = fits.plane().input_shares(n_draws=50)
    assert table["share"].iloc[0] > table["share"].iloc[1] > table["5%"].iloc[1] > 0.0
    assert np.all(table["95%"] <= 1.0)


def test_shares_follow_their_random_state() -> None:
    posterior = fits.smooth().posterior_
    table = posterior.input_shares(n_draws=20)
    assert table.equals(posterior.input_shares(n_draws=20, random_state=0))
    assert not table.equals(posterior.input_shares(n_draws=20, random_state=1))


def test_few_laws_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    source = fits.smooth().posterior_._source
    law_of = np.concatenate(source.law_of)
    monkeypatch.setattr(importance, "MAX_LAWS", 2)
    which = importance.choose_draws(source, 10_000)
    assert np.unique(law_of[which]).size == 2
    assert np.array_equal(which, np.flatnonzero(np.isin(law_of, law_of[which])))
    assert importance.choose_draws(source, 3).size == 3


def test_a_number_of_draws_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="Got n_draws = 0, expected an integer of 1 or more"):
        fits.plane().input_shares(n_draws=0)
