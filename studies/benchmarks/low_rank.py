"""What low rank costs: the Gaussian posterior given atoms and parameters, beside that of the whole kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import oblique, show
from studies.problems import Floats
from studies.sampling import Draw, Fixed, covariance, each_draw, low_rank_kernel, start
from widestable.inputs import TrainingData, spread_indices
from widestable.network import arcsine_kernel

SIZES = (2_100, 6_000)
LANDMARKS = (512, 1024, 2048)
FIXED = {"inferred": Fixed(), "alpha 1.3, nu 1": Fixed(alpha=1.3, nu=1.0)}
N_ROWS, N_PROBES = 60, 200


class Conditional(NamedTuple):
    """f at some rows given the data, the atoms and the parameters of a draw."""

    mean: Floats
    sd: Floats
    slope: float  # of the log likelihood in log sigma2


def low_rank() -> None:
    """Compare both kernels on two oblique jumps plus a sine, two inputs.

    Atoms and parameters come from a short run, with alpha and nu inferred, or fixed where the remainder is large. Given
    them, means and s.d. of f at 60 rows and the slope of the log likelihood in log sigma2 are exact for either kernel,
    so no Monte Carlo error hides a difference.
    """
    with threadpool_limits(1):
        rows = [row for name in FIXED for n in SIZES for row in _compare(n, name)]
    columns = ["alpha, nu", "rows", "landmarks", "shift of f, r.m.s.", "largest", "ratio of s.d.", "shift of sigma2"]
    show("Low rank beside the whole kernel, given atoms and parameters, in posterior s.d.", columns, rows)


def _compare(n: int, name: str) -> list[list[str]]:
    """Return one row per number of landmarks, over four draws of two chains."""
    data = oblique(n, 2)
    chains = start(data, FIXED[name], n_chains=2).warm_up(300).extend(300)
    draws = [draw for chain in chains.draws for draw in _middle_and_last(list(each_draw(chain)))]
    whole = arcsine_kernel(data.X)
    exact = [condition(data, whole, draw) for draw in draws]
    rows = []
    for m in LANDMARKS:
        K = low_rank_kernel(data, m)
        pairs = list(zip((condition(data, K, draw) for draw in draws), exact, strict=True))
        shift = np.array([(x.mean - y.mean) / y.sd for x, y in pairs])
        ratio = np.array([x.sd / y.sd for x, y in pairs])
        slope = np.mean([x.slope - y.slope for x, y in pairs]) / np.sqrt(n / 2.0)
        rms, largest = np.sqrt(np.mean(shift**2)), np.abs(shift.mean(axis=0)).max()
        rows.append([name, str(n), str(m), f"{rms:.3f}", f"{largest:.3f}", f"{np.median(ratio):.3f}", f"{slope:+.3f}"])
    return rows


def _middle_and_last(draws: list[Draw]) -> list[Draw]:
    return [draws[len(draws) // 2], draws[-1]]


def condition(data: TrainingData, K: Floats, draw: Draw) -> Conditional:
    """Return f at 60 rows given the data and a draw, with K for the kernel of the remainder."""
    n, noise = data.y.size, draw.sigma2 / data.weight
    Q = covariance(draw, data.X, K)
    rows = spread_indices(n, N_ROWS)
    cross, variance = Q[:, rows].copy(), np.diag(Q)[rows].copy()
    Q[np.diag_indices(n)] += noise
    factor = cho_factor(Q, overwrite_a=True)
    a, solved = cho_solve(factor, data.y), cho_solve(factor, cross)
    # The trace is estimated with random signs, the same ones for either kernel.
    probes = np.random.default_rng(0).choice([-1.0, 1.0], (n, N_PROBES)) * np.sqrt(noise)[:, None]
    trace = np.sum(probes * cho_solve(factor, probes)) / N_PROBES
    sd = np.sqrt(variance - np.sum(cross * solved, axis=0))
    return Conditional(solved.T @ data.y, sd, 0.5 * (a @ (noise * a) - trace))
