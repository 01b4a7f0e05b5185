"""What is reported about jumps, as frozen data in the user's units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray, IntArray

# Jumps less probable than this are counted but not described when printed.
SURE = 0.5


@dataclass(frozen=True, eq=False)
class Jump:
    """One jump, recognised across draws: f is higher where `direction . x > location`.

    Attributes
    ----------
    probability : the part of the draws that have it.
    location : for one input, where f jumps: the median over those draws. For several, the threshold on `direction . x`.
    location_interval : its central 90% interval; for several inputs that of the distance from the data's centre.
    direction : (d,) normal of the hyperplane, toward where f is higher, of unit length in standardised inputs.
    size, size_interval : change of f: median and central 90% interval. For one input negative when f falls.
    width : median distance over which a step goes from a quarter to three quarters of its height; 0 for a clean
        jump. In the user's units for one input, in standardised units for several.
    agreement : mean share of the training rows (by weight) on which the draws' hyperplanes agree with this one.

    Examples
    --------
    >>> jump = Jump(0.9, 2.0, (1.8, 2.1), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> jump.to_dict()["location_interval"]
    [1.8, 2.1]
    """

    probability: float
    location: float
    location_interval: tuple[float, float]
    direction: FloatArray
    size: float
    size_interval: tuple[float, float]
    width: float
    agreement: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        return {
            "probability": self.probability,
            "location": self.location,
            "location_interval": list(self.location_interval),
            "direction": self.direction.tolist(),
            "size": self.size,
            "size_interval": list(self.size_interval),
            "width": self.width,
            "agreement": self.agreement,
        }


class Gaps(NamedTuple):
    """For one input: the jump between each pair of neighbouring training points, shape (n - 1,) each.

    Examples
    --------
    >>> gaps = Gaps(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.1, 0.9]), np.array([0.5, 5.0]))
    >>> gaps.low[gaps.probability > 0.5]
    array([1.])
    """

    low: FloatArray
    high: FloatArray
    probability: FloatArray
    size: FloatArray  # median change over the draws that jump there; NaN without any


class BoundaryMap(NamedTuple):
    """For two inputs: probability of a jump between the centres of neighbouring cells of a grid.

    Examples
    --------
    >>> ends = np.array([0.0, 1.0])
    >>> BoundaryMap(ends, ends, np.array([[0.9], [0.1]]), np.array([[0.0, 0.2]])).cells
    array([[0.9, 0.9],
           [0.1, 0.2]])
    """

    x: FloatArray  # (p,) centres along the first input
    y: FloatArray  # (q,) centres along the second
    across_x: FloatArray  # (q, p - 1) between left and right neighbours
    across_y: FloatArray  # (q - 1, p) between lower and upper neighbours

    @property
    def cells(self) -> FloatArray:
        """(q, p) the largest of the probabilities on a cell's sides."""
        cells = np.zeros((self.y.size, self.x.size))
        cells[:, :-1] = self.across_x
        cells[:, 1:] = np.maximum(cells[:, 1:], self.across_x)
        cells[:-1] = np.maximum(cells[:-1], self.across_y)
        cells[1:] = np.maximum(cells[1:], self.across_y)
        return cells


@dataclass(frozen=True, eq=False)
class Jumps:
    """Jumps of f larger than `min_size` and narrower than `max_width` between training rows, in the user's units.

    Steps with the same training rows on their two sides cannot be told apart by the data: they count as one jump, and
    its size is that of their sum. A jump that no pair of training rows straddles is not counted. Iterate over it to get
    each `Jump`; those with a probability of at least 0.2 are kept.

    Attributes
    ----------
    min_size : the least change of f that counts.
    max_width : the greatest width of a step that counts; in the units of x for one input, in standardised units for
        several.
    n_jumps : (draws,) number of jumps in each draw.
    found : the jumps, from left to right for one input, the surest first for several.
    names : of the inputs.
    centre : (d,) the inputs' means, with the digits that their spread makes sense of.
    gaps : for one input, what happens between neighbouring training points; else None.
    boundaries : for two inputs, a map of probabilities; else None.

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

    @property
    def count_probability(self) -> FloatArray:
        """Posterior probabilities of 0, 1, 2, ... jumps."""
        return np.asarray(np.bincount(self.n_jumps) / self.n_jumps.size)

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Jump]:
        return iter(self.found)

    def __getitem__(self, index: int) -> Jump:
        return self.found[index]

    def __str__(self) -> str:
        counts = ", ".join(f"{n}: {p:.2f}" for n, p in enumerate(self.count_probability) if p >= 0.005)
        unit = "" if len(self.names) == 1 else " standardised units"
        what = f"Jumps larger than {self.min_size:.3g} and narrower than {self.max_width:.3g}{unit}"
        sure = [jump for jump in self.found if jump.probability >= SURE]
        lines = [f"{what}; probability of each number: {counts}", *map(self.describe, sure)]
        n_others = len(self.found) - len(sure)
        return "\n".join(lines + [f"  and {n_others} with a probability from 0.2 to {SURE}"] * (n_others > 0))

    def describe(self, jump: Jump) -> str:
        """One line about a jump."""
        low, high = jump.size_interval
        size = f"probability {jump.probability:.2f}, size {jump.size:+.3g} (90%: {low:+.3g} to {high:+.3g})"
        size += f", {jump.width:.2g} wide" if jump.width > 0.0 else ""
        if len(self.names) > 1:
            return f"  where {plane_in_words(jump, self.names, self.centre)}: {size}"
        where, left, right = places_in_words(jump)
        return f"  at {where} (90%: {left} to {right}): {size}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        return {
            "min_size": self.min_size,
            "max_width": self.max_width,
            "inputs": list(self.names),
            "count_probability": self.count_probability.tolist(),
            "jumps": [jump.to_dict() for jump in self.found],
        }


def plane_in_words(jump: Jump, names: tuple[str, ...], centre: FloatArray | None = None) -> str:
    """`0.52 a - 0.48 (b - 120) > 1.3`: the side where f is higher; inputs that lie far from zero are centred.

    Examples
    --------
    >>> jump = Jump(1.0, 240.5, (240.4, 240.6), np.array([0.5, 2.0]), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> plane_in_words(jump, ("a", "b"), np.array([1.0, 120.02]))
    '0.5 a + 2 (b - 120.02) > 0.46'
    """
    shift = np.zeros(len(names)) if centre is None else np.where(np.abs(jump.direction * centre) > 3.0, centre, 0.0)
    moved = float(jump.direction @ shift)
    ends = (jump.location_interval[0] - moved, jump.location_interval[1] - moved)
    jump = replace(jump, location=jump.location - moved, location_interval=ends)
    names = tuple(
        f"({name} {'-' if at > 0.0 else '+'} {abs(at):.8g})" if at else name
        for name, at in zip(names, shift, strict=True)
    )
    terms: list[str] = []
    for coefficient, name in zip(jump.direction, names, strict=True):
        sign = "-" if coefficient < 0.0 else "+" if terms else ""
        terms.append(
            f"{sign} {abs(coefficient):.3g} {name}".strip() if terms else f"{sign}{abs(coefficient):.3g} {name}"
        )
    return f"{' '.join(terms)} > {places_in_words(jump)[0]}"


def places_in_words(jump: Jump) -> tuple[str, str, str]:
    """Location and the ends of its interval, with as many digits as the interval makes sense of.

    Examples
    --------
    >>> jump = Jump(1.0, 4.7e-6, (-0.04586, 0.04661), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> places_in_words(jump)
    ('0', '-0.046', '0.047')
    """
    low, high = jump.location_interval
    decimals = 1 - math.floor(math.log10(high - low)) if high > low else 4
    where, left, right = (f"{round(value, decimals) + 0.0:.8g}" for value in (jump.location, low, high))
    return where, left, right
