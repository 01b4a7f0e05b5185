"""The law of the hyperplanes: leaps of the relevances of sign units; paths and steps of one number for smooth ones.

A visit makes several proposals, each judged by `law_density`, and then decomposes the kernel once if any of them was
accepted. Since all of this is large matrices, it is plain Python between compiled sweeps.

Which atoms a proposal holds in place is decided by what it leaves alone: their marks where nu, sigma2 or alpha move,
and their scales beside the noise where only the law does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._blas import one_blas_thread
from ..._types import FloatArray, IntArray
from ...stable import log_scale_of_mark
from ..chain import LAW_LEAP, LAW_ONE, LAW_PATH, N_OTHERS, N_STEP_KINDS, Chain, Tuning, Work, spikes_of
from ..kernel import Law, make_kernel
from ..law_density import (
    ALPHA,
    LOG_NU,
    LOG_SHARPNESS,
    LOG_SIGMA2,
    Held,
    Place,
    density_and_gradient,
    follow,
    from_free,
    hold,
    log_density,
    log_prior,
    log_prior_of_law,
    slope_of_log_stretch,
    to_free,
)
from ..law_likelihood import view
from ..law_wander import wander
from ..model import Model
from ..observations import inflate
from ..sweep import rebuild
from .accept import accept

# Acceptance rates that step sizes are steered to.
OF_STEPS, OF_PATHS = 0.35, 0.75
# Number of steps of a path: one more than a number drawn evenly below this. At the usual step sizes that is about a
# quarter of a turn around the posterior.
MAX_STEPS = 6


class Kind(NamedTuple):
    """A kind of path."""

    marks: tuple[float, float] | None  # held are atoms with marks below a part of N between these, or that matter
    by_direction: bool  # or as a whole


# Without marks, the atoms that matter are held, and the path moves the law alone. Jumps then stay where they are while
# all that the data do not see follows, which moves relevances far.
PATHS = (Kind((0.0, 0.0), True), Kind((0.15, 0.6), True), Kind(None, True), Kind((0.15, 0.6), False), Kind(None, False))
# Kinds of step: no atom held, atoms that matter held, and nu moved so that the scale of f stays.
NOTHING_HELD, LARGE_HELD, NU_FOLLOWS = range(N_STEP_KINDS)
# Atoms with v n / sigma2 above one of these matter.
HOLD_ABOVE = (0.1, 1.0, 10.0)
# How many paths what is known before the first of them counts for.
FIRST_COUNT = 5.0
# Weight of the newest path: the start of a chain is forgotten.
LEAST_WEIGHT = 0.01
# Numbers that the data say nothing about still have a scale.
LEAST_PRECISION = 0.1


# What a visit to smooth units tries beside a path. A step costs a tenth of a path.
STEPS_PER_NUMBER, MAX_STEPS_PER_VISIT = 8, 16
# What a visit to sign units tries, and how many steps without a look at the data a leap makes for each relevance. The
# longer one ends nearly anywhere that prior and held hyperplanes allow.
N_LEAPS = 2
WANDER_PER_NUMBER = (4, 16)
# Numbers further away than this are nowhere near the posterior: a path that gets there is given up.
FAR = 100.0


class Learned(NamedTuple):
    """What warm-up has seen, old proposals weighing less and less.

    Mean outer products of gradients are the precision of the numbers given the atoms, which is what the steps of a path
    should be scaled by.
    """

    n: FloatArray  # (step sizes,) proposals with each
    mean_log_step: FloatArray  # (step sizes,) of the later proposals: single ones go up and down by chance
    precision: FloatArray  # (kinds of path, d + 4, d + 4)


def nothing_learned(tuning: Tuning) -> Learned:
    """Before the first proposal."""
    precision = np.linalg.inv(tuning.covariance).astype(np.float64, copy=False)
    return Learned(np.zeros(tuning.log_step.size), tuning.log_step.copy(), precision)


def settle(tuning: Tuning, learned: Learned) -> Tuning:
    """What to propose by after warm-up."""
    return tuning._replace(log_step=learned.mean_log_step)


class Tried(NamedTuple):
    """What came of one proposal."""

    place: Place  # where the chain is now
    step: int | None = None  # place of the step size that was used; paths have the last ones, leaps have none
    probability: float = 0.0  # of acceptance
    gradients: FloatArray = np.empty((0, 0))  # (m, d + 4) those along a path


def sweeps_between(n: int, law: Law, adapt: bool) -> int:
    """Sweeps between two visits, which take half to three quarters of the time: never a matter of the clock.

    Law and atoms depend on each other, so it pays to go back and forth. Warm-up visits smooth units twice as often,
    because there is much to learn from few visits.
    """
    if math.isinf(law.sharpness):
        return 8 if n <= 300 else 16 if n <= 600 else 32
    usual = 16 if n <= 600 else 32
    return usual // 2 if adapt else usual


def is_inferred(model: Model) -> bool:
    """Whether the law moves at all."""
    return model.infer_sharpness or model.relevant.size > 0


def update_law(
    chain: Chain, model: Model, work: Work, law: Law, tuning: Tuning, rng: np.random.Generator, learned: Learned | None
) -> tuple[Chain, Law, Tuning, Learned | None]:
    """Propose several laws; rebuild the chain under the last one that was accepted.

    Parameters
    ----------
    chain : Chain
        Its system must be fresh.
    model, work : Model, Work
        What stays the same, and memory to work in.
    law : Law
        The present law.
    tuning : Tuning
        How to propose.
    rng : numpy.random.Generator
        Moves on.
    learned : Learned or None
        What warm-up has seen so far; None after warm-up, when proposals no longer change.

    Returns
    -------
    tuple of Chain, Law, Tuning and (Learned or None)
    """
    h = chain.h[: chain.n_atoms].copy()
    # Spikes stay, and are no more than smaller weights to the law.
    seen, constant = inflate(model, spikes_of(chain))
    start = place = Place(law, chain.log_nu, chain.log_sigma2, chain.alpha, h)
    start = place = start._replace(
        log_density=chain.log_likelihood - constant + log_prior(model, start, chain.kernel.log_diagonal)
    )
    # One thread: the last bits of the factors, and so the draws, must not depend on the machine's load.
    with one_blas_thread():
        for propose in _plan(law, _active(model).size):
            tried = propose(chain, seen, place, tuning, rng)
            place = tried.place
            if learned is not None:
                tuning, learned = _learn(tuning, learned, tried)
    if place is start:
        return chain, law, tuning, learned
    chain.h[: chain.n_atoms] = place.h
    n_sweeps = chain.n_sweeps
    chain = chain._replace(
        kernel=make_kernel(model, place.law), alpha=place.alpha, log_nu=place.log_nu, log_sigma2=place.log_sigma2
    )
    return rebuild(chain, model, work)._replace(n_sweeps=n_sweeps), place.law, tuning, learned


def _plan(law: Law, n_numbers: int) -> list[Callable[..., Tried]]:
    """What a visit proposes, in order."""
    if math.isinf(law.sharpness):
        return N_LEAPS * [propose_leap]
    return [propose_path] + min(MAX_STEPS_PER_VISIT, STEPS_PER_NUMBER * n_numbers) * [propose_step]


def _active(model: Model) -> IntArray:
    """Which of log relevances and log sharpness are inferred."""
    return np.append(model.relevant, [model.X.shape[1]] if model.infer_sharpness else []).astype(np.int64)


def _all_active(model: Model) -> IntArray:
    """Which of the numbers are inferred."""
    flags = {LOG_SHARPNESS: model.infer_sharpness, LOG_NU: model.infer_nu, LOG_SIGMA2: model.infer_sigma2}
    flags[ALPHA] = model.infer_alpha
    p = model.X.shape[1] + N_OTHERS
    return np.append(model.relevant, [p + place for place, flag in flags.items() if flag]).astype(np.int64)


def _learn(tuning: Tuning, learned: Learned, tried: Tried) -> tuple[Tuning, Learned]:
    """Steer one step size towards its acceptance rate, and learn the scales of a kind of path."""
    if tried.step is None:
        return tuning, learned
    log_step, n, mean_log_step = tuning.log_step.copy(), learned.n.copy(), learned.mean_log_step.copy()
    n[tried.step] += 1.0
    target = OF_PATHS if len(tried.gradients) else OF_STEPS
    log_step[tried.step] += 2.0 / (1.0 + 0.2 * n[tried.step]) ** 0.6 * (tried.probability - target)
    mean_log_step[tried.step] += n[tried.step] ** -0.75 * (log_step[tried.step] - mean_log_step[tried.step])
    learned = learned._replace(n=n, mean_log_step=mean_log_step)
    if not len(tried.gradients):
        return tuning._replace(log_step=log_step), learned
    precision, covariance = learned.precision.copy(), tuning.covariance.copy()
    p, count = precision.shape[1], n[tried.step]
    here = tried.gradients.T @ tried.gradients / len(tried.gradients)
    precision[tried.step] += max(2.0 / (FIRST_COUNT + count), LEAST_WEIGHT) * (here - precision[tried.step])
    # Few paths say little about correlations.
    trust = count / (count + 0.5 * p)
    diagonal = np.diag(np.diag(precision[tried.step]))
    covariance[tried.step] = np.linalg.inv(
        trust * precision[tried.step] + (1.0 - trust) * diagonal + LEAST_PRECISION * np.eye(p)
    )
    return Tuning(log_step, covariance), learned._replace(precision=precision)


# --- A leap ----------------------------------------------------------------------------------------------


def propose_leap(chain: Chain, model: Model, place: Place, tuning: Tuning, rng: np.random.Generator) -> Tried:
    """The relevances of sign units after many steps without a look at the data, and then one.

    Prior and held hyperplanes are cheap and mostly what forbids a step. With those that matter held, the likelihood
    changes little. (The density jumps where a sign unit that is not held passes a row, so paths are of no use.)
    """
    log_mark, relevant = chain.log_mark[: chain.n_atoms], model.relevant
    held = Held(_matter(model, place, log_mark, rng), True)
    n_steps = relevant.size * WANDER_PER_NUMBER[int(len(WANDER_PER_NUMBER) * rng.random())]
    numbers = place.numbers
    log_relevance, squares = numbers[:-N_OTHERS], place.h[held.atoms] ** 2
    change = wander(log_relevance, relevant, model.leader, squares, model.relevance_scale, n_steps, rng)
    new = place.at(numbers)
    h, log_jacobian = hold(place.h, held, place.law, new.law)
    new = new._replace(h=h)
    new = new._replace(log_density=log_density(model, log_mark, new))
    # The steps were accepted by `change`, so what is left is next to the ratio of the likelihoods.
    accepted = accept(rng, new.log_density - place.log_density + log_jacobian - change)
    chain.tally[LAW_LEAP] += (1, accepted)
    return Tried(new if accepted else place)


# --- A path along the gradient ---------------------------------------------------------------------------


def propose_path(chain: Chain, model: Model, place: Place, tuning: Tuning, rng: np.random.Generator) -> Tried:
    """Hamiltonian Monte Carlo: the law with the atoms that matter held in place, or all numbers that are inferred.

    Marks are the one thing that the latter leaves alone, so they decide which atoms are held: those with small ones.
    """
    kind = int(len(PATHS) * rng.random())
    which = kind - len(PATHS)
    marks, by_direction = PATHS[kind]
    log_mark = chain.log_mark[: chain.n_atoms]
    if marks is None:
        held, active = Held(_matter(model, place, log_mark, rng), by_direction), _active(model)
    else:
        held, active = Held(np.exp(log_mark) < model.n_atoms * rng.uniform(*marks), by_direction), _all_active(model)
    factor = np.linalg.cholesky(tuning.covariance[which][np.ix_(active, active)])
    step = math.exp(tuning.log_step[which]) * rng.uniform(0.8, 1.2)
    momentum = rng.standard_normal(active.size)
    n_steps = 1 + int(MAX_STEPS * rng.random())
    walked = walk(model, log_mark, place, held, active, step * factor, momentum, n_steps)
    accepted = accept(rng, walked.log_ratio)
    chain.tally[LAW_PATH] += (1, accepted)
    probability = math.exp(min(walked.log_ratio, 0.0))
    return Tried(walked.place if accepted else place, which, probability, walked.gradients)


def _matter(model: Model, place: Place, log_mark: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which atoms matter, by a standard that is drawn: their scales beside the noise of a mean over all rows."""
    above = HOLD_ABOVE[int(len(HOLD_ABOVE) * rng.random())]
    log_v = log_scale_of_mark(log_mark, place.alpha, place.log_nu)
    found: NDArray[np.bool_] = log_v - place.log_sigma2 + math.log(model.row_y.size) > math.log(above)
    return found


class Walked(NamedTuple):
    """Where a path has led."""

    place: Place
    momentum: FloatArray  # at its end: with the opposite one, the same path leads back
    log_ratio: float  # to accept it by; -inf if the path was given up
    gradients: FloatArray  # (m, d + 4) those along the path


def walk(
    model: Model,
    log_mark: FloatArray,
    place: Place,
    held: Held,
    active: IntArray,
    factor: FloatArray,
    momentum: FloatArray,
    n_steps: int,
) -> Walked:
    """Leapfrog steps through the active free numbers; `factor` turns a momentum into a change of them."""
    free, gradients = to_free(model, place.numbers), []
    found, log_jacobian, gradient = _free_density_and_gradient(model, log_mark, place, held, free)
    energy = 0.5 * float(momentum @ momentum) - (found.log_density + log_jacobian)
    for _ in range(n_steps):
        gradients.append(gradient)
        momentum = momentum + 0.5 * (factor.T @ gradient[active])
        free[active] += factor @ momentum
        if not np.abs(free).max() < FAR:
            return Walked(found, momentum, -math.inf, np.array(gradients))
        found, log_jacobian, gradient = _free_density_and_gradient(model, log_mark, place, held, free)
        if found.log_density == -math.inf:
            return Walked(found, momentum, -math.inf, np.array(gradients))
        momentum = momentum + 0.5 * (factor.T @ gradient[active])
    log_ratio = found.log_density + log_jacobian + energy - 0.5 * float(momentum @ momentum)
    return Walked(found, momentum, log_ratio, np.array(gradients))


def _free_density_and_gradient(
    model: Model, log_mark: FloatArray, start: Place, held: Held, free: FloatArray
) -> tuple[Place, float, FloatArray]:
    """As `density_and_gradient`, with log Jacobian and gradient of the free numbers."""
    numbers, stretch = from_free(model, free)
    found, log_jacobian, gradient = density_and_gradient(model, log_mark, start, held, numbers)
    return found, log_jacobian + float(np.log(stretch).sum()), gradient * stretch + slope_of_log_stretch(model, free)


# --- One number ------------------------------------------------------------------------------------------


def propose_step(chain: Chain, model: Model, place: Place, tuning: Tuning, rng: np.random.Generator) -> Tried:
    """A random-walk step of one number, or of all relevances together."""
    new, active = place.numbers, _active(model)
    p = LOG_NU % new.size  # log relevances and log sharpness
    which, direction = _direction(active, p, rng)
    kind = int(N_STEP_KINDS * rng.random())
    which = N_STEP_KINDS * which + kind
    new[:p] += np.exp(tuning.log_step[which]) * rng.standard_normal() * direction
    found, log_ratio = _try(chain, model, place, place.at(follow(model, new)), kind, rng)
    accepted = accept(rng, log_ratio)
    chain.tally[LAW_ONE] += (1, accepted)
    return Tried(found if accepted else place, which, math.exp(min(log_ratio, 0.0)))


def _direction(active: IntArray, p: int, rng: np.random.Generator) -> tuple[int, FloatArray]:
    """A direction to move in, and the place of its step size.

    One number, all relevances, or these against the sharpness. The last changes the bias alone: it leaves w r as it is.
    """
    direction, relevances = np.zeros(p), active[active < p - 1]
    n_directions = active.size + (relevances.size > 1) + (relevances.size > 0 and active[-1] == p - 1)
    which = int(n_directions * rng.random())
    if which < active.size:
        direction[active[which]] = 1.0
        return int(active[which]), direction
    direction[relevances] = 1.0
    if which == active.size and relevances.size > 1:
        return p, direction
    direction[-1] = -1.0
    return p + 1, direction


def _try(
    chain: Chain, model: Model, place: Place, new: Place, kind: int, rng: np.random.Generator
) -> tuple[Place, float]:
    """Where a proposed law leads, and the log ratio to accept it by.

    Where nu follows, the mean of nu K(x, x) over the rows stays.
    """
    if log_prior_of_law(model, new.law) == -math.inf:
        return place, -math.inf
    log_mark = chain.log_mark[: chain.n_atoms]
    is_held = np.zeros(log_mark.size, dtype=bool)
    if kind == NU_FOLLOWS and model.infer_nu:
        change = view(model.X, place.law).log_diagonal - view(model.X, new.law).log_diagonal
        new = new._replace(log_nu=place.log_nu + change)
        is_held = log_mark < math.log(model.n_atoms) + math.log(1.0 - rng.random())
    elif kind != NOTHING_HELD:
        is_held = _matter(model, place, log_mark, rng)
    held = Held(is_held, rng.random() < 0.5)
    h, log_jacobian = hold(place.h, held, place.law, new.law)
    new = new._replace(h=h)
    new = new._replace(log_density=log_density(model, log_mark, new))
    return new, new.log_density - place.log_density + log_jacobian
