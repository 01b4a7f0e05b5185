"""Exact draws from the joint law of parameters and data, which a correct sampler leaves as it is.

Draw scales and noise from their priors and y given them; one step of the sampler given y must return parameters with
the same joint law (Geweke 2004, with independent replicates so that ordinary tests of fit apply).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from tests.checks import check_p_value
from widestable.exact import build_partition
from widestable.exact.target import Target, build_target, covariance
from widestable.inputs import check_training
from widestable.stable import draw_log_positive, log_kanter_of_one

# Three distinct rows, one of them observed twice; two new rows.
X_TRAIN = np.array([[-0.5], [0.3], [0.3], [1.2]])
X_NEW = np.array([[0.0], [2.0]])


class Parameters(NamedTuple):
    log_s: np.ndarray
    angle: np.ndarray
    sigma2: float


class After(NamedTuple):
    """What a step returned for one replicate, with the y it was given."""

    target: Target
    log_s: np.ndarray
    sigma2: float
    f: np.ndarray
    angle: np.ndarray | None


Step = Callable[[np.random.Generator, Parameters, Target], After]


def small_target(y: np.ndarray, alpha: float, nu: float = 6.0, sigma2: float | None = None) -> Target:
    """A target of nu = 6 with five cells in three groups."""
    data = check_training(X_TRAIN, y, standardize=False)
    partition = build_partition(np.concatenate([X_TRAIN, X_NEW]))
    return build_target(partition, data, alpha=alpha, nu=nu, sigma2=sigma2)


def prior_draw(target: Target, rng: np.random.Generator) -> Parameters:
    """Scales with their Kanter angles, and noise."""
    n_cells = len(target.cells.log_size)
    angle = np.pi * (1.0 - rng.random(n_cells))
    log_A = np.array([log_kanter_of_one(w, target.alpha) for w in angle])
    log_s = (2.0 - target.alpha) / target.alpha * (log_A - np.log(rng.standard_exponential(n_cells)))
    return Parameters(log_s, angle, abs(rng.standard_cauchy()))


def data_draw(target: Target, parameters: Parameters, rng: np.random.Generator) -> Target:
    """The target with data at the four given training rows; the second and the third are the same row."""
    cells = target.cells
    beta = np.exp(0.5 * (cells.log_size + parameters.log_s)) * rng.standard_normal(len(cells.log_size))
    f = beta @ cells.signs[:, [0, 1, 1, 2]]
    y = f + np.sqrt(parameters.sigma2) * rng.standard_normal(4)
    return target._replace(y=np.array([y[0], (y[1] + y[2]) / 2, y[3]]), ss_within=(y[1] - y[2]) ** 2 / 2)


def replicates(step: Step, alpha: float, n: int, rng: np.random.Generator) -> list[After]:
    empty = small_target(np.zeros(4), alpha)
    answer = []
    with threadpool_limits(1, user_api="blas"):
        for _ in range(n):
            parameters = prior_draw(empty, rng)
            answer.append(step(rng, parameters, data_draw(empty, parameters, rng)))
    return answer


def check_joint_law(after: list[After], alpha: float, rng: np.random.Generator) -> None:
    """Scales are stable, sigma2 is half-Cauchy, angles uniform, and y has the law that they say."""
    log_s = np.array([a.log_s for a in after])
    looks: dict[str, Any] = {
        f"scale {j}": stats.ks_2samp(log_s[:, j], draw_log_positive(alpha, 100_000, rng)) for j in range(log_s.shape[1])
    }
    looks["sigma2"] = stats.kstest([a.sigma2 for a in after], stats.halfcauchy.cdf)
    looks["y given scales"] = stats.kstest([_mahalanobis(a) for a in after], stats.chi2(4).cdf)
    looks["y given f"] = stats.kstest([_residuals(a) for a in after], stats.chi2(4).cdf)
    if after[0].angle is not None:
        angle = np.array([a.angle for a in after])
        looks |= {f"angle {j}": stats.kstest(column / np.pi, "uniform") for j, column in enumerate(angle.T)}
    for name, look in looks.items():
        check_p_value(look.pvalue, name, len(looks))


def _mahalanobis(a: After) -> float:
    """`y' Q**-1 y` over all four observations: chi-squared with four degrees of freedom."""
    Q = covariance(a.target, a.log_s) + np.diag(a.sigma2 / a.target.weight)
    return float(a.target.y @ np.linalg.solve(Q, a.target.y) + a.target.ss_within / a.sigma2)


def _residuals(a: After) -> float:
    """Sum of squares of the noise over sigma2: the same law."""
    residual = a.target.y - a.f[:3]
    return float((a.target.weight @ residual**2 + a.target.ss_within) / a.sigma2)
