"""The paper's Algorithm 1: joint posterior draws of f and y at new rows, on the exact partition."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Literal

import numpy as np

from .._blas import one_blas_thread
from .._types import FloatArray
from ..inputs import TrainingData, check_new_rows, check_training
from ..parameters import check_units
from ..random_state import RandomStateLike, make_rng
from . import gibbs, metropolis
from .cells import Partition, build_partition
from .target import SIGNAL_TO_NOISE, Target, build_target, covariance

Sampler = Literal["metropolis", "gibbs"]

_SAMPLERS: dict[str, ModuleType] = {"metropolis": metropolis, "gibbs": gibbs}


@dataclass(frozen=True, eq=False)
class PredictiveDraws:
    """Posterior draws, one per row; columns are the rows of X as given, repeats included.

    Attributes
    ----------
    f_new : ndarray of shape (n_draws, m)
        f at the new rows.
    y_new : ndarray of shape (n_draws, m)
        New observations there: f plus noise.
    f_train : ndarray of shape (n_draws, n)
        f at the training rows.
    sigma2 : ndarray of shape (n_draws,)
        Noise variance.
    covariance : ndarray of shape (n_draws, n, n) or None
        Q_s at the training rows, noise included; None unless asked for.

    Examples
    --------
    >>> draws = posterior_predictive(
    ...     [[0.0], [1.0]], [0.0, 5.0], [[0.5]], alpha=1.1, nu=1.0, iterations=50, burn_in=10,
    ...     keep_covariance=True, random_state=0,
    ... )
    >>> draws.f_new.shape, draws.f_train.shape, draws.covariance.shape
    ((40, 1), (40, 2), (40, 2, 2))
    """

    f_new: FloatArray
    y_new: FloatArray
    f_train: FloatArray
    sigma2: FloatArray
    covariance: FloatArray | None


def posterior_predictive(
    X: Any,
    y: Any,
    X_new: Any = None,
    *,
    alpha: float,
    nu: float,
    sampler: Sampler = "metropolis",
    iterations: int = 3000,
    burn_in: int = 1000,
    random_state: RandomStateLike = None,
    sigma2: float | None = None,
    partition: Partition | None = None,
    keep_covariance: bool = False,
    progress: bool | None = None,
) -> PredictiveDraws:
    """Draw from the posterior of f and of new observations, given alpha and nu (Algorithm 1).

    Scales are the paper's: inputs and outputs are not standardised, and the prior of sigma2 is half-Cauchy(0, 1) on
    the variance itself.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Training inputs. Rows may repeat.
    y : array_like of shape (n,)
        Training outputs.
    X_new : array_like of shape (m, d) or None, default=None
        Rows to predict at. They take part in the partition, so the cost grows with (n + m)**d cells.
    alpha : float
        Stability index in [0.01, 2]; 2 is Gaussian process regression.
    nu : float
        Squared scale of the prior.
    sampler : {"metropolis", "gibbs"}, default="metropolis"
        "metropolis" is the published sampler. "gibbs" has the same target and mixes better near jumps.
    iterations : int, default=3000
        Number of sweeps in all.
    burn_in : int, default=1000
        How many of the first sweeps to drop.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of random numbers. None draws anew each time.
    sigma2 : float or None, default=None
        Noise variance, if known; None infers it under the prior above. The variance of the signal may exceed that of
        the noise by a factor of 1e13. Beyond that float64 cannot follow, and such states have prior probability zero.
    partition : Partition or None, default=None
        `build_partition` of the rows of X followed by those of X_new, if you have it already. None builds it.
    keep_covariance : bool, default=False
        Whether to keep the draws of Q_s too.
    progress : bool or None, default=None
        Whether to show a progress bar; None shows it in a terminal only.

    Returns
    -------
    PredictiveDraws
        One draw per sweep after the burn-in.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-2.0, 2.0, 20)[:, None]
    >>> draws = posterior_predictive(
    ...     x, 5.0 * (x[:, 0] > 0.0), [[-1.0], [1.0]], alpha=1.1, nu=1.0, sampler="gibbs",
    ...     iterations=400, burn_in=200, random_state=0,
    ... )
    >>> np.median(draws.f_new, axis=0).round().tolist()
    [0.0, 5.0]
    """
    _check_settings(alpha, nu, sigma2, sampler, iterations, burn_in)
    data = check_training(X, y, standardize=False)
    given = data.X[data.index]
    if X_new is not None:
        new = check_new_rows(X_new, columns=data.columns, scaling=data.scaling)
        given = np.concatenate([given, new])
    check_units(replace(data, X=given), {"nu": nu, "sigma2": sigma2})  # new rows take part in the partition
    partition = build_partition(given) if partition is None else _check_partition(partition, given)
    target = build_target(partition, data, alpha=alpha, nu=nu, sigma2=sigma2)
    _refuse_tiny_noise(target)
    sweeps = _sweeps(iterations, progress)
    # The matrices are small: BLAS threads would spend their time waiting for each other.
    with one_blas_thread():
        return _collect(target, data, _SAMPLERS[sampler], sweeps, burn_in, keep_covariance, make_rng(random_state))


def _check_settings(alpha: float, nu: float, sigma2: float | None, sampler: str, iterations: int, burn_in: int) -> None:
    """Raise for the first setting that is out of range."""
    if not 0.01 <= alpha <= 2.0:  # below that, scales leave the range of float64
        raise ValueError(
            f"alpha must lie in [0.01, 2], got {alpha}: pass 1.0, the usual value, or 2 for a Gaussian process."
        )
    if not 0.0 < nu < np.inf:
        raise ValueError(f"nu must be positive and finite, got {nu}: pass 1.0, as the paper does.")
    if sigma2 is not None and not 0.0 < sigma2 < np.inf:
        raise ValueError(f"sigma2 must be positive and finite, got {sigma2}: pass None to infer it.")
    if sampler not in _SAMPLERS:
        raise ValueError(
            f"sampler must be one of {sorted(_SAMPLERS)}, got {sampler!r}: pass 'gibbs', which mixes better."
        )
    if not 0 <= burn_in < iterations:
        raise ValueError(
            f"burn_in must be at least 0 and below iterations, got burn_in = {burn_in} of {iterations}: "
            "pass 1000 of 3000, as the paper does."
        )


def _check_partition(partition: Partition, rows: FloatArray) -> Partition:
    """Raise unless the partition has one column per row."""
    if partition.signs.shape[1] != len(rows):
        raise ValueError(
            f"The partition has {partition.signs.shape[1]} columns, expected {len(rows)}, one for each row of X and "
            "X_new. Build it with build_partition(np.concatenate([X, X_new]))."
        )
    return partition


def _refuse_tiny_noise(target: Target) -> None:
    """Raise unless signals a hundred times the size of y stay within what float64 can follow."""
    lowest = 100.0 * np.mean(target.y**2) * target.n_observations / SIGNAL_TO_NOISE
    if target.sigma2 is not None and target.sigma2 < lowest:
        raise ValueError(
            f"sigma2 = {target.sigma2} is too small beside y for float64: expected at least {lowest:.2g}. "
            "Raise sigma2, or centre y."
        )


def _sweeps(iterations: int, progress: bool | None) -> Iterable[int]:
    """Count the sweeps, with a progress bar if asked for or in a terminal."""
    if not (sys.stderr.isatty() if progress is None else progress):
        return range(iterations)
    from rich.console import Console
    from rich.progress import track

    return track(range(iterations), "Sampling", console=Console(stderr=True))


def _collect(
    target: Target,
    data: TrainingData,
    sampler: ModuleType,
    sweeps: Iterable[int],
    burn_in: int,
    keep_covariance: bool,
    rng: np.random.Generator,
) -> PredictiveDraws:
    """Run the chain and keep what follows the burn-in."""
    state = sampler.initial_state(target, rng)
    f, sigma2, Q = [], [], []
    for sweep in sweeps:
        state, _ = sampler.step(rng, state, target)
        if sweep < burn_in:
            continue
        f.append(sampler.draw_f(rng, state, target))
        sigma2.append(state.sigma2)
        if keep_covariance:
            K = covariance(target, state.log_s)[np.ix_(data.index, data.index)]
            Q.append(K + state.sigma2 * np.eye(len(K)))
    return _draws(np.array(f), np.array(sigma2), np.array(Q) if keep_covariance else None, data, rng)


def _draws(
    f: FloatArray, sigma2: FloatArray, Q: FloatArray | None, data: TrainingData, rng: np.random.Generator
) -> PredictiveDraws:
    """Return the draws by rows as given; raise if any left the range of float64."""
    if not np.isfinite(f).all():
        raise ValueError(
            "f left the range of float64: rescale y to a spread of about 1, and pass nu in squared units of y."
        )
    f_new = f[:, len(data.y) :]
    noise = np.sqrt(sigma2)[:, None] * rng.standard_normal(f_new.shape)
    return PredictiveDraws(f_new, f_new + noise, f[:, data.index], sigma2, Q)
