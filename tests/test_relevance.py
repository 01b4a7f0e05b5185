"""`StableRegressor(relevance=...)`: inferred relevances behave as every other parameter does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import fits
from widestable import StableRegressor, fitting
from widestable.engine.model import Priors
from widestable.parameters import PAPER

BOTH = {"relevance": None, "sharpness": None}


def data(n: int = 24, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(n)


def same_draws(first: StableRegressor, second: StableRegressor) -> bool:
    one, two = first.posterior_, second.posterior_
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("relevance", "sharpness", "nu", "f"))


# --- What a fit gives ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharpness", [np.inf, 1.0, None])
def test_relevances_are_draws_like_others(sharpness: float | None) -> None:
    model = fits.fit(*data(), relevance=None, sharpness=sharpness)
    posterior = model.posterior_
    assert posterior.relevance.shape == (*posterior.alpha.shape, 2)
    assert np.unique(posterior.relevance[:, :, 0]).size > 4
    np.testing.assert_array_equal(model.relevance_, np.median(posterior.relevance, axis=(0, 1)))
    assert "relevance" in posterior.inferred
    assert [name for name in posterior.names if "relevance" in name] == ["relevance of x1", "relevance of x2"]
    row = posterior.summary().loc["relevance of x2"]
    assert row["median"] == model.relevance_[1]
    assert row["rhat"] > 0.9
    tree = posterior.to_arviz()["posterior"]
    assert tree["relevance"].dims == ("chain", "draw", "input")
    np.testing.assert_array_equal(tree["relevance"].sel(input="x2"), posterior.relevance[:, :, 1])


def test_equal_relevance_is_an_array_of_ones() -> None:
    X, y = data()
    equal, ones = fits.fit(X, y), fits.fit(X, y, relevance=np.ones(2))
    assert same_draws(equal, ones)
    assert equal.relevance_.tolist() == [1.0, 1.0]
    assert "relevance" not in equal.posterior_.inferred


def test_fixed_relevances_scale_the_inputs() -> None:
    """With sign units, and no scaling of their own, relevances are nothing but other units of the inputs."""
    (X, y), r = data(), np.array([2.0, 0.25])
    given = {"standardize": False, "sharpness": np.inf}
    fixed, scaled = fits.fit(X, y, relevance=r, **given), fits.fit(X * r, y, **given)
    np.testing.assert_allclose(fixed.posterior_.f, scaled.posterior_.f, rtol=1e-8)
    np.testing.assert_allclose(fixed.predict(X + 0.1), scaled.predict((X + 0.1) * r), rtol=1e-6)


# --- Rows and columns ------------------------------------------------------------------------------------


def test_a_weight_of_two_is_a_row_twice() -> None:
    X, y = data()
    weight = np.resize([1, 2, 3], len(X))
    weighted = fits.fit(X, y, weight.astype(float), **BOTH)
    repeated = fits.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), **BOTH)
    np.testing.assert_allclose(weighted.posterior_.relevance, repeated.posterior_.relevance, rtol=1e-6)
    assert not np.allclose(weighted.posterior_.relevance, fits.fit(X, y, **BOTH).posterior_.relevance)


def test_constant_columns_are_left_out() -> None:
    X, y = data()
    with_constant = np.insert(X, 1, 7.0, axis=1)
    model, without = fits.fit(with_constant, y, **BOTH), fits.fit(X, y, **BOTH)
    assert model.posterior_.model.relevant.tolist() == [0, 2]
    assert np.ptp(model.posterior_.relevance[:, :, 1]) == 0.0
    assert [name for name in model.posterior_.names if "relevance" in name] == ["relevance of x1", "relevance of x3"]
    assert np.all(np.isfinite(model.predict(with_constant)))
    assert without.posterior_.model.relevant.tolist() == [0, 1]


def test_columns_that_are_all_constant_leave_nothing_to_infer() -> None:
    model = fits.fit(np.ones((6, 2)), np.arange(6.0), relevance=None)
    assert "relevance" not in model.posterior_.inferred
    assert np.isfinite(model.predict([[1.0, 1.0]]))[0]


# --- Runs ------------------------------------------------------------------------------------------------


def test_draws_do_not_depend_on_the_number_of_threads() -> None:
    X, y = data()
    assert same_draws(fits.fit(X, y, n_jobs=1, **BOTH), fits.fit(X, y, n_jobs=2, **BOTH))


def test_a_killed_fit_ends_with_the_draws_of_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    parameters: dict[str, Any] = PAPER | BOTH | {"n_chains": 2, "n_sweeps": 60, "random_state": 0, "progress": False}
    file, real, count = tmp_path / "checkpoint", fitting._log_round, iter(range(100))

    def die(*args: Any) -> None:
        if next(count) == 3:
            raise MemoryError
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "_log_round", die)
        with pytest.raises(MemoryError):
            StableRegressor(**parameters).fit(X, y, checkpoint=file)
    assert file.exists()
    with pytest.warns(UserWarning, match="not converged"):
        resumed = StableRegressor(**parameters).fit(X, y, checkpoint=file)
    assert same_draws(resumed, fits.fit(X, y, **BOTH))


def test_a_loaded_model_predicts_and_goes_on_as_the_fitted_one(tmp_path: Path) -> None:
    X, y = data()
    model = fits.fit(X, y, **BOTH)
    model.save(tmp_path / "model")
    loaded = StableRegressor.load(tmp_path / "model")
    assert (loaded.relevance, loaded.sharpness) == (None, None)
    assert same_draws(model, loaded)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.input_shares(n_draws=10).equals(model.input_shares(n_draws=10))
    n_draws = model.posterior_.alpha.shape[1]
    for each in (model, loaded):
        with pytest.warns(UserWarning, match="not converged"):
            each.continue_sampling(30)
    assert model.posterior_.alpha.shape[1] > n_draws
    assert same_draws(model, loaded)


# --- Arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relevance", ["same", [1.0, 0.0], [1.0, np.inf], [[1.0, 1.0]], 2.0, ["a", "b"], [1.0, 1e9]])
def test_relevances_that_make_no_sense_are_refused(relevance: Any) -> None:
    with pytest.raises(ValueError, match=r'Got relevance = .*, expected "equal", None, or numbers.*: leave it out'):
        fits.fit(*data(), relevance=relevance)


def test_there_must_be_one_relevance_per_input() -> None:
    with pytest.raises(ValueError, match="Got 3 numbers as relevance and 2 inputs, expected one number per input"):
        fits.fit(*data(), relevance=[1.0, 2.0, 3.0])


def test_priors_reach_the_model() -> None:
    given = {"alpha": (0.5, 1.5), "log_nu_sd": 0.7, "relevance_scale": 0.3}
    model = fits.fit(*data(), relevance=None, priors=given).posterior_.model
    assert (model.alpha_low, model.alpha_high, model.log_nu_sd, model.relevance_scale) == (0.5, 1.5, 0.7, 0.3)
    default = fits.line().posterior_.model
    assert Priors() == ((default.alpha_low, default.alpha_high), None, default.relevance_scale)
    assert default.log_nu_sd == 1.5
    assert fits.fit(*fits.line_data(), sharpness=None).posterior_.model.log_nu_sd == 3.0


def test_priors_change_the_draws() -> None:
    X, y = data()
    for relevance in ("equal", None):
        alpha = fits.fit(X, y, relevance=relevance, priors={"alpha": (1.2, 1.3)}).posterior_.alpha
        assert 1.2 < alpha.min() < alpha.max() < 1.3
    tight = fits.fit(X, y, relevance=None, priors={"relevance_scale": 0.01}).posterior_.relevance
    # The first draws of so short a run are still on their way from a start with jitter.
    np.testing.assert_allclose(np.linalg.norm(tight[:, 20:], axis=2), 1.0, atol=0.05)


@pytest.mark.parametrize(
    "priors",
    [
        {"nu": 1.0},
        {"alpha": (1.5, 0.5)},
        {"alpha": (0.5, 2.0)},
        {"alpha": 1.0},
        {"log_nu_sd": 0.0},
        {"relevance_scale": -1.0},
        {"relevance_scale": np.nan},
        [("log_nu_sd", 1.0)],
    ],
)
def test_priors_that_make_no_sense_are_refused(priors: Any) -> None:
    with pytest.raises(ValueError, match=r"Got priors = .*, expected None or a dict with .*: leave it out"):
        fits.fit(*data(), priors=priors)
