"""Small tables, and how two results are compared."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from widestable.inputs import Scaling, TrainingData

A = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, 9.0]])
B = [1.0, 2.0, 4.0]


def assert_same_bits(first: TrainingData, second: TrainingData, but: tuple[str, ...] = ()) -> None:
    for field in fields(TrainingData):
        if field.name == "scaling":
            for part in fields(Scaling):
                one, two = getattr(first.scaling, part.name), getattr(second.scaling, part.name)
                np.testing.assert_array_equal(one, two, err_msg=part.name)
        elif field.name not in but:
            one, two = getattr(first, field.name), getattr(second, field.name)
            np.testing.assert_array_equal(one, two, err_msg=field.name)


def messy_data(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Repeated rows, numbers whose sums round, weights of zero."""
    X = rng.choice([0.1, 0.2, 0.7, 1e3], size=(n, 2))
    return X, rng.normal(size=n) * 10.0 ** rng.uniform(-8, 8, n), rng.integers(0, 4, n).astype(float)
