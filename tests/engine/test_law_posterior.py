"""The posterior of relevance and sharpness is that of brute force: a grid, or weighted draws from the prior."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.special import erf

from tests.checks import check_mean
from tests.engine.gaussian_process import kernels, log_densities
from tests.engine.invariance import NOTHING
from widestable.engine.chain import draw_atoms, make_chain, make_work, new_state
from widestable.engine.draws import make_buffers
from widestable.engine.kernel import Law
from widestable.engine.model import Model, Priors, make_model
from widestable.engine.moves.law import nothing_learned, update_law
from widestable.engine.sweep import make_sweeps, rebuild
from widestable.inputs import check_training
from widestable.stable import log_remainder, log_scale_of_mark

SIGMA2, N_ATOMS = 0.05, 5.0
# Narrower than the defaults, so that a grid and draws from the prior reach what matters.
LOG_NU_SD = 1.5
PRIORS = Priors(log_nu_sd=LOG_NU_SD, relevance_scale=1.0)
# Distribution functions are compared at these probabilities.
LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
UNITS = pytest.mark.parametrize("is_smooth", [False, True], ids=["sign", "smooth"])


class Laws(NamedTuple):
    """Laws and log nu, drawn from their prior or on a grid, with log weights."""

    log_r: np.ndarray  # (m, d)
    log_w: np.ndarray  # (m,) infinite for sign units
    log_nu: np.ndarray  # (m,)
    log_weight: np.ndarray  # (m,)


def line() -> tuple[np.ndarray, np.ndarray]:
    """Four rows of one input."""
    return np.array([[-1.4], [-0.5], [0.2], [1.1]]), np.array([-0.9, -1.1, 1.0, 0.8])


def plane() -> tuple[np.ndarray, np.ndarray]:
    """Seven rows of two inputs, the second of which does nothing."""
    X = np.array([[-1.2, 0.3], [-0.6, -1.1], [-0.4, 0.9], [0.1, 0.2], [0.5, -0.8], [0.9, 1.3], [1.4, -0.2]])
    return X, np.array([-0.9, -1.2, -0.8, 0.1, 0.9, 1.1, 0.8])


# --- Brute force -----------------------------------------------------------------------------------------


def log_prior_log_sharpness(log_w: np.ndarray) -> np.ndarray:
    """Half uniform, half Cauchy, on (log 0.1, log 1000)."""
    ends = np.log([0.1, 1000.0])
    bump = stats.cauchy(0.3, 0.6)
    return np.log(0.5 / np.ptp(ends) + 0.5 * bump.pdf(log_w) / np.ptp(bump.cdf(ends)))


def on_a_grid(is_smooth: bool) -> Laws:
    """One input, nu inferred: midpoints of a grid, weighted by the prior."""
    log_r, log_nu = np.linspace(-7.0, 7.0, 85), np.linspace(-6.5, 6.5, 40)
    edges = np.linspace(math.log(0.1), math.log(1000.0), 38)
    log_w = 0.5 * (edges[1:] + edges[:-1]) if is_smooth else np.array([math.inf])
    r, w, nu_k = (axis.ravel() for axis in np.meshgrid(log_r, log_w, log_nu, indexing="ij"))
    log_weight = stats.norm.logpdf(r) + stats.norm.logpdf(nu_k, scale=LOG_NU_SD)
    return Laws(r[:, None], w, nu_k, log_weight + (log_prior_log_sharpness(w) if is_smooth else 0.0))


def from_the_prior(m: int, d: int, is_smooth: bool, rng: np.random.Generator) -> Laws:
    """r = rho eta / |eta|, log rho normal, eta half-Cauchy."""
    eta = np.abs(rng.standard_cauchy((m, d)))
    r = np.exp(rng.standard_normal((m, 1))) * eta / np.linalg.norm(eta, axis=1, keepdims=True)
    ends = np.log([0.1, 1000.0])
    bump = stats.cauchy(0.3, 0.6)
    log_w = np.where(rng.random(m) < 0.5, rng.uniform(*ends, m), bump.ppf(rng.uniform(*bump.cdf(ends), m)))
    return Laws(np.log(r), log_w if is_smooth else np.full(m, np.inf), LOG_NU_SD * rng.standard_normal(m), np.zeros(m))


def weighted(
    laws: Laws, X: np.ndarray, y: np.ndarray, alpha: float, rng: np.random.Generator, block: int = 20_000
) -> Laws:
    """The same laws with the likelihood in their weights and log nu itself; atoms are drawn from the prior."""
    parts = []
    for start in range(0, len(laws.log_w), block):
        log_r, log_w, log_nu_k, log_weight = (values[start : start + block] for values in laws)
        K = kernels(X, np.exp(log_r), np.exp(log_w))
        log_nu = log_nu_k - np.log(np.einsum("mii->m", K) / len(X))
        Q = np.exp(log_remainder(alpha, log_nu, N_ATOMS))[:, None, None] * K + SIGMA2 * np.eye(len(X))
        if alpha < 2.0:
            add_atoms(Q, X, log_r, log_w, log_nu, alpha, rng)
        parts.append(Laws(log_r, log_w, log_nu, log_weight + log_densities(y, Q)))
    return Laws(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def add_atoms(
    Q: np.ndarray,
    X: np.ndarray,
    log_r: np.ndarray,
    log_w: np.ndarray,
    log_nu: np.ndarray,
    alpha: float,
    rng: np.random.Generator,
) -> None:
    """Add v tau tau' of Poisson many atoms to each covariance."""
    owner = np.repeat(np.arange(len(Q)), rng.poisson(N_ATOMS, len(Q)))
    h = rng.standard_normal((owner.size, X.shape[1] + 1))
    t = h[:, :1] + (h[:, 1:] * np.exp(log_r[owner])) @ X.T
    tau = np.where(np.isinf(log_w[owner])[:, None], np.sign(t), erf(np.exp(log_w[owner])[:, None] * t))
    v = np.exp(log_scale_of_mark(np.log(N_ATOMS * (1.0 - rng.random(owner.size))), alpha, 0.0) + log_nu[owner])
    np.add.at(Q, owner, v[:, None, None] * tau[:, :, None] * tau[:, None, :])


class Target(NamedTuple):
    """Where distribution functions are compared, and what they are there."""

    cuts: np.ndarray  # (quantities, levels)
    below: np.ndarray  # (quantities, levels)


def quantities(laws: Laws, is_smooth: bool) -> np.ndarray:
    """What is compared, one row per quantity; w r is how steep a unit is."""
    rows = [*laws.log_r.T, laws.log_nu]
    if is_smooth:
        rows += [laws.log_w, laws.log_w + laws.log_r[:, 0]]
    return np.array(rows)


def target(laws: Laws, is_smooth: bool) -> Target:
    p = np.exp(laws.log_weight - laws.log_weight.max())
    p /= p.sum()
    cuts, below = [], []
    for values in quantities(laws, is_smooth):
        order = np.argsort(values)
        # Between two points of a grid, so that no point lies on a cut.
        points, first = np.unique(values[order], return_index=True)
        mass = np.append(np.cumsum(p[order])[first[1:] - 1], 1.0)
        chosen = np.minimum(np.searchsorted(mass, LEVELS), len(points) - 2)
        cuts.append(0.5 * (points[chosen] + points[chosen + 1]))
        below.append(mass[chosen])
    return Target(np.array(cuts), np.array(below))


# --- Chains ----------------------------------------------------------------------------------------------


def small_model(X: np.ndarray, y: np.ndarray, alpha: float, is_smooth: bool) -> Model:
    infers: dict[str, Any] = {"sharpness": None if is_smooth else math.inf, "infer_relevance": True}
    data = check_training(X, y, standardize=False)
    return make_model(data, alpha=alpha, nu=None, sigma2=SIGMA2, n_atoms=N_ATOMS, priors=PRIORS, **infers)


def run_chain(model: Model, alpha: float, first: Laws, n_visits: int, rng: np.random.Generator) -> Laws:
    """One chain from a draw of the prior; the first third of its visits adapt and are left out."""
    law = Law(np.exp(first.log_r[0]), math.exp(first.log_w[0]))
    state = new_state(alpha, first.log_nu[0], math.log(SIGMA2), law, *draw_atoms(model, rng), rng)
    chain, tuning = make_chain(model, state), state.tuning
    work, out = make_work(model, chain.kernel), make_buffers(model, 0)
    chain = rebuild(chain, model, work)
    plan = NOTHING._replace(n_parameters=2, n_births=4, n_passes=1)
    learned: Any = nothing_learned(tuning)
    kept = []
    for visit in range(n_visits):
        chain = make_sweeps(chain, model, plan, work, rng, 1, thin=0, since_draw=0, adapt=learned is not None, out=out)
        if visit == n_visits // 3:
            learned = None
        chain, law, tuning, learned = update_law(chain, model, work, law, tuning, rng, learned)
        if learned is None:
            kept.append((np.log(law.relevance), math.log(law.sharpness), chain.log_nu, 0.0))
    return Laws(*(np.array(values) for values in zip(*kept, strict=True)))


def below_the_cuts(chains: list[Laws], cuts: np.ndarray, is_smooth: bool) -> np.ndarray:
    """Share of each chain's draws below the cuts: chains are independent."""
    return np.array([np.mean(quantities(c, is_smooth)[:, :, None] < cuts[:, None], axis=1).ravel() for c in chains])


def run_chains(
    X: np.ndarray, y: np.ndarray, alpha: float, is_smooth: bool, rng: np.random.Generator, n_visits: int
) -> list[Laws]:
    model = small_model(X, y, alpha, is_smooth)
    starts = from_the_prior(40, X.shape[1], is_smooth, rng)
    return [run_chain(model, alpha, Laws(*(values[c : c + 1] for values in starts)), n_visits, rng) for c in range(40)]


# --- Tests -----------------------------------------------------------------------------------------------


@pytest.mark.statistical
@UNITS
def test_posterior_of_the_gaussian_limit_is_that_of_a_grid(is_smooth: bool, rng: np.random.Generator) -> None:
    X, y = line()
    found = target(weighted(on_a_grid(is_smooth), X, y, 2.0, rng), is_smooth)
    shares = below_the_cuts(run_chains(X, y, 2.0, is_smooth, rng, 50), found.cuts, is_smooth)
    check_mean(shares, found.below.ravel())
    prior = on_a_grid(is_smooth)
    wrong = prior._replace(log_weight=prior.log_weight + 1.0 * prior.log_r[:, 0])
    with pytest.raises(AssertionError, match="standard errors off"):
        check_mean(shares, at_the_cuts(weighted(wrong, X, y, 2.0, rng), found.cuts, is_smooth).ravel())


def at_the_cuts(laws: Laws, cuts: np.ndarray, is_smooth: bool) -> np.ndarray:
    """Distribution functions of weighted laws."""
    p = np.exp(laws.log_weight - laws.log_weight.max())
    is_below = quantities(laws, is_smooth)[:, None, :] < cuts[:, :, None]
    return np.asarray(is_below @ p / p.sum())


@pytest.mark.slow
@UNITS
@pytest.mark.parametrize(("data", "alpha"), [(plane, 2.0), (line, 1.3), (plane, 1.3)])
def test_posterior_is_that_of_weighted_prior_draws(
    data: Any, alpha: float, is_smooth: bool, rng: np.random.Generator
) -> None:
    X, y = data()
    laws = weighted(from_the_prior(1_000_000, X.shape[1], is_smooth, rng), X, y, alpha, rng)
    found = target(laws, is_smooth)
    p = np.exp(laws.log_weight - laws.log_weight.max())
    assert p.sum() ** 2 / (p @ p) > 10_000.0  # so much better than the chains that its error does not count
    shares = below_the_cuts(run_chains(X, y, alpha, is_smooth, rng, 120), found.cuts, is_smooth)
    check_mean(shares, found.below.ravel())
    wrong = laws._replace(log_weight=laws.log_weight + laws.log_r[:, 0])
    with pytest.raises(AssertionError, match="standard errors off"):
        check_mean(shares, at_the_cuts(wrong, found.cuts, is_smooth).ravel())
