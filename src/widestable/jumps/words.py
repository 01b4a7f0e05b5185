"""Jumps in words: how much, where, how sure.

For one input the place is a point, or between two dates. For two it is a line in the units of the inputs. For more it
is the part of the plane that matters: the weight of a term is its coefficient per standard deviation, and terms with
small weights are left out and counted. A category that carries the plane alone is told by its levels.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..inputs import CATEGORY, NUMBER, Columns, show_dates, unit_of
from ..inputs.columns import Column

if TYPE_CHECKING:
    from .result import Jump, Jumps

# Terms whose weights are smaller than this part of the largest do not carry the plane.
SMALL = 0.2
# Most numbers of jumps whose probabilities are written out.
MAX_COUNTS = 6
ABOUT_OUTLIERS = "Two opposite jumps around one or two rows may be outliers; rows of the fitted data count from 0."


# --- Sentences -------------------------------------------------------------------------------------------


def jumps_in_words(jumps: Jumps, full: bool = False) -> str:
    """How many jumps are likely, a line about each, and how many jumps the draws have."""
    n_likely, n_others = len(jumps.likely), len(jumps) - len(jumps.likely)
    what = f"jump{'s' * (n_likely > 1)} {jumps.what_counts()}"
    head = f"{n_likely} {what}, with 90% intervals:" if n_likely else f"No {what} in at least half of the draws"
    lines = [head, *(f"  {jump_in_words(jump, jumps, full)}" for jump in jumps.likely)]
    if n_others:
        lines.append(f"  {'and ' * bool(n_likely)}{n_others} less probable, each in 20% to 50% of the draws")
    if any(jump.possible_outliers for jump in jumps.likely):
        lines.append(f"  {ABOUT_OUTLIERS}")
    return "\n".join([*lines, f"Jumps per draw: {_counts_in_words(jumps)}"])


def _counts_in_words(jumps: Jumps) -> str:
    """Probabilities of the number of jumps in a draw; median and 90% interval if these are many."""
    counts = [f"{n} with {p:.2f}" for n, p in enumerate(jumps.count_probability) if p >= 0.005]
    if len(counts) > MAX_COUNTS:
        low, middle, high = np.quantile(jumps.n_jumps, [0.05, 0.5, 0.95], method="nearest")
        return f"{middle} (90%: {low} to {high})"
    # The word "probability" once is enough.
    return ", ".join(counts).replace("with", "with probability", 1)


def jump_in_words(jump: Jump, jumps: Jumps, full: bool = False) -> str:
    """How much f changes, where, and how probable that is; `full` names all inputs of the plane."""
    size, low, high = size_in_words(jump)
    text = f"{jumps.target} {'falls' if jump.size < 0.0 else 'rises'} by {size} ({low} to {high}) "
    text += place_in_words(jump, jumps, full)
    text += f", {jump.width:.2g}{' days' * jumps.over_dates} wide" if jump.width > 0.0 else ""
    text += f"; probability {jump.probability:.2f}"
    return text + (f"; {outliers_in_words(jump)}" if jump.possible_outliers else "")


def place_in_words(jump: Jump, jumps: Jumps, full: bool = False) -> str:
    """The place of a jump for one input, the side where f is higher for more.

    Examples
    --------
    >>> from widestable.jumps import Jump, Jumps
    >>> jump = Jump(1.0, 1.5, (1.4, 1.6), np.array([0.5, 0.001, -0.02]), 5.0, (4.0, 6.0), 0.0, 1.0)
    >>> inputs = ("press", "temp", "age"), np.array([3.0, 290.0, 0.1]), np.array([2.0, 10.0, 1.0])
    >>> jumps = Jumps(1.0, 0.5, np.ones(9, dtype=int), (jump,), *inputs)
    >>> place_in_words(jump, jumps)
    'where press > 2.42 (2.22 to 2.62), 2 small weights left out'
    >>> place_in_words(jump, jumps, full=True)
    'where 1 (press - 3.0)/2 + 0.01 (temp - 290)/10 - 0.02 age > -0.29'
    """
    if jumps.on_line:
        _, low, high = places_in_words(jump)
        return f"{location_in_words(jump)} ({low} to {high})"
    if jump.levels is not None and not full:
        return f"where {jump.levels[0]} is {either(jump.levels[1])}"
    plane = _plane_of(jump, jumps)
    weight = np.abs(plane.direction * jumps.spread)
    varies = jumps.spread > 0.0
    carries = varies if full else varies & (weight >= SMALL * weight.max())
    category = None if full else _deciding_category(plane, carries)
    if category is None:
        words = _inequality(plane, np.flatnonzero(carries))
    else:
        words = f"{plane.columns.labels[category.place]} is {either(category.higher)}"
        carries = plane.columns.input_of_column == category.place
    n_small = int(np.sum(varies & ~carries))
    return f"where {words}" + (f", {n_small} small weight{'s' * (n_small != 1)} left out" if n_small else "")


def location_in_words(jump: Jump) -> str:
    """Where f jumps over one input: at a number, or between two dates.

    Examples
    --------
    >>> from widestable.jumps import Jump
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
    >>> from dataclasses import replace
    >>> from widestable.jumps import Jump
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


def grid_in_words(x: NDArray[Any], y: NDArray[Any], names: tuple[str, str]) -> str:
    """Size and ends of a grid over two inputs.

    Examples
    --------
    >>> grid_in_words(np.array([0.0, 2.0]), np.array(["low", "mid", "high"]), ("age", "dose"))
    '2 x 3 points, age 0 to 2, dose low to high'
    """
    ends = []
    for name, axis in zip(names, (x, y), strict=True):
        first, last = axis[[0, -1]]
        if axis.dtype.kind == "M":
            first, last = show_dates([first, last], "D")
        elif axis.dtype.kind == "f":
            first, last = f"{first:.4g}", f"{last:.4g}"
        ends.append(f"{name} {first} to {last}")
    return f"{x.size} x {y.size} points, {', '.join(ends)}"


# --- Planes ----------------------------------------------------------------------------------------------


class _Plane(NamedTuple):
    """A hyperplane `direction . x > location`, in terms of which the weights of levels compare with each other."""

    direction: FloatArray  # one entry per term
    ends: FloatArray  # location, and the ends of its interval
    centre: FloatArray
    spread: FloatArray
    columns: Columns


def columns_of(jumps: Jumps) -> Columns:
    """What the inputs are, under the names that the jumps have for them."""
    if jumps.columns is None:
        return Columns((Column(NUMBER),) * len(jumps.names), jumps.names)
    return replace(jumps.columns, names=jumps.names)


def _plane_of(jump: Jump, jumps: Jumps) -> _Plane:
    columns, direction = columns_of(jumps), jump.direction.copy()
    ends = np.array([jump.location, *jump.location_interval])
    for j, column in enumerate(columns.given):
        if column.kind == CATEGORY:
            # The terms of a category add up to 1, so a number may be taken from all of its coefficients.
            places = columns.places(j)
            common = direction[places] @ jumps.centre[places]
            direction[places] -= common
            ends -= common
    return _Plane(direction, ends, jumps.centre, jumps.spread, columns)


def _ends_without(plane: _Plane, others: NDArray[np.bool_]) -> FloatArray:
    """Location and interval for the rest of the terms, with the others at their means."""
    return plane.ends - plane.direction[others] @ plane.centre[others]


class _Category(NamedTuple):
    """A category that decides on which side of a plane a row is."""

    place: int  # among the inputs
    higher: tuple[str, ...]  # its levels where f is higher


def _deciding_category(plane: _Plane, carries: NDArray[np.bool_]) -> _Category | None:
    """The category that decides alone, whatever the other terms that carry the plane are; None if there is none."""
    columns = plane.columns
    if not all(_is_indicator(columns, int(k)) for k in np.flatnonzero(carries)):
        return None
    inputs = np.unique(columns.input_of_column[carries])
    for j in (j for j in inputs if columns.given[j].kind == CATEGORY):
        ours = columns.input_of_column == j
        others = [_terms_that_vary(columns, i, carries) for i in inputs if i != j]
        threshold = _ends_without(plane, ~np.any([ours, *others], axis=0))[0] - plane.direction[ours]
        # One level of another category counts; an indicator may count or not.
        weights = [plane.direction[other] for other in others]
        values = [np.append(weight, 0.0) if weight.size == 1 else weight for weight in weights]
        is_higher = sum(value.min() for value in values) > threshold
        may_be_higher = sum(value.max() for value in values) > threshold
        if is_higher.any() and not is_higher.all() and np.array_equal(is_higher, may_be_higher):
            column = columns.given[j]
            levels = (*column.levels, *(["missing"] if column.fill is not None else []))
            return _Category(int(j), tuple(str(levels[k]) for k in np.flatnonzero(is_higher)))
    return None


def _terms_that_vary(columns: Columns, j: int, carries: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The 0/1 terms of input j: all of a category, and otherwise whether it is missing."""
    ours = columns.input_of_column == j
    return np.asarray(ours if columns.given[j].kind == CATEGORY else ours & carries)


def _inequality(plane: _Plane, carriers: IntArray) -> str:
    """The inequality between the terms that carry the plane, with the others at their means."""
    others = np.ones(plane.direction.size, dtype=bool)
    others[carriers] = False
    ends = _ends_without(plane, others)
    if carriers.size == 1:
        return _threshold(plane, carriers[0], ends / plane.direction[carriers[0]])
    text = ""
    for k in carriers:
        shift, unit = _shift(plane, k), _unit(plane, k)
        coefficient = float(plane.direction[k]) * unit
        ends -= plane.direction[k] * shift
        sign = "-" if coefficient < 0.0 else "+" if text else ""
        text += f" {sign} " if text else sign
        text += f"{abs(coefficient):.2g} {_term(plane, k, shift, unit)}"
    return f"{text} > {digits(ends[0], decimals_of(ends[1], ends[2]))}"


def _threshold(plane: _Plane, k: int, ends: FloatArray) -> str:
    """The side of one term, with the interval of its threshold, as in `a > 3.0 (2.8 to 3.2)`."""
    columns, j = plane.columns, int(plane.columns.input_of_column[k])
    name, dates, rises = columns.terms[k], columns.given[j].dates, plane.direction[k] > 0.0
    location, low, high = float(ends[0]), float(ends[1:].min()), float(ends[1:].max())
    if _is_indicator(columns, k):
        # Between its two values, 0 and 1, all thresholds are the same.
        if 0.0 < location < 1.0:
            return f"{columns.labels[j]} is {'' if rises else 'not '}missing"
    elif dates is not None:
        at = columns.values(j, np.array([location, low, high]))
        # Of dates that are whole in this unit, those after a time are those after it is rounded down.
        first = show_dates(at[:1], dates.unit, "floor" if rises else "ceil")[0]
        # Outward, so that the interval gets no shorter.
        left, right = show_dates(at[1:2], dates.unit, "floor")[0], show_dates(at[2:], dates.unit, "ceil")[0]
        return f"{columns.labels[j]} is {'after' if rises else 'before'} {first} ({left} to {right})"
    where, left, right = interval_in_words(location, (low, high))
    return f"{name} {'>' if rises else '<'} {where} ({left} to {right})"


def _is_indicator(columns: Columns, k: int) -> bool:
    """Whether term k is 0 or 1: a level, or whether a value is missing."""
    j = int(columns.input_of_column[k])
    return columns.given[j].kind == CATEGORY or k != columns.places(j)[0]


def _shift(plane: _Plane, k: int) -> float:
    """What to take from term k: its mean, unless that is near zero beside the spread, or beside the plane."""
    columns, centre, spread = plane.columns, float(plane.centre[k]), float(plane.spread[k])
    if _is_indicator(columns, k):
        return 0.0
    if (dates := columns.given[columns.input_of_column[k]].dates) is not None:
        # A date that can be written down.
        return float(round(centre)) if dates.unit == "D" else centre
    if plane.direction.size == 2:
        # f jumps within a few units of `direction . x`; a usual value far beyond would dominate the sum.
        return centre if abs(plane.direction[k] * centre) > 3.0 else 0.0
    return centre if abs(centre) > 0.5 * spread else 0.0


def _unit(plane: _Plane, k: int) -> float:
    """What to divide term k by: about its s.d. Lines in a plane are in the units of its axes."""
    spread = float(plane.spread[k])
    is_plain = plane.direction.size == 2 or _is_indicator(plane.columns, k)
    return 1.0 if is_plain or 0.8 < spread < 1.25 else float(f"{spread:.1g}")


def _term(plane: _Plane, k: int, shift: float, unit: float) -> str:
    """Term k without its mean and over its s.d., as in `(temp - 290)/10`."""
    columns, j, name = plane.columns, int(plane.columns.input_of_column[k]), plane.columns.terms[k]
    if columns.given[j].dates is not None and not _is_indicator(columns, k):
        name = f"[{columns.labels[j]} in days since {columns.show(j, shift)}]"
    elif shift:
        at = digits(abs(shift), decimals_of(0.0, float(plane.spread[k])))
        name = f"({name} {'-' if shift > 0.0 else '+'} {at})"
    return name if unit == 1.0 else f"{name}/{unit:g}"


# --- Numbers ---------------------------------------------------------------------------------------------


def places_in_words(jump: Jump) -> tuple[str, str, str]:
    """Location of a jump over one input, and the ends of its interval; the dates on either side where it has dates."""
    low, high = jump.location_interval
    if not isinstance(jump.location, datetime):
        return interval_in_words(jump.location, (low, high))
    before, after = jump.between or (low, high)
    unit = unit_of([before, after])
    before, after = show_dates([before, after], unit)
    # Outward, so that the interval gets no shorter.
    return f"{before} to {after}", show_dates([low], unit, "floor")[0], show_dates([high], unit, "ceil")[0]


def interval_in_words(value: float, ends: tuple[float, float]) -> tuple[str, str, str]:
    """A number and the ends of its interval, to the second digit of the interval's width.

    Examples
    --------
    >>> interval_in_words(4.7e-6, (-0.04586, 0.04661))
    ('0.000', '-0.046', '0.047')
    """
    decimals = decimals_of(*ends)
    where, low, high = (digits(v, decimals) for v in (value, *ends))
    return where, low, high


def size_in_words(jump: Jump) -> tuple[str, str, str]:
    """How much f rises or falls, and the ends of the interval, smaller first.

    Examples
    --------
    >>> from widestable.jumps import Jump
    >>> size_in_words(Jump(1.0, 2.0, (1.9, 2.1), np.ones(1), -3.987, (-4.2, -3.77), 0.0, 1.0))
    ('3.99', '3.77', '4.20')
    """
    low, high = sorted(jump.size_interval, reverse=jump.size < 0.0)
    sign, decimals = (-1.0 if jump.size < 0.0 else 1.0), decimals_of(low, high)
    size, first, second = (digits(sign * value, decimals) for value in (jump.size, low, high))
    return size, first, second


def decimals_of(low: float, high: float) -> int | None:
    """Decimals at which the distance between two numbers has two digits; None if they are equal."""
    return 1 - math.floor(math.log10(abs(high - low))) if high != low else None


def digits(value: float, decimals: int | None) -> str:
    """A number with this many decimals, which may be negative; with four digits if that is not known.

    Examples
    --------
    >>> digits(0.5, None), digits(-1e-9, 2), digits(1234.5, -1), digits(1.25e-12, 14)
    ('0.5', '0.00', '1230', '1.25e-12')
    """
    if decimals is None:
        return f"{value:.4g}"
    rounded = round(value, decimals) + 0.0  # -0.0 becomes 0.0
    return f"{rounded:.{max(decimals, 0)}f}" if decimals <= 8 and abs(value) < 1e12 else f"{rounded:.6g}"
