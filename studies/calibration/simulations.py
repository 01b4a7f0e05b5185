"""One simulation: draw parameters, function and data from the prior, sample the posterior, rank the truth in it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from studies.calibration.uniformity import rank
from studies.problems import Floats
from studies.runner import Result
from studies.sampling import LOG_NU_SD, draw_sharpness, draws_at, start
from widestable.exact import build_partition, posterior_predictive
from widestable.inputs import check_training
from widestable.network import draw_network, kernel_diagonal
from widestable.stable import draw_log_positive

ALPHA_RANGE = (0.5, 1.95)
# Redrawing depends on y alone, so it keeps the test valid.
LARGEST_Y = 1e8
X = np.linspace(-2.0, 2.0, 15)[:, None]
X_NEW = np.array([[-1.1], [0.35], [2.6]])
WIDTH = 10_000
COVERAGES = (0.5, 0.8, 0.9, 0.95)
N_CHAINS = 2
KINDS = ("sign", "smooth", "gibbs", "broken")


class Length(NamedTuple):
    """Sweeps before the first draw, sweeps per draw, and the number of draws that the truth is ranked among."""

    n_warm: int
    thin: int
    n_draws: int


class Truth(NamedTuple):
    """What was drawn from the prior."""

    alpha: float
    log_nu: float
    log_sigma2: float
    sharpness: float
    f: Floats  # at X, then at X_NEW
    y: Floats  # likewise
    n_redrawn: int


class Draws(NamedTuple):
    """Nearly independent posterior draws of each quantity by name, and the ends of intervals, (3, coverages, 2)."""

    quantities: dict[str, Floats]
    ends: Floats


def draw_truth(kind: str, rng: np.random.Generator, alpha: float | None = None) -> Truth:
    """Draw from the prior until no |y| is above LARGEST_Y."""
    n_redrawn = 0
    while True:
        index = float(rng.uniform(*ALPHA_RANGE)) if alpha is None else alpha
        sharpness, log_nu = math.inf, LOG_NU_SD * float(rng.standard_normal())
        if kind == "smooth":
            sharpness = draw_sharpness(rng)
            log_nu -= math.log(kernel_diagonal(X, sharpness).mean())
        log_sigma2 = math.log(math.tan(0.5 * math.pi * rng.random()))
        f = draw_function(index, math.exp(log_nu), sharpness, rng)
        y = f + math.exp(0.5 * log_sigma2) * rng.standard_normal(f.size)
        if np.abs(y[: len(X)]).max() <= LARGEST_Y:
            return Truth(index, log_nu, log_sigma2, sharpness, f, y, n_redrawn)
        n_redrawn += 1


def draw_function(alpha: float, nu: float, sharpness: float, rng: np.random.Generator) -> Floats:
    """Draw f at X and X_NEW: on the exact partition for sign units, from a wide network for smooth ones."""
    rows = np.concatenate([X, X_NEW])
    if math.isfinite(sharpness):
        return np.asarray(draw_network(rows, WIDTH, alpha=alpha, nu=nu, random_state=rng, sharpness=sharpness)[0])
    partition = build_partition(rows)
    log_v = math.log(nu) + 2.0 / alpha * np.log(partition.q) + draw_log_positive(alpha, partition.q.size, rng)
    return np.asarray((np.exp(0.5 * log_v) * rng.standard_normal(log_v.size)) @ partition.signs)


def largest_step(f: Floats) -> Floats:
    """Return the largest |f(x_i+1) - f(x_i)| over neighbouring training rows, shape (draws,)."""
    return np.asarray(np.abs(np.diff(f, axis=1)).max(axis=1))


def by_jumps(truth: Truth, kind: str, how: Length, seed: int) -> Draws:
    """Run the jump engine with everything inferred, its prior of alpha cut to the range of the simulation."""
    # The broken sampler counts every row twice, so it trusts the data too much.
    weight = np.full(len(X), 2.0) if kind == "broken" else None
    data = check_training(X, truth.y[: len(X)], weight, standardize=False)
    sharpness = None if kind == "smooth" else math.inf
    chains = start(data, n_chains=N_CHAINS, seed=seed, sharpness=sharpness, alpha_range=ALPHA_RANGE)
    chains = chains.warm_up(how.n_warm).extend(how.thin * (how.n_draws // N_CHAINS + 1), how.thin)
    posterior = chains.posterior()
    f_new = draws_at(posterior, X_NEW, np.random.default_rng([seed, 1])).reshape(-1, len(X_NEW))
    f = posterior.f.reshape(f_new.shape[0], -1)
    quantities = {
        "alpha": posterior.alpha.ravel(),
        "log nu": np.log(posterior.nu).ravel(),
        "log sigma2": np.log(posterior.sigma2).ravel(),
        "largest step": largest_step(f),
    }
    if kind == "smooth":
        quantities["sharpness"] = posterior.sharpness.ravel()
    return _with_new_rows(quantities, f_new, np.sqrt(posterior.sigma2.ravel()), seed)


def by_gibbs(truth: Truth, how: Length, seed: int) -> Draws:
    """Run the blocked sampler on the exact partition, with alpha and nu given."""
    found = posterior_predictive(
        X, truth.y[: len(X)], X_NEW, alpha=truth.alpha, nu=math.exp(truth.log_nu), sampler="gibbs",
        iterations=how.n_warm + how.thin * how.n_draws, burn_in=how.n_warm,
        random_state=np.random.default_rng([seed, 2]), progress=False,
    )  # fmt: skip
    kept = slice(how.thin - 1, None, how.thin)
    sigma2 = found.sigma2[kept]
    quantities = {"log sigma2": np.log(sigma2), "largest step": largest_step(found.f_train[kept])}
    return _with_new_rows(quantities, found.f_new[kept], np.sqrt(sigma2), seed)


def interval_ends() -> Floats:
    """Return the probabilities at the ends of central intervals, shape (coverages, 2)."""
    return np.array([[0.5 - c / 2.0, 0.5 + c / 2.0] for c in COVERAGES])


def _with_new_rows(quantities: dict[str, Floats], f_new: Floats, noise_sd: Floats, seed: int) -> Draws:
    places = {f"f({x:g})": f_new[:, j] for j, x in enumerate(X_NEW[:, 0])}
    # Many noise values per draw bring the interval close to that of the mixture.
    noise = np.random.default_rng([seed, 3]).standard_normal((50, *f_new.shape))
    y = (f_new + noise_sd[:, None] * noise).reshape(-1, f_new.shape[1])
    return Draws(quantities | places, np.quantile(y, interval_ends(), axis=0).transpose(2, 0, 1))


def truth_of(truth: Truth, name: str) -> float:
    """Return the true value of a quantity."""
    by_name = {"alpha": truth.alpha, "log nu": truth.log_nu, "log sigma2": truth.log_sigma2}
    by_name |= {"sharpness": truth.sharpness, "largest step": float(largest_step(truth.f[None, : len(X)])[0])}
    by_name |= {f"f({x:g})": truth.f[len(X) + j] for j, x in enumerate(X_NEW[:, 0])}
    return float(by_name[name])


def simulate(kind: str, repeat: int, n_warm: int, thin: int, n_draws: int, alpha: float | None = None) -> Result:
    """Return the ranks of the truth among posterior draws, and which intervals contained a new observation.

    Parameters
    ----------
    kind : str
        One of KINDS.
    repeat : int
        Number of the simulation, which determines its seed.
    n_warm, thin, n_draws : int
        As in `Length`.
    alpha : float or None
        None to draw it from its prior.
    """
    seed = KINDS.index(kind) * 10**6 + repeat
    rng = np.random.default_rng([seed, 0])
    truth = draw_truth(kind, rng, alpha)
    how = Length(n_warm, thin, n_draws)
    draws = by_gibbs(truth, how, seed) if kind == "gibbs" else by_jumps(truth, kind, how, seed)
    y_new = truth.y[len(X) :, None]
    inside = (draws.ends[:, :, 0] <= y_new) & (y_new <= draws.ends[:, :, 1])
    ranks = {name: rank(truth_of(truth, name), values[:n_draws], rng) for name, values in draws.quantities.items()}
    return {"ranks": ranks, "inside": inside, "n_redrawn": truth.n_redrawn, "alpha": truth.alpha}
