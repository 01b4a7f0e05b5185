"""Joint-distribution check: draw parameters, atoms and data from the prior, sweep, and look at what comes out.

If the moves leave the posterior invariant, then parameters and atoms are still distributed as the prior after any
number of sweeps given the data (Geweke 2004, with independent replicates, so that plain tests apply). Moments do
not exist, so everything is looked at through distribution functions.

Run as a program (`python -m tests.engine.invariance`) it prints the p-values as JSON: the tests of broken samplers
call it that way on a changed copy of the package.
"""

from __future__ import annotations

import json
import math
import sys
from typing import NamedTuple

import numpy as np
from scipy import stats
from widestable.engine.names import ALPHA, ALPHA_MARKS, ALPHA_SCALES, ATOMS, LOG_NU, LOG_SIGMA2, SHARPNESS
from widestable.engine.state import assemble_model, chain_from_atoms, draw_atoms, make_buffers, make_model, make_work

from widestable import stable
from widestable.engine.chain import Chain
from widestable.engine.kernel import MAX_DENSE_ROWS, choose_rank, make_kernels, with_sharpness
from widestable.engine.model import Model, Plan
from widestable.engine.sweep import run
from widestable.inputs import check_training
from widestable.network import unit_patterns
from widestable.storage import MODEL_NUMBERS

# Small alpha makes data of 1e40, where float64 has no digits left for the noise; the moves do not know the range.
ALPHA_LOW, ALPHA_HIGH = 0.7, 1.9
N_ATOMS = 4.0
N_EXTRA = 3
# Neighbours far enough apart that a wrong step shows, with unequal prior probabilities.
GRID, GRID_PRIOR = np.array([0.3, 1.0, 3.0]), np.array([0.2, 0.5, 0.3])

# What `small_model` makes; all other changes are to the fields of a model.
MADE = ("d", "smooth", "low_rank")


class State(NamedTuple):
    """What is compared, at the start and at the end of each replicate."""

    alpha: float
    log_nu: float
    sigma2: float
    n_atoms: int
    mark: np.ndarray
    angle: np.ndarray
    tilt: np.ndarray
    norm2: np.ndarray
    log_likelihood: float
    place: int


def small_model(d: int = 1, smooth: bool = False, low_rank: bool = False) -> Model:
    """Five distinct rows, one of them weighted, with all parameters inferred; sign units or smooth ones.

    Of low rank, two eigenvectors are kept, and there is a tree over the rows.
    """
    X = np.array([[-1.3, 0.4], [-0.2, -1.0], [0.3, 0.9], [0.9, 0.1], [2.0, -0.6]])[:, :d]
    data = check_training(X, np.zeros(5), [1.0, 1.0, 2.5, 1.0, 1.0], standardize=False)
    max_dense_rows = 4 if low_rank else MAX_DENSE_ROWS
    model = make_model(data, alpha=None, nu=None, sigma2=None, n_atoms=N_ATOMS, max_dense_rows=max_dense_rows)
    if smooth:
        numbers = {name: getattr(model, name) for name in MODEL_NUMBERS}
        model = assemble_model(data, GRID, np.log(GRID_PRIOR), choose_rank(data.y.size), **numbers)
    return model._replace(alpha_low=ALPHA_LOW, alpha_high=ALPHA_HIGH, n_extra=float(N_EXTRA))


def draw_parameters(model: Model, rng: np.random.Generator) -> np.ndarray:
    theta = np.array([1.2, 0.3, -3.0])
    if model.infer_alpha:
        theta[ALPHA] = rng.uniform(ALPHA_LOW, ALPHA_HIGH)
    if model.infer_nu:
        theta[LOG_NU] = model.log_nu_sd * rng.standard_normal() - model.log_diagonal
    if model.infer_sigma2:
        theta[LOG_SIGMA2] = math.log(math.tan(0.5 * math.pi * rng.random()))
    return theta


def draw_data(model: Model, theta: np.ndarray, h: np.ndarray, log_mark: np.ndarray, rng: np.random.Generator) -> Model:
    """The model with y, and the spread within rows, drawn given parameters and atoms."""
    alpha, log_nu, log_sigma2 = theta
    sd = np.exp(0.5 * stable.log_scale_of_mark(log_mark, alpha, log_nu))
    tau = unit_patterns(h, model.Z[:, 1:], model.sharpness)
    # Patterns, remainder and noise are all drawn in the eigenbasis, where the last two are independent.
    variance = np.exp(stable.log_remainder(alpha, log_nu, model.n_atoms)) * model.eigenvalues + np.exp(log_sigma2)
    atoms = (sd * rng.standard_normal(sd.size)) @ tau
    y = atoms @ model.basis
    y = y + np.sqrt(variance) * rng.standard_normal(variance.size)
    # B' W^-1 undoes B: these are the outputs whose every kernel is made of.
    row_y = model.basis @ y / model.weight
    if model.n_rest > 0:
        row_y += outside_leading(model, theta, atoms, rng)
    sum_y2 = float(model.weight @ row_y**2)
    model = model._replace(row_y=row_y, sum_y2=sum_y2, ss_within=math.exp(log_sigma2) * rng.chisquare(N_EXTRA))
    grids = {name: getattr(model, name).copy() for name in ("grid_basis", "grid_eigenvalues", "grid_y", "is_made")}
    grids["is_made"][:] = False
    model = model._replace(**grids)
    make_kernels(model, range(model.grid.size))
    return model


def outside_leading(model: Model, theta: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Atoms, remainder and noise at the rows, without their part in the leading dimensions."""
    root = np.sqrt(model.weight)
    variance = np.exp(stable.log_remainder(theta[ALPHA], theta[LOG_NU], model.n_atoms)) * model.rest_eigenvalue
    x = root * atoms + np.sqrt(variance + np.exp(theta[LOG_SIGMA2])) * rng.standard_normal(root.size)
    U = model.basis / root[:, None]
    return np.asarray((x - U @ (U.T @ x)) / root)


def describe(chain: Chain) -> State:
    k = chain.counts[ATOMS]
    h = chain.h[:k]
    return State(
        alpha=chain.theta[ALPHA],
        log_nu=chain.theta[LOG_NU],
        sigma2=math.exp(chain.theta[LOG_SIGMA2]),
        n_atoms=int(k),
        mark=np.exp(chain.log_mark[:k]),
        angle=np.arctan2(h[:, 1], h[:, 0]) % np.pi,
        tilt=h[:, 0] ** 2 / np.sum(h**2, axis=1),
        norm2=np.sum(h**2, axis=1),
        log_likelihood=chain.log_likelihood[0],
        place=int(chain.counts[SHARPNESS]),
    )


def replicate(model: Model, plan: Plan, n_sweeps: int, rng: np.random.Generator) -> tuple[State, State]:
    """States before and after `n_sweeps`, from an independent draw of everything."""
    place = int(rng.choice(model.grid.size, p=np.exp(model.grid_log_prior)))
    model = with_sharpness(model, place)
    theta = draw_parameters(model, rng)
    atoms = draw_atoms(model._replace(has_atoms=True), rng)
    model = draw_data(model, theta, *atoms, rng)
    chain = chain_from_atoms(model, theta, *atoms, place)
    chain.log_step[:] = np.log(1.5)
    chain.log_step[[ALPHA_SCALES, ALPHA_MARKS]] = np.log(0.4)
    work, out = make_work(model), make_buffers(model, 0)
    run(chain, model, plan, work, rng, 0, 0, 0, False, out)
    before = describe(chain)
    run(chain, model, plan, work, rng, 0, n_sweeps, 0, False, out)
    return before, describe(chain)


def p_values(model: Model, plan: Plan, n_sweeps: int, n_replicates: int, rng: np.random.Generator) -> dict[str, float]:
    """One p-value for each thing looked at."""
    pairs = [replicate(model, plan, n_sweeps, rng) for _ in range(n_replicates)]
    after = [pair[1] for pair in pairs]
    n, width = model.n_atoms, model.Z.shape[1]
    marks = np.concatenate([s.mark for s in after])
    angles = np.concatenate([s.angle for s in after])
    least = np.array([min(s.mark, default=n) for s in after])
    found = {
        "marks": stats.kstest(marks, stats.uniform(0.0, n).cdf).pvalue,
        "least mark": stats.kstest(least[least < n], stats.truncexpon(n).cdf).pvalue,
        "length of h": stats.kstest(np.concatenate([s.norm2 for s in after]), stats.chi2(width).cdf).pvalue,
        "tilt": stats.kstest(np.concatenate([s.tilt for s in after]), stats.beta(0.5, 0.5 * width - 0.5).cdf).pvalue,
        "number of atoms": poisson_p_value(np.array([s.n_atoms for s in after]), n),
        # Halves of the replicates, so that the two samples are independent.
        "log likelihood": stats.ks_2samp(
            [before.log_likelihood for before, _ in pairs[::2]], [s.log_likelihood for s in after[1::2]]
        ).pvalue,
    }
    if width == 2:
        found["angle"] = stats.kstest(angles, stats.uniform(0.0, np.pi).cdf).pvalue
    if model.infer_alpha:
        law = stats.uniform(ALPHA_LOW, ALPHA_HIGH - ALPHA_LOW)
        found["alpha"] = stats.kstest([s.alpha for s in after], law.cdf).pvalue
    if model.infer_nu:
        log_nu = [s.log_nu + model.grid_log_diagonal[s.place] for s in after]
        found["log nu"] = stats.kstest(log_nu, stats.norm(0.0, model.log_nu_sd).cdf).pvalue
    if model.infer_sigma2:
        found["sigma2"] = stats.kstest([s.sigma2 for s in after], stats.halfcauchy().cdf).pvalue
    if model.grid.size > 1:
        counts = np.bincount([s.place for s in after], minlength=model.grid.size)
        found["sharpness"] = stats.chisquare(counts, np.exp(model.grid_log_prior) * len(after)).pvalue
    return {name: float(p) for name, p in found.items()}


def poisson_p_value(counts: np.ndarray, mean: float) -> float:
    """Chi-squared against Poisson(mean), tails lumped at five expected counts."""
    edges = np.arange(int(stats.poisson(mean).ppf(0.995)) + 1)
    expected = np.append(stats.poisson(mean).pmf(edges), stats.poisson(mean).sf(edges[-1]))
    observed = np.append([np.sum(counts == e) for e in edges], np.sum(counts > edges[-1]))
    return float(stats.chisquare(observed, expected / expected.sum() * counts.size).pvalue)


if __name__ == "__main__":
    n_replicates, plan, changes = (json.loads(argument) for argument in sys.argv[1:])
    made = {name: changes.pop(name) for name in MADE if name in changes}
    model = small_model(**made)._replace(**changes)
    found = p_values(model, Plan(*plan), 1, n_replicates, np.random.default_rng(20260101))
    print(json.dumps(found))
