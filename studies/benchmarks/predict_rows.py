"""Memory and time of predicting at many rows from a fit on 276 rows of the real-estate data.

python -m benchmarks.predict_rows [rows, 100 000 by default] [threads, 2 by default]

The peak is that of the whole process, so run it alone to read it.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from studies.benchmarks.measure import real_estate_rows
from widestable import StableRegressor


def peak_megabytes() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def main(n_rows: int = 100_000, n_jobs: int = 2) -> None:
    """Print seconds and peak memory."""
    X, y = real_estate_rows()
    rng = np.random.default_rng(0)
    started = time.perf_counter()
    model = StableRegressor(random_state=0, n_jobs=n_jobs).fit(X, y)
    print(f"{model.posterior_}, converged {model.posterior_.converged}, {time.perf_counter() - started:.1f} s")
    print(f"peak memory after the fit {peak_megabytes():.0f} MB")
    X_new = rng.uniform(X.min(axis=0), X.max(axis=0), size=(n_rows, 2))
    started = time.perf_counter()
    median = model.predict(X_new)
    seconds = time.perf_counter() - started
    print(f"predict on {n_rows} rows: {seconds:.1f} s, {1e3 * seconds / n_rows:.2f} ms a row, {n_jobs} threads")
    print(f"peak memory {peak_megabytes():.0f} MB, finite {np.isfinite(median).all()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
