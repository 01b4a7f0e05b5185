"""StableRegressor: the scikit-learn face of the jump engine. Wiring only; the mathematics is elsewhere."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import fitting, storage
from ._types import FloatArray
from .engine import run
from .engine.run import Sample, Setup
from .inputs import check_training
from .jumps import Jumps
from .outliers import Outliers, find_outliers
from .parameters import PAPER, check_count, check_known_noise, check_parameters, check_probability, check_units
from .posterior import Posterior
from .predictions import PredictMixin

__all__ = ["StableRegressor"]

logger = logging.getLogger(__name__)


class StableRegressor(PredictMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regression with an infinitely wide network whose output weights have infinite variance.

    The posterior of `f` in `y = f(x) + noise`, where f is a symmetric alpha-stable process: the limit of networks
    with one hidden layer of sign units. Such an f can jump, in any direction and in any number of inputs.

    Parameters
    ----------
    alpha : float or None
        Stability index in [0.01, 2], or None to infer it. 2 is Gaussian-process regression.
    nu, sigma2 : float or None
        Squared scale of the prior of f, and noise variance, in squared units of y, or None to infer them.
    sharpness : float or None
        Of the units `erf(sharpness * h . x)`: infinite for the sign units of the paper; a number, on the scaled inputs,
        for smooth ones; None to infer it.
    noise : "outliers" or "normal"
        With a few observations that may be much further off than the others, which `outliers` lists; or normal, as in
        the paper.
    relevance : None, "equal" or array-like of shape (inputs,)
        How much each input counts relative to the bias of a unit, an inverse length scale of the scaled input. None
        infers it; "equal" is the law of the paper, one for each; an array fixes it. A category has one relevance.
    priors : dict or None
        Priors on the scaled data: `alpha`, the range (low, high) of its uniform prior, by default (0.05, 1.99);
        `log_nu_sd`, the s.d. of log nu, by default 1.5, or 3 if the sharpness is inferred; `relevance_scale`, the
        s.d. of the log of the length of the vector of relevances, by default 2.
    n_atoms : float
        Expected number of jumps followed one by one; the rest is a Gaussian process. The accuracy knob.
    missing : "error", "drop" or "indicator"
        What to do about missing inputs: raise; leave the row out, which makes its prediction NaN; or replace them by a
        constant and add a 0/1 input that marks them. Unless "error", `fit` also leaves out rows without an output.
    unknown : "error" or "other"
        What to do when predicting at a level of a category that was not there in training: raise, or predict as for a
        new level, which is none of the known ones.
    standardize : bool
        Give X and y mean 0 and s.d. 1 inside (of y without far outliers). The priors are on that scale. Levels of a
        category lie 2 apart, as numbers do that are one s.d. above and below their mean.
    n_chains : int
        Independent chains; several show whether they agree.
    n_sweeps : int or None
        Sweeps per chain, a third of them to warm up; None goes on until the chains have converged.
    max_sweeps : int
        Where to stop when `n_sweeps` is None and they have not.
    max_time : float or None
        Seconds to sample for at most, without compiling; all draws made by then are kept.
    n_jobs : int or None
        Threads, for chains when fitting and for rows when predicting; None is one, -1 all.
    random_state : int, RandomState, Generator or None
        The same int gives the same draws whatever `n_jobs` is.
    progress : bool or None
        Show a bar; None shows one in a terminal.

    Attributes
    ----------
    alpha_, nu_, sigma_, sharpness_ : float
        Posterior medians; `sigma_` is the noise s.d. Read `alpha_` and `nu_` as a pair: each alone is hardly known.
    relevance_ : ndarray of shape (inputs,)
        Posterior medians of the relevance of each input.
    posterior_ : Posterior
        The draws.
    n_features_in_, feature_names_in_ : int, ndarray of str
        As everywhere in scikit-learn.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 20)[:, None]
    >>> y = 5.0 * (X[:, 0] > 0.0) + 0.1 * np.random.default_rng(0).standard_normal(20)
    >>> model = StableRegressor(random_state=0).fit(X, y)
    >>> model.predict([[-1.0], [1.0]]).round() + 0.0
    array([0., 5.])
    >>> model.predict_interval([[-1.0], [1.0]], coverage=0.9).shape
    (2, 2)
    >>> model.predict([[-1.0], [1.0]], interval=0.9).shape  # the same, in a form that pipelines forward
    (2, 2)
    >>> model.predict_quantiles([[-1.0], [1.0]], [0.05, 0.5, 0.95], noise=False).shape
    (2, 3)
    >>> model.sample_y([[-1.0], [1.0]], n_samples=10, random_state=0).shape
    (2, 10)
    >>> [round(jump.size) for jump in model.jumps().likely]
    [5]
    >>> model.jump_probability([[-1.0], [1.0]], [[1.0], [1.5]]).round(1)
    array([1., 0.])
    >>> model.input_shares()["share"].round(2).to_dict()
    {'x1': 1.0}
    >>> len(model.outliers())
    0
    >>> StableRegressor.paper().sharpness  # the model of the paper, whatever the defaults are
    inf
    >>> model.continue_sampling(1000).posterior_.n_sweeps > 1000
    True
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = StableRegressor.load(f"{folder}/model")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """

    def __init__(
        self,
        *,
        alpha: float | None = None,
        nu: float | None = None,
        sigma2: float | None = None,
        sharpness: float | None = np.inf,
        relevance: Any = None,
        noise: str = "outliers",
        priors: dict[str, Any] | None = None,
        n_atoms: float = 15,
        missing: str = "error",
        unknown: str = "error",
        standardize: bool = True,
        n_chains: int = 4,
        n_sweeps: int | None = None,
        max_sweeps: int = run.DEFAULT_MAX_SWEEPS,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.alpha = alpha
        self.nu = nu
        self.sigma2 = sigma2
        self.sharpness = sharpness
        self.relevance = relevance
        self.noise = noise
        self.priors = priors
        self.n_atoms = n_atoms
        self.missing = missing
        self.unknown = unknown
        self.standardize = standardize
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.max_sweeps = max_sweeps
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return an estimator with the model of the paper: sign units, equal relevance and normal noise.

        Parameters
        ----------
        **parameters : Any
            All other parameters.

        Returns
        -------
        StableRegressor
        """
        return cls(**PAPER, **parameters)

    # --- Fitting -----------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        noise_variance: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Sample the posterior. Ctrl-C keeps the draws made so far, and warns.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array or a pandas or polars frame. Columns may hold numbers, dates (which count as elapsed time),
            or text, truth values and categories (one 0/1 column per level inside).
        y : array-like of shape (n,)
            Outputs.
        sample_weight : array-like of shape (n,), optional
            How many observations a row stands for: weight 2 is writing the row twice. Weights are no precisions; for
            means of several measurements, or measurements of different quality, use `noise_variance`.
        noise_variance : array-like of shape (n,), optional
            The noise variance of each row, in squared units of y, where it is known; sigma2 is then not inferred. With
            `noise=True`, predictions are of a new observation whose variance is the harmonic mean of these. For k
            measurements with mean y and s.d. s, pass s**2 / k.
        checkpoint : str or path-like, optional
            A file to write after each round of sweeps. If it is there already, sampling goes on from it and ends with
            the same draws as a run that was never stopped; `random_state` must be an int for that.

        Returns
        -------
        StableRegressor
            The estimator itself.
        """
        parameters = self.get_params(deep=False)
        check_parameters(parameters)
        if noise_variance is not None:
            check_known_noise(self.sigma2, sample_weight)
        how: Any = {"standardize": self.standardize, "robust": self.noise == "outliers", "missing": self.missing}
        data = check_training(X, y, sample_weight, noise_variance=noise_variance, **how)
        if data.noise_variance is not None:
            parameters["sigma2"] = data.noise_variance
        check_units(data, parameters)
        validate_data(self, X, skip_check_array=True)
        sizes = len(data.X), len(data.columns), self.n_chains
        logger.info("Fit started: n = %d distinct rows, d = %d inputs, %d chains", *sizes)
        kept = None if checkpoint is None else storage.read_checkpoint(checkpoint, data, parameters)
        start = fitting.start(data, parameters) if kept is None else kept

        def keep(posterior: Posterior) -> None:
            if checkpoint is not None:
                storage.write(checkpoint, posterior, parameters)

        return self._fit_rounds(start, fitting.rounds_of(self.n_sweeps, self.max_sweeps), keep)

    def continue_sampling(self, n_sweeps: int | None = None) -> Self:
        """Add draws to a fitted model.

        Parameters
        ----------
        n_sweeps : int, optional
            Further sweeps per chain, all kept; None makes rounds until the chains have converged, at least one and at
            most `max_sweeps` further sweeps, and forgets early rounds as the run grows.

        Returns
        -------
        StableRegressor
            The estimator itself.
        """
        check_is_fitted(self)
        sample = replace(self.posterior_.sample, converged=None, interrupted=False, out_of_time=False)
        if n_sweeps is not None:
            check_count("n_sweeps", n_sweeps, sample.thin)

        def rounds(sample: Sample, setup: Setup) -> Iterator[Sample]:
            if n_sweeps is None:
                return run.sample_until_converged(sample, setup, sample.n_sweeps + int(self.max_sweeps))
            return run.add_sweeps(sample, setup, int(n_sweeps))

        return self._fit_rounds(replace(self.posterior_, sample=sample), rounds)

    def _fit_rounds(
        self,
        start: Posterior,
        rounds: Callable[[Sample, Setup], Iterator[Sample]],
        keep: Callable[[Posterior], None] = lambda posterior: None,
    ) -> Self:
        """Go through the rounds of a run and keep its draws."""
        how = {name: getattr(self, name) for name in ("n_jobs", "progress", "max_time")}
        self._set_posterior(posterior := fitting.run_rounds(start, rounds, keep, **how))
        fitting.tell_outcome(posterior, stacklevel=4)
        return self

    def _set_posterior(self, posterior: Posterior) -> None:
        self.posterior_ = posterior
        self.alpha_ = float(np.median(posterior.alpha))
        self.nu_ = float(np.median(posterior.nu))
        self.sigma_ = float(np.sqrt(np.median(posterior.sigma2)))
        self.sharpness_ = float(np.median(posterior.sharpness))
        self.relevance_ = np.median(posterior.relevance, axis=(0, 1))

    # --- Answers ------------------------------------------------------------------------------------------

    def jumps(self, size: float | None = None, max_width: float | None = None) -> Jumps:
        """Jumps of f between training rows: how many, where, how large, how wide and how sure.

        Parameters
        ----------
        size : float, optional
            The least change of f that counts; by default `sigma_`, the noise s.d.
        max_width : float, optional
            The greatest width of a step that counts; by default a quarter of the inputs' s.d. In the units of x for one
            input (days for dates), standardised for several.

        Returns
        -------
        Jumps
        """
        check_is_fitted(self)
        return self.posterior_.jumps(size, max_width)

    def jump_probability(self, A: Any, B: Any, size: float | None = None, max_width: float | None = None) -> FloatArray:
        """Probability of a jump between row i of A and row i of B: see `Posterior.jump_probability`."""
        return self.posterior_._jump_probability_at(self._scale_rows(A), self._scale_rows(B), size, max_width)

    def outliers(self, probability: float = 0.5) -> Outliers:
        """Rows given to `fit` that are outliers with at least this probability; only noise="outliers" knows any."""
        check_is_fitted(self)
        return find_outliers(self.posterior_, check_probability(probability))

    def input_shares(self, *, n_draws: int = 200, random_state: Any = 0) -> Any:
        """Share of the variance of f that each input explains, with 90% intervals: see `Posterior.input_shares`."""
        check_is_fitted(self)
        return self.posterior_.input_shares(n_draws=n_draws, random_state=random_state)

    # --- Files -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file (a zip of JSON and arrays, no pickle). An existing file is replaced.

        A `random_state` that is not an int is not kept; what was drawn with it is.
        """
        check_is_fitted(self)
        storage.write(path, self.posterior_, self.get_params(deep=False), getattr(self, "feature_names_in_", None))
        logger.info("Saved %r to %s", self.posterior_, os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; its predictions are the same to the last bit.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        StableRegressor
        """
        posterior, parameters = storage.read(path, cls._get_param_names())
        check_parameters(parameters)
        model = cls(**parameters)
        model._set_posterior(posterior)
        model.n_features_in_ = len(posterior.data.columns)
        if posterior.data.columns.names is not None:
            model.feature_names_in_ = np.array(posterior.data.columns.names, dtype=object)
        logger.info("Loaded %r from %s", posterior, os.fspath(path))
        return model
