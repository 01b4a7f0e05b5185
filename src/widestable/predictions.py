"""What a fitted estimator predicts: medians, quantiles, intervals and joint draws, in the user's units."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted, validate_data

from ._types import FloatArray
from .parameters import check_count, check_coverage, check_probabilities
from .posterior import Posterior
from .predict.mixture import Job
from .random_state import make_rng

__all__ = ["PredictMixin"]


class PredictMixin:
    """Predictions of an estimator whose draws are in `posterior_`.

    `predict` offers everything through keywords, because these are what scikit-learn's `Pipeline` and
    `TransformedTargetRegressor` forward. The other methods have the same answers under their own names.
    """

    posterior_: Posterior
    missing: str
    unknown: str
    n_jobs: int | None
    progress: bool | None

    @overload
    def predict(
        self,
        X: Any,
        *,
        quantiles: Any = None,
        interval: float | None = None,
        return_std: Literal[False] = False,
        noise: bool | None = None,
    ) -> FloatArray: ...

    @overload
    def predict(
        self, X: Any, *, return_std: Literal[True], noise: bool | None = None
    ) -> tuple[FloatArray, FloatArray]: ...

    def predict(
        self,
        X: Any,
        *,
        quantiles: Any = None,
        interval: float | None = None,
        return_std: bool = False,
        noise: bool | None = None,
    ) -> Any:
        """Posterior median of f at each row of X; with keywords, its uncertainty.

        The median, not the mean: the prior has no variance, and a posterior mean may not exist. The keywords pass
        through a `Pipeline`; give at most one of `quantiles`, `interval` and `return_std`.

        Parameters
        ----------
        X : array-like of shape (m, d)
            New rows.
        quantiles : float or sequence of float, optional
            Return these quantiles instead, as `predict_quantiles` does.
        interval : float, optional
            Return the ends of the central interval of this probability instead, as `predict_interval` does.
        return_std : bool
            Return the median and a standard deviation, both of shape (m,). f may have no variance, so this is half
            the width of the central 68.3% interval, which is the standard deviation where f is normal.
        noise : bool, optional
            True for a new observation, False for f itself. Default: quantiles and intervals are those of a new
            observation, the median and the standard deviation are those of f.

        Returns
        -------
        ndarray of shape (m,), (m, len(quantiles)) or (m, 2), or a tuple of two of shape (m,)
        """
        given = {"quantiles": quantiles is not None, "interval": interval is not None, "return_std": bool(return_std)}
        if sum(given.values()) > 1:
            names = " and ".join(name for name, is_given in given.items() if is_given)
            raise ValueError(f"Got {names}, expected at most one of them: call predict once for each.")
        if given["quantiles"]:
            return self._quantiles(X, check_probabilities(quantiles, "quantiles"), noise is not False)
        if given["interval"]:
            return self._quantiles(X, _tails(interval, "interval"), noise is not False)
        if given["return_std"]:
            low, median, high = self._quantiles(X, np.array([ndtr(-1.0), 0.5, ndtr(1.0)]), bool(noise)).T
            return median, 0.5 * (high - low)
        return self._quantiles(X, np.array([0.5]), bool(noise))[:, 0]

    def predict_quantiles(self, X: Any, q: Any, noise: bool = True) -> FloatArray:
        """Quantiles of a new observation at each row of X, or of f when `noise` is False.

        Parameters
        ----------
        X : array-like of shape (m, d)
            New rows.
        q : float or sequence of float
            Probabilities strictly between 0 and 1.
        noise : bool
            False gives quantiles of f.

        Returns
        -------
        ndarray of shape (m, len(q))
        """
        return self._quantiles(X, check_probabilities(q), noise)

    def predict_interval(self, X: Any, coverage: float = 0.9, noise: bool = True) -> FloatArray:
        """Lower and upper end of the central interval of a new observation, or of f.

        Parameters
        ----------
        X, noise : array-like of shape (m, d), and bool
            As for `predict_quantiles`.
        coverage : float
            Probability of the interval.

        Returns
        -------
        ndarray of shape (m, 2)
        """
        return self._quantiles(X, _tails(coverage), noise)

    def sample_y(self, X: Any, n_samples: int = 1, noise: bool = True, random_state: Any = None) -> FloatArray:
        """Draws of new observations, or of f, jointly over the rows of X.

        Parameters
        ----------
        X, noise : array-like of shape (m, d), and bool
            As for `predict_quantiles`.
        n_samples, random_state : int, and int, RandomState, Generator or None
            How many draws, and where they come from: an int gives the same draws each time.

        Returns
        -------
        ndarray of shape (m, n_samples)
        """
        rows = self._scale_rows(X)
        check_count("n_samples", n_samples, 1)
        return self.posterior_._sample_at(rows, n_samples, noise, make_rng(random_state))

    def _quantiles(self, X: Any, q: FloatArray, noise: bool) -> FloatArray:
        rows = self._scale_rows(X)
        return self.posterior_._quantiles_at(rows, q, noise, Job(self.n_jobs, self.progress))

    def _scale_rows(self, X: Any) -> FloatArray:
        """Rows to predict at: checked, with the columns it was fitted on, and scaled."""
        check_is_fitted(self)
        rows = self.posterior_.scale_rows(X, missing=self.missing, unknown=self.unknown)
        validate_data(self, X, reset=False, skip_check_array=True)
        return rows


def _tails(coverage: Any, name: str = "coverage") -> FloatArray:
    """Probabilities at the two ends of a central interval."""
    check_coverage(coverage, name)
    tail = 0.5 * (1.0 - float(coverage))
    return np.array([tail, 1.0 - tail])
