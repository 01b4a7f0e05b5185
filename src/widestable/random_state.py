"""Random streams from what users pass as `random_state`.

Public functions take `random_state` and turn it into a generator here; internal functions take that generator as `rng`.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

RandomStateLike = int | np.random.RandomState | np.random.Generator | None


def make_seed(random_state: Any) -> np.random.SeedSequence:
    """Return a seed made from `random_state`.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        None gives a fresh seed. A RandomState or Generator is advanced, so the next call gives another seed.

    Returns
    -------
    np.random.SeedSequence
        The seed.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4).tolist())
    if random_state is None:
        return np.random.SeedSequence()
    # True is an integer to Python, but never meant as a seed.
    is_integer = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if is_integer and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise ValueError(
        f"Got random_state = {random_state!r}, expected None, an integer of 0 or more, a RandomState or a Generator: "
        "pass an integer to get the same draws each time."
    )


def make_seeds(random_state: Any, n: int) -> list[np.random.SeedSequence]:
    """Return n independent seeds, one per chain."""
    return make_seed(random_state).spawn(n)


def make_rng(random_state: Any) -> np.random.Generator:
    """Return a generator seeded by `random_state`; a Generator is returned as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(make_seed(random_state))
