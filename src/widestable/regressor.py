"""StableRegressor: the scikit-learn face of the jump engine. Wiring only; the mathematics is elsewhere."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import rounds
from .engine import run
from .engine.state import make_model
from .inputs import TrainingData, check_training
from .jumps import Jumps
from .parameters import check_count, check_coverage, check_parameters, check_units
from .posterior import Posterior
from .predict.mixture import Job
from .progress import compilation_told, reporter, tell_preparation
from .random_state import make_rng, make_seeds

__all__ = ["StableRegressor"]

Floats = NDArray[np.float64]

logger = logging.getLogger(__name__)


class StableRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regression with an infinitely wide network whose output weights have infinite variance.

    The posterior of `f` in `y = f(x) + noise`, where f is a symmetric alpha-stable process: the limit of networks
    with one hidden layer of sign units. Such an f can jump, in any direction and in any number of inputs.

    Parameters
    ----------
    alpha : stability index in [0.01, 2], or None to infer it. 2 is Gaussian-process regression.
    nu : squared scale of the prior of f, in squared units of y, or None to infer it.
    sigma2 : noise variance, in squared units of y, or None to infer it.
    sharpness : of the units `erf(sharpness * h . x)`: infinite for sign units, which the paper has; a number, on the
        scaled inputs, for smooth ones; None to infer it.
    n_atoms : expected number of jumps followed one by one; the rest is a Gaussian process. The accuracy knob.
    standardize : give X and y mean 0 and s.d. 1 inside. The priors of nu and sigma2 are on that scale.
    n_chains : independent chains; several show whether they agree.
    n_sweeps : sweeps of each chain, a third of them to warm up; None goes on until the chains have converged.
    max_sweeps : where to stop when n_sweeps is None and they have not.
    n_jobs : threads, for chains when fitting and for rows when predicting; None is one, -1 all.
    random_state : int, RandomState, Generator or None. The same int gives the same draws whatever n_jobs is.
    progress : show a bar; None shows one in a terminal.

    Attributes
    ----------
    alpha_, nu_, sigma_, sharpness_ : posterior medians; `sigma_` is the noise s.d. `alpha_` and `nu_` are only weakly
        identified together: read them as a pair.
    posterior_ : Posterior, the draws.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 20)[:, None]
    >>> y = 5.0 * (X[:, 0] > 0.0) + 0.1 * np.random.default_rng(0).standard_normal(20)
    >>> model = StableRegressor(random_state=0).fit(X, y)
    >>> model.predict([[-1.0], [1.0]]).round() + 0.0
    array([0., 5.])
    >>> model.predict_interval([[-1.0], [1.0]], coverage=0.9).shape
    (2, 2)
    >>> model.predict_quantiles([[-1.0], [1.0]], [0.05, 0.5, 0.95], noise=False).shape
    (2, 3)
    >>> model.sample_y([[-1.0], [1.0]], n_samples=10, random_state=0).shape
    (2, 10)
    >>> [round(jump.size) for jump in model.jumps()]
    [5]
    >>> model.jump_probability([[-1.0], [1.0]], [[1.0], [1.5]]).round(1)
    array([1., 0.])
    >>> model.continue_sampling(200).posterior_.n_sweeps > 200
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
        n_atoms: float = 30,
        standardize: bool = True,
        n_chains: int = 4,
        n_sweeps: int | None = None,
        max_sweeps: int = run.DEFAULT_MAX_SWEEPS,
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.alpha = alpha
        self.nu = nu
        self.sigma2 = sigma2
        self.sharpness = sharpness
        self.n_atoms = n_atoms
        self.standardize = standardize
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.max_sweeps = max_sweeps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    # --- Fitting -----------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Sample the posterior. Ctrl-C keeps the draws of whole rounds, and warns.

        Parameters
        ----------
        X : shape (n, d), an array or a pandas or polars frame.
        y : shape (n,).
        sample_weight : shape (n,); how many observations a row stands for. Weight 2 is writing the row twice.
        checkpoint : a file to write after each round of sweeps. If it is there already, sampling goes on from it and
            ends with the same draws as a run that was never stopped; `random_state` must be an int for that.
        """
        check_parameters(self.get_params(deep=False))
        data = check_training(X, y, sample_weight, standardize=self.standardize)
        check_units(data, self.get_params(deep=False))
        validate_data(self, X, skip_check_array=True)
        logger.info("Fit started: n = %d distinct rows, d = %d inputs, %d chains", *data.X.shape, self.n_chains)
        fixed = self._fixed(data)
        sharpness = None if self.sharpness is None else float(self.sharpness)
        tell_preparation(data.y.size, self.progress)
        model = make_model(data, n_atoms=float(self.n_atoms), sharpness=sharpness, **fixed)
        with compilation_told(self.progress):
            start = run.start(model, make_seeds(self.random_state, int(self.n_chains)), **fixed)
        keep = None
        if checkpoint is not None:
            parameters = self.get_params(deep=False)
            model, start = rounds.read_checkpoint(checkpoint, data, parameters) or (model, start)
            keep = rounds.checkpointing(checkpoint, data, model, parameters)

        def draw(setup: run.Setup) -> run.Sample:
            after = rounds.telling(setup, keep)
            if self.n_sweeps is None:
                return run.sample_until_converged(start, setup, int(self.max_sweeps), after)
            return run.sample_fixed(start, setup, int(self.n_sweeps), after)

        return self._run(draw, data, model)

    def continue_sampling(self, n_sweeps: int | None = None) -> Self:
        """Add draws to a fitted model.

        Parameters
        ----------
        n_sweeps : further sweeps of each chain, all kept; None makes rounds until the chains have converged, at least
            one and at most `max_sweeps` further sweeps, and forgets early rounds as the run grows.
        """
        check_is_fitted(self)
        data, model = self.posterior_.data, self.posterior_.model
        sample = replace(self.posterior_.sample, converged=None, interrupted=False)
        if n_sweeps is not None:
            check_count("n_sweeps", n_sweeps, sample.thin)

        def draw(setup: run.Setup) -> run.Sample:
            if n_sweeps is None:
                limit = sample.n_sweeps + int(self.max_sweeps)
                return run.sample_until_converged(sample, setup, limit, rounds.telling(setup))
            return _extend(sample, setup, int(n_sweeps), rounds.telling(setup))

        return self._run(draw, data, model)

    def _fixed(self, data: TrainingData) -> dict[str, Any]:
        """Fixed parameters in the units of the scaled data; plain floats, for which code is compiled once."""
        y_scale2 = data.scaling.y_scale * data.scaling.y_scale
        given = {"alpha": (self.alpha, 1.0), "nu": (self.nu, y_scale2), "sigma2": (self.sigma2, y_scale2)}
        return {name: None if value is None else float(value) / unit for name, (value, unit) in given.items()}

    def _run(self, draw: Callable[[run.Setup], run.Sample], data: TrainingData, model: Any) -> Self:
        with reporter(self.progress) as report:
            try:
                sample = draw(run.Setup(model, self.n_jobs, report))
            except BrokenProcessPool as error:
                raise RuntimeError(
                    "A process that ran a chain died: it was killed, or memory ran out. Fit with checkpoint= to keep "
                    "the rounds of all chains that were finished, and with fewer n_jobs, or with threads, the default."
                ) from error
        self._set_posterior(Posterior.from_sample(data, model, sample))
        logger.info(
            "%s after %d sweeps a chain; %d draws of each kept", _outcome(sample), sample.n_sweeps, sample.n_draws
        )
        if sample.interrupted:
            warnings.warn(
                f"Sampling was interrupted after {sample.n_sweeps} sweeps a chain; {sample.n_draws} draws of each were "
                "kept. Call continue_sampling() to go on.",
                UserWarning,
                stacklevel=3,
            )
        self.posterior_.warn_unless_converged(stacklevel=3)
        return self

    def _set_posterior(self, posterior: Posterior) -> None:
        self.posterior_ = posterior
        self.alpha_ = float(np.median(posterior.alpha))
        self.nu_ = float(np.median(posterior.nu))
        self.sigma_ = float(np.sqrt(np.median(posterior.sigma2)))
        self.sharpness_ = float(np.median(posterior.sharpness))

    # --- Predicting --------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """Posterior median of f at each row of X, shape (m,).

        The median, not the mean: the prior has no variance, and a posterior mean may not exist.
        """
        return self.predict_quantiles(X, [0.5], noise=False)[:, 0]

    def predict_quantiles(self, X: Any, q: Any, noise: bool = True) -> Floats:
        """Quantiles of a new observation at each row of X, or of f when `noise` is False, shape (m, len(q))."""
        posterior = self._check_rows(X)
        return posterior.quantiles(X, q, noise=noise, job=Job(self.n_jobs, self.progress))

    def predict_interval(self, X: Any, coverage: float = 0.9, noise: bool = True) -> Floats:
        """Lower and upper end of the central interval of a new observation (or of f), shape (m, 2)."""
        check_coverage(coverage)
        tail = 0.5 * (1.0 - coverage)
        return self.predict_quantiles(X, [tail, 1.0 - tail], noise=noise)

    def sample_y(self, X: Any, n_samples: int = 1, noise: bool = True, random_state: Any = None) -> Floats:
        """Draws of new observations (or of f), jointly over the rows of X, shape (m, n_samples)."""
        posterior = self._check_rows(X)
        check_count("n_samples", n_samples, 1)
        return posterior.sample_y(X, n_samples, make_rng(random_state), noise=noise)

    def jumps(self, size: float | None = None, max_width: float | None = None) -> Jumps:
        """Jumps of f between training rows: how many, where, how large, how wide and how sure.

        Parameters
        ----------
        size : the least change of f that counts; by default `sigma_`, the noise s.d.
        max_width : the greatest width of a step that counts; by default a quarter of the inputs' s.d. In the units of x
            for one input, in standardised units for several.
        """
        check_is_fitted(self)
        return self.posterior_.jumps(size, max_width)

    def jump_probability(self, A: Any, B: Any, size: float | None = None, max_width: float | None = None) -> Floats:
        """Probability that a jump larger than `size` separates row i of A from row i of B, shape (m,).

        `size` and `max_width` are as for `jumps`.
        """
        self._check_rows(A)
        return self._check_rows(B).jump_probability(A, B, size, max_width)

    def _check_rows(self, X: Any) -> Posterior:
        """The posterior, once X is known to have the columns it was fitted on."""
        check_is_fitted(self)
        posterior: Posterior = self.posterior_
        posterior.check_rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return posterior

    # --- Files -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file (a zip of JSON and arrays, no pickle). An existing file is replaced.

        A `random_state` that is not an int is not kept; what was drawn with it is.
        """
        from .storage import write

        check_is_fitted(self)
        write(path, self.posterior_, self.get_params(deep=False), getattr(self, "feature_names_in_", None))
        logger.info("Saved %r to %s", self.posterior_, os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; its predictions are the same to the last bit."""
        from .storage import UnreadableFileError, read

        posterior, parameters = read(path)
        if unknown := set(parameters) - set(cls._get_param_names()):
            raise UnreadableFileError(
                f"Cannot read {os.fspath(path)!r}: it has an unknown parameter {min(unknown)!r}; save the model again."
            )
        check_parameters(parameters)
        model = cls(**parameters)
        model._set_posterior(posterior)
        model.n_features_in_ = posterior.data.X.shape[1]
        if posterior.data.feature_names is not None:
            model.feature_names_in_ = np.array(posterior.data.feature_names, dtype=object)
        logger.info("Loaded %r from %s", posterior, os.fspath(path))
        return model


def _outcome(sample: run.Sample) -> str:
    if sample.interrupted:
        return "Interrupted"
    return {True: "Converged", False: "Stopped without convergence", None: "Finished"}[sample.converged]


def _extend(sample: run.Sample, setup: run.Setup, n_sweeps: int, after: rounds.After) -> run.Sample:
    """More draws, nothing forgotten; Ctrl-C keeps the whole rounds."""
    n_draws = n_sweeps // sample.thin
    setup.report.extend(len(sample.states) * n_draws * sample.thin, "sampling")
    try:
        for part in np.array_split(np.arange(n_draws), min(8, n_draws)):
            sample = run.extend(sample, setup, part.size * sample.thin)
            after(sample)
    except KeyboardInterrupt:
        return replace(sample, interrupted=True, converged=False)
    return sample
