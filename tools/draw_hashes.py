"""Check that a change of the code has not changed the draws.

The same seed gives the same draws on one machine, but the last bits of an eigendecomposition differ between processors,
so hashes are compared on one machine only: write them before a change, check them after it.

    python -m tools.draw_hashes --write    # before
    python -m tools.draw_hashes            # after: prints the fits whose draws have changed, and fails
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from widestable import StableRegressor

HASHES = Path(__file__).with_suffix(".json")


def data(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a slope and an oblique jump."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2.0 * X[:, 0]) + 3.0 * (X.sum(axis=1) > 0.3) + 0.2 * rng.standard_normal(n)
    return X, y


def fit(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, **parameters: object) -> StableRegressor:
    """A short run of two chains."""
    given = {"n_chains": 2, "n_sweeps": 150, "random_state": 1, "progress": False} | parameters
    return StableRegressor(**given).fit(X, y, weight)


def with_repeated_rows() -> StableRegressor:
    """Every row of a plane three times, with weights."""
    X, y = data(40, 2, 4)
    rng = np.random.default_rng(5)
    rows = np.repeat(np.arange(40), 3)
    return fit(X[rows], y[rows] + rng.standard_normal(120), rng.uniform(0.5, 2.0, 120))


def continued() -> StableRegressor:
    """A run that was continued."""
    return fit(*data(50, 2, 7)).continue_sampling(100)


def resumed() -> StableRegressor:
    """A saved run, loaded and continued."""
    with tempfile.TemporaryDirectory() as folder:
        fit(*data(50, 1, 8), sharpness=None).save(f"{folder}/model")
        return StableRegressor.load(f"{folder}/model").continue_sampling(100)


FITS: dict[str, Callable[[], StableRegressor]] = {
    "one input": lambda: fit(*data(60, 1, 0)),
    "two inputs": lambda: fit(*data(80, 2, 1)),
    "five inputs": lambda: fit(*data(100, 5, 2)),
    "smooth units": lambda: fit(*data(60, 2, 3), sharpness=1.5),
    "inferred sharpness": lambda: fit(*data(50, 1, 3), sharpness=None),
    "repeated rows and weights": with_repeated_rows,
    "fixed parameters": lambda: fit(*data(60, 2, 6), alpha=1.2, nu=1.0, sigma2=0.05),
    "many rows": lambda: fit(*data(2300, 2, 9), n_sweeps=30),
    "continued": continued,
    "resumed": resumed,
}


def hash_of(model: StableRegressor) -> str:
    """Digest of the parameters, the function and predictions."""
    posterior = model.posterior_
    new = np.linspace(-1.0, 1.0, 7)[:, None] * np.ones(model.n_features_in_)
    parts = (posterior.alpha, posterior.nu, posterior.sigma2, posterior.sharpness, posterior.f, posterior.n_atoms)
    digest = hashlib.sha256()
    for part in (*parts, model.predict(new), model.predict_interval(new)):
        digest.update(np.ascontiguousarray(part, dtype=float).tobytes())
    return digest.hexdigest()[:16]


def main() -> None:
    """Write the hashes, or compare with those written before."""
    warnings.simplefilter("ignore")
    found = {name: hash_of(make()) for name, make in FITS.items()}
    if "--write" in sys.argv:
        HASHES.write_text(json.dumps(found, indent=2) + "\n")
        return
    kept = json.loads(HASHES.read_text())
    changed = [name for name in FITS if kept.get(name) != found[name]]
    print("\n".join(f"draws have changed: {name}" for name in changed) or f"all {len(FITS)} fits have the same draws")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
