"""Any finite data can be fitted, with finite and sensible answers, or raise a ValueError that says what to do.

The default run tries a few examples of each property; `slow` tries many. A hang ends the run with a trace.
"""

from __future__ import annotations

import faulthandler
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from widestable import StableRegressor
from widestable.exact import posterior_predictive

FEW, MANY = 15, 1500
HANG_SECONDS = 600.0
WORDS = "pass|rescale|check|drop|fill|reshape|leave|encode|use|fit|reduce|ask|expected|required"
REMEDY = re.compile(rf"\b({WORDS})\b", re.IGNORECASE)
QUICK = {"n_sweeps": 12, "n_chains": 1, "random_state": 0, "progress": False}


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(params=[FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def n_examples(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def examine(property_: Callable[..., None], n_examples: int) -> None:
    """Run a property on the same examples each time. Failures are not shrunk, which would take minutes."""
    chosen = settings(
        max_examples=n_examples,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    chosen(property_)()


# --- What an answer must be ---------------------------------------------------------------------------------


def fit_or_refuse(X: Any, y: Any, weight: Any = None, **parameters: Any) -> StableRegressor | None:
    """A short fit, or None after a ValueError with a remedy; anything else is a failure."""
    model = StableRegressor(**(QUICK | parameters))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit(X, y, weight)
        except ValueError as error:
            check_refusal(error)
            return None


def check_refusal(error: ValueError) -> None:
    """It says what to do, and is not the complaint of a library underneath."""
    assert not isinstance(error, np.linalg.LinAlgError), error
    assert REMEDY.search(str(error)), f"no remedy in: {error}"


def check_answers(model: StableRegressor, X: np.ndarray) -> None:
    """Finite, ordered, in range; no warnings on the way."""
    assert 0.01 <= model.alpha_ <= 2.0
    assert 0.0 < model.nu_ < np.inf
    assert 0.0 < model.sigma_ < np.inf
    assert np.isfinite(model.posterior_.f).all()
    assert np.isfinite(model.posterior_.log_density).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bands = model.predict_quantiles(X, [0.05, 0.5, 0.95])
        assert np.isfinite(bands).all()
        assert (np.diff(bands, axis=1) >= 0.0).all()
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.sample_y(X, 2, random_state=0)).all()
        probability = model.jump_probability(X, X[::-1])
        assert ((probability >= 0.0) & (probability <= 1.0 + 1e-12)).all()
        found = model.jumps()
        assert np.isfinite(found.min_size)
        assert (found.n_jumps >= 0).all()
        str(found)


def fit_and_check(X: np.ndarray, y: np.ndarray, weight: Any = None, **parameters: Any) -> StableRegressor | None:
    model = fit_or_refuse(X, y, weight, **parameters)
    if model is not None:
        check_answers(model, X[:5])
    return model


# --- The extremes, each by name -----------------------------------------------------------------------------


class Case(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    fits: bool = True  # rather than being refused, when standardised
    fits_raw: bool = True  # and when not


def extremes() -> dict[str, Case]:
    rng = np.random.default_rng(0)
    t, noise = rng.standard_normal((2, 20))
    x = t[:, None]
    mixed = np.where(np.arange(20) == 3, 1e300, 1e-300 * t)[:, None]
    outlier = np.where(np.arange(20) == 3, 1e12, noise)
    return {
        "one row": Case(np.array([[3.0]]), np.array([2.0])),
        "two rows": Case(np.array([[3.0], [4.0]]), np.array([2.0, 5.0])),
        "fifty inputs": Case(rng.standard_normal((30, 50)), rng.standard_normal(30)),
        "equal rows": Case(np.ones((20, 3)), noise),
        "rows on a line": Case(np.outer(t, [1.0, 2.0, 3.0]), noise),
        "constant y": Case(x, np.full(20, 7.0)),
        "constant y of zero": Case(x, np.zeros(20)),
        "tiny x": Case(1e-300 * x, noise, fits=False, fits_raw=False),
        "huge x": Case(1e300 * x, noise, fits=False, fits_raw=False),
        "tiny y": Case(x, 1e-300 * noise, fits=False),
        "huge y": Case(x, 1e300 * noise, fits=False, fits_raw=False),
        "everything huge": Case(1e300 * x, 1e300 * noise, fits=False, fits_raw=False),
        "tiny and huge x": Case(mixed, noise, fits=False, fits_raw=False),
        "no noise": Case(x, 5.0 * (t > 0.0)),
        "gross outlier": Case(x, outlier),
        "repeated rows": Case(np.repeat(x[:10], 1000, axis=0), rng.standard_normal(10_000)),
    }


@pytest.mark.parametrize("sharpness", [np.inf, None], ids=["signs", "smooth"])
@pytest.mark.parametrize("standardize", [True, False], ids=["scaled", "raw"])
@pytest.mark.parametrize("name", list(extremes()))
def test_extremes_fit_or_are_refused(name: str, standardize: bool, sharpness: float | None) -> None:
    case = extremes()[name]
    model = fit_and_check(case.X, case.y, standardize=standardize, sharpness=sharpness)
    assert (model is not None) == (case.fits if standardize else case.fits_raw)


def test_a_constant_y_is_predicted() -> None:
    case = extremes()["constant y"]
    model = fit_or_refuse(case.X, case.y, n_sweeps=300)
    assert model is not None
    np.testing.assert_allclose(model.predict(case.X), 7.0, atol=0.3)


@pytest.mark.parametrize("sharpness", [np.inf, None], ids=["signs", "smooth"])
def test_equal_outputs_keep_some_noise(sharpness: float | None) -> None:
    """Constant y, mostly equal y, and ratings that agree wherever a row is repeated."""
    x = np.linspace(0.0, 1.0, 20)[:, None]
    mostly = np.where(np.arange(20) == 7, 5.0, 4.0)
    ratings = np.repeat(np.round(3.0 + 2.0 * np.sin(5.0 * x[:, 0])), 3)
    least = {"constant": (x, np.full(20, 7.0), 1e-8), "mostly": (x, mostly, 1e-8 * mostly.var())}
    for X, y, floor in (*least.values(), (np.repeat(x, 3, axis=0), ratings, 1.0 / 12.0)):
        model = fit_or_refuse(X, y, n_sweeps=300, sharpness=sharpness)
        assert model is not None
        assert model.posterior_.sigma2.min() >= floor * (1.0 - 1e-9)
        # The one output that differs may be a jump or noise.
        assert np.mean(np.abs(model.predict(X) - y) < 0.6) >= 0.95
        check_answers(model, X[:5])


# --- Any data -----------------------------------------------------------------------------------------------

ORDINARY = st.floats(-1e6, 1e6)
WIDE = st.floats(-1e300, 1e300)
COARSE = st.integers(-2, 2).map(float)  # ties, repeated rows, constant columns
KINDS = (COARSE, ORDINARY, WIDE)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    n, d = draw(st.integers(1, 10)), draw(st.sampled_from([1, 2, 3, 5]))
    X = draw(hnp.arrays(float, (n, d), elements=draw(st.sampled_from(KINDS))))
    y = draw(hnp.arrays(float, n, elements=draw(st.sampled_from(KINDS))))
    weight = draw(st.none() | hnp.arrays(float, n, elements=st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e6])))
    return X, y, weight


def choices(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "alpha": choices(0.01, 0.3, 1.0, 1.99, 2.0),
        "nu": choices(1e-300, 1e-8, 1.0, 1e8, 1e300),
        "sigma2": choices(1e-300, 1e-12, 1.0, 1e8, 1e300),
        "sharpness": choices(1e-300, 1e-3, 1.0, 1e300, None),
        "n_atoms": choices(1e-3, 1.0, 5.0, 100.0),
        "standardize": st.booleans(),
        "n_chains": choices(1, 2),
    },
)


def test_any_table_fits_or_is_refused(n_examples: int) -> None:
    @given(tables(), PARAMETERS)
    def holds(table: tuple[np.ndarray, np.ndarray, np.ndarray | None], parameters: dict[str, Any]) -> None:
        fit_and_check(*table, **parameters)

    examine(holds, n_examples)


def test_any_new_row_is_predicted_or_refused(n_examples: int) -> None:
    X, y = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, -1.0], [2.5, 0.0]]), np.array([0.0, 5.0, 5.1, 4.9])
    models = [fit_or_refuse(X, y, sharpness=sharpness) for sharpness in (np.inf, None)]

    @given(st.sampled_from(models), hnp.arrays(float, (2, 2), elements=st.floats(width=64)))
    @example(models[0], np.full((2, 2), 1.7e308))
    def holds(model: StableRegressor, rows: np.ndarray) -> None:
        try:
            bands = model.predict_quantiles(rows, [0.1, 0.9])
        except ValueError as error:
            check_refusal(error)
            is_reasonable = np.isfinite(rows).all() and np.abs(rows).max() < 1e300
            bands = np.array([np.nan if is_reasonable else 0.0])
        assert np.isfinite(bands).all()

    examine(holds, 4 * n_examples)


def test_anything_that_is_no_table_is_refused(n_examples: int) -> None:
    words = st.text(max_size=3) | st.none() | st.complex_numbers() | st.floats() | st.booleans() | st.binary(max_size=3)
    anything = st.recursive(words, lambda inner: st.lists(inner, max_size=3), max_leaves=8)

    @given(anything, anything)
    def holds(X: Any, y: Any) -> None:
        try:
            model = fit_or_refuse(X, y)
        except (TypeError, DataConversionWarning):
            return  # scikit-learn's own, for what is no array at all
        assert model is None or np.asarray(X, dtype=float).ndim == 2

    examine(holds, 4 * n_examples)


def test_any_value_of_a_parameter_is_taken_or_refused(n_examples: int) -> None:
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 5.0, 5.1])
    values = st.none() | st.booleans() | st.floats() | st.integers(-(10**30), 10**30) | st.text(max_size=3)
    names = ("alpha", "nu", "sigma2", "sharpness", "n_atoms", "standardize", "random_state", "n_jobs")

    @given(st.sampled_from(names), values)
    @example("n_jobs", 10**9)
    def holds(name: str, value: Any) -> None:
        if name == "n_atoms" and isinstance(value, int | float) and 200 < value <= 10**4:
            value = 200  # thousands of atoms are allowed, and slow
        fit_and_check(X, y, **{name: value})

    examine(holds, 2 * n_examples)


# --- The exact engines --------------------------------------------------------------------------------------


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    X, X_new = (draw(hnp.arrays(float, (rows, d), elements=draw(st.sampled_from(KINDS)))) for rows in (n, 2))
    return X, draw(hnp.arrays(float, n, elements=draw(st.sampled_from(KINDS)))), X_new


EXACT = st.fixed_dictionaries(
    {
        "sampler": choices("gibbs", "metropolis"),
        "alpha": choices(0.0, 1e-300, 0.01, 0.3, 1.0, 1.99, np.nextafter(2.0, 0.0), 2.0),
        "nu": choices(1e-300, 1e-20, 1e-6, 1.0, 1e8, 1e20, 1e140, 1e300),
        "sigma2": choices(None, 1e-300, 1e-6, 1.0, 1e10, 1e140),
    }
)


def sample_or_refuse(X: Any, y: Any, X_new: Any, **parameters: Any) -> bool:
    """Whether the exact engine gave draws, which are finite; anything but a ValueError with a remedy is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            draws = posterior_predictive(
                X, y, X_new, **parameters, iterations=15, burn_in=5, random_state=0, progress=False
            )
        except ValueError as error:
            check_refusal(error)
            return False
    assert all(np.isfinite(part).all() for part in (draws.f_new, draws.f_train, draws.y_new))
    assert ((draws.sigma2 > 0.0) & (draws.sigma2 < np.inf)).all()
    return True


def test_the_exact_engines_give_finite_draws_or_refuse(n_examples: int) -> None:
    outlier = X, y, _ = np.array([[0.0]]), np.array([56.0]), np.array([[0.5]])

    @given(small_tables(), EXACT)
    @example(outlier, {"sampler": "gibbs", "alpha": 1.0, "nu": 1e-6, "sigma2": None})
    @example((X, y, np.array([[-5.6e217]])), {"sampler": "metropolis", "alpha": 0.3, "nu": 1.0, "sigma2": 1.0})
    def holds(table: tuple[np.ndarray, np.ndarray, np.ndarray], parameters: dict[str, Any]) -> None:
        sample_or_refuse(*table, **parameters)

    examine(holds, n_examples)


@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
@pytest.mark.parametrize("name", list(extremes()))
def test_the_exact_engines_take_the_extremes_or_refuse(name: str, sampler: str) -> None:
    X, y = extremes()[name].X[:4], extremes()[name].y[:4]
    if name == "fifty inputs":
        X = X[:, :3]  # as many as they are for
    taken = sample_or_refuse(X, y, X[:1], sampler=sampler, alpha=1.0, nu=1.0)
    assert taken == extremes()[name].fits_raw
