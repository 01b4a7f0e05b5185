"""The answer: jumps as frozen data in the user's units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..inputs import Columns
from .words import columns_of, grid_in_words, jump_in_words, jumps_in_words, unit_in_words

# Less probable jumps are counted but not described when the result is printed.
LIKELY = 0.5


@dataclass(frozen=True, eq=False)
class Jump:
    """One jump, recognised across draws: f is higher where `direction . x > location`.

    Attributes
    ----------
    probability : float
        Fraction of the draws that have this jump. Everything below is a summary over these draws.
    location : float or datetime
        For one input, where f jumps (median). For several, the threshold on `direction . x`.
    location_interval : tuple of float
        Central 90% interval of the location. For several inputs it reflects the distance of the hyperplane from the
        centre of the data.
    direction : (d,) array
        Normal of the hyperplane, pointing to where f is higher. It has unit length in standardised inputs. Dates count
        in days, and a category has one entry per level (`Jumps.terms`).
    size : float
        Change of f (median). For one input it is negative where f falls.
    size_interval : tuple of float
        Central 90% interval of the size.
    width : float
        Distance over which the step goes from a quarter to three quarters of its height (median); 0 for a clean jump.
        In the user's units for one input, in standardised units for several.
    agreement : float
        Mean fraction of the training rows, by weight, that the hyperplanes of the draws put on the same side as this
        one does.
    possible_outliers : tuple of int
        Rows of the given data, counted from 0, if this jump and one of opposite sign and similar size have only these
        one or two rows between them. Empty for other jumps.
    between : tuple of float or datetime, or None
        For one input, the training points on either side of the location.
    levels : tuple of str and tuple of str, or None
        If a category alone tells on which side a training row is: its name, and its levels where f is higher.

    Examples
    --------
    >>> jump = Jump(0.9, 2.0, (1.8, 2.1), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> jump.to_dict()["location_interval"]
    [1.8, 2.1]
    """

    probability: float
    location: Any
    location_interval: tuple[Any, Any]
    direction: FloatArray
    size: float
    size_interval: tuple[float, float]
    width: float
    agreement: float
    possible_outliers: tuple[int, ...] = ()
    between: tuple[Any, Any] | None = None
    levels: tuple[str, tuple[str, ...]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; dates as text."""
        return {
            "probability": self.probability,
            "location": _plain(self.location),
            "location_interval": [_plain(end) for end in self.location_interval],
            "between": None if self.between is None else [_plain(point) for point in self.between],
            "levels": None if self.levels is None else {self.levels[0]: list(self.levels[1])},
            "direction": self.direction.tolist(),
            "size": self.size,
            "size_interval": list(self.size_interval),
            "width": self.width,
            "agreement": self.agreement,
            "possible_outliers": list(self.possible_outliers),
        }


def _plain(place: Any) -> Any:
    return place.isoformat() if isinstance(place, datetime) else place


class Gaps(NamedTuple):
    """For one input: the jump between each pair of neighbouring training points.

    Attributes
    ----------
    low, high : (n - 1,) arrays
        The two points of each pair; dates as datetime64.
    probability : (n - 1,) array
        Probability of a jump between them.
    size : (n - 1,) array
        Median change of f over the draws that jump there; NaN if none does.

    Examples
    --------
    >>> gaps = Gaps(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.1, 0.9]), np.array([0.5, 5.0]))
    >>> gaps.low[gaps.probability > 0.5]
    array([1.])
    """

    low: NDArray[Any]
    high: NDArray[Any]
    probability: FloatArray
    size: FloatArray


class BoundaryMap(NamedTuple):
    """For two inputs: probability that a jump passes near each point of a grid.

    Attributes
    ----------
    x, y : (p,) and (q,) arrays
        Points along the first and the second input; dates in days.
    probability : (q, p) array
        Probability of a jump between the places on the left and on the right of each point, or between those below and
        above it, whichever is larger.
    reach : tuple of two floats
        How far these places are from the point, along each input. The more training rows, the closer.
    names : tuple of two str
        Names of the inputs.
    columns : Columns or None
        What the two inputs are; numbers if None.

    Examples
    --------
    >>> BoundaryMap(np.array([0.0, 1.0]), np.array([5.0, 7.0]), np.eye(2), (0.5, 1.0), ("a", "b"))
    BoundaryMap(2 x 2 points, a 0 to 1, b 5 to 7)
    """

    x: FloatArray
    y: FloatArray
    probability: FloatArray
    reach: tuple[float, float]
    names: tuple[str, str]
    columns: Columns | None = None

    @property
    def axes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The points along both inputs as the user has them: numbers, or dates as datetime64."""
        if self.columns is None:
            return self.x, self.y
        return self.columns.values(0, self.x), self.columns.values(1, self.y)

    def __repr__(self) -> str:
        return f"BoundaryMap({grid_in_words(*self.axes, self.names)})"


@dataclass(frozen=True, eq=False, repr=False)
class Jumps:
    """The jumps of f between training rows that are larger than `min_size` and at most `max_width` wide.

    Steps with the same training rows on either side cannot be told apart by the data: they count as one jump, and its
    size is that of their sum. A step with all training rows on one side does not count. Iterate over the result to get
    each `Jump`; it holds those with a probability of at least 0.2.

    Attributes
    ----------
    min_size : float
        The least change of f that counts.
    max_width : float
        The greatest width of a step that counts, in the units of x for one input and in standardised units for several.
    n_jumps : (draws,) array of int
        Number of jumps in each draw.
    found : tuple of Jump
        The jumps: from left to right for one input, the most probable first for several.
    names : tuple of str
        Names of the inputs.
    centre, spread : (d,) arrays
        Their means, rounded to the digits that matter, and standard deviations; 0 for a constant input.
    target : str
        Name of the output; `f` if it is not known.
    has_widths : bool
        Whether steps have a width, as those of smooth units do.
    gaps : Gaps or None
        For one input, what happens between neighbouring training points.
    boundaries : BoundaryMap or None
        For two inputs, a map of probabilities.
    columns : Columns or None
        What the inputs are: numbers, dates, categories. Numbers if None.

    Examples
    --------
    >>> from widestable import StableRegressor
    >>> x = np.linspace(0.0, 1.0, 12)
    >>> model = StableRegressor(alpha=1.0, nu=1.0, sigma2=0.01, random_state=0).fit(x[:, None], x > 0.5)
    >>> jumps = model.jumps(size=0.5)
    >>> len(jumps), round(jumps[0].size), bool(0.4 < jumps[0].location < 0.6)
    (1, 1, True)
    >>> bool(jumps.count_probability.argmax() == 1), jumps.gaps.probability.shape
    (True, (11,))
    >>> jumps.describe(jumps[0])[:10], len(jumps.likely), jumps.to_frame().shape
    ('f rises by', 1, (1, 10))
    """

    min_size: float
    max_width: float
    n_jumps: IntArray
    found: tuple[Jump, ...]
    names: tuple[str, ...]
    centre: FloatArray
    spread: FloatArray
    target: str = "f"
    has_widths: bool = False
    gaps: Gaps | None = None
    boundaries: BoundaryMap | None = None
    columns: Columns | None = None

    @property
    def count_probability(self) -> FloatArray:
        """Posterior probabilities of 0, 1, 2, ... jumps."""
        return np.asarray(np.bincount(self.n_jumps) / self.n_jumps.size)

    @property
    def over_dates(self) -> bool:
        """Whether the one input is a date."""
        return self.gaps is not None and self.gaps.low.dtype.kind == "M"

    @property
    def on_line(self) -> bool:
        """Whether there is one input, and it is no category: jumps are points then, and not planes."""
        return len(self.terms) == 1

    @property
    def terms(self) -> tuple[str, ...]:
        """What each entry of a direction counts: an input, the days of a date, or one level of a category."""
        return columns_of(self).terms

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Jump]:
        return iter(self.found)

    def __getitem__(self, index: int) -> Jump:
        return self.found[index]

    @property
    def likely(self) -> tuple[Jump, ...]:
        """The jumps that more likely than not are there: those that are listed when the result is printed."""
        return tuple(jump for jump in self.found if jump.probability >= LIKELY)

    def __str__(self) -> str:
        return self.in_words()

    __repr__ = __str__

    def in_words(self, full: bool = False) -> str:
        """How many jumps there are, and a line about each that is likely; `full` names all inputs of the planes."""
        return jumps_in_words(self, full)

    def what_counts(self) -> str:
        """What a step must be to count as a jump."""
        narrow = f" and narrower than {self.max_width:.3g}{unit_in_words(self)}" if self.has_widths else ""
        return f"larger than {self.min_size:.3g}{narrow}"

    def describe(self, jump: Jump, full: bool = False) -> str:
        """One line of text about a jump.

        With more than two inputs the line names those that carry the plane: weights are per standard deviation, and
        those below a fifth of the largest are left out. Where a single input is left, its threshold has a 90% interval,
        or the levels of a category are named; this holds where the other inputs are at their means.

        Parameters
        ----------
        jump : Jump
            One of these jumps.
        full : bool
            Whether to name all inputs.

        Returns
        -------
        str
        """
        return jump_in_words(jump, self, full)

    def to_frame(self) -> Any:
        """The jumps as a table.

        Returns
        -------
        pandas.DataFrame
            One row per jump: `probability`; `size` with its 90% interval `size 5%`, `size 95%`; `location`,
            `location 5%`, `location 95%`; `width` if the units are smooth; `agreement`; the entries of `direction`, as
            `direction of x1` or `direction of [plan is pro]`; and the jump in `words`. Dates of one input are dates.
        """
        import pandas  # type: ignore[import-untyped]

        table = {"probability": [jump.probability for jump in self]}
        for name in ("size", "location"):
            ends = [getattr(jump, f"{name}_interval") for jump in self]
            table[name] = [getattr(jump, name) for jump in self]
            table |= {f"{name} 5%": [low for low, _ in ends], f"{name} 95%": [high for _, high in ends]}
        for name in ("width", "agreement") if self.has_widths else ("agreement",):
            table[name] = [getattr(jump, name) for jump in self]
        table |= {f"direction of {n}": [float(jump.direction[j]) for jump in self] for j, n in enumerate(self.terms)}
        return pandas.DataFrame(table | {"words": [self.describe(jump) for jump in self]})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        return {
            "min_size": self.min_size,
            "max_width": self.max_width,
            "inputs": list(self.names),
            "terms": list(self.terms),
            "target": self.target,
            "count_probability": self.count_probability.tolist(),
            "jumps": [jump.to_dict() | {"words": self.describe(jump)} for jump in self.found],
        }
