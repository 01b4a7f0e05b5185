"""Jumps in words: how much, where, how sure.

For one input the place is a point. For two it is a line in the units of the inputs. For more it is the part of the
plane that matters: the weight of an input is its coefficient per standard deviation, and inputs with small weights are
left out and counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .._types import FloatArray, IntArray

if TYPE_CHECKING:
    from .result import Jump, Jumps

# Inputs whose weights are smaller than this part of the largest do not carry the plane.
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
    text += f", {jump.width:.2g} wide" if jump.width > 0.0 else ""
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
    if len(jumps.names) == 1:
        where, low, high = interval_in_words(jumps.names[0], jump.location, jump.location_interval)
        return f"at {where} ({low} to {high})"
    weight = np.abs(jump.direction * jumps.spread)
    varies = jumps.spread > 0.0
    carries = varies if full else varies & (weight >= SMALL * weight.max())
    text = f"where {_plane(jump, jumps, np.flatnonzero(carries))}"
    n_small = int(np.sum(varies & ~carries))
    return text + (f", {n_small} small weight{'s' * (n_small != 1)} left out" if n_small else "")


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


def _plane(jump: Jump, jumps: Jumps, carriers: IntArray) -> str:
    """The inequality between the inputs that carry the plane, with the others at their means."""
    others = np.ones(len(jumps.names), dtype=bool)
    others[carriers] = False
    at_means = float(jump.direction[others] @ jumps.centre[others])
    ends = np.array([jump.location, *jump.location_interval]) - at_means
    if carriers.size == 1:
        (j,) = carriers
        location, first, second = ends / jump.direction[j]
        words = interval_in_words(jumps.names[j], location, (min(first, second), max(first, second)))
        return f"{jumps.names[j]} {'>' if jump.direction[j] > 0.0 else '<'} {words[0]} ({words[1]} to {words[2]})"
    text = ""
    for j in carriers:
        shift, unit = _shift(jump, jumps, j), _unit(jumps, j)
        coefficient = float(jump.direction[j]) * unit
        ends -= jump.direction[j] * shift
        sign = "-" if coefficient < 0.0 else "+" if text else ""
        text += f" {sign} " if text else sign
        text += f"{abs(coefficient):.2g} {_term(jumps, j, shift, unit)}"
    return f"{text} > {digits(ends[0], decimals_of(ends[1], ends[2]))}"


def _shift(jump: Jump, jumps: Jumps, j: int) -> float:
    """What to take from input j: its mean, unless that is near zero beside the spread, or beside the plane."""
    centre, spread = float(jumps.centre[j]), float(jumps.spread[j])
    if len(jumps.names) == 2:
        # f jumps within a few units of `direction . x`; a usual value far beyond would dominate the sum.
        return centre if abs(jump.direction[j] * centre) > 3.0 else 0.0
    return centre if abs(centre) > 0.5 * spread else 0.0


def _unit(jumps: Jumps, j: int) -> float:
    """What to divide input j by: about its s.d. Lines in a plane are in the units of its axes."""
    spread = float(jumps.spread[j])
    return 1.0 if len(jumps.names) == 2 or 0.8 < spread < 1.25 else float(f"{spread:.1g}")


def _term(jumps: Jumps, j: int, shift: float, unit: float) -> str:
    """Input j without its mean and over its s.d., as in `(temp - 290)/10`."""
    name = jumps.names[j]
    if shift:
        at = format_place(name, abs(shift), decimals_of(0.0, float(jumps.spread[j])))
        name = f"({name} {'-' if shift > 0.0 else '+'} {at})"
    return name if unit == 1.0 else f"{name}/{unit:g}"


def grid_in_words(x: FloatArray, y: FloatArray, names: tuple[str, str]) -> str:
    """Size and ends of a grid over two inputs."""
    ends = [f"{name} {axis[0]:.4g} to {axis[-1]:.4g}" for name, axis in zip(names, (x, y), strict=True)]
    return f"{x.size} x {y.size} points, {', '.join(ends)}"


# --- Numbers ---------------------------------------------------------------------------------------------


def format_place(name: str, value: float, decimals: int | None) -> str:
    """A value of the input with this name."""
    return digits(value, decimals)


def interval_in_words(name: str, value: float, ends: tuple[float, float]) -> tuple[str, str, str]:
    """A place on the input with this name and the ends of its interval, to the second digit of the interval's width.

    Examples
    --------
    >>> interval_in_words("x", 4.7e-6, (-0.04586, 0.04661))
    ('0.000', '-0.046', '0.047')
    """
    decimals = decimals_of(*ends)
    where, low, high = (format_place(name, v, decimals) for v in (value, *ends))
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
