"""Our engine as the studies use it. Everything that reaches behind `StableRegressor` is in this file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from widestable.engine.state import LOG_NU_SD, SHARPNESS_GRID, log_prior_sharpness, make_model

from studies.problems import Floats
from widestable import Posterior, StableRegressor
from widestable.diagnostics import Convergence, convergence
from widestable.engine import kernel, run
from widestable.engine.draws import ChainDraws
from widestable.engine.model import Plan
from widestable.inputs import TrainingData, unscale_outputs
from widestable.network import arcsine_kernel, unit_patterns
from widestable.predict import mixture
from widestable.stable import log_remainder

__all__ = [
    "LOG_NU_SD",
    "Chains",
    "Draw",
    "Fixed",
    "Plan",
    "compile_engine",
    "covariance",
    "covariance_draws",
    "draw_sharpness",
    "draws_at",
    "each_draw",
    "fit",
    "low_rank_kernel",
    "start",
]

# The default of StableRegressor: what users run is what is studied.
N_ATOMS = 30.0


# --- The regressor ---------------------------------------------------------------------------------------


def fit(X: Floats, y: Floats, seed: int, **settings: Any) -> StableRegressor:
    """Return a regressor fitted on one thread, without warnings: the studies report convergence themselves.

    Parameters
    ----------
    X, y : ndarray
        Training data, (n, d) and (n,).
    seed : int
        `random_state` of the regressor.
    **settings : Any
        Its other parameters. Settings are kept as JSON, which has no infinity, so the sharpness may be "inf".
    """
    if settings.get("sharpness") == "inf":
        settings["sharpness"] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return StableRegressor(random_state=seed, n_jobs=1, progress=False, **settings).fit(X, y)


def compile_engine() -> None:
    """Compile the engine, or load it from numba's cache, for sign and for smooth units."""
    X = np.linspace(0.0, 1.0, 6)[:, None]
    for sharpness in (np.inf, None):
        fit(X, X[:, 0], 0, n_chains=1, n_sweeps=24, sharpness=sharpness).predict(X)


# --- Chains, run step by step ----------------------------------------------------------------------------


class Fixed(NamedTuple):
    """Parameters that are held fixed; None is inferred."""

    alpha: float | None = None
    nu: float | None = None
    sigma2: float | None = None


@dataclass(frozen=True)
class Chains:
    """Chains under way on one thread; each method returns them further along and leaves these as they are.

    Attributes
    ----------
    data : TrainingData
    setup : run.Setup
        Model and plan.
    sample : run.Sample
        Draws so far and where each chain is.
    """

    data: TrainingData
    setup: run.Setup
    sample: run.Sample

    def warm_up(self, n_sweeps: int) -> Chains:
        """Adapt step sizes for `n_sweeps`; keep no draws."""
        return replace(self, sample=run.warm_up(self.sample, self.setup, n_sweeps))

    def extend(self, n_sweeps: int, thin: int | None = None) -> Chains:
        """Add `n_sweeps` with one draw per `thin` sweeps (2, or what the last call said)."""
        sample = self.sample if thin is None else replace(self.sample, thin=thin)
        return replace(self, sample=run.extend(sample, self.setup, n_sweeps))

    def run(self, n_sweeps: int) -> Chains:
        """Run as `StableRegressor(n_sweeps=...)` does, a third of it warm-up."""
        return replace(self, sample=run.sample_fixed(self.sample, self.setup, n_sweeps))

    def run_until_converged(self) -> Chains:
        """Run as `StableRegressor()` does."""
        return replace(self, sample=run.sample_until_converged(self.sample, self.setup))

    @property
    def n_sweeps(self) -> int:
        """Sweeps of each chain, warm-up included."""
        return self.sample.n_sweeps

    @property
    def draws(self) -> tuple[ChainDraws, ...]:
        """Draws of each chain."""
        return self.sample.chains

    def convergence(self) -> Convergence:
        """R-hat and effective sample size of the inferred parameters and of f at the stored rows."""
        return convergence(run.quantities(self.sample, self.setup.model))

    def posterior(self) -> Posterior:
        """The draws in the user's units."""
        return Posterior.from_sample(self.data, self.setup.model, self.sample)


def start(
    data: TrainingData,
    fixed: Fixed = Fixed(),  # noqa: B008, a constant
    *,
    n_chains: int = 4,
    seed: int = 0,
    n_atoms: float = N_ATOMS,
    sharpness: float | None = math.inf,
    alpha_range: tuple[float, float] | None = None,
    plan: Plan | None = None,
) -> Chains:
    """Return chains at their starting points.

    Parameters
    ----------
    data : TrainingData
    fixed : Fixed
        Parameters that are not inferred.
    n_chains, seed : int
        Each chain has its own random stream, spawned from the seed.
    n_atoms : float
        Expected number of atoms.
    sharpness : float or None
        Infinity for sign units; None to infer it.
    alpha_range : tuple of float, or None
        Ends of the uniform prior of alpha; the engine's own if None.
    plan : Plan or None
        How many of each move a sweep makes; the default plan if None.
    """
    model = make_model(data, **fixed._asdict(), n_atoms=n_atoms, sharpness=sharpness)
    if alpha_range is not None:
        model = model._replace(alpha_low=alpha_range[0], alpha_high=alpha_range[1])
    seeds = np.random.SeedSequence(seed).spawn(n_chains)
    sample = run.start(model, seeds, **fixed._asdict())
    return Chains(data, run.Setup(model, 1, plan=plan or Plan()), sample)


def draw_sharpness(rng: np.random.Generator) -> float:
    """Draw an inferred sharpness from its prior."""
    return float(rng.choice(SHARPNESS_GRID, p=np.exp(log_prior_sharpness(SHARPNESS_GRID))))


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


def draws_at(posterior: Posterior, X_new: Floats, rng: np.random.Generator) -> Floats:
    """Draw f at each new row separately, in the order of the chains, shape (chains, draws, m).

    Parameters
    ----------
    posterior : Posterior
    X_new : ndarray of shape (m, d)
        Rows in the user's units.
    rng : numpy.random.Generator
        Given a stored draw f is Gaussian; one value is drawn from that.
    """
    rows = posterior.check_rows(X_new)
    source = mixture.prepare(posterior.model, posterior.chains, float(np.abs(posterior.data.y).max()))
    mean, sd = mixture.components(source, rows, False)
    f = mean + sd * rng.standard_normal(sd.shape)
    return unscale_outputs(f.T, posterior.data.scaling).reshape(*posterior.sigma2.shape, len(rows))


def low_rank_kernel(data: TrainingData, n_landmarks: int) -> Floats:
    """Return the kernel that the engine works with at many rows, shape (n, n), with this many landmarks."""
    with patch.object(kernel, "MAX_LANDMARKS", n_landmarks):
        model = start(data, n_chains=0).setup.model
    root = np.sqrt(data.weight)
    U = model.basis / root[:, None]
    K = (U * (model.eigenvalues - model.rest_eigenvalue)) @ U.T
    K[np.diag_indices(root.size)] += model.rest_eigenvalue
    return np.asarray(K / np.outer(root, root))
