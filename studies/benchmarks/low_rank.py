"""What low rank costs: the Gaussian posterior given atoms and parameters, beside that of the whole kernel.

Two oblique jumps plus a sine, two inputs. Atoms and parameters come from a short run, with alpha and nu inferred, or
fixed where the remainder is large; given them, means and s.d. of f at 60 rows and the slope of the log likelihood in
log sigma2 are exact for either kernel, so no Monte Carlo error hides a difference.
"""

from __future__ import annotations

from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from studies.benchmarks.measure import Fixed, new_run, oblique, show
from widestable.engine import kernel as kernels
from widestable.engine.draws import ChainDraws
from widestable.engine.model import Model
from widestable.engine.run import Setup, extend, warm_up
from widestable.network import arcsine_kernel, unit_patterns
from widestable.stable import log_remainder, log_scale_of_mark

SIZES = (2_100, 6_000)
LANDMARKS = (512, 1024, 2048)
FIXED = {"inferred": Fixed(), "alpha 1.3, nu 1": Fixed(alpha=1.3, nu=1.0)}
N_ROWS, N_PROBES = 60, 200


class Conditional(NamedTuple):
    mean: np.ndarray
    sd: np.ndarray
    slope: float  # of the log likelihood in log sigma2


def remainder_kernel(model: Model) -> np.ndarray:
    """The kernel that a model of low rank works with, at all rows."""
    root = np.sqrt(model.weight)
    U = model.basis / root[:, None]
    K = (U * (model.eigenvalues - model.rest_eigenvalue)) @ U.T
    K[np.diag_indices(root.size)] += model.rest_eigenvalue
    return np.asarray(K / np.outer(root, root))


def condition(model: Model, K: np.ndarray, draws: ChainDraws, j: int) -> Conditional:
    """f at some rows given the data and the atoms and parameters of draw j, with K for the remainder's kernel."""
    n = model.row_y.size
    end = int(draws.n_atoms[: j + 1].sum())
    atoms = slice(end - int(draws.n_atoms[j]), end)
    alpha, log_nu, noise = draws.alpha[j], draws.log_nu[j], np.exp(draws.log_sigma2[j]) / model.weight
    tau = unit_patterns(draws.h[atoms], model.Z[:, 1:], model.sharpness)
    Q = (tau.T * np.exp(log_scale_of_mark(draws.log_mark[atoms], alpha, log_nu))) @ tau
    Q += np.exp(log_remainder(alpha, log_nu, model.n_atoms)) * K
    rows = np.linspace(0, n - 1, N_ROWS).astype(int)
    cross, variance = Q[:, rows].copy(), np.diag(Q)[rows].copy()
    Q[np.diag_indices(n)] += noise
    factor = cho_factor(Q, overwrite_a=True)
    a, solved = cho_solve(factor, model.row_y), cho_solve(factor, cross)
    # The trace by random signs, the same ones for either kernel.
    probes = np.random.default_rng(0).choice([-1.0, 1.0], (n, N_PROBES)) * np.sqrt(noise)[:, None]
    trace = np.sum(probes * cho_solve(factor, probes)) / N_PROBES
    return Conditional(
        solved.T @ model.row_y, np.sqrt(variance - np.sum(cross * solved, axis=0)), 0.5 * (a @ (noise * a) - trace)
    )


def compare(n: int, name: str) -> list[list[str]]:
    """One line for each number of landmarks, over four draws of two chains."""
    data, fixed = oblique(n, 2), FIXED[name]
    model, sample = new_run(data, fixed, 2, 0)
    setup = Setup(model, 1)
    chains = extend(warm_up(sample, setup, 300), setup, 300).chains
    states = [(draws, j) for draws in chains for j in (len(draws) // 2, len(draws) - 1)]
    whole = arcsine_kernel(model.Z[:, 1:])
    exact = [condition(model, whole, *state) for state in states]
    lines = []
    for m in LANDMARKS:
        with patch.object(kernels, "MAX_LANDMARKS", m):
            low, _ = new_run(data, fixed, 0, 0)
        K = remainder_kernel(low)
        found = [condition(low, K, *state) for state in states]
        shift = np.array([(x.mean - y.mean) / y.sd for x, y in zip(found, exact, strict=True)])
        ratio = np.array([x.sd / y.sd for x, y in zip(found, exact, strict=True)])
        slope = np.mean([x.slope - y.slope for x, y in zip(found, exact, strict=True)]) / np.sqrt(n / 2.0)
        rms, largest = np.sqrt(np.mean(shift**2)), np.abs(shift.mean(axis=0)).max()
        figures = [f"{rms:.3f}", f"{largest:.3f}", f"{np.median(ratio):.3f}", f"{slope:+.3f}"]
        lines.append([name, str(n), str(m), *figures])
    return lines


def main() -> None:
    with threadpool_limits(1):
        lines = [line for name in FIXED for n in SIZES for line in compare(n, name)]
    columns = ["alpha, nu", "rows", "landmarks", "shift of f, r.m.s.", "largest", "ratio of s.d.", "shift of sigma2"]
    show("Low rank beside the whole kernel, given atoms and parameters, in posterior s.d.", columns, lines)


if __name__ == "__main__":
    main()
