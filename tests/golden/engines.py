"""Draws of the two engines on a case, as one array (chains, draws, quantities).

Quantities are f at the training rows in their given order, f at the new rows, log sigma2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tools.cases import Case
from widestable.engine.run import Setup, extend, start, warm_up
from widestable.engine.state import make_model
from widestable.exact import build_partition, posterior_predictive
from widestable.inputs import check_training
from widestable.posterior import Posterior
from widestable.predict.mixture import components


class Length(NamedTuple):
    """How long to run: chains, sweeps of each, how many more to warm up, sweeps a draw, and the seed of it all."""

    n_chains: int
    n_sweeps: int
    n_warm: int
    thin: int
    seed: int


def gibbs(case: Case, length: Length) -> np.ndarray:
    """The blocked sampler on the exact partition."""
    # More directions than by default: in three dimensions they are the exact engine's own error.
    partition = build_partition(np.concatenate([case.X, case.X_new]), n_directions=50_000)
    chains = []
    for seed in np.random.SeedSequence(length.seed).spawn(length.n_chains):
        draws = posterior_predictive(
            case.X,
            case.y,
            case.X_new,
            alpha=case.alpha,
            nu=case.nu,
            sampler="gibbs",
            iterations=length.n_warm + length.n_sweeps,
            burn_in=length.n_warm,
            partition=partition,
            rng=np.random.default_rng(seed),
        )
        chains.append(np.column_stack([draws.f_train, draws.f_new, np.log(draws.sigma2)])[:: length.thin])
    return np.stack(chains)


def jumps(case: Case, length: Length) -> np.ndarray:
    """The jump engine; at new rows each stored draw is a normal law, from which one value is drawn."""
    data = check_training(case.X, case.y, standardize=False)
    fixed = {"alpha": case.alpha, "nu": case.nu, "sigma2": None}
    setup = Setup(make_model(data, **fixed, n_atoms=case.n_atoms), n_jobs=1)
    *seeds, seed = np.random.SeedSequence(length.seed).spawn(length.n_chains + 1)
    sample = warm_up(start(setup.model, seeds, **fixed), setup, length.n_warm)
    sample = extend(replace(sample, thin=length.thin), setup, length.n_sweeps)
    posterior = Posterior.from_sample(data, setup.model, sample)
    f_new = _draw_new(posterior, case.X_new, np.random.default_rng(seed))
    log_sigma2 = np.log(posterior.sigma2)[..., None]
    return np.concatenate([posterior.f[..., data.index], f_new, log_sigma2], axis=2)


def _draw_new(posterior: Posterior, X_new: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One value of f at each new row from each draw, shape (chains, draws, m)."""
    mean, sd = components(posterior._source(), X_new, noise=False)
    f = (mean + sd * rng.standard_normal(mean.shape)).T
    return f.reshape(*posterior.sigma2.shape, len(X_new))


ENGINES: dict[str, Callable[[Case, Length], np.ndarray]] = {"gibbs": gibbs, "jumps": jumps}
