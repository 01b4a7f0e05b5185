"""Reports of small fitted models, each made once."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests import fits
from widestable import StableRegressor
from widestable.report import About, build_report

HOSTILE = "</script><script>alert('name')</script><img src=x onerror=\"alert('image')\">"


@cache
def model_of(d: int) -> tuple[StableRegressor, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(d)
    X = rng.uniform(-1.0, 1.0, (40, d))
    y = 5.0 * (X[:, 0] > 0.1) + 0.3 * rng.standard_normal(40)
    inferred = {"sharpness": None if d == 1 else np.inf, "relevance": None if d == 3 else "equal"}
    return fits.fit(X, y, n_sweeps=36, n_atoms=10, **inferred), X, y


@cache
def outlying(d: int, noise: str = "outliers") -> tuple[StableRegressor, np.ndarray, np.ndarray]:
    """Rows 12 and 40 are outliers: one near, one far."""
    rng = np.random.default_rng(d)
    X = rng.uniform(0.0, 1.0, (60, d))
    X[:, 0] = np.linspace(0.0, 10.0, 60)
    y = 3.0 * (X[:, 0] > 6.0) + 0.5 * rng.standard_normal(60)
    y[[12, 40]] += [-4.5, 500.0]
    return fits.fit(X, y, noise=noise, n_sweeps=300), X, y


@cache
def page_of(d: int, hostile: bool = False) -> str:
    model, X, y = model_of(d)
    names = tuple(f"{HOSTILE} {j}" if hostile else f"input {j}" for j in range(d))
    target = f"<b onmouseover=alert(1)>{HOSTILE}" if hostile else "price"
    return build_report(model, X, y, About(target, names, f"{HOSTILE}.csv" if hostile else "houses.csv", 1.5, 2))
