"""From data and parameters to draws: where chains start, the rounds of a run, and what is told about them."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .diagnostics import (
    LEAST_DRAWS,
    TARGET_ESS,
    Convergence,
    convergence,
    missing_part,
    warn_unless_converged,
)
from .engine import run
from .engine.chain import State, start_state
from .engine.kernel import Law
from .engine.model import Model, Priors, make_model
from .engine.run import Sample, Setup
from .engine.screen import find_outliers, spikes_at
from .engine.search import with_found_atoms
from .engine.start import FixedLaw, start_inferred_law
from .engine.watched import quantities, standard
from .inputs import TrainingData
from .posterior import Posterior
from .progress import Reporter, compilation_told, reporter, tell_preparation
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
    states = [_inside_prior(with_found_atoms(model, state), model) for state in states]
    return Posterior(data, model, run.start(states))


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
        relevance = np.ones(len(data.columns))
    by_column = None if relevance is None else np.array(relevance, dtype=float)[data.columns.input_of_column]
    return FixedLaw(by_column, None if sharpness is None else float(sharpness))


def rounds_of(n_sweeps: int | None, max_sweeps: int) -> Callable[[Sample, Setup], Iterator[Sample]]:
    """What makes the rounds of a run: for a number of sweeps, or until the chains have converged."""

    def rounds(sample: Sample, setup: Setup) -> Iterator[Sample]:
        if n_sweeps is None:
            return run.sample_until_converged(sample, setup, int(max_sweeps))
        return run.sample_fixed(sample, setup, int(n_sweeps))

    return rounds


def run_rounds(
    posterior: Posterior,
    rounds: Callable[[Sample, Setup], Iterator[Sample]],
    keep: Callable[[Posterior], None],
    *,
    n_jobs: int | None,
    progress: bool | None,
    max_time: float | None = None,
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
    max_time : float or None
        Seconds to sample for at most. Compiling is not counted.

    Returns
    -------
    Posterior
        Ctrl-C keeps the draws made so far.
    """
    data, model, sample, kernel = posterior.data, posterior.model, posterior.sample, posterior.kernel
    if kernel is None:
        if model.n_rest > 0:
            tell_preparation(data.y.size, progress)
        kernel = run.shared_kernel(model, sample.states[0].law)
    with reporter(progress) as report, compilation_told(report):
        setup = Setup(model, kernel, n_jobs, report)
        if max_time is not None:
            run.advance(replace(setup, report=Reporter()), sample.states[0], run.Todo(1, 1, False))
            setup = replace(setup, deadline=time.time() + float(max_time))
        clock = Clock(time.time(), sample.n_sweeps, setup.deadline)

        def after(sample: Sample) -> None:
            _log_round(sample, model)
            report.tell(lambda: _how_far(sample, model, clock))
            keep(Posterior(data, model, sample, kernel))

        try:
            sample = run.finish(sample, rounds(sample, setup), after)
        except BrokenProcessPool as error:
            raise RuntimeError(
                "A process that ran a chain died: it was killed, or memory ran out. Fit with checkpoint= to keep the "
                "rounds of all chains that were finished, and with fewer n_jobs, or with threads, the default."
            ) from error
    return Posterior(data, model, sample, kernel)


# --- What is told ----------------------------------------------------------------------------------------


class Clock(NamedTuple):
    """When a run started, after how many sweeps, and when it must end, by `time.time`."""

    started: float
    n_sweeps: int
    deadline: float


def _how_far(sample: Sample, model: Model, clock: Clock) -> str:
    """How far the chains agree, what is wanted, and how long that may take."""
    if sample.n_draws < LEAST_DRAWS:
        return f"{len(sample.states)} chains"
    found = _suspects(sample, model)
    max_rhat, least = found.wanted.max_rhat[found.worst], TARGET_ESS * found.wanted.ess_part[found.slowest]
    text = f"R-hat {found.rhat[found.worst]:.2f} ({max_rhat} wanted), ESS {found.ess[found.slowest]:.0f} ({least:.0f})"
    now, n_made = time.time(), sample.n_sweeps - clock.n_sweeps
    left = n_missing(sample, found) * (now - clock.started) / max(n_made, 1)
    left = max(min(left, clock.deadline - now), 0.0)
    # None for a run of given length, whose bar shows how much is left.
    if sample.converged is not False or sample.out_of_time or math.isinf(left):
        return text
    return f"{text}, about {left:.0f} s left" if left < 100.0 else f"{text}, about {left / 60.0:.0f} min left"


def n_missing(sample: Sample, found: Convergence) -> float:
    """About how many more sweeps per chain are needed; infinite when that cannot be told."""
    return max(0.0, missing_part(found)) * sum(r.n_sweeps for r in sample.rounds)


def likely_needed(sample: Sample, found: Convergence) -> str:
    """About how many more sweeps it takes, in a sentence that goes on from another; empty when that cannot be told."""
    n_more = n_missing(sample, found)
    return (
        "" if math.isinf(n_more) else f" About {float(f'{n_more:.1g}'):,.0f} more sweeps per chain are likely needed."
    )


def remedy(sample: Sample, found: Convergence) -> str:
    """What to do in Python about chains that have not converged."""
    limit = "n_sweeps" if sample.converged is None else "max_sweeps"
    how = f"Sample for longer: call continue_sampling(), or fit with a larger {limit}."
    if sample.out_of_time:
        how = f"The time was over after {sample.n_sweeps} sweeps per chain: call continue_sampling() to go on."
    if sample.interrupted:
        how = "Call continue_sampling() to go on."
    return how + likely_needed(sample, found)


def tell_outcome(posterior: Posterior, *, stacklevel: int) -> None:
    """Log how sampling ended; warn when it was interrupted or has not converged."""
    sample, found = posterior.sample, posterior.convergence()
    outcome = {True: "Converged", False: "Stopped without convergence", None: "Finished"}[sample.converged]
    outcome = "Interrupted" if sample.interrupted else "Out of time" if sample.out_of_time else outcome
    logger.info("%s after %d sweeps per chain; kept %d draws of each", outcome, sample.n_sweeps, sample.n_draws)
    if sample.interrupted:
        warnings.warn(
            f"Sampling was interrupted after {sample.n_sweeps} sweeps per chain; {sample.n_draws} draws of each were "
            "kept. Call continue_sampling() to go on.",
            UserWarning,
            stacklevel=stacklevel,
        )
    n_chains = len(posterior.chains)
    warn_unless_converged(posterior.names, found, n_chains, remedy(sample, found), stacklevel=stacklevel)


def _suspects(sample: Sample, model: Model) -> Convergence:
    """How far the quantities are that converge last."""
    draws = quantities(sample.chains, model)
    some = np.array(sample.suspects or range(draws.shape[2]), dtype=np.intp)[:N_SUSPECTS]
    return convergence(draws[:, :, some])._replace(standard=standard(model, draws.shape[2]).at(some))


def _log_round(sample: Sample, model: Model) -> None:
    """Log how far the chains agree; nothing is computed when no one listens."""
    if not logger.isEnabledFor(logging.INFO):
        return
    worst, least = float("nan"), float("nan")
    if sample.n_draws >= LEAST_DRAWS:
        found = _suspects(sample, model)
        worst, least = found.rhat.max(), found.ess.min()
    told = (len(sample.rounds), sample.n_sweeps, worst, least)
    logger.info("Round %d, %d sweeps per chain: largest R-hat %.3f, least effective sample size %.0f", *told)
