"""Fixtures for all tests."""

from __future__ import annotations

import os
import warnings
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("MPLBACKEND", "Agg")
# Set before scipy is imported: scikit-learn's checks of array libraries need it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    """Compile the engine into the cache first, so that the workers do not each compile it."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        from widestable import StableRegressor

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            StableRegressor(n_sweeps=24, n_chains=1, progress=False).fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.5]])


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Each test has its own random stream, seeded from the test's id."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture
def shared_data() -> Path:
    """The folder with the paper's real data; skips when it is absent."""
    folder = Path(os.environ.get("WIDESTABLE_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no data: set WIDESTABLE_DATA to the folder that holds real_estate.csv and sp500.csv")
    return folder
