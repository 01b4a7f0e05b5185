"""Gaussian processes: parameters by maximum likelihood (the paper's GP MLE), or sampled by NUTS, also with t noise."""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from studies.forecasts import Forecast, Scaled, from_draws, from_normal, from_observations, scale
from studies.methods.jax_setup import prepare_jax
from studies.methods.running import LATE_PART, N_CHAINS, N_WARM, Indices, Records, quantiles_from, spread
from studies.problems import Floats, Problem
from widestable.diagnostics import convergence
from widestable.inputs import TrainingData, check_training

PARAMETERS = ("amplitude", "length", "noise")
# Keeps the Cholesky factor real when the noise is tiny.
JITTER = 1e-8
IQR_OF_NORMAL = 1.349


def gp_ml(
    X: Floats, y: Floats, X_new: Floats, seed: int, *, n_restarts: int, smoothness: float | None = None
) -> Forecast:
    """Maximise the likelihood of amplitude, noise and one length scale per input; predict the kriging mean.

    Parameters
    ----------
    X, y, X_new : ndarray
    seed : int
        Determines the starts of the optimiser after the first.
    n_restarts : int
        Number of further starts.
    smoothness : float or None
        nu of a Matérn kernel, such as 1.5; None for the Gaussian kernel, `exp(-sum_j (x_j - x'_j)**2 / (2 l_j**2))`.
    """
    data = scale(X, y, X_new)
    gp = _fit_ml(data, np.ones(X.shape[1]), 0.1, smoothness, n_restarts_optimizer=n_restarts, random_state=seed)
    return data.undo(_predict_ml(gp, data))


def gp_ml_wide(
    X: Floats,
    y: Floats,
    X_new: Floats,
    seed: int,
    *,
    n_restarts: int,
    smoothness: float | None = None,
    limit: float | None = None,
) -> Forecast:
    """Do the same from starting points that suit many inputs.

    Rows with d standardised inputs are about `sqrt(2 d)` apart. With length scales of 1 they hardly correlate when d is
    large, and the likelihood is flat. So the search starts from length scales of `sqrt(d)`, then from random ones
    around it.

    Parameters
    ----------
    X, y, X_new, seed, n_restarts, smoothness
        As for `gp_ml`.
    limit : float or None
        Processor seconds after which no other start is made, and the search ends with the best parameters so far.
    """
    deadline = math.inf if limit is None else time.process_time() + limit
    data, d, rng = scale(X, y, X_new), X.shape[1], np.random.default_rng([seed, 4])
    starts = [(np.full(d, np.sqrt(d)), 0.1)]
    starts += [(np.sqrt(d) * np.exp(rng.standard_normal(d)), 10.0 ** rng.uniform(-3.0, 0.0)) for _ in range(n_restarts)]
    search = functools.partial(_maximise_until, deadline)
    fits = [_fit_ml(data, *starts[0], smoothness, optimizer=search)]
    for start in starts[1:]:
        if time.process_time() < deadline:
            fits.append(_fit_ml(data, *start, smoothness, optimizer=search))
    best = max(fits, key=lambda gp: gp.log_marginal_likelihood_value_)
    in_time = time.process_time() < deadline
    return data.undo(replace(_predict_ml(best, data), info={"n_starts": len(fits), "in_time": in_time}))


def _maximise_until(deadline: float, objective: Any, start: Floats, bounds: Floats) -> tuple[Floats, float]:
    """Search as scikit-learn does, with L-BFGS, but stop between two steps when the time is over."""

    def check(intermediate_result: Any) -> None:
        if time.process_time() > deadline:
            raise StopIteration

    found = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", callback=check)
    return found.x, found.fun


def _fit_ml(data: Scaled, lengths: Floats, noise: float, smoothness: float | None, **settings: Any) -> Any:
    """Maximise the likelihood from some length scales and noise variance."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    bounds = (1e-3, 1e3)
    of_f = RBF(lengths, bounds) if smoothness is None else Matern(lengths, bounds, nu=smoothness)
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * of_f + WhiteKernel(noise, (1e-6, 1e2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a parameter at its bound is not news here
        return GaussianProcessRegressor(kernel, **settings).fit(data.X, data.y)


def _predict_ml(gp: Any, data: Scaled) -> Forecast:
    mean, sd = gp.predict(data.X_new, return_std=True)  # the white kernel adds the noise to this s.d.
    return from_normal(mean, sd)


# --- Sampled parameters ----------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows, outputs, and how many observations of normal noise each of them is worth."""

    X: Floats
    y: Floats
    weight: Floats


class Parameters(NamedTuple):
    """One draw: s.d. of f, one length scale per input, s.d. of the noise."""

    amplitude: float
    length: Floats
    noise: float


def gp_bayes(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_chains: int, n_warm: int, n_keep: int) -> Forecast:
    """Sample the parameters of a Matérn 3/2 kernel by NUTS, f integrated out; predict the posterior median of f.

    The kernel is the rougher of 3/2 and 5/2, because it does better on functions that jump (README, three jumps).
    Priors on standardised data: amplitude and noise half-normal(1), each length scale log-normal(0, 1). Merging
    repeated rows changes nothing but the time. R-hat of the parameters is in `info`.
    """
    data = scale(X, y, X_new)
    merged = check_training(data.X, data.y, standardize=False)
    draws = _sample(merged, seed, n_chains, n_warm, n_keep)
    rng = np.random.default_rng(seed)
    rows = Rows(merged.X, merged.y, merged.weight)
    f = np.array([[_draw_f(rows, data.X_new, draw, rng) for draw in chain] for chain in _each(draws)])
    forecast = replace(from_draws(f, draws["noise"], rng), n_iterations=n_chains * (n_warm + n_keep))
    found = [convergence(draws[name].reshape(n_chains, n_keep, -1)) for name in PARAMETERS]
    info = {
        "rhat_parameters": float(max(c.rhat.max() for c in found)),
        "ess_parameters": float(min(c.ess.min() for c in found)),
        "length": np.median(draws["length"], axis=(0, 1)),
    }
    return data.undo(replace(forecast, info=info))


def _sample(data: TrainingData, seed: int, n_chains: int, n_warm: int, n_keep: int) -> dict[str, Floats]:
    """Draw the parameters, leading axes (chain, draw); chains start at random near the middle of the prior."""
    arrays, keys, starts = _arrays(data), *_starts(data, seed, n_chains)
    run = _compiled_chain(_potential, n_warm, n_keep)
    z = np.stack([np.asarray(run(key, start, *arrays)) for key, start in zip(keys, starts, strict=True)])
    return {"amplitude": np.exp(z[:, :, 0]), "noise": np.exp(z[:, :, 1]), "length": np.exp(z[:, :, 2:])}


def _arrays(data: TrainingData) -> tuple[Any, ...]:
    """Return what `_potential` needs of the data."""
    r2 = (data.X[:, None, :] - data.X[None, :, :]) ** 2
    return r2, data.y, 1.0 / data.weight, data.n_observations - len(data.y), data.ss_within


def _starts(data: TrainingData, seed: int, n_chains: int) -> tuple[Any, Floats]:
    """Return a key and a starting point of each chain."""
    jax = prepare_jax()
    starts = 0.5 * np.random.default_rng(seed).standard_normal((n_chains, 2 + data.X.shape[1]))
    return jax.random.split(jax.random.PRNGKey(seed), n_chains), starts


@functools.cache
def _compiled_chain(potential: Callable[..., Any], n_warm: int, n_keep: int) -> Any:
    """Return (key, start, data) -> log parameters (draws, parameters), compiled once per process and shape of data.

    NumPyro's `MCMC` would compile again for every chain and data set, which takes longer than sampling.
    """
    import jax
    from numpyro.infer.hmc import hmc

    start_kernel, sample_kernel = hmc(potential_fn_gen=lambda *data: functools.partial(potential, data), algo="NUTS")

    def chain(key: Any, start: Any, *data: Any) -> Any:
        state = start_kernel(start, n_warm, model_args=data, rng_key=key, target_accept_prob=0.9, dense_mass=True)

        def step(state: Any, _: Any) -> tuple[Any, Any]:
            state = sample_kernel(state, data)
            return state, state.z

        _, z = jax.lax.scan(step, state, None, length=n_warm + n_keep)
        return z[n_warm:]

    return jax.jit(chain)


def _potential(data: tuple[Any, ...], z: Any) -> Any:
    """Return minus the log posterior of `z = log(amplitude, noise, lengths)`, up to a constant."""
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    r2, y, inverse_weight, n_repeats, ss_within = data
    amplitude, noise, log_length = jnp.exp(z[0]), jnp.exp(z[1]), z[2:]
    # The shift under the root keeps its gradient finite on the diagonal.
    r = jnp.sqrt(3.0 * (r2 * jnp.exp(-2.0 * log_length)).sum(axis=2) + 1e-12)
    K = amplitude**2 * (1.0 + r) * jnp.exp(-r) + jnp.diag(noise**2 * inverse_weight + JITTER)
    lower = jnp.linalg.cholesky(K)
    half = solve_triangular(lower, y, lower=True)
    minus_log_likelihood = jnp.log(jnp.diagonal(lower)).sum() + 0.5 * half @ half
    within = n_repeats * jnp.log(noise) + 0.5 * ss_within / noise**2
    # Half-normal(1) densities of amplitude and noise with the Jacobian of the logarithm; log-normal lengths.
    minus_log_prior = 0.5 * (amplitude**2 + noise**2) - z[0] - z[1] + 0.5 * (log_length**2).sum()
    return minus_log_likelihood + within + minus_log_prior


class GaussianProcessRun:
    """The chains of `gp_bayes` step by step. Drawing f at the judged rows counts as part of sampling.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Training rows at which f is judged.
    seed : int
    """

    def __init__(self, problem: Problem, rows: Indices, seed: int) -> None:
        self.n_iterations, self.seconds = 0, 0.0
        self._data = scale(problem.X, problem.y, problem.X_new)
        self._records, self._rng = Records(), np.random.default_rng([seed, 1])
        merged = check_training(self._data.X, self._data.y, standardize=False)
        self._rows, self._judged = Rows(merged.X, merged.y, merged.weight), self._data.X[rows]
        self._arrays, keys, starts = _arrays(merged), *_starts(merged, seed, N_CHAINS)
        begin, self._step = _compile_steps(keys[0], starts[0], self._arrays)
        started = time.process_time()
        self._states = [begin(key, start, *self._arrays) for key, start in zip(keys, starts, strict=True)]
        self.seconds += time.process_time() - started

    def advance(self, n_iterations: int) -> None:
        """Make steps of NUTS, the first 300 of each chain with adaptation."""
        started = time.process_time()
        for _ in range(n_iterations):
            self._states = [self._step(state, *self._arrays) for state in self._states]
            self.n_iterations += 1
            if self.n_iterations > N_WARM and self.n_iterations % self._records.every == 0:
                z = np.array([np.exp(np.asarray(state.z)) for state in self._states])
                draws = [Parameters(row[0], row[2:], row[1]) for row in z]
                f = np.array([_draw_f(self._rows, self._judged, draw, self._rng) for draw in draws])
                self._records.add(self.n_iterations, (f, draws))
        self.seconds += time.process_time() - started

    def f(self, part: float = LATE_PART) -> Floats:
        """Return f at the judged rows, (chains, draws, rows)."""
        kept = self._records.last(part, self.n_iterations)
        return np.stack([f for f, _ in kept], axis=1) if kept else np.empty((N_CHAINS, 0, len(self._judged)))

    def quantiles(self) -> Floats:
        """Return quantiles of a new observation at LEVELS, (m, 100)."""
        return quantiles_from(*self.at_new(), np.random.default_rng([self.n_iterations, 1]))

    def at_new(self) -> tuple[Floats, Floats]:
        """Return some draws of f at the new rows, (draws, m), and of the noise s.d., (draws,)."""
        shown = [draw for _, draws in spread(self._records.last(LATE_PART, self.n_iterations)) for draw in draws]
        rng = np.random.default_rng(self.n_iterations)
        f = np.array([_draw_f(self._rows, self._data.X_new, draw, rng) for draw in shown])
        noise_sd = np.array([draw.noise for draw in shown])
        return self._data.y_mean + self._data.y_scale * f, self._data.y_scale * noise_sd


def _compile_steps(key: Any, start: Floats, arrays: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return compiled (key, start, data) -> state and (state, data) -> state. Nothing is run."""
    import jax
    from numpyro.infer.hmc import hmc

    start_kernel, sample_kernel = hmc(potential_fn_gen=lambda *data: functools.partial(_potential, data), algo="NUTS")

    def begin(key: Any, start: Any, *data: Any) -> Any:
        return start_kernel(start, N_WARM, model_args=data, rng_key=key, target_accept_prob=0.9, dense_mass=True)

    first = jax.jit(begin).lower(key, start, *arrays)
    step = jax.jit(lambda state, *data: sample_kernel(state, data)).lower(first.out_info, *arrays)
    return first.compile(), step.compile()


# --- Student-t noise -------------------------------------------------------------------------------------


def gp_student(X: Floats, y: Floats, X_new: Floats, seed: int, *, n_chains: int, n_warm: int, n_keep: int) -> Forecast:
    """Do the same with Student-t noise, a normal one whose precision is Gamma(df / 2, df / 2) at each observation.

    The precisions are sampled too, with df ~ Gamma(2, 0.1). y is scaled by its median and interquartile range.
    """
    data = scale(X, y, X_new)
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    spread = float(high - low) / IQR_OF_NORMAL
    data = data._replace(y=(y - middle) / spread, y_mean=float(middle), y_scale=spread)
    draws, df, weight = _sample_student(data, seed, n_chains, n_warm, n_keep)
    rng = np.random.default_rng(seed)
    pairs = [zip(chain, weights, strict=True) for chain, weights in zip(_each(draws), weight, strict=True)]
    f = np.array([[_draw_f(Rows(data.X, data.y, w), data.X_new, draw, rng) for draw, w in chain] for chain in pairs])
    observed = f + draws["noise"][:, :, None] * rng.standard_t(df[:, :, None], f.shape)
    forecast = from_observations(observed.reshape(-1, len(X_new)), np.median(f, axis=(0, 1)))
    rhat = float(max(convergence(draws[name].reshape(n_chains, n_keep, -1)).rhat.max() for name in PARAMETERS))
    info = {"rhat_parameters": rhat, "df": float(np.median(df))}
    return data.undo(replace(forecast, f_draws=f, n_iterations=n_chains * (n_warm + n_keep), info=info))


def _sample_student(
    data: Scaled, seed: int, n_chains: int, n_warm: int, n_keep: int
) -> tuple[dict[str, Floats], Floats, Floats]:
    """Draw the parameters as `_sample` does, df and the precisions of the observations."""
    jax = prepare_jax()
    n, d = data.X.shape
    r2 = (data.X[:, None, :] - data.X[None, :, :]) ** 2
    starts = 0.5 * np.random.default_rng(seed).standard_normal((n_chains, 3 + d + n))
    keys = jax.random.split(jax.random.PRNGKey(seed), n_chains)
    run = _compiled_chain(_potential_student, n_warm, n_keep)
    z = np.stack([np.asarray(run(key, start, r2, data.y)) for key, start in zip(keys, starts, strict=True)])
    named = {"amplitude": z[:, :, 0], "noise": z[:, :, 1], "length": z[:, :, 2 : 2 + d]}
    return {name: np.exp(part) for name, part in named.items()}, np.exp(z[:, :, 2 + d]), np.exp(z[:, :, 3 + d :])


def _potential_student(data: tuple[Any, ...], z: Any) -> Any:
    """Return minus the log posterior of `z = log(amplitude, noise, lengths, df, precisions)`."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    r2, y = data
    d = r2.shape[2]
    log_df, log_precision = z[2 + d], z[3 + d :]
    half_df, precision = 0.5 * jnp.exp(log_df), jnp.exp(log_precision)
    log_prior = half_df * (jnp.log(half_df) + log_precision - precision) - gammaln(half_df)
    log_prior_df = 2.0 * log_df - 0.1 * jnp.exp(log_df)
    return _potential((r2, y, 1.0 / precision, 0.0, 0.0), z[: 2 + d]) - log_prior.sum() - log_prior_df


# --- Draws of f ------------------------------------------------------------------------------------------


def _each(draws: dict[str, Floats]) -> list[list[Parameters]]:
    n_chains, n_draws = draws["noise"].shape
    return [
        [Parameters(draws["amplitude"][c, i], draws["length"][c, i], draws["noise"][c, i]) for i in range(n_draws)]
        for c in range(n_chains)
    ]


def _matern(A: Floats, B: Floats, draw: Parameters) -> Floats:
    r = np.sqrt(3.0 * (((A[:, None, :] - B[None, :, :]) / draw.length) ** 2).sum(axis=2))
    return np.asarray(draw.amplitude**2 * (1.0 + r) * np.exp(-r))


def _draw_f(data: Rows, X_new: Floats, draw: Parameters, rng: np.random.Generator) -> Floats:
    """Draw f at each new row given the parameters, row by row (not jointly)."""
    K = _matern(data.X, data.X, draw) + np.diag(draw.noise**2 / data.weight + JITTER)
    cross = _matern(data.X, X_new, draw)
    factor = cho_factor(K, lower=True)
    mean = cross.T @ cho_solve(factor, data.y)
    variance = draw.amplitude**2 - (cross * cho_solve(factor, cross)).sum(axis=0)
    return np.asarray(mean + np.sqrt(np.maximum(variance, 0.0)) * rng.standard_normal(len(X_new)))
