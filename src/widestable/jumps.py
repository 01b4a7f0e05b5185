"""A first summary of jumps: atoms that change f by more than a given size between training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._kernels.tuples import FloatArray, IntArray
from .inputs import TrainingData, unscale_inputs
from .levy.draws import ChainDraws
from .network import sign_patterns

# Signs of atoms at the training rows held in memory at once (32 MB).
BLOCK = 1 << 25


@dataclass(frozen=True, eq=False)
class Jumps:
    """Jumps of f larger than `min_size` between training rows, in the user's units.

    Atoms with the same training rows on their two sides cannot be told apart by the data: they count as one jump,
    and its size is that of their sum. A jump that no pair of training rows straddles is not counted.

    Attributes
    ----------
    min_size : the least change of f that counts.
    n_jumps : (draws,) number of jumps in each draw.
    low, high : (k,) for one input, the neighbouring training points between which f may jump.
    probability : (k,) posterior probability of a jump between them.
    size : (k,) median of the change of f there, over the draws that jump; positive when f rises. NaN without any.

    With several inputs `low`, `high`, `probability` and `size` are empty.
    """

    min_size: float
    n_jumps: IntArray
    low: FloatArray
    high: FloatArray
    probability: FloatArray
    size: FloatArray

    @property
    def count_probability(self) -> FloatArray:
        """Posterior probabilities of 0, 1, 2, ... jumps."""
        return np.asarray(np.bincount(self.n_jumps) / self.n_jumps.size)

    def __str__(self) -> str:
        counts = ", ".join(f"{n}: {p:.2f}" for n, p in enumerate(self.count_probability) if p >= 0.005)
        lines = [f"Jumps larger than {self.min_size:.3g}; probability of each number of them: {counts}"]
        for low, high, probability, size in zip(self.low, self.high, self.probability, self.size, strict=True):
            if probability >= 0.25:
                lines.append(f"  between {low:.4g} and {high:.4g}: probability {probability:.2f}, size {size:+.3g}")
        return "\n".join(lines)


def summarise(data: TrainingData, chains: Sequence[ChainDraws], min_size: float) -> Jumps:
    """Count jumps in every draw; with one input, look between each pair of neighbouring points."""
    if not min_size >= 0.0:
        raise ValueError(f"Got min_size = {min_size}, expected a number of zero or more: give it in the units of y.")
    scaled = min_size / data.scaling.y_scale
    if data.X.shape[1] > 1 or len(data.X) == 1:
        n_jumps = np.concatenate([_count_patterns(data.X, draws, scaled) for draws in chains])
        return Jumps(min_size, n_jumps, *np.empty((4, 0)))
    change = np.concatenate([_changes_on_line(data.X[:, 0], draws) for draws in chains])
    is_jump = np.abs(change) > scaled
    size = [np.median(c[j]) if j.any() else np.nan for c, j in zip(change.T, is_jump.T, strict=True)]
    x = unscale_inputs(data.X, data.scaling)[:, 0]
    return Jumps(
        min_size=min_size,
        n_jumps=is_jump.sum(axis=1),
        low=x[:-1],
        high=x[1:],
        probability=is_jump.mean(axis=0),
        size=np.array(size) * data.scaling.y_scale,
    )


def _changes_on_line(x: FloatArray, draws: ChainDraws) -> FloatArray:
    """Change of the atoms' sum between neighbouring sorted points, shape (draws, n - 1)."""
    # An atom steps up by 2 size at -h0 / h1 when h1 > 0, down when h1 < 0.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gap = np.searchsorted(x, -draws.h[:, 0] / draws.h[:, 1]) - 1
    inside = (gap >= 0) & (gap < x.size - 1)
    draw = np.repeat(np.arange(len(draws)), draws.n_atoms)
    change = np.zeros((len(draws), x.size - 1))
    np.add.at(change, (draw[inside], gap[inside]), (2.0 * draws.size * np.sign(draws.h[:, 1]))[inside])
    return change


def _count_patterns(X: FloatArray, draws: ChainDraws, min_size: float) -> IntArray:
    """Number of distinct splits of the rows across which the atoms' sum changes by more than `min_size`."""
    key, orientation, splits = _split_keys(X, draws.h)
    draw = np.repeat(np.arange(len(draws)), draws.n_atoms)[splits]
    key, step = key[splits], (2.0 * draws.size * orientation)[splits]
    order = np.lexsort((key, draw))
    draw, key, step = draw[order], key[order], step[order]
    first = np.flatnonzero(np.r_[True, (draw[1:] != draw[:-1]) | (key[1:] != key[:-1])][: draw.size])
    total = np.add.reduceat(step, first) if first.size else np.empty(0)
    return np.bincount(draw[first][np.abs(total) > min_size], minlength=len(draws)).astype(np.int64)


def _split_keys(X: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """A number that tells splits of the rows apart, the side of the first row, and whether a split is one at all."""
    # Random weights make equal sums of different patterns as good as impossible; the seed only has to be fixed.
    weights = np.random.default_rng(0).random(len(X))
    key, orientation = np.empty((2, len(h)))
    splits = np.empty(len(h), dtype=bool)
    step = max(1, BLOCK // len(X))
    for start in range(0, len(h), step):
        part = slice(start, start + step)
        signs = sign_patterns(h[part], X)
        orientation[part] = signs[:, 0]
        same_side = signs == signs[:, :1]
        splits[part] = ~same_side.all(axis=1)
        key[part] = same_side @ weights
    return key, orientation, splits
