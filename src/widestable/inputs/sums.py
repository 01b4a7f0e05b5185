"""Sums that are rounded once, so that the order of their terms changes no bit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def exact_dot(a: Floats, b: Floats) -> float:
    """`sum a_i b_i`, rounded once: each product is split into its value and its rounding error (Dekker)."""
    product = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return math.fsum(np.concatenate([product, error]).tolist())


def _split(a: Floats) -> tuple[Floats, Floats]:
    """High and low half of each number, 26 bits each."""
    shifted = a * 134217729.0
    high = shifted - (shifted - a)
    return high, a - high
