"""From data and parameters to draws: where chains start, the rounds of a run, and what is told about them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from ._types import FloatArray
from .diagnostics import LEAST_DRAWS, convergence, rhat, warn_unless_converged
from .engine import run
from .engine.chain import State, start_state
from .engine.kernel import Law
from .engine.model import Model, Priors, make_model
from .engine.run import Sample, Setup
from .engine.screen import find_outliers, spikes_at
from .engine.start import FixedLaw, start_inferred_law
from .inputs import TrainingData
from .posterior import Posterior
from .progress import compilation_told, reporter, tell_preparation
from .random_state import make_seeds

logger = logging.getLogger(__name__)

# Quantities that R-hat is told for while sampling: those that were furthest off last time.
N_SUSPECTS = 16
# Chains start at least so far above the floor of log sigma2.
FLOOR_MARGIN = 0.1


def start(data: TrainingData, parameters: dict[str, Any]) -> Posterior:
    """A posterior without draws: each chain at its starting point.

    Parameters
    ----------
    data : TrainingData
        What is to be fitted.
    parameters : dict
        Parameters of the estimator, checked. They become plain floats, for which code is compiled once.

    Returns
    -------
    Posterior
    """
    y_scale2 = data.scaling.y_scale * data.scaling.y_scale
    units = {"alpha": 1.0, "nu": y_scale2, "sigma2": y_scale2}
    fixed: dict[str, Any] = {
        name: None if parameters[name] is None else float(parameters[name]) / unit for name, unit in units.items()
    }
    law = _fixed_law(data, parameters["relevance"], parameters["sharpness"])
    infers: dict[str, Any] = {"infer_relevance": law.relevance is None, "sharpness": law.sharpness}
    priors = Priors(**(parameters["priors"] or {}))
    infers["has_spikes"] = parameters["noise"] == "outliers"
    model = make_model(data, n_atoms=float(parameters["n_atoms"]), priors=priors, **infers, **fixed)
    *seeds, extra = make_seeds(parameters["random_state"], int(parameters["n_chains"]) + 1)
    rngs = [np.random.default_rng(seed) for seed in seeds]
    if law.relevance is not None and law.sharpness is not None:
        states = [start_state(model, Law(law.relevance, law.sharpness), rng, **fixed) for rng in rngs]
        outliers = find_outliers(model)
        states = [state._replace(spikes=spikes_at(model, outliers, state.log_sigma2)) for state in states]
    else:
        states = start_inferred_law(model, law, rngs, np.random.default_rng(extra), **fixed)
    return Posterior(data, model, run.start([_inside_prior(state, model) for state in states]))


def _inside_prior(state: State, model: Model) -> State:
    """The state with alpha and sigma2 well inside the ranges of their priors, from where alone they can move."""
    margin = 0.01 * (model.alpha_high - model.alpha_low)
    alpha = float(np.clip(state.alpha, model.alpha_low + margin, model.alpha_high - margin))
    log_sigma2 = max(state.log_sigma2, model.log_sigma2_floor + FLOOR_MARGIN)
    return state._replace(
        alpha=alpha if model.infer_alpha else state.alpha,
        log_sigma2=log_sigma2 if model.infer_sigma2 else state.log_sigma2,
    )


def _fixed_law(data: TrainingData, relevance: Any, sharpness: Any) -> FixedLaw:
    """What is given of the law, as plain arrays and floats."""
    # "equal", or nothing to learn: no input varies.
    if isinstance(relevance, str) or (relevance is None and not np.any(np.ptp(data.X, axis=0) > 0.0)):
        relevance = np.ones(data.X.shape[1])
    return FixedLaw(
        None if relevance is None else np.array(relevance, dtype=float), None if sharpness is None else float(sharpness)
    )


def run_rounds(
    posterior: Posterior,
    rounds: Callable[[Sample, Setup], Iterator[Sample]],
    keep: Callable[[Posterior], None],
    *,
    n_jobs: int | None,
    progress: bool | None,
) -> Posterior:
    """Go through the rounds of a run from where a posterior is, and tell how far it has come.

    Parameters
    ----------
    posterior : Posterior
        Where to start.
    rounds : callable
        Makes the rounds of a sample with a setup.
    keep : callable
        Called after each round.
    n_jobs, progress : int or None, bool or None
        Threads, and whether to show a bar.

    Returns
    -------
    Posterior
        Ctrl-C keeps the draws of whole rounds.
    """
    data, model, sample, kernel = posterior.data, posterior.model, posterior.sample, posterior.kernel
    if kernel is None:
        if model.n_rest > 0:
            tell_preparation(data.y.size, progress)
        kernel = run.shared_kernel(model, sample.states[0].law)
    with reporter(progress) as report, compilation_told(progress):

        def after(sample: Sample) -> None:
            _log_round(sample, model)
            report.tell(lambda: f"{len(sample.states)} chains, R-hat {_largest_rhat(sample, model):.2f}")
            keep(Posterior(data, model, sample, kernel))

        try:
            sample = run.finish(sample, rounds(sample, Setup(model, kernel, n_jobs, report)), after)
        except BrokenProcessPool as error:
            raise RuntimeError(
                "A process that ran a chain died: it was killed, or memory ran out. Fit with checkpoint= to keep the "
                "rounds of all chains that were finished, and with fewer n_jobs, or with threads, the default."
            ) from error
    return Posterior(data, model, sample, kernel)


def tell_outcome(posterior: Posterior, *, stacklevel: int) -> None:
    """Log how sampling ended; warn when it was interrupted or has not converged."""
    sample = posterior.sample
    outcome = {True: "Converged", False: "Stopped without convergence", None: "Finished"}[sample.converged]
    outcome = "Interrupted" if sample.interrupted else outcome
    logger.info("%s after %d sweeps per chain; kept %d draws of each", outcome, sample.n_sweeps, sample.n_draws)
    if sample.interrupted:
        warnings.warn(
            f"Sampling was interrupted after {sample.n_sweeps} sweeps per chain; {sample.n_draws} draws of each were "
            "kept. Call continue_sampling() to go on.",
            UserWarning,
            stacklevel=stacklevel,
        )
    warn_unless_converged(posterior.names, posterior.convergence(), len(posterior.chains), stacklevel=stacklevel)


def _suspects(sample: Sample, model: Model) -> FloatArray:
    """Draws of the quantities that converge last."""
    draws = run.quantities(sample, model)
    return draws[:, :, np.array(sample.suspects or range(draws.shape[2]), dtype=np.intp)[:N_SUSPECTS]]


def _largest_rhat(sample: Sample, model: Model) -> float:
    """The largest R-hat among the quantities that converge last; NaN with too few draws."""
    return float(np.max(rhat(_suspects(sample, model)))) if sample.n_draws >= LEAST_DRAWS else float("nan")


def _log_round(sample: Sample, model: Model) -> None:
    """Log how far the chains agree; nothing is computed when no one listens."""
    if not logger.isEnabledFor(logging.INFO):
        return
    worst, least = float("nan"), float("nan")
    if sample.n_draws >= LEAST_DRAWS:
        found = convergence(_suspects(sample, model))
        worst, least = found.rhat.max(), found.ess.min()
    told = (len(sample.rounds), sample.n_sweeps, worst, least)
    logger.info("Round %d, %d sweeps per chain: largest R-hat %.3f, least effective sample size %.0f", *told)
