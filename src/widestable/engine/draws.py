"""Posterior draws of one chain, compact: the atoms of all draws one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from .._types import FloatArray, IntArray
from ..stable import log_scale_of_mark
from .chain import Buffers
from .names import ALPHA, LOG_NU, LOG_SIGMA2

OF_ATOMS = ("h", "log_mark", "size")


@dataclass(frozen=True)
class ChainDraws:
    """m draws of one chain over n training rows and d inputs, in the model's units.

    Attributes
    ----------
    theta : (m, 3) alpha, log nu, log sigma2.
    sharpness : (m,) of the units; infinite for sign units.
    log_density : (m,) log likelihood plus log prior of the inferred parameters, sizes integrated out.
    f : (m, rows) function at the stored training rows, remainder included.
    coefficient : (m, n) (g K + noise)^-1 (y - atoms) at the training rows, or for the landmarks of a low-rank
        remainder: what prediction needs of y.
    n_atoms : (m,) atoms of each draw.
    h : (sum of n_atoms, d + 1) hyperplanes, draw after draw.
    log_mark : (sum of n_atoms,) log marks.
    size : (sum of n_atoms,) sizes: f jumps by 2 |size| across the hyperplane.
    """

    theta: FloatArray
    sharpness: FloatArray
    log_density: FloatArray
    f: FloatArray
    coefficient: FloatArray
    n_atoms: IntArray
    h: FloatArray
    log_mark: FloatArray
    size: FloatArray

    def __len__(self) -> int:
        return self.log_density.size

    @property
    def alpha(self) -> FloatArray:
        return self.theta[:, ALPHA]

    @property
    def log_nu(self) -> FloatArray:
        return self.theta[:, LOG_NU]

    @property
    def log_sigma2(self) -> FloatArray:
        return self.theta[:, LOG_SIGMA2]

    @property
    def log_scale(self) -> FloatArray:
        """log v of every atom."""
        alpha, log_nu = np.repeat(self.alpha, self.n_atoms), np.repeat(self.log_nu, self.n_atoms)
        return log_scale_of_mark(self.log_mark, alpha, log_nu)


def pack(buffers: Buffers) -> ChainDraws:
    """Copy the atoms that are there out of the padded buffers."""
    present = np.arange(buffers.log_mark.shape[1]) < buffers.n_atoms[:, None]
    values = {name: getattr(buffers, name) for name in Buffers._fields}
    return ChainDraws(**{name: v[present] if name in OF_ATOMS else v.copy() for name, v in values.items()})


def concatenate(parts: Sequence[ChainDraws]) -> ChainDraws:
    """Draws of one chain, one part after the other."""
    return ChainDraws(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(ChainDraws)})


def every(draws: ChainDraws, step: int) -> ChainDraws:
    """Keep each `step`-th draw, the last of its group, so that thinning twice is thinning once by the product."""
    keep = np.zeros(len(draws), dtype=bool)
    keep[step - 1 :: step] = True
    atoms = np.repeat(keep, draws.n_atoms)
    return ChainDraws(
        **{f.name: getattr(draws, f.name)[atoms if f.name in OF_ATOMS else keep] for f in fields(ChainDraws)}
    )
