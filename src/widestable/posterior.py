"""The posterior: named draws in the user's units, predictions, scores, jumps, and convergence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import summaries
from ._types import FloatArray, IntArray
from .diagnostics import Convergence
from .engine.draws import ChainDraws
from .engine.kernel import Kernel
from .engine.model import Model
from .engine.run import Sample
from .engine.watched import judge
from .importance import input_shares
from .inputs import TrainingData, at_whole_rows, check_new_rows, scale_outputs, unscale_outputs
from .jumps import Jumps, find_jumps, jump_probability
from .parameters import check_count, check_probabilities
from .predict import joint, mixture
from .predict.components import Source, prepare
from .random_state import make_rng
from .summaries import PARAMETERS

__all__ = ["Posterior"]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Posterior draws of the parameters, the function and its jumps; made by `StableRegressor.fit`.

    Everything that goes in or comes out is in the user's units of X and y. A draw makes f at a new row Gaussian;
    predictions are the mixture of these Gaussians over all draws of all chains.

    Attributes
    ----------
    data : TrainingData
        The training data, in scaled units.
    model : Model
        What stayed the same during sampling.
    sample : Sample
        Draws of each chain, in scaled units, and what is needed to continue them.
    kernel : Kernel or None
        The kernel that all draws share, where it is known already.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> model = StableRegressor.paper(alpha=1.1, nu=1.0, sigma2=0.1, n_chains=2, n_sweeps=600, random_state=0)
    >>> posterior = model.fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.0, 4.9, 5.1]).posterior_
    >>> posterior
    Posterior(2 chains of 400 draws, 4 distinct rows, 1 input)
    >>> posterior.f.shape
    (2, 400, 4)
    >>> posterior.quantiles([[0.5], [2.5]], [0.05, 0.95]).shape, posterior.sample_y([[0.5]], 3, random_state=0).shape
    ((2, 2), (1, 3))
    >>> bool(posterior.crps([[0.5]], [0.0])[0] < posterior.crps([[0.5]], [9.0])[0])
    True
    >>> bool(posterior.log_score([[0.5]], [0.0])[0] > posterior.log_score([[0.5]], [9.0])[0])
    True
    >>> len(posterior.jumps(size=1.0)), posterior.jump_probability([[0.0]], [[3.0]], size=1.0).shape
    (1, (1,))
    >>> posterior.summary().index.to_list()[:5]
    ['alpha', 'nu', 'sigma2', 'sharpness', 'relevance of x1']
    >>> bool(posterior.acceptance().loc["birth"].between(0.0, 1.0).all() and posterior.convergence().rhat.max() < 1.05)
    True
    >>> posterior.input_shares(n_draws=20)["share"].round(2).to_dict()
    {'x1': 1.0}
    >>> sorted(posterior.to_arviz().children)
    ['log_likelihood', 'observed_data', 'posterior', 'posterior_predictive', 'sample_stats']
    """

    data: TrainingData
    model: Model
    sample: Sample
    kernel: Kernel | None = None

    def __repr__(self) -> str:
        n, d = len(self.data.X), len(self.data.columns)
        chains = f"{len(self.chains)} chain{'s' * (len(self.chains) != 1)} of {self.sample.n_draws} draws"
        return f"Posterior({chains}, {n} distinct row{'s' * (n != 1)}, {d} input{'s' * (d != 1)})"

    # --- Draws -------------------------------------------------------------------------------------------

    @property
    def chains(self) -> tuple[ChainDraws, ...]:
        """Draws of each chain, in scaled units."""
        return self.sample.chains

    @property
    def n_sweeps(self) -> int:
        """Sweeps made by each chain, forgotten ones included."""
        return self.sample.n_sweeps

    @property
    def converged(self) -> bool | None:
        """Whether the chains have converged; None when sampling was for a given number of sweeps."""
        return self.sample.converged

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C, or the end of `max_time`, cut sampling short."""
        return self.sample.is_cut_short

    @property
    def alpha(self) -> FloatArray:
        """Stability index, shape (chains, draws)."""
        return self._stack("alpha")

    @property
    def nu(self) -> FloatArray:
        """Squared scale of the prior, shape (chains, draws). Only weakly identified together with alpha."""
        return np.exp(self._stack("log_nu")) * self._y_scale2

    @property
    def sigma2(self) -> FloatArray:
        """Noise variance, shape (chains, draws)."""
        return np.exp(self._stack("log_sigma2")) * self._y_scale2

    @property
    def sharpness(self) -> FloatArray:
        """Sharpness of the units, on the scaled inputs, shape (chains, draws); infinite for sign units."""
        return self._stack("sharpness")

    @property
    def relevance(self) -> FloatArray:
        """Relevance of each input, on the scaled inputs, shape (chains, draws, inputs)."""
        return self._stack("relevance")[:, :, np.unique(self.model.leader)]

    @property
    def f(self) -> FloatArray:
        """The function at the stored training rows (`model.rows`), shape (chains, draws, rows)."""
        return unscale_outputs(self._stack("f"), self.data.scaling)

    @property
    def log_density(self) -> FloatArray:
        """Log likelihood plus log prior of the inferred parameters, in scaled units, shape (chains, draws)."""
        return self._stack("log_density")

    @property
    def n_atoms(self) -> IntArray:
        """Atoms above the threshold, shape (chains, draws)."""
        return np.stack([draws.n_atoms for draws in self.chains])

    @property
    def n_outliers(self) -> IntArray:
        """Observations that are outliers, shape (chains, draws); 0 where the noise is normal."""
        return np.stack([draws.n_spikes for draws in self.chains])

    @property
    def outlier_probability(self) -> FloatArray:
        """Probability that each given row is an outlier, shape (n_given,); NaN for rows of weight 0."""
        return summaries.outlier_probability(self)

    @property
    def inferred(self) -> tuple[str, ...]:
        """Names of the parameters that were not fixed."""
        model = self.model
        infers_relevance = model.relevant.size > 0
        flags = (model.infer_alpha, model.infer_nu, model.infer_sigma2, model.infer_sharpness, infers_relevance)
        return tuple(name for name, flag in zip(PARAMETERS, flags, strict=True) if flag)

    def _stack(self, name: str) -> FloatArray:
        return np.stack([getattr(draws, name) for draws in self.chains])

    @property
    def _y_scale2(self) -> float:
        return self.data.scaling.y_scale * self.data.scaling.y_scale

    # --- Predictions -------------------------------------------------------------------------------------

    def quantiles(
        self, X: Any, q: Any, *, noise: bool = True, n_jobs: int | None = None, progress: bool | None = False
    ) -> FloatArray:
        """Quantiles of a new observation, or of f, at each row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
            New rows.
        q : float or sequence of float
            Probabilities strictly between 0 and 1.
        noise : bool
            False gives quantiles of f.
        n_jobs, progress : int or None, bool or None
            Threads over the rows (None is one, -1 all), and whether to show a bar (None: in a terminal, for many rows).

        Returns
        -------
        ndarray of shape (m, len(q))
        """
        return self._quantiles_at(self.scale_rows(X), q, noise, mixture.Job(n_jobs, progress))

    def _quantiles_at(self, rows: FloatArray, q: Any, noise: bool, job: mixture.Job) -> FloatArray:
        """`quantiles` at rows that were checked and scaled already."""
        q = check_probabilities(q)
        found = at_whole_rows(lambda rows: mixture.quantiles(self._source, rows, q, noise, job), rows)
        return unscale_outputs(found, self.data.scaling)

    def sample_y(self, X: Any, n_samples: int = 1, *, noise: bool = True, random_state: Any = None) -> FloatArray:
        """Draws of new observations, or of f, jointly over the rows of X.

        Parameters
        ----------
        X, n_samples : array-like of shape (m, d), and int
            New rows, and how many draws.
        noise, random_state : bool; int, RandomState, Generator or None
            False gives draws of f; an int gives the same draws each time.

        Returns
        -------
        ndarray of shape (m, n_samples)
        """
        return self._sample_at(self.scale_rows(X), n_samples, noise, make_rng(random_state))

    def _sample_at(self, rows: FloatArray, n_samples: int, noise: bool, rng: np.random.Generator) -> FloatArray:
        """`sample_y` at rows that were checked and scaled already."""
        if len(rows) > joint.MAX_JOINT_ROWS:
            raise ValueError(
                f"Got {len(rows)} rows to draw jointly, expected at most {joint.MAX_JOINT_ROWS} (the covariance of the "
                "rows would not fit in memory): ask for fewer rows, or for quantiles, which have no such limit."
            )
        found = at_whole_rows(lambda rows: joint.joint_draws(self._source, rows, n_samples, noise, rng), rows)
        return unscale_outputs(found, self.data.scaling)

    def crps(
        self, X: Any, y: ArrayLike, *, noise: bool = True, n_jobs: int | None = None, progress: bool | None = False
    ) -> FloatArray:
        """Continuous ranked probability score at y of the predictive distribution of each row.

        Exact to about 1e-13 of the mixture's own spread; in the units of y, smaller is better.

        Parameters
        ----------
        X, y : array-like of shape (m, d) and (m,)
            Rows and what was observed there, or the true f when `noise` is False.
        noise : bool
            False scores the distribution of f.
        n_jobs, progress : int or None, bool or None
            As for `quantiles`.

        Returns
        -------
        ndarray of shape (m,)
        """
        job = mixture.Job(n_jobs, progress)
        scores = mixture.crps(self._source, self.scale_rows(X), self._scale_outputs(y), noise, job)
        return np.asarray(scores * self.data.scaling.y_scale)

    def log_score(
        self, X: Any, y: ArrayLike, *, n_jobs: int | None = None, progress: bool | None = False
    ) -> FloatArray:
        """Log predictive density of the observation y at each row, shape (m,); larger is better.

        Parameters
        ----------
        X, y : array-like of shape (m, d) and (m,)
            Rows and what was observed there.
        n_jobs, progress : int or None, bool or None
            As for `quantiles`.
        """
        job = mixture.Job(n_jobs, progress)
        found = mixture.log_density(self._source, self.scale_rows(X), self._scale_outputs(y), job)
        return np.asarray(found - np.log(self.data.scaling.y_scale))

    @cached_property
    def _source(self) -> Source:
        """What predictions are made of, made once."""
        return prepare(self.model, self.chains, float(np.abs(self.data.y).max()), self.kernel)

    def scale_rows(self, X: Any, *, missing: str = "indicator", unknown: str = "error") -> FloatArray:
        """Rows to predict at, checked and scaled like the training rows; NaN in rows that are dropped."""
        data = self.data
        return check_new_rows(X, columns=data.columns, scaling=data.scaling, missing=missing, unknown=unknown)

    def _scale_outputs(self, y: ArrayLike) -> FloatArray:
        return scale_outputs(np.asarray(y, dtype=float), self.data.scaling)

    # --- Jumps -------------------------------------------------------------------------------------------

    def jumps(self, size: float | None = None, max_width: float | None = None) -> Jumps:
        """Jumps of f between training rows: how many, where, how large, how wide and how sure.

        Parameters
        ----------
        size, max_width : float, optional
            The least change of f and the greatest width of a step that count: see `StableRegressor.jumps`.

        Returns
        -------
        Jumps
        """
        return find_jumps(self.data, self.chains, size, max_width)

    def jump_probability(self, A: Any, B: Any, size: float | None = None, max_width: float | None = None) -> FloatArray:
        """Probability that a jump larger than `size` separates row i of A from row i of B.

        Steps that split the training rows in the same way cannot be told apart by the data, so those of them that
        separate the two places add up.

        Parameters
        ----------
        A, B : array-like of shape (m, d)
            Pairs of rows.
        size, max_width : float, optional
            As for `jumps`.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._jump_probability_at(self.scale_rows(A), self.scale_rows(B), size, max_width)

    def _jump_probability_at(self, A: FloatArray, B: FloatArray, *limits: float | None) -> FloatArray:
        """`jump_probability` between rows that were checked and scaled already."""
        if len(A) != len(B):
            raise ValueError(f"Got {len(A)} rows of A and {len(B)} of B, expected pairs: pass equally many.")
        return at_whole_rows(lambda A, B: jump_probability(self.data, self.chains, A, B, *limits), A, B)

    def input_shares(self, *, n_draws: int = 200, random_state: Any = 0) -> Any:
        """Share of the variance of f that each input explains.

        Draw input j afresh from its own column, independently of the others. Its share is the part of the variance of f
        that is left when all other inputs are known: between 0 and 1, and adding up to more where inputs interact.

        Parameters
        ----------
        n_draws, random_state : int, and int, RandomState, Generator or None
            Posterior draws of f to use, and where the random numbers come from.

        Returns
        -------
        pandas.DataFrame
            One row per input: `share` with its 90% interval `5%`, `95%`; and `alone`, `alone 5%`, `alone 95%`, the part
            that the input explains without help from others.
        """
        check_count("n_draws", n_draws, 1)
        return input_shares(self.data, self._source, int(n_draws), make_rng(random_state))

    # --- Convergence -------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of what convergence is judged by: inferred parameters, the number of outliers, f at stored rows."""
        return summaries.names(self)

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs: those of the training table, or x1, x2, ..."""
        return list(self.data.columns.labels)

    def convergence(self) -> Convergence:
        """R-hat and effective sample size of each of `names`."""
        return judge(self.chains, self.model)

    def acceptance(self) -> Any:
        """Acceptance rates since warm-up: a pandas.DataFrame with one row per kind of move and one column per chain."""
        return summaries.acceptance(self.sample)

    def summary(self) -> Any:
        """Parameters, convergence and acceptance rates in one table.

        alpha and nu are only weakly identified together: read them as a pair.

        Returns
        -------
        pandas.DataFrame
            Rows alpha, nu, sigma2, sharpness, the relevance of each input and, if modelled, the number of outliers:
            median, 90% interval, R-hat and effective sample size (not of fixed ones). Row `f (worst)`: the last two for
            f at its slowest row. Then for each kind of move, in column `accepted`, the share of proposals accepted.
        """
        return summaries.summary(self)

    def to_arviz(self, *, log_likelihood: bool = True, posterior_predictive: bool = True, random_state: Any = 0) -> Any:
        """An ArviZ DataTree: alpha, nu, sigma2, sharpness (fixed ones left out) and f (chain, draw, row).

        `row` numbers the distinct training rows, sorted (at most 500 of them, evenly spread). With them come
        sample_stats: `lp`, the log density in scaled units, `n_atoms`, `n_outliers` if modelled, and `acceptance_rate`
        (chain, move). The other groups have one `observation` per distinct pair of row and output, at the rows
        above, numbered by the first given row that has it; `arviz_stats.loo` leaves out one of these at a time.

        Parameters
        ----------
        log_likelihood : bool
            Add the log density of each observation given f and sigma2, with outliers integrated out. Weight w counts as
            w copies.
        posterior_predictive : bool
            Add a new observation in place of each.
        random_state : int, RandomState, Generator or None
            Where the noise of new observations comes from.

        Returns
        -------
        xarray.DataTree
        """
        return summaries.to_arviz(self, log_likelihood, posterior_predictive, make_rng(random_state))
