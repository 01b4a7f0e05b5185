"""The steps of every draw that may add up to a jump, and which of them the data cannot tell apart."""

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
from .limits import Limits

# Signs of atoms at rows held in memory at once (32 MB as 64-bit integers).
BLOCK = 1 << 22


class Steps(NamedTuple):
    """Steps narrow enough for a jump, in groups large enough for one; groups are runs, sorted by draw.

    A group holds the steps of one draw that have the same training rows on their two sides: the data see only their
    sum. `size` is the change of f from the negative to the positive side of h.
    """

    n_draws: int
    h: FloatArray  # (k, d + 1)
    size: FloatArray  # (k,)
    width: FloatArray  # (k,)
    toward_first: FloatArray  # (k,) +1 where the first training row is on the positive side, else -1
    splits: npt.NDArray[np.bool_]  # (k,) whether training rows lie on both sides
    key: npt.NDArray[np.uint64]  # (k,) equal for steps that split the rows alike
    draw: IntArray  # (k,)
    first: IntArray  # (groups,) where each group starts


class Found(NamedTuple):
    """Jumps of all draws, sorted by draw: groups of steps that split the training rows and add up to more than a size.

    The hyperplane and the width are those of the group's largest step; h points to where f is higher.
    """

    n_draws: int
    draw: IntArray
    h: FloatArray
    size: FloatArray
    width: FloatArray
    key: npt.NDArray[np.uint64]


def step_width(h: FloatArray, sharpness: FloatArray) -> FloatArray:
    """Distance along the normal over which `erf(sharpness h.z)` goes from -0.5 to 0.5; 0 for sign units.

    Examples
    --------
    >>> step_width(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1.0, np.inf])).round(3)
    array([0.477, 0.   ])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * erfinv(0.5) / (sharpness * np.sqrt(np.sum(h[:, 1:] ** 2, axis=1))))


def gather(data: TrainingData, chains: Sequence[ChainDraws], limits: Limits) -> Steps:
    """All steps that may be part of a jump within `limits`."""
    h = np.concatenate([draws.h for draws in chains])
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
    first = _starts(draw[order], key[order])
    parts = (h[order], size[order], width[order], toward_first[order], splits[order], key[order], draw[order])
    return Steps(n_atoms.size, *parts, first)


def add_up(steps: Steps, min_size: float) -> Found:
    """Groups that split the training rows and whose sum exceeds `min_size`."""
    if not steps.first.size:
        nothing = np.empty(0)
        return Found(steps.n_draws, steps.draw, steps.h, nothing, nothing, steps.key)
    total = np.add.reduceat(steps.size * steps.toward_first, steps.first)
    is_jump = (np.abs(total) > min_size) & steps.splits[steps.first]
    leading = _leading_steps(steps, np.sign(total))[is_jump]
    h = steps.h[leading] * np.sign(steps.size[leading])[:, None]
    at = steps.first[is_jump]
    return Found(steps.n_draws, steps.draw[at], h, np.abs(total)[is_jump], steps.width[leading], steps.key[at])


def _leading_steps(steps: Steps, direction: FloatArray) -> IntArray:
    """The largest step of each group among those that go its way."""
    group = np.repeat(np.arange(steps.first.size), np.diff(np.append(steps.first, steps.size.size)))
    forward = steps.size * steps.toward_first * direction[group]
    order = np.lexsort((forward, group))
    last = np.append(steps.first[1:], steps.size.size) - 1
    return np.asarray(order[last])


def _starts(draw: IntArray, key: npt.NDArray[np.uint64]) -> IntArray:
    """Where each run of equal (draw, key) starts."""
    changes = (draw[1:] != draw[:-1]) | (key[1:] != key[:-1])
    return np.flatnonzero(np.append(True, changes)[: draw.size])


def _in_large_groups(
    draw: IntArray, key: npt.NDArray[np.uint64], size: FloatArray, min_size: float
) -> npt.NDArray[np.bool_]:
    """Steps of groups that would exceed `min_size` if all went the same way; no others can be part of a jump."""
    first = _starts(draw, key)
    if not first.size:
        return np.zeros(0, dtype=bool)
    n_steps = np.diff(np.append(first, size.size))
    return np.repeat(np.add.reduceat(np.abs(size), first) > min_size, n_steps)


def _split_keys(X: FloatArray, h: FloatArray) -> tuple[npt.NDArray[np.uint64], FloatArray, npt.NDArray[np.bool_]]:
    """A number that tells splits of the rows apart, the side of the first row, and whether a split is one at all."""
    # Sums modulo 2**64 of random weights: exact, and equal for different splits as good as never.
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
