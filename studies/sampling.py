"""Our engine as the studies use it. Everything that reaches behind `StableRegressor` is in this file."""

from __future__ import annotations

import math
import time
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from studies.problems import Floats
from widestable import Posterior, StableRegressor, fitting
from widestable.diagnostics import Convergence
from widestable.engine import model, run
from widestable.engine.draws import ChainDraws
from widestable.engine.kernel import Law, make_kernel
from widestable.engine.law import draw_log_relevance, draw_log_sharpness
from widestable.engine.sweep import Plan
from widestable.inputs import TrainingData, spread_indices, unscale_outputs
from widestable.network import arcsine_kernel, unit_patterns
from widestable.predict import components
from widestable.stable import log_remainder

__all__ = [
    "PAPER",
    "PRIORS",
    "WARM_UP",
    "Chains",
    "Draw",
    "Fixed",
    "Plan",
    "compile_engine",
    "covariance",
    "covariance_draws",
    "default_model",
    "draw_log_relevance",
    "draw_log_sharpness",
    "draw_spikes",
    "draws_at",
    "each_draw",
    "fit",
    "low_rank_kernel",
    "mixture_at",
    "observations_at",
    "start",
    "thinned",
]

# Not the library's own constant: older versions of it, which are run beside this one, have none.
PAPER: dict[str, Any] = {"sharpness": np.inf, "relevance": "equal", "noise": "normal"}
# The defaults of StableRegressor: what users run is what is studied.
N_ATOMS = 15.0
PRIORS = model.Priors()
WARM_UP = run.WARM_UP
# Draws of each chain that runs followed over time keep.
MAX_DRAWS = 8192


def draw_spikes(n: int, rng: np.random.Generator) -> tuple[float, Floats]:
    """Draw the probability p of an outlier and how far n observations are off, in noise s.d.; 0 for most of them."""
    p = float(rng.beta(model.SPIKE_A, model.SPIKE_B))
    log_c = rng.choice(np.linspace(*model.SPIKE_LOG_C, model.N_SPIKE_C), n)
    return p, (rng.random(n) < p) * np.exp(0.5 * log_c) * rng.standard_normal(n)


# --- The regressor ---------------------------------------------------------------------------------------


def fit(X: Floats, y: Floats, seed: int, **settings: Any) -> StableRegressor:
    """Return a regressor fitted on one thread, without warnings: the studies report convergence themselves.

    Studies speak of the paper's model unless they say otherwise, whatever the defaults of the regressor are.

    Parameters
    ----------
    X, y : ndarray
        Training data, (n, d) and (n,).
    seed : int
        `random_state` of the regressor.
    **settings : Any
        Its other parameters. Settings are kept as JSON, which has no infinity, so the sharpness may be "inf". Here
        `max_time` is processor time, as the limits of other methods are: other work on the machine takes nothing away.
    """
    if settings.get("sharpness") == "inf":
        settings["sharpness"] = np.inf
    with warnings.catch_warnings(), patch.object(time, "time", time.process_time):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return StableRegressor(random_state=seed, n_jobs=1, progress=False, **PAPER | settings).fit(X, y)


def default_model() -> dict[str, Any]:
    """Return units, relevance and noise as they are by default, in a form that JSON can hold."""
    given = StableRegressor().get_params(deep=False)
    return {name: "inf" if given[name] == np.inf else given[name] for name in PAPER}


def compile_engine() -> None:
    """Compile the engine, or load it from numba's cache, for sign units and for an inferred law."""
    X = np.linspace(0.0, 1.0, 6)[:, None]
    for law in ({}, {"sharpness": None, "relevance": None}):
        fit(X, X[:, 0], 0, n_chains=1, n_sweeps=24, **law).predict(X)


# --- Chains, run step by step ----------------------------------------------------------------------------


class Fixed(NamedTuple):
    """Parameters that are held fixed, in scaled units; None is inferred."""

    alpha: float | None = None
    nu: float | None = None
    sigma2: float | None = None


@dataclass(frozen=True)
class Chains:
    """Chains under way on one thread; each method returns them further along and leaves these as they are.

    Attributes
    ----------
    at : Posterior
        Data, model, draws so far and where each chain is.
    setup : run.Setup
        What the run is made with.
    """

    at: Posterior
    setup: run.Setup

    def warm_up(self, n_sweeps: int) -> Chains:
        """Adapt step sizes for `n_sweeps`; keep no draws."""
        return self._with(run.warm_up(self.at.sample, self.setup, n_sweeps))

    def extend(self, n_sweeps: int, thin: int | None = None) -> Chains:
        """Add `n_sweeps` with one draw per `thin` sweeps (2, or what the last call said)."""
        sample = self.at.sample if thin is None else replace(self.at.sample, thin=thin)
        return self._with(run.extend(sample, self.setup, n_sweeps))

    def forget(self) -> Chains:
        """Drop early stretches, as a run until convergence does.

        Draws are thinned later than there, because no effective sample size exceeds the number of draws by much.
        """
        return self._with(run.forget(self.at.sample, max_draws=MAX_DRAWS))

    def run(self, n_sweeps: int) -> Chains:
        """Run as `StableRegressor(n_sweeps=...)` does, a third of it warm-up."""
        return self._with(_last(run.sample_fixed(self.at.sample, self.setup, n_sweeps)))

    def run_until_converged(self) -> Chains:
        """Run as `StableRegressor()` does."""
        return self._with(_last(run.sample_until_converged(self.at.sample, self.setup)))

    @property
    def n_sweeps(self) -> int:
        """Sweeps of each chain, warm-up included."""
        return self.at.n_sweeps

    @property
    def draws(self) -> tuple[ChainDraws, ...]:
        """Draws of each chain."""
        return self.at.chains

    def convergence(self) -> Convergence:
        """R-hat and effective sample size of the inferred parameters and of f at the stored rows."""
        return self.at.convergence()

    def posterior(self) -> Posterior:
        """The draws in the user's units."""
        return self.at

    def _with(self, sample: run.Sample) -> Chains:
        return replace(self, at=replace(self.at, sample=sample))


def _last(rounds: Iterator[run.Sample]) -> run.Sample:
    return deque(rounds, maxlen=1)[0]


def start(
    data: TrainingData,
    fixed: Fixed = Fixed(),  # noqa: B008, a constant
    *,
    n_chains: int = 4,
    seed: int = 0,
    plan: Plan | None = None,
    **settings: Any,
) -> Chains:
    """Return chains where those of `StableRegressor` start, with the paper's model unless told otherwise.

    Parameters
    ----------
    data : TrainingData
    fixed : Fixed
        Parameters that are not inferred.
    n_chains, seed : int
        Each chain has its own random stream, spawned from the seed.
    plan : Plan or None
        How much of each move a sweep makes; the default plan if None.
    **settings : Any
        Other parameters of the regressor: `n_atoms`, `sharpness` (also "inf"), `relevance`, `noise` and `priors`.
    """
    if settings.get("sharpness") == "inf":
        settings["sharpness"] = np.inf
    # The regressor takes variances in squared units of y.
    units = Fixed(1.0, data.scaling.y_scale**2, data.scaling.y_scale**2)._asdict()
    settings |= {name: None if v is None else v * units[name] for name, v in fixed._asdict().items()}
    chosen = StableRegressor(n_chains=n_chains, random_state=seed, **PAPER | settings)
    at = fitting.start(data, chosen.get_params(deep=False))
    kernel = run.shared_kernel(at.model, at.sample.states[0].law)
    return Chains(replace(at, kernel=kernel), run.Setup(at.model, kernel, 1, plan=plan or Plan()))


# --- Draws -----------------------------------------------------------------------------------------------


class Draw(NamedTuple):
    """Parameters and atoms of one draw, in scaled units."""

    remainder: float  # g: the remainder has covariance g K
    sigma2: float
    h: Floats  # (atoms, d + 1)
    scale: Floats  # (atoms,)


def each_draw(draws: ChainDraws, n_atoms: float = N_ATOMS) -> Iterator[Draw]:
    """Yield the draws of one chain in order."""
    g = np.exp(log_remainder(draws.alpha, draws.log_nu, n_atoms))
    scale, last = np.exp(draws.log_scale), np.cumsum(draws.n_atoms)
    for i, (first, end) in enumerate(zip(last - draws.n_atoms, last, strict=True)):
        yield Draw(float(g[i]), math.exp(draws.log_sigma2[i]), draws.h[first:end], scale[first:end])


def covariance(draw: Draw, X: Floats, K: Floats) -> Floats:
    """Return the covariance of f at the rows of X given a draw, `sum_k v_k tau_k tau_k' + g K`, for sign units.

    Parameters
    ----------
    draw : Draw
    X : ndarray of shape (n, d)
        Rows in scaled units.
    K : ndarray of shape (n, n)
        The kernel of the remainder at these rows.
    """
    tau = unit_patterns(draw.h, X)
    return np.asarray((tau.T * draw.scale) @ tau + draw.remainder * K)


def covariance_draws(posterior: Posterior) -> Floats:
    """Return the covariance of y at the distinct training rows, noise included, shape (draws, n, n)."""
    X = posterior.data.X
    K, identity = arcsine_kernel(X), np.eye(len(X))
    draws = (draw for chain in posterior.chains for draw in each_draw(chain, posterior.model.n_atoms))
    return np.array([covariance(draw, X, K) + draw.sigma2 * identity for draw in draws])


def thinned(posterior: Posterior, n_draws: int) -> Posterior:
    """Return a posterior with at most `n_draws` draws of each chain, evenly spread."""
    sample, total = posterior.sample, posterior.sample.n_draws
    keep = np.isin(np.arange(total), spread_indices(total, n_draws))
    chains = tuple(draws.where(keep) for draws in sample.chains)
    rounds = (run.Round(sum(r.n_sweeps for r in sample.rounds), int(keep.sum())),)
    return replace(posterior, sample=replace(sample, chains=chains, rounds=rounds))


def draws_at(posterior: Posterior, X_new: Floats, rng: np.random.Generator) -> Floats:
    """Draw f at each new row separately, in the order of the chains, shape (chains, draws, m).

    Parameters
    ----------
    posterior : Posterior
        Where the law of the hyperplanes is inferred, every law among the draws costs a decomposition of the kernel:
        see `thinned`.
    X_new : ndarray of shape (m, d)
        Rows in the user's units.
    rng : numpy.random.Generator
        Given a stored draw f is Gaussian; one value is drawn from that.
    """
    rows = posterior.scale_rows(X_new)
    largest = float(np.abs(posterior.data.y).max())
    # Predictions make do with an even selection of the laws; here every draw counts.
    source = components.prepare(posterior.model, posterior.chains, largest, posterior.kernel, math.inf)
    mean, sd = components.components(source, rows, False)
    f = mean + sd * rng.standard_normal(sd.shape)
    return unscale_outputs(f.T, posterior.data.scaling).reshape(*posterior.sigma2.shape, len(rows))


def observations_at(posterior: Posterior, X_new: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw new observations at each new row separately, outliers among them, shape (n_draws, m).

    They come from the mixture of the regressor's predictions; each of its components gets its share of the draws.

    Parameters
    ----------
    posterior : Posterior
    X_new : ndarray of shape (m, d)
        Rows in the user's units.
    n_draws : int
    rng : numpy.random.Generator
    """
    mean, sd, weight = components.observed(posterior._source, posterior.scale_rows(X_new))
    share = np.cumsum(weight) / weight.sum()
    chosen = np.searchsorted(share, (np.arange(n_draws) + rng.random()) / n_draws)
    # Rounding may leave the last share just below 1.
    chosen = np.minimum(chosen, weight.size - 1)
    y = mean[:, chosen] + sd[:, chosen] * rng.standard_normal((len(mean), n_draws))
    return unscale_outputs(y.T, posterior.data.scaling)


def mixture_at(posterior: Posterior, X_new: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mixture of normals of a new observation at each new row: means and s.d., (k, m), and weights, (k,).

    Parameters
    ----------
    posterior : Posterior
        See `thinned`: each draw has one component, or eleven with outliers.
    X_new : ndarray of shape (m, d)
        Rows in the user's units.
    """
    mean, sd, weight = components.observed(posterior._source, posterior.scale_rows(X_new))
    scaling = posterior.data.scaling
    return unscale_outputs(mean.T, scaling), scaling.y_scale * sd.T, weight / weight.sum()


def low_rank_kernel(data: TrainingData, n_landmarks: int) -> Floats:
    """Return the kernel that the engine works with at many rows, shape (n, n), with this many landmarks."""
    with patch.object(model, "MAX_LANDMARKS", n_landmarks):
        made = model.make_model(data, **Fixed()._asdict(), n_atoms=N_ATOMS)
    kernel = make_kernel(made, Law(np.ones(data.X.shape[1]), math.inf))
    root = np.sqrt(data.weight)
    U = kernel.basis / root[:, None]
    K = (U * (kernel.eigenvalues - kernel.rest_eigenvalue)) @ U.T
    K[np.diag_indices(root.size)] += kernel.rest_eigenvalue
    return np.asarray(K / np.outer(root, root))
