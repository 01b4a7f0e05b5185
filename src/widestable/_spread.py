"""A few indices out of many, evenly spread."""

from __future__ import annotations

import numpy as np

from ._types import IntArray


def evenly_spread(n: int, at_most: int) -> IntArray:
    """Indices from 0 to n - 1, both ends included; all of them unless that is more than `at_most`.

    Examples
    --------
    >>> evenly_spread(3, 5), evenly_spread(101, 5)
    (array([0, 1, 2]), array([  0,  25,  50,  75, 100]))
    """
    return np.linspace(0, max(n - 1, 0), min(n, at_most)).round().astype(np.int64)
