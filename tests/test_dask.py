"""Chains, cross-validation and studies on a Dask cluster of two local processes: the same numbers as here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from studies.runner import Piece, Places, Result, read, run_all
from tests import fits
from widestable import StableRegressor

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        yield


def fit(**settings: object) -> StableRegressor:
    # More than a megabyte of eigenvectors: large arrays may come to a worker read-only.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = 3.0 * (X[:, 0] > 0.2) + 0.3 * rng.standard_normal(400)
    settings = {"n_sweeps": 30} | settings
    model = StableRegressor(n_chains=2, n_jobs=2, random_state=0, progress=False, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def assert_same_on_a_cluster(**settings: object) -> StableRegressor:
    with parallel_config(backend="threading"):
        here = fit(**settings)
    there = fit(**settings)
    for name in ("f", "alpha", "relevance", "sharpness"):
        np.testing.assert_array_equal(getattr(there.posterior_, name), getattr(here.posterior_, name), name)
    return there


def test_chains_are_the_same_on_a_cluster(cluster: None) -> None:
    assert_same_on_a_cluster()


def test_chains_with_an_inferred_law_are_the_same_on_a_cluster(cluster: None) -> None:
    # Long enough for the law to move: with 400 rows it is visited once in 16 sweeps of a round.
    posterior = assert_same_on_a_cluster(sharpness=None, relevance=None, n_sweeps=200).posterior_
    assert np.unique(posterior.relevance).size > 8


def search(n_jobs: int) -> GridSearchCV:
    X, y = fits.line_data()
    model = StableRegressor(nu=1.0, n_chains=1, n_sweeps=60, random_state=0, progress=False)
    grid = GridSearchCV(model, {"alpha": [0.8, 1.9]}, scoring="neg_mean_absolute_error", cv=2, n_jobs=n_jobs)
    return grid.fit(X, y)


def test_cross_validation_is_the_same_on_a_cluster(cluster: None) -> None:
    with parallel_config(backend="threading"):
        here = search(1)
    there = search(2)
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])


def where(piece: Piece, data: Path | None) -> Result:
    """Which process ran it."""
    from distributed import get_worker

    return {"worker": get_worker().name, "square": piece.repeat**2}


def test_studies_run_on_a_cluster(cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.runner.compile_engine", lambda: None)
    jobs = [(where, Piece("study", "method", "data", repeat)) for repeat in range(4)]
    outcomes = run_all(jobs, Places(tmp_path), n_jobs=2, progress=False)
    assert [outcome.error for outcome in outcomes] == [None] * 4
    found = [read(tmp_path, piece) for _, piece in jobs]
    assert [result["square"] for result in found] == [0, 1, 4, 9]
    assert all(result["worker"] in (0, 1) for result in found)
