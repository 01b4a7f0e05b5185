"""Draws of the two engines on a case, as one array (chains, draws, quantities).

Quantities are f at the training rows in their given order, f at the new rows, and log sigma2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from studies.sampling import Fixed, draws_at, start
from widestable.exact import build_partition, posterior_predictive
from widestable.inputs import check_training


class Case(NamedTuple):
    """Data in raw units, rows to predict at, and what is held fixed; sigma2 is inferred."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    X_new: np.ndarray  # (m, d)
    alpha: float
    nu: float
    n_atoms: float = 60.0  # of the jump engine: twice the default, so that what it ignores is small


class Length(NamedTuple):
    """Length of a run."""

    n_chains: int
    n_sweeps: int  # of each chain
    n_warm: int  # on top of these
    thin: int  # sweeps per draw
    seed: int


def gibbs(case: Case, length: Length) -> np.ndarray:
    """Run the blocked sampler on the exact partition."""
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
            random_state=np.random.default_rng(seed),
        )
        chains.append(np.column_stack([draws.f_train, draws.f_new, np.log(draws.sigma2)])[:: length.thin])
    return np.stack(chains)


def jumps(case: Case, length: Length) -> np.ndarray:
    """Run the jump engine; at a new row each stored draw is a normal law, from which one value is drawn."""
    data = check_training(case.X, case.y, standardize=False)
    fixed = Fixed(alpha=case.alpha, nu=case.nu)
    chains = start(data, fixed, n_chains=length.n_chains, seed=length.seed, n_atoms=case.n_atoms)
    posterior = chains.warm_up(length.n_warm).extend(length.n_sweeps, length.thin).posterior()
    *_, seed = np.random.SeedSequence(length.seed).spawn(length.n_chains + 1)  # the chains have the others
    f_new = draws_at(posterior, case.X_new, np.random.default_rng(seed))
    return np.concatenate([posterior.f[..., data.index], f_new, np.log(posterior.sigma2)[..., None]], axis=2)


ENGINES: dict[str, Callable[[Case, Length], np.ndarray]] = {"gibbs": gibbs, "jumps": jumps}
