"""The jump engine has the posterior of the exact engines, and with alpha and nu inferred that of a grid."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from tests.checks import check_mean, check_p_value
from tests.engine.chains import FREE, new_sample, one_thread
from tests.exact.agreement import EXAMPLES, Draws, check_agreement, mean_and_error, posterior_draws
from tests.stable_density import log_density_symmetric
from widestable.engine.draws import ChainDraws
from widestable.engine.model import Model, make_model
from widestable.engine.run import extend, warm_up
from widestable.inputs import check_training
from widestable.stable import draw_log_positive

# What keeping 30 atoms and the mean of the rest may move: posterior standard deviations of a mean, probability of a
# quantile. The standard deviation of what is ignored falls like N**(1/2 - 2/alpha), 21 times from 3 to 30 atoms at
# alpha = 1.1, and 3 atoms are off by 0.18 and 0.09 (quadrants, 40 000 sweeps), which leaves 0.009 and 0.004.
# With alpha inferred, 60 atoms ignore a standard deviation of 0.0063 nu at worst (alpha = 1.73), a seventh of what
# 3 atoms do at alpha = 1.1, and 0.0019 nu on average over the prior of alpha.
TRUNCATION = 0.01

# --- Fixed alpha and nu: the examples on which the exact samplers agree ----------------------------------


@cache
def jump_draws(name: str, n_atoms: int = 30, n_sweeps: int = 800, nu: float | None = None) -> Draws:
    """Draws of the jump engine on one of the examples, at its rows in their given order."""
    X, y, alpha, default_nu = EXAMPLES[name]()
    data = check_training(X, y, standardize=False)
    fixed = {"alpha": alpha, "nu": default_nu if nu is None else nu, "sigma2": None}
    chains = run(make_model(data, **fixed, n_atoms=n_atoms), n_sweeps, **fixed)
    return Draws(np.stack([draws.f[:, data.index] for draws in chains]), np.exp([draws.log_sigma2 for draws in chains]))


def run(model: Model, n_sweeps: int, **fixed: float | None) -> tuple[ChainDraws, ...]:
    """Every second of `n_sweeps` sweeps of eight chains, after 500 to warm up.

    Many short chains, because in three dimensions one may stay a thousand sweeps where it is one time in ten:
    the effective sample size of two long ones misses that, the spread between eight does not.
    """
    setup = one_thread(model)
    return extend(warm_up(new_sample(model, 8, seed=7, **fixed), setup, 500), setup, n_sweeps).chains


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_jumps_and_gibbs_agree(name: str) -> None:
    check_agreement(posterior_draws(name, "gibbs"), jump_draws(name), bias=TRUNCATION)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["three_jumps", "quadrants"])
def test_jumps_and_metropolis_agree(name: str) -> None:
    """In three dimensions the published sampler leaves twenty effective draws of sigma2: too few to say anything."""
    check_agreement(posterior_draws(name, "metropolis"), jump_draws(name), bias=TRUNCATION)


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_the_check_sees_jumps_with_a_wrong_nu(name: str) -> None:
    wrong = jump_draws(name, n_sweeps=300, nu=3.0 * EXAMPLES[name]().nu)
    with pytest.raises(AssertionError, match="posteriors differ"):
        check_agreement(posterior_draws(name, "gibbs"), wrong, bias=TRUNCATION)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_truncation_vanishes_with_more_atoms(name: str) -> None:
    """30 atoms within the stated bias of a longer run; 100 atoms with no bias allowed."""
    exact = posterior_draws(name, "gibbs", iterations=3000, n_chains=4)
    check_agreement(exact, jump_draws(name, n_sweeps=3000), bias=TRUNCATION)
    check_agreement(exact, jump_draws(name, n_atoms=100, n_sweeps=800))


@pytest.mark.slow
def test_the_check_sees_the_truncation_of_three_atoms() -> None:
    """On the quadrants; on the line it is three times smaller, too little for runs of this length."""
    exact = posterior_draws("quadrants", "gibbs", iterations=3000, n_chains=4)
    with pytest.raises(AssertionError, match="posteriors differ"):
        check_agreement(exact, jump_draws("quadrants", n_atoms=3, n_sweeps=5000), bias=TRUNCATION)


# --- alpha and nu inferred: four points on a line, all by quadrature and importance sampling -------------

X4, Y4 = np.array([0.3, -1.5, 1.2, -0.4]), np.array([2.4, 0.2, 2.0, -0.3])
# Distribution functions are compared at the inner edges; three Gauss-Legendre nodes in each cell.
EDGES = {
    "alpha": np.array([0.05, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.99]),
    "log_nu": np.linspace(-6.0, 6.0, 9),
    "log_sigma2": np.linspace(-9.0, 5.0, 8),
}
N_NODES = 3
CUTS = Y4[:, None] + np.array([-0.5, 0.0, 0.5])
N_BATCHES = 20


class Probabilities(NamedTuple):
    """Posterior probabilities to lie below the inner edges, then of f below the cuts, with Monte Carlo errors."""

    value: np.ndarray
    error: np.ndarray


def cells() -> tuple[np.ndarray, np.ndarray]:
    """Patterns (rows, cells) and probabilities of the cells of `X4`, by the closed form."""
    angle = np.arctan(X4)
    cuts = np.sort(angle)
    q = np.concatenate([[1.0 - (cuts[-1] - cuts[0]) / np.pi], np.diff(cuts) / np.pi])
    return np.where(angle[:, None] >= cuts, 1.0, -1.0), q


def nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and log weights of a Gauss-Legendre rule on each cell."""
    node, weight = np.polynomial.legendre.leggauss(N_NODES)
    half = np.diff(edges)[:, None] / 2.0
    return (edges[:-1, None] + half * (1.0 + node)).ravel(), np.log(half * weight).ravel()


def log_stable(alpha: float) -> Callable[[np.ndarray], np.ndarray]:
    """Log density of the standard symmetric stable law as a function of log|x|: a table, a power beyond it."""
    log_x = np.linspace(-4.0 - 3.0 / alpha, 4.0 + 6.0 / alpha, 1200)
    table = log_density_symmetric(np.exp(log_x), alpha)
    return lambda at: np.interp(at, log_x, table) - (1.0 + alpha) * np.maximum(at - log_x[-1], 0.0)


def draw_stable(alpha: float, size: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Signs and log magnitudes of standard symmetric stable draws, by Chambers, Mallows and Stuck."""
    v, e = np.pi / 2.0 * rng.random(size), rng.standard_exponential(size)
    log_tail = np.log(np.cos((1.0 - alpha) * v)) - np.log(e)
    log_x = np.log(np.sin(alpha * v)) - np.log(np.cos(v)) / alpha + (1.0 - alpha) / alpha * log_tail
    return rng.choice([-1.0, 1.0], size), log_x


def weighted_draws(
    alpha: float, log_nu: np.ndarray, log_sigma2: np.ndarray, m: int, rng: np.random.Generator
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Draws of f and log weights whose mean is p(y | alpha, nu, sigma2), for all pairs of nu and sigma2.

    The cells' weights beta are independent and symmetric stable, scale c = sqrt(nu/2) q**(1/alpha), and f = T beta
    with T square; so p(y) is the integral of L(f) p(f), L normal around y and p a product over beta. Half of the
    draws come from L, half from p; L p / ((L + p)/2) weights them. Shapes (nu, sigma2, m, 4) up to broadcasting.
    """
    T, q = cells()
    density, s2 = log_stable(alpha), np.exp(log_sigma2)[:, None]
    log_c = 0.5 * (log_nu - np.log(2.0))[:, None, None, None] + np.log(q) / alpha
    constant = -np.linalg.slogdet(T)[1] - log_c.sum(axis=-1)

    def log_likelihood(f: np.ndarray) -> np.ndarray:
        return -0.5 * np.sum((Y4 - f) ** 2, axis=-1) / s2 - 2.0 * np.log(2.0 * np.pi * s2)

    f = Y4 + np.sqrt(s2)[..., None] * rng.standard_normal((log_sigma2.size, m, 4))
    log_p = density(np.log(np.abs(f @ np.linalg.inv(T).T)) - log_c).sum(axis=-1) + constant
    from_L = f[None], np.log(2.0) - np.logaddexp(-log_likelihood(f), -log_p)
    sign, log_x = draw_stable(alpha, (log_nu.size, 1, m, 4), rng)
    f = (sign * np.exp(np.minimum(log_x + log_c, 300.0))) @ T.T
    log_p = density(log_x).sum(axis=-1) + constant
    return from_L, (f, np.log(2.0) - np.logaddexp(-log_likelihood(f), -log_p))


@cache
def grid_posterior(m: int = 200) -> Probabilities:
    """Brute force: every node of alpha, log nu and log sigma2, weighted by prior and marginal likelihood.

    Draws are fresh at each alpha and fall into batches, whose spread gives the Monte Carlo error.
    """
    rng = np.random.default_rng(11)
    (alpha, w_alpha), (log_nu, w_nu), (log_sigma2, w_sigma2) = (nodes(edges) for edges in EDGES.values())
    # Priors of design.md, section 3: uniform, N(0, 1.5^2), and half-Cauchy(0, 1) on sigma2.
    log_prior = (w_nu - 0.5 * (log_nu / 1.5) ** 2)[:, None]
    log_prior = log_prior + w_sigma2 + log_sigma2 - np.log1p(np.exp(2.0 * log_sigma2))
    mass = np.zeros((N_BATCHES, alpha.size, log_nu.size, log_sigma2.size))
    below = np.zeros((N_BATCHES, *CUTS.shape))
    for i in range(alpha.size):
        for f, log_weight in weighted_draws(alpha[i], log_nu, log_sigma2, m, rng):
            weight = np.exp(log_weight + log_prior[..., None] + w_alpha[i])
            mass[:, i] += np.moveaxis(weight.reshape(*weight.shape[:2], N_BATCHES, -1).sum(axis=-1), -1, 0)
            # One of the first two axes of f has length one: the weights are summed along it.
            weight = weight.sum(axis=0 if len(f) == 1 else 1, keepdims=True)
            for j, cuts in enumerate(CUTS):
                inside = np.einsum("abm,abmc->mc", weight, f[..., j, None] < cuts)
                below[:, j] += inside.reshape(N_BATCHES, -1, cuts.size).sum(axis=1)
    return _ratios(mass, below)


def _ratios(mass: np.ndarray, below: np.ndarray) -> Probabilities:
    """Divide by the total, with the linearised error of a ratio over batches."""
    margins = [mass.sum(axis=other) for other in ((2, 3), (1, 3), (1, 2))]
    values = [np.cumsum(margin, axis=1)[:, N_NODES - 1 : -1 : N_NODES] for margin in margins]
    values = np.concatenate([*values, below.reshape(N_BATCHES, -1)], axis=1)
    total = mass.sum(axis=(1, 2, 3))
    ratio = values.sum(axis=0) / total.sum()
    spread = (values - ratio * total[:, None]).std(axis=0, ddof=1)
    return Probabilities(ratio, spread / (np.sqrt(N_BATCHES) * total.mean()))


@cache
def jumps_below(n_sweeps: int, n_atoms: int = 60, **changes: float) -> np.ndarray:
    """Whether each draw of the jump engine, all parameters inferred, lies below the same edges and cuts."""
    data = check_training(X4[:, None], Y4, standardize=False)
    model = make_model(data, **FREE, n_atoms=n_atoms)._replace(**changes)
    chains = run(model, n_sweeps)
    return np.stack(
        [
            np.concatenate(
                [getattr(draws, name)[:, None] < edges[1:-1] for name, edges in EDGES.items()]
                + [(draws.f[:, data.index, None] < CUTS).reshape(len(draws), -1)],
                axis=1,
            )
            for draws in chains
        ]
    )


def check_below(below: np.ndarray, grid: Probabilities, bias: float) -> None:
    """Shares of draws below each point are the grid's, within both Monte Carlo errors plus `bias`."""
    looks = (grid.value > 0.01) & (grid.value < 0.99)
    share, error = mean_and_error(below[..., looks])
    excess = np.maximum(np.abs(share - grid.value[looks]) - bias, 0.0)
    worst = float(np.max(excess / np.hypot(error, grid.error[looks])))
    check_p_value(2.0 * norm.sf(worst), f"distribution functions differ by {worst:.1f} errors", looks.sum())


@pytest.mark.statistical
@pytest.mark.parametrize(("alpha", "nu", "sigma2"), [(0.4, 2.0, 1.5), (1.1, 1.0, 0.1), (1.8, 0.3, 1.5)])
def test_marginal_likelihood_is_theorem_1(alpha: float, nu: float, sigma2: float, rng: np.random.Generator) -> None:
    """p(y) = E N(y; 0, Q_s) over positive stable scales s, by plain Monte Carlo, and over f as the grid has it."""
    T, q = cells()
    log_v = np.log(nu * q ** (2.0 / alpha)) + draw_log_positive(alpha, (50_000, 4), rng)
    # Above 1e10 the density is zero to all digits that matter, and Q_s singular.
    Q = np.einsum("il,kl,jl->kij", T, np.exp(np.minimum(log_v, np.log(1e10))), T) + sigma2 * np.eye(4)
    quadratic = np.linalg.solve(Q, np.tile(Y4[:, None], (len(Q), 1, 1)))[..., 0] @ Y4
    plain = np.exp(-0.5 * quadratic - 0.5 * np.linalg.slogdet(2.0 * np.pi * Q)[1])
    halves = weighted_draws(alpha, np.log([nu]), np.log([sigma2]), 50_000, rng)
    ours = np.mean([np.exp(log_weight).ravel() for _, log_weight in halves], axis=0)
    check_mean(plain - ours, 0.0)
    with pytest.raises(AssertionError):
        check_mean(plain - 1.1 * ours, 0.0)


@pytest.mark.statistical
def test_inferred_parameters_agree_with_a_grid() -> None:
    check_below(jumps_below(2000), grid_posterior(), bias=TRUNCATION)


@pytest.mark.statistical
@pytest.mark.parametrize("changes", [{"log_nu_sd": 1.0}, {"alpha_high": 1.8}], ids=str)
def test_the_grid_sees_a_wrong_prior(changes: dict[str, float]) -> None:
    with pytest.raises(AssertionError, match="distribution functions differ"):
        check_below(jumps_below(500, **changes), grid_posterior(), bias=TRUNCATION)


@pytest.mark.slow
def test_inferred_parameters_agree_with_a_grid_without_allowance() -> None:
    check_below(jumps_below(8000, n_atoms=100), grid_posterior(4000), bias=0.0)
