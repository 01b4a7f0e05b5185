"""Methods with a limit of processor seconds: how it is kept, and those of this folder that can be told to keep it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from studies.forecasts import Forecast, from_draws, judge_mixing
from studies.methods.bart_runs import BartzRun, PymcRun
from studies.methods.gaussian_process import GaussianProcessRun
from studies.methods.running import FEW, RunWithNoise, advance_to, judged_rows
from studies.methods.trees import bart
from studies.problems import Floats, Problem
from widestable.diagnostics import LEAST_DRAWS, MAX_RHAT, TARGET_ESS, convergence

# A run is looked at when its time has grown by half.
RATIO = 1.5
FIRST = 0.5
# What a method may take of its limit by its own estimate, which is not exact.
SHARE = 0.9
N_CHAINS = 4
# BART's iterations of each chain in its trial runs, and at most.
TRIALS, N_WARM, N_KEEP = (15, 60), 1000, 2000
# Steps that pymc-bart adapts for: its own 1000 would take longer than the limit.
N_PYMC_WARM = 100


class OutOfTimeError(Exception):
    """A method was stopped because it took too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError in the block after so many processor seconds, as soon as Python gets to see it.

    Parameters
    ----------
    seconds : float
        Of this process, all threads together. Works in the main thread of a process on Unix.
    """

    def stop(*_: Any) -> None:
        raise OutOfTimeError(f"stopped after {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def affordable(run: Callable[[int], Any], trials: tuple[int, int], most: int, limit: float) -> int:
    """Return how many iterations fit in a limit, at most `most`, from two short trial runs, whose time counts too.

    Parameters
    ----------
    run : Callable
        Makes a number of iterations. What it needs besides does not depend on their number.
    trials : tuple of two int
        Iterations of the trial runs, the shorter one first.
    most : int
    limit : float
        Processor seconds.
    """
    times = [time.process_time()]
    for n in trials:
        run(n)
        times.append(time.process_time())
    first, second = np.diff(times)
    # The second bound is for trials so short that their times are mostly chance.
    rate = max((second - first) / (trials[1] - trials[0]), second / (3.0 * trials[1]))
    fixed = max(first - trials[0] * rate, 0.0)
    return int(min(most, max(SHARE * limit - first - second - fixed, 0.0) / rate))


# --- Chains that go on -----------------------------------------------------------------------------------


def bartz(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Run BART by bartz, 200 trees; see `BartzRun`."""
    return _until_converged(BartzRun, X, y, X_new, seed, limit)


def pymc_bart(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Run BART by pymc-bart, 50 trees, 100 steps to adapt; see `PymcRun`."""
    return _until_converged(partial(PymcRun, n_warm=N_PYMC_WARM), X, y, X_new, seed, limit)


def gp_sampled(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Sample the parameters of a Matérn 3/2 process by NUTS; see `GaussianProcessRun`."""
    return _until_converged(GaussianProcessRun, X, y, X_new, seed, limit)


def _until_converged(
    start: Callable[..., RunWithNoise], X: Floats, y: Floats, X_new: Floats, seed: int, limit: float
) -> Forecast:
    """Run four chains as ours are run: until f has R-hat <= 1.01 and ESS >= 400 at the training rows, or time is up."""
    problem = Problem(X, y, X_new, np.empty((0, len(X_new))))
    run = start(problem, judged_rows(problem), seed)
    run.advance(FEW)
    while True:
        f = run.f()
        if f.shape[1] >= LEAST_DRAWS:
            mixing = judge_mixing(convergence(f))
            if (mixing.rhat <= MAX_RHAT and mixing.ess >= TARGET_ESS) or run.seconds >= limit:
                break
        elif run.seconds >= 2.0 * limit:
            raise OutOfTimeError(f"no draws after {run.seconds:.0f} s and {run.n_iterations} iterations of each chain")
        advance_to(run, _next_look(run.seconds, limit))
    f_new, noise_sd = run.at_new()
    f_new = f_new.reshape(1, -1, f_new.shape[-1])
    forecast = from_draws(f_new, noise_sd.reshape(1, -1), np.random.default_rng(seed))
    info = {"fit_seconds": run.seconds, "mixing": {"f": mixing._asdict()}}
    return replace(forecast, f_draws=None, n_iterations=N_CHAINS * run.n_iterations, info=info)


def _next_look(seconds: float, limit: float) -> float:
    """Return when to look again.

    Examples
    --------
    >>> [_next_look(seconds, 30.0) for seconds in (0.0, 4.0, 25.0, 31.0)]
    [0.5, 6.0, 30.0, 46.5]
    """
    later = max(FIRST, RATIO * seconds)
    return min(later, limit) if seconds < limit else later


def stochtree(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
    """Run BART by stochtree, 200 trees, four chains from grown forests, of 1000 + 2000 iterations if time allows."""

    def run(n: int) -> Forecast:
        return bart(X, y, X_new, seed, n_chains=N_CHAINS, n_warm=n // 3, n_keep=max(n - n // 3, LEAST_DRAWS))

    return run(affordable(run, TRIALS, N_WARM + N_KEEP, limit))
