from __future__ import annotations

import numpy as np
import pytest

from tests.exact.agreement import three_jumps
from widestable.exact import Partition, PredictiveDraws, build_partition, posterior_predictive, predictive
from widestable.inputs import check_training

SAMPLERS = ["metropolis", "gibbs"]
X = np.array([[0.5], [-1.0], [0.5], [1.5]])
Y = np.array([2.0, -0.5, 2.6, 2.2])
X_NEW = np.array([[0.0], [0.5]])


def run(X: object = X, y: object = Y, X_new: object = X_NEW, **changes: object) -> PredictiveDraws:
    settings = {"alpha": 1.1, "nu": 1.0, "iterations": 30, "burn_in": 10, "random_state": 0}
    return posterior_predictive(X, y, X_new, **(settings | changes))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_shapes_and_repeats(sampler: str) -> None:
    draws = run(sampler=sampler, keep_covariance=True)
    assert draws.f_new.shape == draws.y_new.shape == (20, 2)
    assert draws.f_train.shape == (20, 4)
    assert draws.sigma2.shape == (20,)
    assert draws.covariance.shape == (20, 4, 4)
    np.testing.assert_array_equal(draws.f_train[:, 0], draws.f_train[:, 2])
    np.testing.assert_allclose(draws.f_new[:, 1], draws.f_train[:, 0], atol=1e-12)
    noise_free = draws.covariance - draws.sigma2[:, None, None] * np.eye(4)
    np.testing.assert_allclose(noise_free[:, 0, 2], noise_free[:, 0, 0], rtol=1e-9)
    assert (np.linalg.eigvalsh(draws.covariance) > 0.0).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_seed_gives_the_same_draws(sampler: str) -> None:
    np.testing.assert_array_equal(run(sampler=sampler).y_new, run(sampler=sampler).y_new)
    np.testing.assert_array_equal(
        run(sampler=sampler, random_state=np.random.default_rng(0)).y_new, run(sampler=sampler).y_new
    )
    other = run(sampler=sampler, random_state=1)
    assert not np.array_equal(run(sampler=sampler).y_new, other.y_new)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_order_of_rows_moves_columns_only(sampler: str) -> None:
    order = np.array([3, 2, 0, 1])
    one, other = run(sampler=sampler), run(X[order], Y[order], sampler=sampler)
    np.testing.assert_array_equal(one.f_train[:, order], other.f_train)
    np.testing.assert_array_equal(one.f_new, other.f_new)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_units_of_y_scale_the_draws(sampler: str) -> None:
    """With c**2 nu and c**2 sigma2 the chain for c y is c times the chain for y."""
    one = run(sampler=sampler, sigma2=0.3)
    other = run(y=4.0 * Y, sampler=sampler, nu=16.0, sigma2=16.0 * 0.3)
    np.testing.assert_allclose(other.f_train, 4.0 * one.f_train, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(other.y_new, 4.0 * one.y_new, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_little_noise_interpolates(sampler: str) -> None:
    draws = run(X[1:], Y[1:], sampler=sampler, sigma2=1e-8)
    np.testing.assert_allclose(draws.f_train, np.tile(Y[1:], (20, 1)), atol=1e-3)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows(sampler: str, n: int) -> None:
    draws = run(X[:n], Y[:n], sampler=sampler)
    assert np.isfinite(draws.f_new).all()


def test_no_new_rows() -> None:
    draws = run(X_new=None)
    assert draws.f_new.shape == draws.y_new.shape == (20, 0)
    assert draws.f_train.shape == (20, 4)
    assert draws.covariance is None


def test_a_prebuilt_partition_gives_the_same_draws(tmp_path) -> None:
    build_partition(np.concatenate([X, X_NEW])).save(tmp_path / "cells.npz")
    loaded = Partition.load(tmp_path / "cells.npz")
    np.testing.assert_array_equal(run(partition=loaded).y_new, run().y_new)
    with pytest.raises(ValueError, match=r"6 columns, expected 5.*build_partition"):
        run(X_new=X_NEW[:1], partition=loaded)


def test_inputs_are_not_modified() -> None:
    before = X.copy(), Y.copy(), X_NEW.copy()
    run()
    for array, copy in zip((X, Y, X_NEW), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_gibbs_finds_the_jumps() -> None:
    X, y, alpha, nu = three_jumps()
    draws = posterior_predictive(
        X, y, [[-1.5], [-0.5], [0.5], [1.5]], alpha=alpha, nu=nu, sampler="gibbs", iterations=1200, burn_in=400,
        random_state=0,
    )  # fmt: skip
    np.testing.assert_allclose(np.median(draws.f_new, axis=0), [0.0, 5.0, 0.0, 5.0], atol=0.4)
    assert 0.1 < np.median(draws.sigma2) < 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, r"alpha must lie in \[0.01, 2\], got 0.0"),
        ({"alpha": 2.1}, r"alpha must lie in \[0.01, 2\]"),
        ({"nu": -1.0}, "nu must be positive"),
        ({"sigma2": 0.0}, "sigma2 must be positive"),
        ({"sigma2": 1e-12}, "too small beside y"),
        ({"sampler": "nuts"}, r"one of \['gibbs', 'metropolis'\], got 'nuts'"),
        ({"burn_in": 30}, "burn_in = 30 of 30"),
        ({"X_new": [[0.0, 1.0]]}, "2 features"),
        ({"y": Y[:3]}, "inconsistent"),
        ({"X": [[np.nan]] * 4}, "NaN"),
    ],
)
def test_errors_say_what_to_do(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**changes)


def test_draws_outside_float64_are_refused() -> None:
    """Whether f overflows depends on the draws, so an infinite one is given."""
    with pytest.raises(ValueError, match=r"f left the range of float64: rescale y"):
        predictive._draws(np.array([[np.inf]]), np.ones(1), None, check_training(X, Y), np.random.default_rng(0))


def test_progress_goes_to_standard_error_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    run()
    assert capsys.readouterr().err == ""
    run(progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Sampling" in captured.err
