"""Chains of the engine as its tests start and run them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from widestable.engine.chain import Chain, State, Work, make_chain, make_work, new_state, start_state
from widestable.engine.draws import Buffers, make_buffers
from widestable.engine.kernel import Law, make_kernel
from widestable.engine.model import Model, make_model
from widestable.engine.run import Sample, Setup, finish, sample_fixed, sample_until_converged, start
from widestable.engine.sweep import Plan, make_sweeps, rebuild
from widestable.inputs import check_training

FREE: dict[str, None] = {"alpha": None, "nu": None, "sigma2": None}


def equal_law(model: Model, sharpness: float = math.inf) -> Law:
    """The law of the paper: every input has the relevance of the bias."""
    return Law(np.ones(model.X.shape[1]), sharpness)


# --- One chain -------------------------------------------------------------------------------------------


def build(model: Model, state: State) -> Chain:
    """The chain of a state, its groups and its system built."""
    chain = make_chain(model, state)
    return rebuild(chain, model, make_work(model, chain.kernel))


def start_chain(model: Model, rng: np.random.Generator, law: Law | None = None, **fixed: float | None) -> Chain:
    """A chain where `start_state` puts it; parameters that are not given are inferred."""
    law = equal_law(model) if law is None else law
    return build(model, start_state(model, law, rng, **(FREE | fixed)))


def sweep(
    chain: Chain, model: Model, n_sweeps: int, rng: np.random.Generator, plan: Plan | None = None, thin: int = 0
) -> tuple[Chain, Buffers]:
    """The chain after some sweeps, and its draws after each `thin` of them."""
    work = make_work(model, chain.kernel)
    out = make_buffers(model, n_sweeps // thin if thin else 0)
    plan = Plan() if plan is None else plan
    return make_sweeps(chain, model, plan, work, rng, n_sweeps, thin=thin, since_draw=0, adapt=False, out=out), out


# --- A chain whose law may move --------------------------------------------------------------------------


def some_data(rng: np.random.Generator, sharpness: float | None, d: int = 3, **changes: object) -> Model:
    """Weighted and repeated rows, the last input constant."""
    X = rng.standard_normal((9, d))
    X[:, -1] = 0.4
    X = np.vstack([X, X[:3]])
    data = check_training(X, rng.standard_normal(12), rng.uniform(0.5, 2.0, 12), standardize=False)
    infers: dict[str, Any] = {"sharpness": sharpness, "infer_relevance": True}
    return make_model(data, alpha=None, nu=None, sigma2=None, n_atoms=6, **infers)._replace(**changes)


def some_chain(model: Model, sharpness: float, rng: np.random.Generator) -> tuple[Chain, Law, Work]:
    """A chain whose system is fresh; two of its atoms coincide."""
    d = model.X.shape[1]
    law = Law(np.exp(rng.standard_normal(d)), sharpness)
    h, log_mark = rng.standard_normal((6, d + 1)), math.log(6.0) + np.log(rng.random(6))
    h[1] = -2.0 * h[0]
    chain = make_chain(model, new_state(1.3, 0.2, -1.0, law, h, log_mark, rng))
    work = make_work(model, chain.kernel)
    return rebuild(chain, model, work), law, work


# --- Several chains --------------------------------------------------------------------------------------


def new_sample(model: Model, n_chains: int = 2, seed: int = 0, law: Law | None = None, **fixed: float | None) -> Sample:
    """Chains at their starting points, each with its own random stream."""
    law = equal_law(model) if law is None else law
    rngs = [np.random.default_rng(seed) for seed in np.random.SeedSequence(seed).spawn(n_chains)]
    return start([start_state(model, law, rng, **(FREE | fixed)) for rng in rngs])


def one_thread(model: Model) -> Setup:
    """Run chains with the law of the paper on one thread, and decompose their kernel once."""
    return Setup(model, make_kernel(model, equal_law(model)), n_jobs=1)


def finished(sample: Sample, rounds: Iterator[Sample]) -> Sample:
    """The last sample of a run."""
    return finish(sample, rounds, lambda sample: None)


def run_fixed(sample: Sample, setup: Setup, n_sweeps: int) -> Sample:
    """A third of the sweeps to warm up, draws from the rest."""
    return finished(sample, sample_fixed(sample, setup, n_sweeps))


def run_until_converged(sample: Sample, setup: Setup, max_sweeps: int) -> Sample:
    """Rounds until the chains have converged."""
    return finished(sample, sample_until_converged(sample, setup, max_sweeps))
