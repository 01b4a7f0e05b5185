"""One simulation: draw parameters, function and data from the prior, sample the posterior, rank the truth in it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from studies.calibration.uniformity import rank
from studies.problems import Floats
from studies.runner import Result
from studies.sampling import PAPER, PRIORS, draw_log_relevance, draw_log_sharpness, draw_spikes, draws_at, start
from widestable import Posterior
from widestable.exact import build_partition, posterior_predictive
from widestable.inputs import TrainingData, check_training
from widestable.network import draw_network, kernel_diagonal
from widestable.stable import draw_log_positive

ALPHA_RANGE = (0.5, 1.95)
# Redrawing depends on y alone, so it keeps the test valid.
LARGEST_Y = 1e8
WIDTH = 10_000
# Of the prior: with sign units, and where the sharpness is inferred.
LOG_NU_SD = {"sign": 1.5, "inferred": 3.0}
COVERAGES = (0.5, 0.8, 0.9, 0.95)
N_CHAINS = 2
# Where the seeds of each kind begin, in millions.
KINDS = {"sign": 0, "gibbs": 2, "broken": 3, "law": 4, "outliers": 5, "relevance": 6}


class Design(NamedTuple):
    """Rows at which y is observed, and new rows."""

    X: Floats  # (15, d)
    X_new: Floats  # (3, d)

    @property
    def new_names(self) -> list[str]:
        """Names of f at the new rows."""
        return [f"f({', '.join(f'{x:g}' for x in row)})" for row in self.X_new]


LINE = Design(np.linspace(-2.0, 2.0, 15)[:, None], np.array([[-1.1], [0.35], [2.6]]))
# A lattice that is even along both inputs, so that neither is favoured.
PLANE = Design(
    np.column_stack([np.linspace(-2.0, 2.0, 15), np.linspace(-2.0, 2.0, 15)[4 * np.arange(15) % 15]]),
    np.array([[-1.1, 0.35], [0.35, -1.1], [2.6, 2.6]]),
)


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
    log_relevance: Floats  # (d,)
    log_sharpness: float
    p_outlier: float
    spikes: Floats  # at the rows of the design, then at its new rows; 0 where there is none
    f: Floats  # likewise
    y: Floats  # likewise
    n_redrawn: int


# Parameters of the regressor by kind, where they are not those of the paper's model.
PARAMETERS: dict[str, dict[str, Any]] = {
    "law": {"sharpness": None, "relevance": None},
    "outliers": {"noise": "outliers"},
    "relevance": {"relevance": None, "noise": "outliers"},
}


class What(NamedTuple):
    """What is inferred beside alpha, nu and sigma2."""

    sharpness: bool
    relevance: bool
    outliers: bool


def what_of(kind: str) -> What:
    """Return what a kind infers."""
    given = PAPER | PARAMETERS.get(kind, {})
    return What(given["sharpness"] is None, given["relevance"] is None, given["noise"] == "outliers")


class Draws(NamedTuple):
    """Nearly independent posterior draws of each quantity by name, and the ends of intervals, (3, coverages, 2)."""

    quantities: dict[str, Floats]
    ends: Floats


def design_of(kind: str) -> Design:
    """Return the rows of a kind: in the plane where the relevance is inferred, otherwise on the line."""
    return PLANE if what_of(kind).relevance else LINE


def draw_truth(kind: str, rng: np.random.Generator, alpha: float | None = None) -> Truth:
    """Draw from the prior until no |y| is above LARGEST_Y, and sigma2 is above the floor that the engine gives it.

    The engine's prior of sigma2 is truncated at a floor that depends on y. Given y, truths that are drawn again below
    it have the posterior of the truncated prior, so the ranks stay uniform.
    """
    design, what = design_of(kind), what_of(kind)
    n, d = design.X.shape
    rows = np.concatenate(design)
    n_redrawn = 0
    while True:
        index = float(rng.uniform(*ALPHA_RANGE)) if alpha is None else alpha
        log_nu = LOG_NU_SD["inferred" if what.sharpness else "sign"] * float(rng.standard_normal())
        log_relevance, log_sharpness = np.zeros(d), math.inf
        if what.relevance:
            log_relevance = draw_log_relevance(d, PRIORS.relevance_scale, rng)
        seen = rows * np.exp(log_relevance)
        if what.sharpness:
            log_sharpness = draw_log_sharpness(rng)
            # The prior is that of the squared scale of f.
            log_nu -= math.log(kernel_diagonal(seen[:n], math.exp(log_sharpness)).mean())
        log_sigma2 = math.log(math.tan(0.5 * math.pi * rng.random()))
        f = draw_function(seen, index, math.exp(log_nu), math.exp(log_sharpness), rng)
        noise_sd = math.exp(0.5 * log_sigma2)
        p_outlier, spikes = draw_spikes(f.size, rng) if what.outliers else (0.0, np.zeros(f.size))
        spikes = noise_sd * spikes
        y = f + noise_sd * rng.standard_normal(f.size) + spikes
        if np.abs(y[:n]).max() <= LARGEST_Y and _is_above_floor(kind, y[:n], log_sigma2):
            law = log_relevance, log_sharpness
            return Truth(index, log_nu, log_sigma2, *law, p_outlier, spikes, f, y, n_redrawn)
        n_redrawn += 1


def _is_above_floor(kind: str, y: Floats, log_sigma2: float) -> bool:
    """Return whether sigma2 is inside its prior; the blocked sampler has no floor."""
    return kind == "gibbs" or math.exp(log_sigma2) >= training_data(kind, y).least_variance


def training_data(kind: str, y: Floats) -> TrainingData:
    """Return what the jump engine sees."""
    X = design_of(kind).X
    # The broken sampler counts every row twice, so it trusts the data too much.
    weight = np.full(len(X), 2.0) if kind == "broken" else None
    return check_training(X, y, weight, standardize=False, robust=what_of(kind).outliers)


def draw_function(rows: Floats, alpha: float, nu: float, sharpness: float, rng: np.random.Generator) -> Floats:
    """Draw f at rows: on the exact partition for sign units on a line, otherwise from a wide network."""
    if math.isfinite(sharpness) or rows.shape[1] > 1:
        return np.asarray(draw_network(rows, WIDTH, alpha=alpha, nu=nu, random_state=rng, sharpness=sharpness)[0])
    partition = build_partition(rows)
    log_v = math.log(nu) + 2.0 / alpha * np.log(partition.q) + draw_log_positive(alpha, partition.q.size, rng)
    return np.asarray((np.exp(0.5 * log_v) * rng.standard_normal(log_v.size)) @ partition.signs)


def largest_step(f: Floats) -> Floats:
    """Return the largest |f(x_i+1) - f(x_i)| over training rows in the order of their first input, shape (draws,)."""
    return np.asarray(np.abs(np.diff(f, axis=1)).max(axis=1))


def by_jumps(truth: Truth, kind: str, how: Length, seed: int) -> Draws:
    """Run the jump engine with everything inferred, its prior of alpha cut to the range of the simulation."""
    X, X_new = design_of(kind)
    what = what_of(kind)
    data = training_data(kind, truth.y[: len(X)])
    settings: dict[str, Any] = {"n_chains": N_CHAINS, "seed": seed, "priors": {"alpha": ALPHA_RANGE}}
    chains = start(data, **settings, **PARAMETERS.get(kind, {}))
    chains = chains.warm_up(how.n_warm).extend(how.thin * (how.n_draws // N_CHAINS + 1), how.thin)
    posterior = chains.posterior()
    f_new = draws_at(posterior, X_new, np.random.default_rng([seed, 1])).reshape(-1, len(X_new))
    f = posterior.f.reshape(f_new.shape[0], -1)
    quantities = {
        "alpha": posterior.alpha.ravel(),
        "log nu": np.log(posterior.nu).ravel(),
        "log sigma2": np.log(posterior.sigma2).ravel(),
        "largest step": largest_step(f),
    }
    if what.sharpness:
        quantities["log sharpness"] = np.log(posterior.sharpness).ravel()
    if what.relevance:
        quantities |= {f"log r_{j + 1}": np.log(posterior.relevance[:, :, j]).ravel() for j in range(X.shape[1])}
    places = dict(zip(design_of(kind).new_names, f_new.T, strict=True))
    if what.outliers:
        ends = posterior.quantiles(X_new, interval_ends().ravel()).reshape(len(X_new), -1, 2)
        return Draws(quantities | spike_draws(posterior) | places, ends)
    return Draws(quantities | places, _ends(f_new, np.sqrt(posterior.sigma2.ravel()), seed))


def spike_draws(posterior: Posterior) -> dict[str, Floats]:
    """Return the probability of an outlier, the number of spikes and the largest |size| of one, each (draws,)."""
    p, number, size = (
        np.concatenate([getattr(draws, name) for draws in posterior.chains])
        for name in ("p_outlier", "n_spikes", "spike_size")
    )
    largest = np.zeros(p.size)
    np.maximum.at(largest, np.repeat(np.arange(p.size), number), np.abs(size))
    return {"p": p, "number of spikes": number.astype(float), "largest spike": largest}


def by_gibbs(truth: Truth, how: Length, seed: int) -> Draws:
    """Run the blocked sampler on the exact partition, with alpha and nu given."""
    X, X_new = LINE
    found = posterior_predictive(
        X, truth.y[: len(X)], X_new, alpha=truth.alpha, nu=math.exp(truth.log_nu), sampler="gibbs",
        iterations=how.n_warm + how.thin * how.n_draws, burn_in=how.n_warm,
        random_state=np.random.default_rng([seed, 2]), progress=False,
    )  # fmt: skip
    kept = slice(how.thin - 1, None, how.thin)
    sigma2 = found.sigma2[kept]
    quantities = {"log sigma2": np.log(sigma2), "largest step": largest_step(found.f_train[kept])}
    f_new = found.f_new[kept]
    places = dict(zip(LINE.new_names, f_new.T, strict=True))
    return Draws(quantities | places, _ends(f_new, np.sqrt(sigma2), seed))


def interval_ends() -> Floats:
    """Return the probabilities at the ends of central intervals, shape (coverages, 2)."""
    return np.array([[0.5 - c / 2.0, 0.5 + c / 2.0] for c in COVERAGES])


def _ends(f_new: Floats, noise_sd: Floats, seed: int) -> Floats:
    """Return the ends of intervals for a new observation, shape (new rows, coverages, 2)."""
    # Many noise values per draw bring the interval close to that of the mixture.
    noise = np.random.default_rng([seed, 3]).standard_normal((50, *f_new.shape))
    y = (f_new + noise_sd[:, None] * noise).reshape(-1, f_new.shape[1])
    return np.asarray(np.quantile(y, interval_ends(), axis=0).transpose(2, 0, 1))


def true_values(truth: Truth, design: Design) -> dict[str, float]:
    """Return the true value of every quantity by name."""
    n = len(design.X)
    return {
        "alpha": truth.alpha,
        "log nu": truth.log_nu,
        "log sigma2": truth.log_sigma2,
        "largest step": float(largest_step(truth.f[None, :n])[0]),
        "log sharpness": truth.log_sharpness,
        "p": truth.p_outlier,
        "number of spikes": float(np.count_nonzero(truth.spikes[:n])),
        "largest spike": float(np.abs(truth.spikes[:n]).max()),
        **{f"log r_{j + 1}": float(value) for j, value in enumerate(truth.log_relevance)},
        **dict(zip(design.new_names, truth.f[n:], strict=True)),
    }


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
    seed = KINDS[kind] * 10**6 + repeat
    rng = np.random.default_rng([seed, 0])
    truth = draw_truth(kind, rng, alpha)
    how = Length(n_warm, thin, n_draws)
    draws = by_gibbs(truth, how, seed) if kind == "gibbs" else by_jumps(truth, kind, how, seed)
    design = design_of(kind)
    y_new = truth.y[len(design.X) :, None]
    inside = (draws.ends[:, :, 0] <= y_new) & (y_new <= draws.ends[:, :, 1])
    true = true_values(truth, design)
    ranks = {name: rank(true[name], values[:n_draws], rng) for name, values in draws.quantities.items()}
    return {"ranks": ranks, "inside": inside, "n_redrawn": truth.n_redrawn, "alpha": truth.alpha}
