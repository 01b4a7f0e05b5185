"""The posterior: named draws in the user's units, predictions, scores, and ways out (ArviZ, a file)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._types import FloatArray, IntArray
from .diagnostics import Convergence, convergence, warn_unless_converged
from .engine.draws import OF_ATOMS, ChainDraws
from .engine.model import Model
from .engine.run import ChainState, Round, Sample, quantities
from .inputs import TrainingData, check_new_rows, scale_outputs, unscale_outputs
from .jumps import Jumps, find_jumps, jump_probability
from .predict import mixture
from .predict.mixture import MAX_JOINT_ROWS, ONE_THREAD, Job

__all__ = ["Posterior"]

PARAMETERS = ("alpha", "nu", "sigma2", "sharpness")
TABLE = {"median": 0.5, "5%": 0.05, "95%": 0.95}


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Posterior draws of the parameters, the function and its jumps; made by `StableRegressor.fit`.

    Everything that goes in or comes out is in the user's units of X and y. A draw makes f at a new row Gaussian;
    predictions are the mixture of these Gaussians over all draws of all chains.

    Attributes
    ----------
    data : the training data, in scaled units.
    model : what stayed the same during sampling.
    chains : draws of each chain, in scaled units.
    rounds : sweeps and draws of each kept round, the same for all chains.
    states : where each chain is, to continue.
    thin : sweeps a draw.
    n_sweeps : sweeps made by each chain, forgotten ones included.
    converged : None when sampling was for a given number of sweeps.
    interrupted : whether Ctrl-C ended sampling.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> model = StableRegressor(alpha=1.1, nu=1.0, sigma2=0.1, n_chains=2, n_sweeps=600, random_state=0)
    >>> posterior = model.fit([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.0, 4.9, 5.1]).posterior_
    >>> posterior
    Posterior(2 chains of 400 draws, 4 distinct rows, 1 input)
    >>> posterior.f.shape
    (2, 400, 4)
    >>> posterior.quantiles([[0.5], [2.5]], [0.05, 0.95]).shape
    (2, 2)
    >>> posterior.sample_y([[0.5]], 3, np.random.default_rng(0), noise=False).shape
    (1, 3)
    >>> bool(posterior.crps([[0.5]], [0.0])[0] < posterior.crps([[0.5]], [9.0])[0])
    True
    >>> bool(posterior.log_score([[0.5]], [0.0])[0] > posterior.log_score([[0.5]], [9.0])[0])
    True
    >>> len(posterior.jumps(size=1.0)), posterior.jump_probability([[0.0]], [[3.0]], size=1.0).shape
    (1, (1,))
    >>> posterior.summary().index.to_list()
    ['alpha', 'nu', 'sigma2', 'sharpness', 'f (worst)']
    >>> list(posterior.to_arviz().children)
    ['posterior', 'sample_stats', 'observed_data']
    >>> bool(posterior.convergence().rhat.max() < 1.05)
    True
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     posterior.save(f"{folder}/draws")
    ...     again = Posterior.load(f"{folder}/draws")
    >>> bool((again.f == posterior.f).all())
    True
    """

    data: TrainingData
    model: Model
    chains: tuple[ChainDraws, ...]
    rounds: tuple[tuple[int, int], ...]
    states: tuple[ChainState, ...]
    thin: int
    n_sweeps: int
    converged: bool | None
    interrupted: bool

    @classmethod
    def from_sample(cls, data: TrainingData, model: Model, sample: Sample) -> Posterior:
        """Put the rounds of a sample end to end."""
        rounds = tuple((r.n_sweeps, len(r.draws[0])) for r in sample.rounds)
        how = (sample.thin, sample.n_sweeps, sample.converged, sample.interrupted)
        return cls(data, model, sample.chains, rounds, sample.states, *how)

    def __repr__(self) -> str:
        n, d = self.data.X.shape
        chains = f"{len(self.chains)} chain{'s' * (len(self.chains) != 1)} of {len(self.chains[0])} draws"
        return f"Posterior({chains}, {n} distinct row{'s' * (n != 1)}, {d} input{'s' * (d != 1)})"

    @property
    def sample(self) -> Sample:
        """The sample, cut into its rounds again, to continue it; arrays are views."""
        rounds, start = [], 0
        for n_sweeps, n_draws in self.rounds:
            rounds.append(Round(n_sweeps, tuple(_part(draws, start, start + n_draws) for draws in self.chains)))
            start += n_draws
        return Sample(tuple(rounds), self.states, self.thin, self.n_sweeps, self.converged, self.interrupted)

    # --- Draws -------------------------------------------------------------------------------------------

    @property
    def alpha(self) -> FloatArray:
        """Stability index, shape (chains, draws)."""
        return np.stack([draws.alpha for draws in self.chains])

    @property
    def nu(self) -> FloatArray:
        """Squared scale of the prior, shape (chains, draws). Only weakly identified together with alpha."""
        return np.exp(np.stack([draws.log_nu for draws in self.chains])) * self._y_scale2

    @property
    def sigma2(self) -> FloatArray:
        """Noise variance, shape (chains, draws)."""
        return np.exp(np.stack([draws.log_sigma2 for draws in self.chains])) * self._y_scale2

    @property
    def sharpness(self) -> FloatArray:
        """Sharpness of the units, on the scaled inputs, shape (chains, draws); infinite for sign units."""
        return np.stack([draws.sharpness for draws in self.chains])

    @property
    def f(self) -> FloatArray:
        """The function at the stored training rows (`model.rows`), shape (chains, draws, rows)."""
        return unscale_outputs(np.stack([draws.f for draws in self.chains]), self.data.scaling)

    @property
    def log_density(self) -> FloatArray:
        """Log likelihood plus log prior of the inferred parameters, in scaled units, shape (chains, draws)."""
        return np.stack([draws.log_density for draws in self.chains])

    @property
    def n_atoms(self) -> IntArray:
        """Atoms above the threshold, shape (chains, draws)."""
        return np.stack([draws.n_atoms for draws in self.chains])

    @property
    def inferred(self) -> tuple[str, ...]:
        """Names of the parameters that were not fixed."""
        model = self.model
        flags = (model.infer_alpha, model.infer_nu, model.infer_sigma2, model.grid.size > 1)
        return tuple(name for name, flag in zip(PARAMETERS, flags, strict=True) if flag)

    @property
    def _y_scale2(self) -> float:
        return self.data.scaling.y_scale * self.data.scaling.y_scale

    # --- Predictions -------------------------------------------------------------------------------------

    def quantiles(self, X: Any, q: Any, *, noise: bool = True, job: Job = ONE_THREAD) -> FloatArray:
        """Quantiles of a new observation (of f when `noise` is False) at each row of X, shape (m, len(q))."""
        probabilities = _check_probabilities(q)
        found = mixture.quantiles(self._source(), self.check_rows(X), probabilities, noise, job)
        return unscale_outputs(found, self.data.scaling)

    def sample_y(self, X: Any, n_samples: int, rng: np.random.Generator, *, noise: bool = True) -> FloatArray:
        """Draws of new observations (of f when `noise` is False), jointly over the rows of X, (m, n_samples)."""
        rows = self.check_rows(X)
        if len(rows) > MAX_JOINT_ROWS:
            raise ValueError(
                f"Got {len(rows)} rows to draw jointly, expected at most {MAX_JOINT_ROWS} (the covariance of the rows "
                "would not fit in memory): ask for fewer rows, or for quantiles, which have no such limit."
            )
        return unscale_outputs(mixture.joint_draws(self._source(), rows, n_samples, noise, rng), self.data.scaling)

    def crps(self, X: Any, y: ArrayLike, *, noise: bool = True, job: Job = ONE_THREAD) -> FloatArray:
        """Continuous ranked probability score at y of the predictive distribution of each row, shape (m,).

        Exact to about 1e-13 of the mixture's own spread; in the units of y, smaller is better.
        """
        scores = mixture.crps(self._source(), self.check_rows(X), self._outputs(y), noise, job)
        return np.asarray(scores * self.data.scaling.y_scale)

    def log_score(self, X: Any, y: ArrayLike, *, job: Job = ONE_THREAD) -> FloatArray:
        """Log predictive density of the observation y at each row, shape (m,); larger is better."""
        found = mixture.log_density(self._source(), self.check_rows(X), self._outputs(y), job)
        return np.asarray(found - np.log(self.data.scaling.y_scale))

    def jumps(self, size: float | None = None, max_width: float | None = None) -> Jumps:
        """Jumps of f between training rows: how many, where, how large, how wide and how sure.

        Parameters
        ----------
        size : the least change of f that counts; by default the posterior median of the noise s.d.
        max_width : the greatest width of a step that counts; by default a quarter of the inputs' s.d. In the units of x
            for one input, in standardised units for several.
        """
        return find_jumps(self.data, self.chains, size, max_width)

    def jump_probability(self, A: Any, B: Any, size: float | None = None, max_width: float | None = None) -> FloatArray:
        """Probability that a jump larger than `size` separates row i of A from row i of B, shape (m,).

        Steps that split the training rows in the same way cannot be told apart by the data, so those of them that
        separate the two places add up. `size` and `max_width` are as for `jumps`.
        """
        first, second = self.check_rows(A), self.check_rows(B)
        if len(first) != len(second):
            raise ValueError(
                f"Got {len(first)} rows of A and {len(second)} of B, expected pairs: pass as many of each."
            )
        return jump_probability(self.data, self.chains, first, second, size, max_width)

    def _source(self) -> mixture.Source:
        return mixture.prepare(self.model, self.chains, float(np.abs(self.data.y).max()))

    def check_rows(self, X: Any) -> FloatArray:
        """Rows to predict at, checked and scaled like the training rows."""
        return check_new_rows(X, n_features=self.data.X.shape[1], scaling=self.data.scaling)

    def _outputs(self, y: ArrayLike) -> FloatArray:
        return scale_outputs(np.asarray(y, dtype=float), self.data.scaling)

    # --- Convergence -------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of the quantities that convergence is judged by: inferred parameters, then f at stored rows."""
        return [*self.inferred, *(f"f at distinct row {row}" for row in self.model.rows)]

    def convergence(self) -> Convergence:
        """R-hat and effective sample size of each of `names`."""
        return convergence(quantities(self.sample, self.model))

    def warn_unless_converged(self, *, stacklevel: int = 2) -> None:
        """Warn, with the worst quantity's name, its value and the remedy, when draws are too few."""
        warn_unless_converged(self.names, self.convergence(), len(self.chains), stacklevel=stacklevel + 1)

    def summary(self) -> Any:
        """A pandas table of alpha, nu, sigma2, sharpness: median, 90% interval, R-hat and ESS (not of fixed ones).

        Its last row, `f (worst)`, is R-hat and effective sample size of the function at its slowest stored row. alpha
        and nu are only weakly identified together: read them as a pair.
        """
        import pandas  # type: ignore[import-untyped]

        found = dict(zip(self.names, zip(*self.convergence(), strict=True), strict=True))
        table = {}
        for name in PARAMETERS:
            values = getattr(self, name)
            row = {label: _quantile(values, q) for label, q in TABLE.items()}
            table[name] = row | dict(zip(("rhat", "ess"), found.get(name, (np.nan, np.nan)), strict=True))
        of_f = [found[name] for name in self.names[len(self.inferred) :]]
        worst = {"rhat": max(r for r, _ in of_f), "ess": min(e for _, e in of_f)}
        table["f (worst)"] = dict.fromkeys(TABLE, np.nan) | worst
        return pandas.DataFrame.from_dict(table, orient="index")

    # --- Ways out ----------------------------------------------------------------------------------------

    def to_arviz(
        self, *, log_likelihood: bool = False, posterior_predictive: bool = False, random_state: int = 0
    ) -> Any:
        """An ArviZ DataTree: alpha, nu, sigma2, sharpness (fixed ones left out) and f (chain, draw, row).

        `row` numbers the distinct training rows, sorted (at most 500 of them, evenly spread). With them come
        sample_stats (`lp`, the log density in scaled units, and `n_atoms`) and observed_data (`y`, the mean output of
        each row).

        Parameters
        ----------
        log_likelihood : add the log density of each row's mean output given f and sigma2.
        posterior_predictive : add a new observation at each row; its noise comes from `random_state`.
        """
        from arviz_base import from_dict

        scaling, rows = self.data.scaling, self.model.rows
        y = unscale_outputs(self.data.y[rows], scaling)
        groups: dict[str, dict[str, Any]] = {
            "posterior": {name: getattr(self, name) for name in (*self.inferred, "f")},
            "sample_stats": {"lp": self.log_density, "n_atoms": self.n_atoms},
            "observed_data": {"y": y},
        }
        noise_sd = np.sqrt(self.sigma2)[:, :, None]
        if log_likelihood:
            groups["log_likelihood"] = {"y": _log_normal(y, self.f, noise_sd / np.sqrt(self.data.weight[rows]))}
        if posterior_predictive:
            noise = np.random.default_rng(random_state).standard_normal(self.f.shape)
            groups["posterior_predictive"] = {"y": self.f + noise_sd * noise}
        return from_dict(groups, dims={"f": ["row"], "y": ["row"]}, coords={"row": rows})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `Posterior.load` reads; see `widestable.storage`."""
        from .storage import write

        write(path, self, {})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Posterior:
        """Read a file written by `save`, here or by a regressor."""
        from .storage import read

        posterior, _ = read(path)
        return posterior


def _part(draws: ChainDraws, start: int, stop: int) -> ChainDraws:
    """Draws `start` to `stop`, without copying."""
    first = np.concatenate([[0], np.cumsum(draws.n_atoms)])
    atoms = slice(first[start], first[stop])
    whole = {field.name: getattr(draws, field.name) for field in fields(ChainDraws)}
    return ChainDraws(**{name: v[atoms] if name in OF_ATOMS else v[start:stop] for name, v in whole.items()})


def _quantile(values: FloatArray, q: float) -> float:
    """A quantile; infinity, the sharpness of sign units, is no number to interpolate with."""
    return float(np.quantile(values, q, method="linear" if np.isfinite(values).all() else "lower"))


def _check_probabilities(q: float | Sequence[float]) -> FloatArray:
    probabilities = np.array(q, dtype=float, ndmin=1)
    if probabilities.ndim != 1 or not np.all((probabilities > 0.0) & (probabilities < 1.0)):
        raise ValueError(f"Got q = {q!r}, expected numbers above 0 and below 1: pass 0.05 and 0.95, for example.")
    return probabilities


def _log_normal(y: FloatArray, mean: FloatArray, sd: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi))
