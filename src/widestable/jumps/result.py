"""The answer: jumps as frozen data in the user's units, and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..inputs import Columns, show_dates, unit_of

# Less probable jumps are counted but not described when the result is printed.
LIKELY = 0.5
ABOUT_OUTLIERS = "Two opposite jumps around one or two rows may be outliers; rows of the fitted data count from 0."


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
    """For two inputs: probability of a jump between the centres of neighbouring cells of a grid.

    Attributes
    ----------
    x, y : (p,) and (q,) arrays
        Centres of the cells along the first and the second input; dates in days.
    across_x : (q, p - 1) array
        Probability of a jump between left and right neighbours.
    across_y : (q - 1, p) array
        Probability of a jump between lower and upper neighbours.
    columns : Columns or None
        What the two inputs are; numbers if None.

    Examples
    --------
    >>> ends = np.array([0.0, 1.0])
    >>> BoundaryMap(ends, ends, np.array([[0.9], [0.1]]), np.array([[0.0, 0.2]])).cells
    array([[0.9, 0.9],
           [0.1, 0.2]])
    """

    x: FloatArray
    y: FloatArray
    across_x: FloatArray
    across_y: FloatArray
    columns: Columns | None = None

    @property
    def cells(self) -> FloatArray:
        """For each cell, the largest of the probabilities on its sides, shape (q, p)."""
        cells = np.zeros((self.y.size, self.x.size))
        cells[:, :-1] = self.across_x
        cells[:, 1:] = np.maximum(cells[:, 1:], self.across_x)
        cells[:-1] = np.maximum(cells[:-1], self.across_y)
        cells[1:] = np.maximum(cells[1:], self.across_y)
        return cells


@dataclass(frozen=True, eq=False)
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
    centre : (d,) array
        Means of the inputs, rounded to the digits that matter beside their spread.
    gaps : Gaps or None
        For one input, what happens between neighbouring training points.
    boundaries : BoundaryMap or None
        For two inputs, a map of probabilities.
    terms : tuple of str
        What each entry of a direction counts: an input, or one level of a category. Empty if these are the inputs.

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
    """

    min_size: float
    max_width: float
    n_jumps: IntArray
    found: tuple[Jump, ...]
    names: tuple[str, ...]
    centre: FloatArray
    gaps: Gaps | None = None
    boundaries: BoundaryMap | None = None
    terms: tuple[str, ...] = ()

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
        return len(self.terms or self.names) == 1

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Jump]:
        return iter(self.found)

    def __getitem__(self, index: int) -> Jump:
        return self.found[index]

    def __str__(self) -> str:
        counts = ", ".join(f"{n} with {p:.2f}" for n, p in enumerate(self.count_probability) if p >= 0.005)
        # The word "probability" once is enough.
        counts = counts.replace("with", "with probability", 1)
        unit = unit_in_words(self)
        what = f"Jumps larger than {self.min_size:.3g} and narrower than {self.max_width:.3g}{unit}"
        likely = [jump for jump in self.found if jump.probability >= LIKELY]
        lines = [f"{what}: {counts}", *map(self.describe, likely)]
        n_others = len(self.found) - len(likely)
        lines += [f"  and {n_others} less probable, each in 20% to 50% of the draws"] * (n_others > 0)
        return "\n".join(lines + [f"  {ABOUT_OUTLIERS}"] * any(jump.possible_outliers for jump in likely))

    def describe(self, jump: Jump) -> str:
        """One line of text about a jump."""
        low, high = jump.size_interval
        size = f"probability {jump.probability:.2f}, size {jump.size:+.3g} (90%: {low:+.3g} to {high:+.3g})"
        size += f", {jump.width:.2g}{' days' * self.over_dates} wide" if jump.width > 0.0 else ""
        size += f"; {outliers_in_words(jump)}" if jump.possible_outliers else ""
        if not self.on_line:
            return f"  where {plane_in_words(jump, self.terms or self.names, self.centre)}: {size}"
        _, left, right = places_in_words(jump)
        return f"  {location_in_words(jump)} (90%: {left} to {right}): {size}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        return {
            "min_size": self.min_size,
            "max_width": self.max_width,
            "inputs": list(self.names),
            "terms": list(self.terms or self.names),
            "count_probability": self.count_probability.tolist(),
            "jumps": [jump.to_dict() for jump in self.found],
        }


def plane_in_words(jump: Jump, names: tuple[str, ...], centre: FloatArray | None = None) -> str:
    """The side where f is higher, as in `0.52 a - 0.48 (b - 120) > 1.3`; inputs that lie far from zero are centred.

    Examples
    --------
    >>> jump = Jump(1.0, 240.5, (240.4, 240.6), np.array([0.5, 2.0]), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> plane_in_words(jump, ("a", "b"), np.array([1.0, 120.02]))
    '0.5 a + 2 (b - 120.02) > 0.46'
    """
    if jump.levels is not None:
        return f"{jump.levels[0]} is {either(jump.levels[1])}"
    # Centre an input where its usual value would dominate the sum: f jumps within a few units of `direction . x`.
    shift = np.zeros(len(names)) if centre is None else np.where(np.abs(jump.direction * centre) > 3.0, centre, 0.0)
    moved = float(jump.direction @ shift)
    ends = (jump.location_interval[0] - moved, jump.location_interval[1] - moved)
    jump = replace(jump, location=jump.location - moved, location_interval=ends)
    text = ""
    for coefficient, name, at in zip(jump.direction, names, shift, strict=True):
        sign = "-" if coefficient < 0.0 else "+" if text else ""
        centred = f"({name} {'-' if at > 0.0 else '+'} {abs(at):.8g})" if at else name
        text += f" {sign} " if text else sign
        text += f"{abs(coefficient):.3g} {centred}"
    return f"{text} > {places_in_words(jump)[0]}"


def location_in_words(jump: Jump) -> str:
    """Where f jumps over one input: at a number, or between two dates.

    Examples
    --------
    >>> days = datetime(2023, 3, 31), datetime(2023, 4, 1)
    >>> jump = Jump(1.0, datetime(2023, 3, 31, 9), days, np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0, between=days)
    >>> location_in_words(jump)
    'between 2023-03-31 and 2023-04-01'
    """
    where = places_in_words(jump)[0]
    return f"between {where.replace(' to ', ' and ')}" if isinstance(jump.location, datetime) else f"at {where}"


def unit_in_words(jumps: Jumps) -> str:
    """The unit of widths, with a space in front; nothing for the user's own."""
    return " days" if jumps.over_dates else "" if jumps.on_line else " standardised units"


def either(levels: tuple[str, ...]) -> str:
    """Levels in words.

    Examples
    --------
    >>> either(("A", "B", "D"))
    'A, B or D'
    """
    return f"{', '.join(levels[:-1])} or {levels[-1]}" if len(levels) > 1 else levels[0]


def outliers_in_words(jump: Jump) -> str:
    """Which rows this jump and its opposite may owe to outliers; nothing for other jumps.

    Examples
    --------
    >>> jump = Jump(1.0, 2.0, (1.9, 2.1), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0, possible_outliers=(20,))
    >>> outliers_in_words(jump), outliers_in_words(replace(jump, possible_outliers=(3, 4)))
    ('possibly an outlier: row 20', 'possibly outliers: rows 3 and 4')
    """
    match jump.possible_outliers:
        case ():
            return ""
        case (row,):
            return f"possibly an outlier: row {row}"
        case rows:
            return f"possibly outliers: rows {' and '.join(map(str, rows))}"


def places_in_words(jump: Jump) -> tuple[str, str, str]:
    """Location and the ends of its interval, rounded to the second digit of the width of the interval.

    Examples
    --------
    >>> jump = Jump(1.0, 4.7e-6, (-0.04586, 0.04661), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> places_in_words(jump)
    ('0', '-0.046', '0.047')
    """
    low, high = jump.location_interval
    if isinstance(jump.location, datetime):
        before, after = jump.between or (low, high)
        unit = unit_of([before, after])
        before, after = show_dates([before, after], unit)
        # Outward, so that the interval gets no shorter.
        return f"{before} to {after}", show_dates([low], unit, "floor")[0], show_dates([high], unit, "ceil")[0]
    # Adding 0.0 below turns -0.0 into 0.0.
    decimals = 1 - math.floor(math.log10(high - low)) if high > low else 4
    where, left, right = (f"{round(value, decimals) + 0.0:.8g}" for value in (jump.location, low, high))
    return where, left, right
