"""Observations that the posterior takes for outliers: which, how surely, and how far off they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._types import FloatArray
from .inputs import unscale_outputs
from .predict.mixture import Job

if TYPE_CHECKING:
    from .posterior import Posterior

__all__ = ["Outlier", "Outliers", "find_outliers"]


@dataclass(frozen=True)
class Outlier:
    """One observation that is probably an outlier.

    Attributes
    ----------
    row : int
        Its row in the data that were given to `fit`, counting from 0.
    probability : float
        Posterior probability that it is an outlier.
    residual : float
        The observation less the posterior median of f there.
    size : float
        Posterior median of its deviation from f beyond the usual noise, where it is an outlier.

    Examples
    --------
    >>> print(Outlier(20, 0.98, 4.1, 4.0))
    row 20: probability 0.98, residual +4.1
    """

    row: int
    probability: float
    residual: float
    size: float

    def __str__(self) -> str:
        return f"row {self.row}: probability {self.probability:.2f}, residual {self.residual:+.3g}"


@dataclass(frozen=True, repr=False)
class Outliers:
    """The observations that are outliers with at least some probability, in the order of their rows.

    Attributes
    ----------
    items : tuple of Outlier
        One per given row.
    n_rows : int
        Number of rows that were given.
    least_probability : float
        Probability from which an observation is listed.
    are_modelled : bool
        False when the model was fitted with normal noise, which knows no outliers.

    Examples
    --------
    >>> found = Outliers((Outlier(20, 0.98, 4.1, 4.0),), n_rows=150, least_probability=0.5, are_modelled=True)
    >>> print(found)
    1 of 150 rows are outliers with probability 0.5 or more
      row 20: probability 0.98, residual +4.1
    >>> found.to_frame().shape
    (1, 4)
    """

    items: tuple[Outlier, ...]
    n_rows: int
    least_probability: float
    are_modelled: bool

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Outlier]:
        return iter(self.items)

    def __getitem__(self, place: int) -> Outlier:
        return self.items[place]

    def __str__(self) -> str:
        if not self.are_modelled:
            return 'The model was fitted with normal noise, which knows no outliers: fit with noise="outliers".'
        found = f"{len(self)} of {self.n_rows} rows are outliers" if len(self) else "No row is an outlier"
        head = f"{found} with probability {self.least_probability:.3g} or more"
        return "\n".join([head, *(f"  {item}" for item in self)])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """The outliers as a table.

        Returns
        -------
        pandas.DataFrame
            Columns row, probability, residual and size.
        """
        import pandas  # type: ignore[import-untyped]

        return pandas.DataFrame([asdict(item) for item in self], columns=["row", "probability", "residual", "size"])


def find_outliers(posterior: Posterior, least_probability: float) -> Outliers:
    """List the observations that are outliers with at least `least_probability`.

    Parameters
    ----------
    posterior : Posterior
        Draws of a model with or without outliers.
    least_probability : float
        Between 0 and 1.

    Returns
    -------
    Outliers
    """
    data, probability = posterior.data, posterior.outlier_probability
    is_listed = (probability >= least_probability) & posterior.model.has_spikes
    rows = np.flatnonzero(is_listed)
    observations = data.observation[rows]
    f = _median_of_f(posterior, data.obs_row[observations])
    y = unscale_outputs(data.obs_y[observations], data.scaling)
    sizes = _median_sizes(posterior)
    items = tuple(
        Outlier(int(row), float(probability[row]), float(residual), float(sizes[observation]))
        for row, observation, residual in zip(rows, observations, y - f, strict=True)
    )
    return Outliers(items, data.kept.size, least_probability, posterior.model.has_spikes)


def _median_of_f(posterior: Posterior, rows: Any) -> FloatArray:
    """Posterior median of f at distinct rows."""
    if len(rows) == 0:
        return np.empty(0)
    return posterior._quantiles_at(posterior.data.X[rows], [0.5], False, Job())[:, 0]


def _median_sizes(posterior: Posterior) -> FloatArray:
    """Median size of each observation's spike over the draws that have one; NaN where none has."""
    spike = np.concatenate([draws.spike for draws in posterior.chains])
    size = np.concatenate([draws.spike_size for draws in posterior.chains]) * posterior.data.scaling.y_scale
    median = np.full(posterior.data.obs_row.size, np.nan)
    for observation in np.unique(spike):
        median[observation] = np.median(size[spike == observation])
    return median
