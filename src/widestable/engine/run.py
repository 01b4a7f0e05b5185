"""Run chains: warm-up, rounds until converged or for a given length, in parallel, interruptible, continuable."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from .._types import FloatArray
from ..diagnostics import LEAST_DRAWS, has_converged
from ..progress import Reporter
from .chain import Buffers, Chain, Work
from .draws import ChainDraws, concatenate, every, pack
from .kernel import make_kernels_near
from .model import Model, Plan
from .state import make_buffers, make_work, sort_groups, start_chain
from .sweep import run as run_sweeps

logger = logging.getLogger(__name__)

# The unit of work: rounds are multiples of it, thinning is a power of two that divides it.
ROUND = 512
WARM_UP = 512
MAX_DRAWS = 1024
DEFAULT_MAX_SWEEPS = 50_000
# Draws are kept from this last part of the sweeps, so that a longer run forgets more of its start.
KEPT_PART = 2.0 / 3.0
SECONDS_A_CALL = 0.1


class ChainState(NamedTuple):
    """All that a chain needs to go on: its state and its random stream."""

    chain: Chain
    rng: np.random.Generator


class Round(NamedTuple):
    """Consecutive draws of every chain."""

    n_sweeps: int
    draws: tuple[ChainDraws, ...]


@dataclass(frozen=True)
class Sample:
    """Draws of all chains, and what is needed to continue them.

    Attributes
    ----------
    rounds : kept draws, round after round.
    states : where each chain is.
    thin : sweeps a draw.
    n_sweeps : sweeps made by each chain, warm-up and forgotten rounds included.
    converged : None when it was not asked for.
    interrupted : whether Ctrl-C ended the run.
    suspects : order in which to look for quantities that have not converged.
    """

    rounds: tuple[Round, ...]
    states: tuple[ChainState, ...]
    thin: int
    n_sweeps: int
    converged: bool | None
    interrupted: bool
    suspects: tuple[int, ...] = ()

    @property
    def chains(self) -> tuple[ChainDraws, ...]:
        """Draws of each chain."""
        return tuple(concatenate([r.draws[c] for r in self.rounds]) for c in range(len(self.states)))

    @property
    def n_draws(self) -> int:
        """Draws kept of each chain."""
        return sum(len(r.draws[0]) for r in self.rounds)


def advance(
    model: Model, plan: Plan, state: ChainState, n_sweeps: int, thin: int, adapt: bool, report: Reporter
) -> tuple[ChainState, ChainDraws | None]:
    """Make sweeps from a copy of `state`; with thin > 0 also keep a draw after each `thin` of them.

    The answer does not depend on how the sweeps are cut into compiled calls, so their length may follow the clock. At
    the end everything is rebuilt from the atoms, so that a chain read from a file goes on as this one does.
    Returns None for the draws when there are none, or when `report.stopped` was set.
    """
    chain, rng = copy.deepcopy(state)
    model = with_own_arrays(model)
    work = make_work(model)
    step = max(thin, 1)
    done, size, parts = 0, step, []
    while done < n_sweeps:
        if report.stopped.is_set():
            return state, None
        size = min(size, n_sweeps - done)
        started = time.perf_counter()
        buffers = make_sweeps(chain, model, plan, work, rng, size, (thin, adapt))
        seconds = time.perf_counter() - started
        if thin:
            parts.append(pack(buffers))
        done += size
        report.advance(size)
        size = max(1, min(4 * size, int(size * SECONDS_A_CALL / max(seconds, 1e-6))) // step) * step
    sort_groups(chain, model)
    return ChainState(chain, rng), concatenate(parts) if parts else None


def with_own_arrays(model: Model) -> Model:
    """The model as compiled code knows it: sent to another process, its arrays may come out read-only."""
    arrays: dict[str, Any] = {name: value for name, value in model._asdict().items() if isinstance(value, np.ndarray)}
    return model._replace(**{name: array.copy() for name, array in arrays.items() if not array.flags.writeable})


def make_sweeps(
    chain: Chain, model: Model, plan: Plan, work: Work, rng: np.random.Generator, n_sweeps: int, how: tuple[int, bool]
) -> Buffers:
    """One stretch of sweeps, and its draws; kernels of another sharpness are made when a chain comes near them."""
    thin, adapt = how
    buffers = make_buffers(model, n_sweeps // thin if thin else 0)
    done = run_sweeps(chain, model, plan, work, rng, 0, n_sweeps, thin, adapt, buffers)
    while done < n_sweeps:
        make_kernels_near(chain, model, plan.n_sharpness)
        done = run_sweeps(chain, model, plan, work, rng, done, n_sweeps, thin, adapt, buffers)
    return buffers


@dataclass(frozen=True)
class Setup:
    """What a run is made with, the same for all its rounds."""

    model: Model
    n_jobs: int | None = None
    report: Reporter = field(default_factory=Reporter)
    plan: Plan = field(default_factory=Plan)


def run_round(
    setup: Setup, states: Sequence[ChainState], n_sweeps: int, thin: int, adapt: bool
) -> tuple[tuple[ChainState, ...], Round]:
    """Advance all chains; KeyboardInterrupt leaves `states` as they were."""
    logger.debug("%d chains make %d sweeps, thinning %d", len(states), n_sweeps, thin)
    try:
        results = Parallel(n_jobs=setup.n_jobs, prefer="threads")(
            delayed(advance)(setup.model, setup.plan, state, n_sweeps, thin, adapt, setup.report) for state in states
        )
    except KeyboardInterrupt:
        setup.report.stopped.set()
        raise
    draws = tuple(part for _, part in results if part is not None)
    return tuple(state for state, _ in results), Round(n_sweeps, draws)


def start(
    model: Model,
    seeds: Sequence[np.random.SeedSequence],
    *,
    alpha: float | None = None,
    nu: float | None = None,
    sigma2: float | None = None,
) -> Sample:
    """A sample without draws: each chain at its own starting point, with its own random stream."""
    rngs = [np.random.default_rng(seed) for seed in seeds]
    states = tuple(ChainState(start_chain(model, rng, alpha=alpha, nu=nu, sigma2=sigma2), rng) for rng in rngs)
    return Sample((), states, thin=2, n_sweeps=0, converged=None, interrupted=False)


def warm_up(sample: Sample, setup: Setup, n_sweeps: int) -> Sample:
    """Adapt step sizes; nothing is kept."""
    states, _ = run_round(setup, sample.states, n_sweeps, 0, True)
    logger.info("Warm-up finished: %d sweeps a chain", n_sweeps)
    return replace(sample, states=states, n_sweeps=sample.n_sweeps + n_sweeps)


def extend(sample: Sample, setup: Setup, n_sweeps: int) -> Sample:
    """One more round of draws, nothing forgotten."""
    states, added = run_round(setup, sample.states, n_sweeps, sample.thin, False)
    rounds = (*sample.rounds, added)
    return replace(sample, rounds=rounds, states=states, n_sweeps=sample.n_sweeps + n_sweeps, converged=None)


def sample_fixed(
    sample: Sample, setup: Setup, n_sweeps: int, on_round: Callable[[Sample], None] | None = None
) -> Sample:
    """A third of `n_sweeps` to warm up, then draws from the rest, at most 1024 a chain.

    A sample that such a run was left with goes on where it was.
    """
    n_warm = n_sweeps // 3
    thin = -(-(n_sweeps - n_warm) // MAX_DRAWS)
    n_draws = (n_sweeps - n_warm) // thin
    setup.report.extend(len(sample.states) * (n_sweeps - sample.n_sweeps), "sampling")
    sample = replace(sample, thin=thin)
    try:
        if sample.n_sweeps == 0:
            sample = warm_up(sample, setup, n_sweeps - n_draws * thin)
        for part in np.array_split(np.arange(n_draws), min(8, n_draws))[len(sample.rounds) :]:
            sample = extend(sample, setup, part.size * thin)
            if on_round is not None:
                on_round(sample)
    except KeyboardInterrupt:
        return _keep_rounds(sample)
    return sample


def sample_until_converged(
    sample: Sample,
    setup: Setup,
    max_sweeps: int = DEFAULT_MAX_SWEEPS,
    on_round: Callable[[Sample], None] | None = None,
) -> Sample:
    """Rounds of 1, 1, 2, 2, 4, 4, ... times 512 sweeps until R-hat <= 1.01 and ESS >= 400, or `max_sweeps`.

    Early rounds are forgotten as the run grows (the last two thirds of all sweeps are kept) and thinning doubles
    when more than 1024 draws a chain would be kept. No clock takes part, so the seed determines the answer.
    """
    n_chains = len(sample.states)
    try:
        if sample.n_sweeps == 0:
            n_warm = min(WARM_UP, max_sweeps // 2)
            setup.report.extend(n_chains * n_warm, "warming up")
            sample = warm_up(sample, setup, n_warm)
        while not sample.converged and (length := _next_round(sample, max_sweeps)) >= sample.thin:
            setup.report.extend(n_chains * length, "sampling")
            sample = _forget(extend(sample, setup, length))
            sample = _judge(sample, setup.model)
            if on_round is not None:
                on_round(sample)
    except KeyboardInterrupt:
        return _keep_rounds(sample)
    return sample


def _next_round(sample: Sample, max_sweeps: int) -> int:
    """Length of the next round: 512 times 1, 1, 2, 2, 4, 4, ... within `max_sweeps`, a multiple of the thinning."""
    done, length, twice = sample.n_sweeps - WARM_UP, ROUND, False
    while done >= length:
        done -= length
        length, twice = (length * 2, False) if twice else (length, True)
    left = max_sweeps - sample.n_sweeps
    return min(length, left) // sample.thin * sample.thin


def _forget(sample: Sample) -> Sample:
    """Drop rounds before the last two thirds, and thin until at most 1024 draws a chain are left."""
    rounds = list(sample.rounds)
    while len(rounds) > 1 and sum(r.n_sweeps for r in rounds[1:]) >= KEPT_PART * sample.n_sweeps:
        rounds.pop(0)
    thin = sample.thin
    while sum(len(r.draws[0]) for r in rounds) > MAX_DRAWS:
        rounds = [Round(r.n_sweeps, tuple(every(d, 2) for d in r.draws)) for r in rounds]
        thin *= 2
    return replace(sample, rounds=tuple(rounds), thin=thin)


def quantities(sample: Sample, model: Model) -> FloatArray:
    """(chains, draws, quantities): alpha, log nu, log sigma2, log sharpness where inferred, then f at stored rows."""
    inferred = [model.infer_alpha, model.infer_nu, model.infer_sigma2, model.grid.size > 1]
    parameters = [np.column_stack([d.theta, np.log(d.sharpness)])[:, inferred] for d in sample.chains]
    return np.stack([np.concatenate([p, d.f], axis=1) for p, d in zip(parameters, sample.chains, strict=True)])


def _judge(sample: Sample, model: Model) -> Sample:
    """Set `converged`, looking first where it failed last."""
    draws = quantities(sample, model)
    suspects = np.array(sample.suspects or range(draws.shape[2]), dtype=np.intp)
    converged, suspects = has_converged(draws, suspects)
    return replace(sample, converged=converged, suspects=tuple(suspects.tolist()))


def _keep_rounds(sample: Sample) -> Sample:
    """After Ctrl-C: the whole rounds drawn so far, or the interrupt itself when there are none."""
    if not sample.rounds or sample.n_draws < LEAST_DRAWS:
        raise KeyboardInterrupt("Interrupted before a first round of draws was complete; nothing to keep: fit again.")
    return replace(sample, interrupted=True, converged=False)
