"""Joint-distribution check: draw parameters, law, atoms and data from the prior, move, and look at what comes out.

If the moves leave the posterior invariant, then parameters, law and atoms are still distributed as the prior after any
number of moves given the data (Geweke 2004, with independent replicates, so that plain tests apply). Moments do
not exist, so everything is looked at through distribution functions and ranks.

Run as a program (`python -m tests.engine.invariance`) it prints the p-values as JSON: the tests of broken samplers
call it that way on a changed copy of the package.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from widestable import stable
from widestable.engine.chain import (
    ALPHA_MARKS,
    ALPHA_SCALES,
    N_OTHERS,
    N_PATH_KINDS,
    Chain,
    Spikes,
    Tuning,
    draw_atoms,
    make_chain,
    make_work,
    new_state,
    new_tuning,
)
from widestable.engine.draws import make_buffers
from widestable.engine.kernel import Kernel, Law, make_kernel
from widestable.engine.law import draw_log_relevance, draw_log_sharpness
from widestable.engine.model import MAX_DENSE_ROWS, Model, make_model
from widestable.engine.moves.law import update_law
from widestable.engine.sweep import Plan, make_sweeps, rebuild
from widestable.inputs import check_training
from widestable.network import unit_patterns

# Small alpha makes data of 1e40, where float64 has no digits left for the noise; the moves do not know the range.
ALPHA_LOW, ALPHA_HIGH = 0.7, 1.9
N_ATOMS = 4.0
N_EXTRA = 3
NOTHING = Plan(n_parameters=0, n_births=0, n_passes=0, n_pairs=0, n_pair_reflections=0, n_spikes=0)
ROWS = np.array(
    [
        [-1.3, 0.4, 0.7, -0.3, 1.1],
        [-0.2, -1.0, -0.5, 1.4, 0.2],
        [0.3, 0.9, -1.6, -0.8, -0.9],
        [0.9, 0.1, 1.2, 0.5, -0.4],
        [2.0, -0.6, 0.3, -1.1, 0.6],
    ]
)
# Draws from the prior that draws of the law are compared with: many more than there are replicates.
N_PRIOR = 50_000

Update = Callable[..., tuple[Any, ...]]


class Case(NamedTuple):
    """Which moves run, and on what.

    Attributes
    ----------
    plan : Plan
        How much of each move a sweep makes.
    n_visits : int
        Calls of `update_law` after each sweep.
    d : int
        Number of inputs.
    smooth : bool
        Whether the units are smooth with an inferred sharpness.
    relevance : bool
        Whether the relevance of each input is inferred.
    spikes : bool
        Whether observations may be outliers; two of them are in one row.
    n_rows : int
        Number of distinct rows.
    low_rank : bool
        Whether only two eigenvectors are kept, with a tree over the rows.
    changes : mapping
        Other fields of the model.
    """

    plan: Plan = NOTHING
    n_visits: int = 0
    d: int = 1
    smooth: bool = False
    relevance: bool = False
    low_rank: bool = False
    spikes: bool = False
    n_rows: int = 5
    changes: Mapping[str, object] = {}


class Look(NamedTuple):
    """What is compared, at the start and at the end of each replicate."""

    alpha: float
    log_nu_k: float  # log of the mean of nu K(x, x) over the rows
    sigma2: float
    log_r: np.ndarray
    log_w: float
    mark: np.ndarray
    angle: np.ndarray
    tilt: np.ndarray
    norm2: np.ndarray
    log_likelihood: float
    spike: np.ndarray
    log_c: np.ndarray


def small_model(case: Case) -> Model:
    """A few distinct rows, one of them weighted, with all parameters inferred."""
    X, y, weight = ROWS[: case.n_rows, : case.d], np.zeros(case.n_rows), np.array([1.0, 1.0, 2.5, 1.0, 1.0])
    if case.spikes and case.n_rows > 1:
        X, y, weight = np.vstack([X, X[1:2]]), np.append(y, 1.0), np.append(weight[: case.n_rows], 1.5)
    data = check_training(X, y, weight[: len(X)], standardize=False)
    model = make_model(
        data,
        alpha=None,
        nu=None,
        sigma2=None,
        n_atoms=N_ATOMS,
        sharpness=None if case.smooth else math.inf,
        infer_relevance=case.relevance,
        has_spikes=case.spikes,
        max_dense_rows=4 if case.low_rank else MAX_DENSE_ROWS,
    )
    n_extra = len(X) - case.n_rows if case.spikes else N_EXTRA
    return model._replace(alpha_low=ALPHA_LOW, alpha_high=ALPHA_HIGH, n_extra=float(n_extra), **case.changes)


# --- One replicate ---------------------------------------------------------------------------------------


def draw_law(model: Model, rng: np.random.Generator) -> Law:
    log_r = np.zeros(model.X.shape[1])
    if model.relevant.size:
        log_r[model.relevant] = draw_log_relevance(model.relevant.size, model.relevance_scale, rng)
    return Law(np.exp(log_r[model.leader]), math.exp(draw_log_sharpness(rng)) if model.infer_sharpness else math.inf)


def draw_parameters(model: Model, kernel: Kernel, rng: np.random.Generator) -> tuple[float, float, float]:
    """alpha, log nu and log sigma2."""
    alpha, log_nu, log_sigma2 = 1.2, 0.3, -3.0
    if model.infer_alpha:
        alpha = rng.uniform(ALPHA_LOW, ALPHA_HIGH)
    if model.infer_nu:
        log_nu = model.log_nu_sd * rng.standard_normal() - kernel.log_diagonal
    if model.infer_sigma2:
        below = sigma2_below_floor(model)
        log_sigma2 = math.log(math.tan(0.5 * math.pi * (below + (1.0 - below) * rng.random())))
    return alpha, log_nu, log_sigma2


def sigma2_below_floor(model: Model) -> float:
    """What the half-Cauchy law of sigma2 has below the floor, and the prior has not."""
    return float(stats.halfcauchy().cdf(math.exp(model.log_sigma2_floor)))


def draw_data(
    model: Model,
    kernel: Kernel,
    parameters: tuple[float, float, float],
    h: np.ndarray,
    log_mark: np.ndarray,
    rng: np.random.Generator,
) -> tuple[Model, Kernel]:
    """The model and its kernel with y, and the spread within rows, drawn given everything else."""
    alpha, log_nu, log_sigma2 = parameters
    g, sigma2 = np.exp(stable.log_remainder(alpha, log_nu, model.n_atoms)), math.exp(log_sigma2)
    sd = np.exp(0.5 * stable.log_scale_of_mark(log_mark, alpha, log_nu))
    atoms = (sd * rng.standard_normal(sd.size)) @ unit_patterns(h, kernel.Z[:, 1:], kernel.sharpness)
    # Remainder and noise are independent in the eigenbasis.
    variance = g * kernel.eigenvalues + sigma2
    y = atoms @ kernel.basis + np.sqrt(variance) * rng.standard_normal(variance.size)
    # B' W^-1 undoes B.
    row_y = kernel.basis @ y / model.weight
    if model.n_rest > 0:
        # Outside the leading dimensions.
        root = np.sqrt(model.weight)
        x = root * atoms + np.sqrt(g * kernel.rest_eigenvalue + sigma2) * rng.standard_normal(root.size)
        U = kernel.basis / root[:, None]
        row_y += (x - U @ (U.T @ x)) / root
    model = model._replace(
        row_y=row_y, sum_y2=float(model.weight @ row_y**2), ss_within=sigma2 * rng.chisquare(N_EXTRA)
    )
    return model, kernel._replace(y=row_y @ kernel.basis)


def draw_spikes(model: Model, rng: np.random.Generator) -> Spikes:
    """Outliers from the prior."""
    n = model.obs_row.size if model.has_spikes else 0
    which = np.flatnonzero(rng.random(n) < rng.beta(model.spike_a, model.spike_b))
    return Spikes(which.astype(np.int64), rng.choice(model.spike_log_c, which.size))


def add_observations(
    model: Model, kernel: Kernel, log_sigma2: float, spikes: Spikes, rng: np.random.Generator
) -> tuple[Model, Kernel]:
    """Observations around the means of their rows, and outliers among them."""
    if not model.has_spikes:
        return model, kernel
    sd, row, w = math.exp(0.5 * log_sigma2), model.obs_row, model.obs_weight
    noise = sd / np.sqrt(w) * rng.standard_normal(w.size)
    y = model.row_y[row] + noise - (np.bincount(row, w * noise) / model.weight)[row]
    y[spikes.observation] += sd * np.exp(0.5 * spikes.log_c) * rng.standard_normal(spikes.log_c.size)
    row_y = np.bincount(row, w * y) / model.weight
    model = model._replace(
        obs_y=y,
        row_y=row_y,
        sum_y2=float(model.weight @ row_y**2),
        ss_within=float(w @ (y - row_y[row]) ** 2),
    )
    return model, kernel._replace(y=row_y @ kernel.basis)


def wide_steps(d: int) -> Tuning:
    """Proposals of the law that go far and are correlated."""
    tuning = new_tuning(d)
    factor = np.tril(np.full((d + N_OTHERS, d + N_OTHERS), -0.3)) + np.eye(d + N_OTHERS)
    log_step = np.full_like(tuning.log_step, math.log(1.2))
    log_step[-N_PATH_KINDS:] = math.log(0.3)
    return Tuning(log_step, np.broadcast_to(factor @ factor.T, tuning.covariance.shape))


def describe(chain: Chain, law: Law) -> Look:
    h = chain.h[: chain.n_atoms]
    return Look(
        alpha=chain.alpha,
        log_nu_k=chain.log_nu + chain.kernel.log_diagonal,
        sigma2=math.exp(chain.log_sigma2),
        log_r=np.log(law.relevance),
        log_w=math.log(law.sharpness),
        mark=np.exp(chain.log_mark[: chain.n_atoms]),
        angle=np.arctan2(h[:, 1], h[:, 0]) % np.pi,
        tilt=h[:, 0] ** 2 / np.sum(h**2, axis=1),
        norm2=np.sum(h**2, axis=1),
        log_likelihood=chain.log_likelihood,
        spike=chain.spike[: chain.n_spikes].copy(),
        log_c=chain.log_c[: chain.n_spikes].copy(),
    )


def replicate(
    model: Model, case: Case, n_sweeps: int, rng: np.random.Generator, update: Update = update_law
) -> tuple[Look, Look]:
    """What there is before and after `n_sweeps`, from an independent draw of everything."""
    law = draw_law(model, rng)
    kernel = make_kernel(model, law)
    parameters = draw_parameters(model, kernel, rng)
    atoms = draw_atoms(model._replace(has_atoms=True), rng)
    model, kernel = draw_data(model, kernel, parameters, *atoms, rng)
    spikes = draw_spikes(model, rng) if model.has_spikes else None
    if spikes is not None:
        model, kernel = add_observations(model, kernel, parameters[2], spikes, rng)
    chain = make_chain(model, new_state(*parameters, law, *atoms, rng, spikes), kernel)
    chain.log_step[:] = np.log(1.5)
    chain.log_step[[ALPHA_SCALES, ALPHA_MARKS]] = np.log(0.4)
    work, out, tuning = make_work(model, kernel), make_buffers(model, 0), wide_steps(case.d)
    chain = rebuild(chain, model, work)
    before = describe(chain, law)
    for _ in range(n_sweeps):
        if case.plan != NOTHING:
            chain = make_sweeps(chain, model, case.plan, work, rng, 1, thin=0, since_draw=0, adapt=False, out=out)
        for _ in range(case.n_visits):
            chain, law, _, _ = update(chain, model, work, law, tuning, rng, None)
    return before, describe(chain, law)


# --- What is looked at -----------------------------------------------------------------------------------


def p_values(
    case: Case, n_sweeps: int, n_replicates: int, rng: np.random.Generator, update: Update = update_law
) -> dict[str, float]:
    """One p-value for each thing looked at."""
    model = small_model(case)
    pairs = [replicate(model, case, n_sweeps, rng, update) for _ in range(n_replicates)]
    after = [pair[1] for pair in pairs]
    found = look_at_atoms(after, model.n_atoms, case.d + 1) | look_at_law(after, model, rng)
    found |= look_at_changes(pairs, case.d + 1)
    if model.has_spikes:
        found |= look_at_spikes(pairs, model)
    if model.infer_alpha:
        law = stats.uniform(ALPHA_LOW, ALPHA_HIGH - ALPHA_LOW)
        found["alpha"] = stats.kstest([look.alpha for look in after], law.cdf).pvalue
    if model.infer_nu:
        found["log nu"] = stats.kstest([look.log_nu_k for look in after], stats.norm(0.0, model.log_nu_sd).cdf).pvalue
    if model.infer_sigma2:
        below, sigma2 = sigma2_below_floor(model), np.array([look.sigma2 for look in after])
        share = (stats.halfcauchy().cdf(sigma2) - below) / (1.0 - below)
        found["sigma2"] = stats.kstest(share, stats.uniform().cdf).pvalue
        # The prior has nothing below the floor: a single draw there is enough.
        found["sigma2 above its floor"] = float(sigma2.min() >= math.exp(model.log_sigma2_floor))
    return {name: float(p) for name, p in found.items()}


def look_at_atoms(after: list[Look], n: float, width: int) -> dict[str, float]:
    """Marks, hyperplanes and their number."""
    least = np.array([min(look.mark, default=n) for look in after])
    tilt = np.concatenate([look.tilt for look in after])
    found = {
        "marks": stats.kstest(np.concatenate([look.mark for look in after]), stats.uniform(0.0, n).cdf).pvalue,
        "least mark": stats.kstest(least[least < n], stats.truncexpon(n).cdf).pvalue,
        "length of h": stats.kstest(np.concatenate([look.norm2 for look in after]), stats.chi2(width).cdf).pvalue,
        "tilt": stats.kstest(tilt, stats.beta(0.5, 0.5 * width - 0.5).cdf).pvalue,
        "number of atoms": poisson_p_value(np.array([look.mark.size for look in after]), n),
    }
    if width == 2:
        angles = np.concatenate([look.angle for look in after])
        found["angle"] = stats.kstest(angles, stats.uniform(0.0, np.pi).cdf).pvalue
    return found


def look_at_spikes(pairs: list[tuple[Look, Look]], model: Model) -> dict[str, float]:
    """Number of outliers, how often each observation and both of one row are, and c."""
    n, m = model.obs_row.size, len(pairs)
    on = np.zeros((2, m, n))
    for i, looks in enumerate(pairs):
        for side, look in enumerate(looks):
            on[side, i, look.spike] = 1.0
    of_number = stats.betabinom(n, model.spike_a, model.spike_b)
    log_c = np.concatenate([after.log_c for _, after in pairs])
    counts = np.array([np.sum(log_c == value) for value in model.spike_log_c])
    total = model.spike_a + model.spike_b
    chance, both = model.spike_a / total, model.spike_a * (model.spike_a + 1.0) / (total * (total + 1.0))
    found = {
        "number of outliers": stats.chisquare(
            np.bincount(on[1].sum(axis=1).astype(int), minlength=n + 1), m * of_number.pmf(np.arange(n + 1))
        ).pvalue,
        "c of outliers": stats.chisquare(counts).pvalue,
    }
    for i in range(n):
        found[f"outlier {i}"] = stats.binomtest(int(on[1, :, i].sum()), m, chance).pvalue
        for j in np.flatnonzero(model.obs_row[:i] == model.obs_row[i]):
            found["outliers of one row"] = stats.binomtest(int((on[1, :, i] * on[1, :, j]).sum()), m, both).pvalue
    change = (on[1] - on[0]).sum(axis=1)
    found["change of number"] = stats.ttest_1samp(change, 0.0).pvalue if change.any() else 1.0
    return {name: float(p) for name, p in found.items()}


def look_at_changes(pairs: list[tuple[Look, Look]], width: int) -> dict[str, float]:
    """Nothing may grow or shrink on average, which a chain that hardly moves shows best."""

    def p_value(function: Callable[[Look], float]) -> float:
        values = np.array([[function(look) for look in pair] for pair in pairs])
        # Moves that leave a value as it is change its last digits, always the same way: that is no change.
        values = np.where(np.isinf(values), values, np.round(values, 9))
        ranks = stats.rankdata(values).reshape(values.shape)
        return float(stats.ttest_rel(ranks[:, 0], ranks[:, 1]).pvalue) if np.any(values[:, 0] != values[:, 1]) else 1.0

    # Halves of the replicates, so that the two samples are independent.
    one, two = [before.log_likelihood for before, _ in pairs[::2]], [look.log_likelihood for _, look in pairs[1::2]]
    return {
        "log likelihood": float(stats.ks_2samp(one, two).pvalue),
        "change of log likelihood": p_value(lambda look: look.log_likelihood),
        "change of lengths": p_value(lambda look: float(np.sum(special.gammainc(0.5 * width, 0.5 * look.norm2) - 0.5))),
        "change of tilts": p_value(lambda look: float(np.sum(look.tilt - 1.0 / width))),
        "change of log r[0]": p_value(lambda look: look.log_r[0]),
        "change of log w": p_value(lambda look: look.log_w),
        "change of log nu": p_value(lambda look: look.log_nu_k),
    }


def look_at_law(after: list[Look], model: Model, rng: np.random.Generator) -> dict[str, float]:
    """Relevance and sharpness, alone, together, and beside the largest atom and the parameters."""
    found = {}
    if model.relevant.size:
        log_r = np.array([look.log_r[model.relevant] for look in after])
        prior = np.array([draw_log_relevance(log_r.shape[1], model.relevance_scale, rng) for _ in range(N_PRIOR)])
        for j in range(log_r.shape[1]):
            found[f"log r[{j}]"] = stats.ks_2samp(log_r[:, j], prior[:, j]).pvalue
        length = 0.5 * np.logaddexp.reduce(2.0 * log_r, axis=1)
        found["length of r"] = stats.kstest(length, stats.norm(0.0, model.relevance_scale).cdf).pvalue
        found |= look_beside("log r[0]", log_r[:, 0], after)
    if model.infer_sharpness:
        log_w = np.array([look.log_w for look in after])
        found["log w"] = stats.ks_2samp(log_w, [draw_log_sharpness(rng) for _ in range(N_PRIOR)]).pvalue
        found |= look_beside("log w", log_w, after)
        if model.relevant.size:
            found["log w beside log r"] = stats.spearmanr(log_w, log_r[:, 0]).pvalue
    return found


def look_beside(name: str, values: np.ndarray, after: list[Look]) -> dict[str, float]:
    """Rank correlations with what is independent of the law under the prior."""
    others = {
        "log nu": np.array([look.log_nu_k for look in after]),
        "sigma2": np.array([look.sigma2 for look in after]),
        "largest tilt": np.array([look.tilt[look.mark.argmin()] if look.mark.size else np.nan for look in after]),
        "largest length": np.array([look.norm2[look.mark.argmin()] if look.mark.size else np.nan for look in after]),
    }
    return {
        f"{name} beside {other}": stats.spearmanr(values, x, nan_policy="omit").pvalue
        for other, x in others.items()
        if np.nanmax(x) > np.nanmin(x)
    }


def poisson_p_value(counts: np.ndarray, mean: float) -> float:
    """Chi-squared against Poisson(mean), tails lumped at five expected counts."""
    edges = np.arange(int(stats.poisson(mean).ppf(0.995)) + 1)
    expected = np.append(stats.poisson(mean).pmf(edges), stats.poisson(mean).sf(edges[-1]))
    observed = np.append([np.sum(counts == e) for e in edges], np.sum(counts > edges[-1]))
    return float(stats.chisquare(observed, expected / expected.sum() * counts.size).pvalue)


if __name__ == "__main__":
    n_replicates, fields = (json.loads(argument) for argument in sys.argv[1:])
    case = Case(**{**fields, "plan": Plan(*fields["plan"])})
    print(json.dumps(p_values(case, 1, n_replicates, np.random.default_rng(20260101))))
