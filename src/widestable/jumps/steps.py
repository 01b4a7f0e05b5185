"""The steps of each draw: which of them count, which the data cannot tell apart, and which add up to a jump."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import erfinv

from .._types import FloatArray, IntArray
from ..engine.draws import ChainDraws
from ..inputs import TrainingData
from ..network import sign_patterns

BoolArray = npt.NDArray[np.bool_]
KeyArray = npt.NDArray[np.uint64]

# A step wider than this fraction of the standard deviation of the inputs is a slope, unless the user says otherwise.
MAX_WIDTH = 0.25
# Signs (atoms times rows) held in memory at once: 32 MB as 64-bit integers.
BLOCK = 1 << 22


# --- What counts -----------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """What counts as a jump, in the model's units.

    Attributes
    ----------
    size : float
        f must change by more than this.
    width : float
        Each step must be at most this wide.
    """

    size: float
    width: float


def check_limits(
    data: TrainingData, chains: Sequence[ChainDraws], size: float | None, max_width: float | None
) -> Limits:
    """Turn the user's limits into the model's units.

    The defaults are the posterior median of the noise s.d., and a quarter of the standard deviation of the inputs.
    """
    if size is not None and not size >= 0.0:
        raise ValueError(f"Got size = {size}, expected a number of at least zero: give it in the units of y.")
    if max_width is not None and not max_width >= 0.0:
        raise ValueError(
            f"Got max_width = {max_width}, expected a number of at least zero: pass inf to count every step."
        )
    noise_sd = float(np.sqrt(np.median(np.exp(np.concatenate([draws.log_sigma2 for draws in chains])))))
    return Limits(
        size=noise_sd if size is None else size / data.scaling.y_scale,
        width=MAX_WIDTH * _input_sd(data) if max_width is None else max_width / width_unit(data),
    )


def width_unit(data: TrainingData) -> float:
    """The unit in which users see widths: that of x for one input, standardised units for several."""
    return float(data.scaling.x_scale[0]) if data.X.shape[1] == 1 else 1.0


def _input_sd(data: TrainingData) -> float:
    """Root mean variance of the columns that vary; 1 when they are standardised."""
    mean = np.average(data.X, axis=0, weights=data.weight)
    variance = np.average((data.X - mean) ** 2, axis=0, weights=data.weight)
    varying = variance[variance > 0.0]
    return float(np.sqrt(varying.mean())) if varying.size else 1.0


# --- Steps and their groups ------------------------------------------------------------------------------


class Steps(NamedTuple):
    """The k steps of all draws that may be part of a jump, sorted by draw and then by group.

    A group holds the steps of one draw that have the same training rows on either side: the data only see their sum.
    Steps that are too wide are left out, and so are groups too small to add up to a jump.

    Attributes
    ----------
    n_draws : int
        Number of draws, including those without a step.
    h : (k, d + 1) array
        Hyperplanes.
    size : (k,) array
        Change of f from the negative to the positive side of h.
    width : (k,) array
        Widths of the steps; see `step_width`.
    toward_first : (k,) array
        +1 where the first training row is on the positive side of h, otherwise -1.
    splits : (k,) array of bool
        Whether there are training rows on both sides.
    key : (k,) array of uint64
        Equal for steps that split the training rows in the same way.
    draw : (k,) array of int
        The draw to which each step belongs.
    first : (groups,) array of int
        Index of the first step of each group.
    """

    n_draws: int
    h: FloatArray
    size: FloatArray
    width: FloatArray
    toward_first: FloatArray
    splits: BoolArray
    key: KeyArray
    draw: IntArray
    first: IntArray


def step_width(h: FloatArray, sharpness: FloatArray) -> FloatArray:
    """Distance along the normal over which `erf(sharpness h.z)` goes from -0.5 to 0.5; 0 for sign units.

    Examples
    --------
    >>> step_width(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, np.inf])).round(3)
    array([0.477, 0.   ])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * erfinv(0.5) / (sharpness * np.sqrt(np.sum(h[:, 1:] ** 2, axis=1))))


def collect_steps(data: TrainingData, chains: Sequence[ChainDraws], limits: Limits) -> Steps:
    """Collect the steps of all chains that may be part of a jump, and group them."""
    h = np.concatenate([draws.h for draws in chains])
    # Across its hyperplane an atom goes from -size to +size.
    size = 2.0 * np.concatenate([draws.size for draws in chains])
    n_atoms = np.concatenate([draws.n_atoms for draws in chains])
    sharpness = np.repeat(np.concatenate([draws.sharpness for draws in chains]), n_atoms)
    draw = np.repeat(np.arange(n_atoms.size), n_atoms)
    width = step_width(h, sharpness)
    narrow = width <= limits.width
    h, size, width, draw = h[narrow], size[narrow], width[narrow], draw[narrow]
    key, toward_first, splits = _split_keys(data.X, h)
    order = np.lexsort((key, draw))
    order = order[_in_large_groups(draw[order], key[order], size[order], limits.size)]
    first = _group_starts(draw[order], key[order])
    parts = (h[order], size[order], width[order], toward_first[order], splits[order], key[order], draw[order])
    return Steps(n_atoms.size, *parts, first)


def _split_keys(X: FloatArray, h: FloatArray) -> tuple[KeyArray, FloatArray, BoolArray]:
    """For each hyperplane: a key of how it splits the rows, the side of the first row, and whether it splits them."""
    # A random hash: the sum modulo 2**64 of random weights of the rows on the side of the first row. Integer sums are
    # exact, and two different splits collide with probability 2**-64.
    weights = np.random.default_rng(0).integers(0, 2**64, size=len(X), dtype=np.uint64)
    key, toward_first = np.empty(len(h), dtype=np.uint64), np.empty(len(h))
    splits = np.empty(len(h), dtype=bool)
    step = max(1, BLOCK // len(X))
    for start in range(0, len(h), step):
        part = slice(start, start + step)
        signs = sign_patterns(h[part], X)
        toward_first[part] = signs[:, 0]
        same_side = signs == signs[:, :1]
        splits[part] = ~same_side.all(axis=1)
        key[part] = same_side.astype(np.uint64) @ weights
    return key, toward_first, splits


def _group_starts(draw: IntArray, key: KeyArray) -> IntArray:
    """Where each run of equal (draw, key) starts."""
    changes = (draw[1:] != draw[:-1]) | (key[1:] != key[:-1])
    return np.flatnonzero(np.append(True, changes)[: draw.size])


def _in_large_groups(draw: IntArray, key: KeyArray, size: FloatArray, min_size: float) -> BoolArray:
    """Which steps belong to groups that would exceed `min_size` if all their steps went the same way.

    Others cannot be part of a jump, even between places that only some steps of the group separate.
    """
    first = _group_starts(draw, key)
    if not first.size:
        return np.zeros(0, dtype=bool)
    n_steps = np.diff(np.append(first, size.size))
    return np.repeat(np.add.reduceat(np.abs(size), first) > min_size, n_steps)


# --- Jumps of each draw ----------------------------------------------------------------------------------


class DrawnJumps(NamedTuple):
    """The k jumps of all draws, sorted by draw.

    Attributes
    ----------
    n_draws : int
        Number of draws, including those without a jump.
    draw : (k,) array of int
        The draw to which each jump belongs.
    h : (k, d + 1) array
        Hyperplane of the largest step in the group, oriented so that f is higher on its positive side.
    size : (k,) array
        Absolute change of f.
    width : (k,) array
        Width of the largest step.
    key : (k,) array of uint64
        Equal for jumps that split the training rows in the same way.
    """

    n_draws: int
    draw: IntArray
    h: FloatArray
    size: FloatArray
    width: FloatArray
    key: KeyArray


def add_up(steps: Steps, min_size: float) -> DrawnJumps:
    """Find the groups that split the training rows and whose steps add up to more than `min_size`."""
    if not steps.first.size:
        nothing = np.empty(0)
        return DrawnJumps(steps.n_draws, steps.draw, steps.h, nothing, nothing, steps.key)
    # Steps of a group may point either way; measured toward the first training row, they can be added.
    total = np.add.reduceat(steps.size * steps.toward_first, steps.first)
    is_jump = (np.abs(total) > min_size) & steps.splits[steps.first]
    leading = _leading_steps(steps, np.sign(total))[is_jump]
    h = steps.h[leading] * np.sign(steps.size[leading])[:, None]
    at = steps.first[is_jump]
    return DrawnJumps(steps.n_draws, steps.draw[at], h, np.abs(total)[is_jump], steps.width[leading], steps.key[at])


def _leading_steps(steps: Steps, direction: FloatArray) -> IntArray:
    """In each group, the largest of the steps that go in the direction of the sum."""
    group = np.repeat(np.arange(steps.first.size), np.diff(np.append(steps.first, steps.size.size)))
    forward = steps.size * steps.toward_first * direction[group]
    order = np.lexsort((forward, group))
    last = np.append(steps.first[1:], steps.size.size) - 1
    return np.asarray(order[last])
