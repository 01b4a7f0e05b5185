"""Run chains: warm-up, then rounds until converged or for a given length; in parallel, interruptible, continuable."""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from ..diagnostics import LEAST_DRAWS, has_converged
from ..progress import Reporter
from .chain import State, make_chain, make_work, state_of
from .draws import ChainDraws, concatenate, make_buffers, pack
from .kernel import Kernel, Law, make_kernel
from .law_density import log_prior_of_law
from .model import Model
from .moves.law import is_inferred, nothing_learned, settle, sweeps_between, update_law
from .straighten import straighten
from .sweep import HOLD_SPIKES, Plan, make_sweeps, rebuild
from .turns import Turns, run_all
from .watched import quantities, standard

logger = logging.getLogger(__name__)

# The unit of work: rounds are multiples of it, thinning is a power of two that divides it.
ROUND = 512
WARM_UP = 512
MAX_DRAWS = 1024
DEFAULT_MAX_SWEEPS = 50_000
# Draws are kept from this last part of the sweeps, or from the smaller one where only that has converged, so that a
# longer run forgets more of its start.
KEPT_PART, LATE_PART = 0.9, 2.0 / 3.0
SECONDS_PER_CALL = 0.1
# Chains times rows, or times 1000, up to which all chains in threads are under way. Others go one after the other.
MAX_UNDER_WAY = 40_000


class Round(NamedTuple):
    """Consecutive draws of every chain."""

    n_sweeps: int
    n_draws: int


@dataclass(frozen=True)
class Sample:
    """Draws of all chains, and what is needed to continue them.

    Attributes
    ----------
    chains : tuple of ChainDraws
        The draws that are kept, one item per chain; none before the first round.
    rounds : tuple of Round
        How many sweeps and draws of each chain belong to each kept round.
    states : tuple of State
        Where each chain is.
    thin : int
        Sweeps per draw.
    n_sweeps : int
        Sweeps made by each chain, warm-up and forgotten rounds included.
    converged : bool or None
        None when it was not asked for.
    interrupted, out_of_time : bool
        Whether Ctrl-C, or the end of the time that was given, ended the run.
    suspects : tuple of int
        Order in which to look for quantities that have not converged.
    """

    chains: tuple[ChainDraws, ...]
    rounds: tuple[Round, ...]
    states: tuple[State, ...]
    thin: int
    n_sweeps: int
    converged: bool | None = None
    interrupted: bool = False
    out_of_time: bool = False
    suspects: tuple[int, ...] = ()

    @property
    def n_draws(self) -> int:
        """Draws kept of each chain."""
        return sum(r.n_draws for r in self.rounds)

    @property
    def is_cut_short(self) -> bool:
        """Whether something other than its own rule ended the run."""
        return self.interrupted or self.out_of_time


@dataclass(frozen=True)
class Setup:
    """What a run is made with, the same for all its rounds.

    Attributes
    ----------
    model : Model
        Data and priors.
    kernel : Kernel or None
        The kernel that all chains share; None when the law of the hyperplanes is inferred.
    n_jobs : int or None
        Threads.
    report : Reporter
        Who is told about progress.
    plan : Plan
        How much of each move a sweep makes.
    deadline : float
        When to stop, by the clock of `time.time`, which other machines share. Half of the time is for warm-up at most.
    turns : Turns or None
        Lets chains in one process work in turns.
    """

    model: Model
    kernel: Kernel | None = None
    n_jobs: int | None = None
    report: Reporter = field(default_factory=Reporter)
    plan: Plan = field(default_factory=Plan)
    deadline: float = math.inf
    turns: Turns | None = None


def start(states: Sequence[State]) -> Sample:
    """A sample without draws."""
    return Sample((), (), tuple(states), thin=2, n_sweeps=0)


# --- One round -------------------------------------------------------------------------------------------


class Stretch(NamedTuple):
    """What one chain did in a round."""

    state: State
    draws: ChainDraws | None  # None in warm-up
    n_sweeps: int


class Todo(NamedTuple):
    """What each chain is to do in a round."""

    n_sweeps: int
    thin: int  # sweeps per draw; 0 keeps none
    adapt: bool
    n_least: int = 0  # sweeps to make even if there is no time


def run_round(setup: Setup, states: Sequence[State], todo: Todo) -> tuple[list[Stretch], bool]:
    """Advance all chains, and tell whether Ctrl-C cut them short.

    In threads they take turns, so that nearly all that was done can be kept. Elsewhere Ctrl-C is passed on.
    """
    logger.debug("%d chains: %s", len(states), todo)
    backend, n_jobs = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):  # some backends without shared memory do not say so
        jobs = (delayed(advance)(setup, state, todo) for state in states)
        return Parallel(n_jobs=setup.n_jobs, prefer="threads")(jobs), False
    n_at_once = backend.effective_n_jobs(n_jobs if setup.n_jobs is None else setup.n_jobs)
    # All chains under way need memory for each.
    n_threads = len(states) if len(states) * max(setup.model.row_y.size, 1000) <= MAX_UNDER_WAY else n_at_once
    setup = replace(setup, turns=Turns(n_at_once))
    return run_all([partial(advance, setup, state, todo) for state in states], n_threads, setup.report.stopped)


def advance(setup: Setup, state: State, todo: Todo) -> Stretch:
    """Make sweeps from a state; with thin > 0 also keep a draw after each `thin` of them.

    The answer does not depend on how the sweeps are cut into compiled calls, so the length of a call may follow the
    clock. A chain is rebuilt from its state alone, so one that was read from a file goes on as this one would.
    Stops early when `report.stopped` is set, or when the time is over.
    """
    n_sweeps, thin, adapt, n_least = todo
    rng = copy.deepcopy(state.rng)
    model, law, tuning = own_arrays(setup.model), state.law, state.tuning
    chain = make_chain(model, state, None if setup.kernel is None else own_arrays(setup.kernel))
    work = make_work(model, chain.kernel)
    chain = rebuild(chain, model, work)
    learned = nothing_learned(tuning) if adapt else None
    visit = sweeps_between(model.row_y.size, law, adapt) if is_inferred(model) else n_sweeps
    pause = HOLD_SPIKES if adapt else n_sweeps
    done, size, parts = 0, 1, []
    while done < n_sweeps and not setup.report.stopped.is_set():
        if done >= n_least and time.time() > setup.deadline:
            break
        with nullcontext() if setup.turns is None else setup.turns.take(done):
            size = min(size, n_sweeps - done, visit - done % visit, pause - done % pause)
            started = time.perf_counter()
            since_draw = done % thin if thin else 0
            buffers = make_buffers(model, (since_draw + size) // thin if thin else 0)
            chain = make_sweeps(
                chain, model, setup.plan, work, rng, size, thin=thin, since_draw=since_draw, adapt=adapt, out=buffers
            )
            parts.append(pack(buffers, law.relevance, law.sharpness, log_prior_of_law(model, law)))
            done += size
            # Also at the end, because a round may be shorter than the time between two visits.
            if is_inferred(model) and (done % visit == 0 or done == n_sweeps):
                chain, law, tuning, learned = update_law(chain, model, work, law, tuning, rng, learned)
            if adapt and (done % pause == 0 or done == n_sweeps):
                chain = straighten(chain, state_of(chain, law, tuning, rng), model, work)
            seconds = time.perf_counter() - started
        setup.report.advance(size)
        size = max(1, min(4 * size, int(size * SECONDS_PER_CALL / max(seconds, 1e-6))))
    if learned is not None:
        tuning = settle(tuning, learned)
    return Stretch(state_of(chain, law, tuning, rng), concatenate(parts) if thin and parts else None, done)


Arrays = TypeVar("Arrays", Model, Kernel)


def own_arrays(values: Arrays) -> Arrays:
    """The same with arrays that can be written: sent to another process they may come out read-only."""
    arrays: dict[str, Any] = {name: value for name, value in values._asdict().items() if isinstance(value, np.ndarray)}
    return values._replace(**{name: array.copy() for name, array in arrays.items() if not array.flags.writeable})


# --- Whole runs ------------------------------------------------------------------------------------------


def finish(sample: Sample, rounds: Iterator[Sample], after: Callable[[Sample], None]) -> Sample:
    """Go through the rounds of a run, calling `after` with each; Ctrl-C keeps the draws made so far.

    Parameters
    ----------
    sample : Sample
        What the run starts from.
    rounds : iterator of Sample
        From `sample_fixed`, `sample_until_converged` or `add_sweeps`.
    after : callable
        Called with the sample after each round.

    Returns
    -------
    Sample
        The last one. KeyboardInterrupt is raised when there is nothing to keep.
    """
    try:
        for sample in rounds:
            # A checkpoint must lead to the draws of a run that nobody stopped.
            if not sample.interrupted:
                after(sample)
    except KeyboardInterrupt:
        sample = replace(sample, interrupted=True)
    if not sample.interrupted:
        return sample
    if sample.n_draws < LEAST_DRAWS:
        raise KeyboardInterrupt("Interrupted before there were enough draws; nothing to keep: fit again.") from None
    return replace(sample, converged=False)


def sample_fixed(sample: Sample, setup: Setup, n_sweeps: int) -> Iterator[Sample]:
    """A third of `n_sweeps` to warm up, then draws from the rest, at most 1024 per chain.

    A sample that such a run was left with goes on where it was.
    """
    n_warm = n_sweeps // 3
    thin = -(-(n_sweeps - n_warm) // MAX_DRAWS)
    n_draws = (n_sweeps - n_warm) // thin
    setup.report.extend(len(sample.states) * (n_sweeps - sample.n_sweeps), "sampling")
    sample = replace(sample, thin=thin)
    if sample.n_sweeps == 0:
        sample = warm_up(sample, setup, n_sweeps - n_draws * thin)
    for part in np.array_split(np.arange(n_draws), min(8, n_draws))[len(sample.rounds) :]:
        if sample.is_cut_short:
            return
        sample = extend(sample, setup, part.size * thin)
        yield sample


def sample_until_converged(sample: Sample, setup: Setup, max_sweeps: int = DEFAULT_MAX_SWEEPS) -> Iterator[Sample]:
    """Rounds of 512 sweeps, then of twice as many, and so on, until all that is watched has converged, or `max_sweeps`.

    Early rounds are forgotten as the run grows: the last nine tenths of all sweeps are kept, or the last two thirds
    where only these have converged, or nothing has in the end. Thinning doubles when more than 1024 draws per chain
    would be kept. No clock takes part, so the seed determines the answer.
    """
    if sample.n_sweeps == 0:
        n_warm = min(WARM_UP, max_sweeps // 2)
        setup.report.extend(None, "warming up")
        sample = warm_up(sample, setup, n_warm)
    while not (sample.converged or sample.is_cut_short) and (length := _next_round(sample, max_sweeps)) >= sample.thin:
        setup.report.extend(None, "sampling")
        sample = _judge(forget(extend(sample, setup, length)), setup.model)
        is_last = sample.is_cut_short or _next_round(sample, max_sweeps) < sample.thin
        yield forget(sample, LATE_PART) if is_last and not sample.converged else sample


def add_sweeps(sample: Sample, setup: Setup, n_sweeps: int) -> Iterator[Sample]:
    """More draws in up to eight rounds, nothing forgotten."""
    n_draws = n_sweeps // sample.thin
    setup.report.extend(len(sample.states) * n_draws * sample.thin, "sampling")
    for part in np.array_split(np.arange(n_draws), min(8, n_draws)):
        if sample.is_cut_short:
            return
        sample = extend(sample, setup, part.size * sample.thin)
        yield sample


def warm_up(sample: Sample, setup: Setup, n_sweeps: int) -> Sample:
    """Adapt step sizes; nothing is kept, and acceptances count from now on."""
    half = replace(setup, deadline=0.5 * (time.time() + setup.deadline))
    stretches, interrupted = run_round(half, sample.states, Todo(n_sweeps, 0, True))
    if interrupted:
        raise KeyboardInterrupt
    n_done = min(stretch.n_sweeps for stretch in stretches)
    logger.info("Warm-up finished: %d sweeps per chain", n_done)
    states = tuple(stretch.state._replace(tally=np.zeros_like(stretch.state.tally)) for stretch in stretches)
    return replace(sample, states=states, n_sweeps=sample.n_sweeps + n_done)


def extend(sample: Sample, setup: Setup, n_sweeps: int) -> Sample:
    """One more round of draws, nothing forgotten; as many of each chain as all have, when they are cut short."""
    n_least = max(0, LEAST_DRAWS - sample.n_draws) * sample.thin
    stretches, interrupted = run_round(setup, sample.states, Todo(n_sweeps, sample.thin, False, n_least))
    added = [stretch.draws for stretch in stretches if stretch.draws is not None]
    n_draws = min(len(draws) for draws in added) if len(added) == len(stretches) else 0
    n_done = n_draws * sample.thin
    sample = replace(
        sample,
        states=tuple(stretch.state for stretch in stretches),
        n_sweeps=sample.n_sweeps + n_done,
        converged=None,
        interrupted=interrupted,
        out_of_time=n_done < n_sweeps and not interrupted,
    )
    if n_draws == 0:
        return sample
    if n_done < n_sweeps:
        added = [draws.where(np.arange(len(draws)) < n_draws) for draws in added]
    parts = [[new] if not sample.chains else [sample.chains[c], new] for c, new in enumerate(added)]
    chains = tuple(concatenate(part) for part in parts)
    return replace(sample, chains=chains, rounds=(*sample.rounds, Round(n_done, n_draws)))


def _next_round(sample: Sample, max_sweeps: int) -> int:
    """Length of the next round within `max_sweeps`, a multiple of the thinning.

    Four rounds of 512 sweeps, four of 1024, and so on: what a run makes in vain after it has converged is a small part
    of it.
    """
    done, length = sample.n_sweeps - WARM_UP, ROUND
    while done >= 4 * length:
        done -= 4 * length
        length *= 2
    left = max_sweeps - sample.n_sweeps
    return min(length, left) // sample.thin * sample.thin


def forget(sample: Sample, part: float = KEPT_PART, max_draws: int = MAX_DRAWS) -> Sample:
    """Drop rounds before the last part of the sweeps, and thin until at most `max_draws` per chain are left."""
    rounds, thin = list(sample.rounds), sample.thin
    keep = [np.ones(r.n_draws, dtype=bool) for r in rounds]
    first = 0
    while first + 1 < len(rounds) and sum(r.n_sweeps for r in rounds[first + 1 :]) >= part * sample.n_sweeps:
        keep[first][:] = False
        first += 1
    step = 1
    while sum(r.n_draws // step for r in rounds[first:]) > max_draws:
        step *= 2
    for kept in keep[first:]:
        # The last draw of each group: thinning twice is then thinning once by the product.
        kept[:] = False
        kept[step - 1 :: step] = True
    mask = np.concatenate(keep)
    return replace(
        sample,
        chains=tuple(draws.where(mask) for draws in sample.chains),
        rounds=tuple(Round(r.n_sweeps, r.n_draws // step) for r in rounds[first:]),
        thin=thin * step,
    )


def _judge(sample: Sample, model: Model) -> Sample:
    """Set `converged`; where only the late part has converged, what came before is forgotten."""
    judged = _look(sample, model)
    late = forget(judged, LATE_PART)
    if judged.converged or late.rounds == judged.rounds:
        return judged
    late = _look(late, model)
    return late if late.converged else judged


def _look(sample: Sample, model: Model) -> Sample:
    """Set `converged`, looking first where it failed last."""
    draws = quantities(sample.chains, model)
    suspects = np.array(sample.suspects or range(draws.shape[2]), dtype=np.intp)
    converged, suspects = has_converged(draws, suspects, standard(model, draws.shape[2]))
    return replace(sample, converged=converged, suspects=tuple(suspects.tolist()))


def shared_kernel(model: Model, law: Law) -> Kernel | None:
    """The kernel that all chains share, or None when the law of the hyperplanes is inferred."""
    return None if is_inferred(model) else make_kernel(model, law)
