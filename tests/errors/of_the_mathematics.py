"""Messages of the exact method, of stable laws and of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.errors.trigger import Env, Trigger
from widestable import _jit as jit
from widestable import network, stable
from widestable.exact import build_partition, general, posterior_predictive, predictive, target
from widestable.inputs import check_training

X = np.array([[-1.0], [0.5], [1.0]])
Y = np.array([0.0, 1.0, 2.0])
RNG = np.random.default_rng(0)


def sample(**changes: Any) -> Any:
    given = {"alpha": 1.0, "nu": 1.0, "iterations": 3, "burn_in": 1, "random_state": RNG, "sampler": "metropolis"}
    return posterior_predictive(X, Y, None, **(given | changes))


def singular(env: Env) -> None:
    """No data of three rows gets past the other checks, so the factor is said to fail."""
    env.patch.setattr(target, "factor", lambda *args: None)
    sample(sigma2=0.25)


def far_apart(env: Env) -> None:
    """Tables that come this far are rare, so the measuring is made to fail."""

    def fail(*args: object) -> None:
        raise np.linalg.LinAlgError

    env.patch.setattr(general, "_measure", fail)
    build_partition(np.random.default_rng(0).normal(size=(5, 3)))


def too_large(env: Env) -> None:
    """Where f overflows depends on the draws, so it is given."""
    predictive._draws(np.array([[np.inf]]), np.ones(1), None, check_training(X, Y), RNG)


def full_disk(env: Env) -> None:
    """As numba reports it; tests/faults/test_compile_cache.py fills a folder in a process of its own."""
    env.patch.setattr(jit, "_said", [])

    def save(*args: object) -> None:
        raise OSError("No space left on device")

    jit._forgiving(save)(None, None)


TRIGGERS = [
    Trigger("Compiled code cannot be kept on disk", "No space left", full_disk),
    Trigger("Expected X with at least one row", "(0, 1)", lambda _: build_partition(np.zeros((0, 1)))),
    Trigger("X holds {column}", "nan at row 1, column 0", lambda _: build_partition([[0.0], [np.nan]])),
    Trigger(
        "distinct rows in {n_dimensions}", "300 distinct rows", lambda _: build_partition(RNG.normal(size=(300, 3)))
    ),
    Trigger("Rows of X lie so far apart", "far apart", far_apart),
    Trigger("f left the range of float64", "f left", too_large),
    Trigger("The covariance of y is singular", "sigma2 = 0.25", singular),
    Trigger("or 2 for a Gaussian process", "got 3", lambda _: sample(alpha=3)),
    Trigger("nu must be positive", "got -1", lambda _: sample(nu=-1)),
    Trigger("sigma2 must be positive", "got 0", lambda _: sample(sigma2=0)),
    Trigger("sampler must be one of", "'hmc'", lambda _: sample(sampler="hmc")),
    Trigger("burn_in must be at least 0", "burn_in = 9 of 3", lambda _: sample(burn_in=9)),
    Trigger("The partition has", "2 columns", lambda _: sample(partition=build_partition(X[:2]))),
    Trigger("is too small beside y", "1e-30", lambda _: sample(sigma2=1e-30)),
    Trigger("or 2 for the Gaussian limit", "got 2.5", lambda _: stable.draw_positive(2.5, 1, RNG)),
    Trigger("X must have two dimensions", "(3,)", lambda _: network.add_constant(np.zeros(3))),
    Trigger("above 0: pass inf for sign units", "sharpness = -1", lambda _: network.arcsine_kernel(X, sharpness=-1)),
    Trigger("nu, the squared scale", "got 0", lambda _: network.draw_process(X, alpha=1.0, nu=0, random_state=RNG)),
    Trigger(
        "weights must be 'stable'",
        "'gauss'",
        lambda _: network.draw_network(X, 5, alpha=1.0, nu=1.0, random_state=RNG, weights="gauss"),
    ),
    Trigger(
        "Student-t weights need",
        "got 2",
        lambda _: network.draw_network(X, 5, alpha=2.0, nu=1.0, random_state=RNG, weights="student"),
    ),
]
