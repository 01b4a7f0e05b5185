"""One simulation: parameters, function and data from the prior, then a posterior, then ranks of what was drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widestable.engine import run
from widestable.engine.state import LOG_NU_SD, SHARPNESS_GRID, log_prior_sharpness, make_model
from widestable.exact import build_partition, posterior_predictive
from studies.calibration.uniformity import rank
from studies.methods.jumps import draws_at
from studies.pieces import Result
from widestable.inputs import check_training
from widestable.network import draw_network, kernel_diagonal
from widestable.posterior import Posterior
from widestable.stable import draw_log_positive

Floats = NDArray[np.float64]

ALPHA_RANGE = (0.5, 1.95)
# Depends on y alone, so leaving such data out keeps the test valid.
LARGEST_Y = 1e8
X = np.linspace(-2.0, 2.0, 15)[:, None]
X_NEW = np.array([[-1.1], [0.35], [2.6]])
WIDTH = 10_000
COVERAGES = (0.5, 0.8, 0.9, 0.95)
N_CHAINS = 2
# The default of StableRegressor: what users run is what is calibrated.
N_ATOMS = 30.0
KINDS = ("sign", "smooth", "gibbs", "broken")


class Length(NamedTuple):
    """Sweeps before the first draw and between two, and how many draws the truth is ranked among."""

    n_warm: int
    thin: int
    n_draws: int


class Truth(NamedTuple):
    """What was drawn."""

    alpha: float
    log_nu: float
    log_sigma2: float
    sharpness: float
    f: Floats  # at X, then at X_NEW
    y: Floats  # likewise
    n_redrawn: int


class Draws(NamedTuple):
    """Posterior draws, nearly independent: of each quantity, by name; then ends of intervals, (3, coverages, 2)."""

    quantities: dict[str, Floats]
    ends: Floats


def draw_truth(kind: str, rng: np.random.Generator, alpha: float | None = None) -> Truth:
    """From the prior, again until no |y| is above 1e8."""
    n_redrawn = 0
    while True:
        index = float(rng.uniform(*ALPHA_RANGE)) if alpha is None else alpha
        sharpness, log_nu = math.inf, LOG_NU_SD * float(rng.standard_normal())
        if kind == "smooth":
            sharpness = float(rng.choice(SHARPNESS_GRID, p=np.exp(log_prior_sharpness(SHARPNESS_GRID))))
            log_nu -= math.log(kernel_diagonal(X, sharpness).mean())
        log_sigma2 = math.log(math.tan(0.5 * math.pi * rng.random()))
        f = draw_function(index, math.exp(log_nu), sharpness, rng)
        y = f + math.exp(0.5 * log_sigma2) * rng.standard_normal(f.size)
        if np.abs(y[: len(X)]).max() <= LARGEST_Y:
            return Truth(index, log_nu, log_sigma2, sharpness, f, y, n_redrawn)
        n_redrawn += 1


def draw_function(alpha: float, nu: float, sharpness: float, rng: np.random.Generator) -> Floats:
    """f at X and X_NEW: on the exact partition for sign units, from a wide network for smooth ones."""
    rows = np.concatenate([X, X_NEW])
    if math.isfinite(sharpness):
        return np.asarray(draw_network(rows, WIDTH, alpha=alpha, nu=nu, rng=rng, sharpness=sharpness)[0])
    partition = build_partition(rows)
    log_v = math.log(nu) + 2.0 / alpha * np.log(partition.q) + draw_log_positive(alpha, partition.q.size, rng)
    return np.asarray((np.exp(0.5 * log_v) * rng.standard_normal(log_v.size)) @ partition.signs)


def largest_step(f: Floats) -> Floats:
    """Largest |f(x_i+1) - f(x_i)| over neighbouring training rows, shape (draws,)."""
    return np.asarray(np.abs(np.diff(f, axis=1)).max(axis=1))


def by_jumps(truth: Truth, kind: str, how: Length, seed: int) -> Draws:
    """The jump engine with everything inferred, its prior of alpha cut to the range of the simulation."""
    # The broken one counts every row twice: it believes the data too much.
    weight = np.full(len(X), 2.0) if kind == "broken" else None
    data = check_training(X, truth.y[: len(X)], weight, standardize=False)
    sharpness = None if kind == "smooth" else math.inf
    model = make_model(data, alpha=None, nu=None, sigma2=None, n_atoms=N_ATOMS, sharpness=sharpness)
    model = model._replace(alpha_low=ALPHA_RANGE[0], alpha_high=ALPHA_RANGE[1])
    setup = run.Setup(model, 1)
    sample = run.start(model, np.random.SeedSequence(seed).spawn(N_CHAINS))
    sample = replace(run.warm_up(sample, setup, how.n_warm), thin=how.thin)
    sample = run.extend(sample, setup, how.thin * (how.n_draws // N_CHAINS + 1))
    posterior = Posterior.from_sample(data, model, sample)
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
    """The blocked sampler on the exact partition, alpha and nu given."""
    found = posterior_predictive(
        X, truth.y[: len(X)], X_NEW, alpha=truth.alpha, nu=math.exp(truth.log_nu), sampler="gibbs",
        iterations=how.n_warm + how.thin * how.n_draws, burn_in=how.n_warm, rng=np.random.default_rng([seed, 2]),
        progress=False,
    )  # fmt: skip
    kept = slice(how.thin - 1, None, how.thin)
    sigma2 = found.sigma2[kept]
    quantities = {"log sigma2": np.log(sigma2), "largest step": largest_step(found.f_train[kept])}
    return _with_new_rows(quantities, found.f_new[kept], np.sqrt(sigma2), seed)


def _with_new_rows(quantities: dict[str, Floats], f_new: Floats, noise_sd: Floats, seed: int) -> Draws:
    places = {f"f({x:g})": f_new[:, j] for j, x in enumerate(X_NEW[:, 0])}
    # Many noises for each draw, so that the interval is that of the mixture.
    noise = np.random.default_rng([seed, 3]).standard_normal((50, *f_new.shape))
    y = (f_new + noise_sd[:, None] * noise).reshape(-1, f_new.shape[1])
    tails = np.array([[0.5 - c / 2.0, 0.5 + c / 2.0] for c in COVERAGES])
    return Draws(quantities | places, np.quantile(y, tails, axis=0).transpose(2, 0, 1))


def truth_of(truth: Truth, name: str) -> float:
    """The true value of a quantity, by its name."""
    by_name = {"alpha": truth.alpha, "log nu": truth.log_nu, "log sigma2": truth.log_sigma2}
    by_name |= {"sharpness": truth.sharpness, "largest step": float(largest_step(truth.f[None, : len(X)])[0])}
    by_name |= {f"f({x:g})": truth.f[len(X) + j] for j, x in enumerate(X_NEW[:, 0])}
    return float(by_name[name])


def simulate(kind: str, repeat: int, n_warm: int, thin: int, n_draws: int, alpha: float | None = None) -> Result:
    """Ranks of the truth among the draws, and which intervals held a new observation."""
    seed = KINDS.index(kind) * 10**6 + repeat
    rng = np.random.default_rng([seed, 0])
    truth = draw_truth(kind, rng, alpha)
    how = Length(n_warm, thin, n_draws)
    draws = by_gibbs(truth, how, seed) if kind == "gibbs" else by_jumps(truth, kind, how, seed)
    y_new = truth.y[len(X) :, None]
    inside = (draws.ends[:, :, 0] <= y_new) & (y_new <= draws.ends[:, :, 1])
    ranks = {name: rank(truth_of(truth, name), values[:n_draws], rng) for name, values in draws.quantities.items()}
    return {"ranks": ranks, "inside": inside, "n_redrawn": truth.n_redrawn, "alpha": truth.alpha}
