"""Real data cut into training and test rows, in units of one standard deviation of the whole data set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studies.datasets import Table
from studies.problems import Floats, Problem

Indices = NDArray[np.intp]


def standardise(table: Table) -> Table:
    """Mean 0 and s.d. 1 for each column over the whole table: the units in which the paper reports errors."""
    X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    return Table(X, (table.y - table.y.mean()) / table.y.std())


def random_rows(table: Table, split: int) -> tuple[Indices, Indices]:
    """Two thirds of the rows to learn from, a third to be judged at, at random (the paper's 276/138 and 336/169)."""
    order = np.random.default_rng([split, 0]).permutation(len(table.y))
    n_train = len(table.y) * 2 // 3
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def whole_locations(table: Table, split: int) -> tuple[Indices, Indices]:
    """The same, but all rows of one location fall on the same side; sizes follow as closely as locations allow."""
    _, location = np.unique(table.X, axis=0, return_inverse=True)
    location = location.ravel()
    order = np.random.default_rng([split, 1]).permutation(location.max() + 1)
    n_before = np.cumsum(np.bincount(location)[order])
    n_train = len(table.y) * 2 // 3
    in_training = np.isin(location, order[: int(np.searchsorted(n_before, n_train)) + 1])
    return np.flatnonzero(in_training), np.flatnonzero(~in_training)


def cut(table: Table, rows: tuple[Indices, Indices]) -> Problem:
    """The problem that a pair of row numbers defines."""
    train, test = rows
    return Problem(table.X[train], table.y[train], table.X[test], table.y[test][None, :])


def scaled_rows(X: Floats, like: Floats) -> Floats:
    """Rows in the units in which `like`, the whole table's inputs, has mean 0 and s.d. 1."""
    return np.asarray((X - like.mean(axis=0)) / like.std(axis=0))
