"""Study: posterior quantiles of the random covariance Q_s, published sampler and jump engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from widestable.exact import posterior_predictive
from studies.problems import Floats, Problem, simulate
from studies.pieces import Piece, Result
from studies.reproduction.presets import Preset
from studies.reproduction.comparison import seed_of
from studies.reproduction.two_samplers import fit_jumps, plan_both
from widestable.network import arcsine_kernel
from widestable.posterior import Posterior
from widestable.stable import log_remainder

NAME = "covariance"
QUARTILES = (0.25, 0.5, 0.75)


def plan(preset: Preset) -> list[Piece]:
    """Both samplers on the same data."""
    return plan_both(NAME, preset.covariance)


def run(piece: Piece, data: Path | None) -> Result:
    """25%, 50% and 75% quantiles of each entry of Q_s, noise included, shape (3, n, n)."""
    problem = simulate(piece.data, 0)
    sample = _published if piece.method == "published" else _jumps
    Q = sample(problem, seed_of(piece), piece.settings)
    return {"x": problem.X[:, 0], "quantiles": np.quantile(Q, QUARTILES, axis=0)}


def _published(problem: Problem, seed: int, settings: dict[str, Any]) -> Floats:
    given = {name: settings[name] for name in ("alpha", "nu", "iterations", "burn_in")}
    rng = np.random.default_rng(seed)
    draws = posterior_predictive(problem.X, problem.y, keep_covariance=True, rng=rng, progress=False, **given)
    return np.asarray(draws.covariance)


def _jumps(problem: Problem, seed: int, settings: dict[str, Any]) -> Floats:
    return covariance_draws(fit_jumps(problem, seed, settings))


def covariance_draws(posterior: Posterior) -> Floats:
    """`sum_k v_k tau_k tau_k' + g K0 + sigma2 I` at the distinct training rows, sign units, shape (draws, n, n)."""
    X = posterior.data.X
    Z = np.column_stack([np.ones(len(X)), X])
    K0, identity = arcsine_kernel(X), np.eye(len(X))
    found = []
    for draws in posterior.chains:
        g = np.exp(log_remainder(draws.alpha, draws.log_nu, posterior.model.n_atoms))
        last = np.cumsum(draws.n_atoms)
        for i, (start, stop) in enumerate(zip(last - draws.n_atoms, last, strict=True)):
            tau = np.sign(Z @ draws.h[start:stop].T)
            atoms = (tau * np.exp(draws.log_scale[start:stop])) @ tau.T
            found.append(atoms + g[i] * K0 + np.exp(draws.log_sigma2[i]) * identity)
    return np.array(found)
