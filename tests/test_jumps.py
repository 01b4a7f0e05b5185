from __future__ import annotations

import numpy as np
import pytest

from tests import fits
from widestable.inputs import check_training
from widestable.jumps import summarise
from widestable.levy.draws import ChainDraws


def draws_of(h: list[list[list[float]]], size: list[list[float]]) -> ChainDraws:
    """A chain with the given atoms in each draw and nothing else."""
    n_atoms = np.array([len(s) for s in size])
    width = len(h[0][0])
    zeros = np.zeros(len(size))
    atoms = np.array([atom for draw in h for atom in draw], dtype=float).reshape(-1, width)
    sizes = np.array([s for draw in size for s in draw], dtype=float)
    return ChainDraws(zeros[:, None], zeros + np.inf, zeros, zeros, zeros, n_atoms, atoms, np.zeros(sizes.size), sizes)


def test_jumps_on_a_line_are_found_where_they_are() -> None:
    """Points 0, 1, 2; steps at 0.5 (up by 4), 1.5 (down by 2: a negative slope), 7 (outside)."""
    data = check_training([[0.0], [1.0], [2.0]], [0.0, 0.0, 0.0], standardize=False)
    chain = draws_of(
        [[[-0.5, 1.0], [1.5, -1.0], [-7.0, 1.0]], [[-0.5, 1.0], [0.4, -1.0]]], [[2.0, 1.0, 9.0], [1.0, 0.9]]
    )
    found = summarise(data, [chain], 0.5)
    assert found.n_jumps.tolist() == [2, 0]  # in the second draw two steps nearly cancel: 2 - 1.8 in one gap
    np.testing.assert_allclose(found.probability, [0.5, 0.5])
    np.testing.assert_allclose(found.size, [4.0, -2.0])
    np.testing.assert_allclose(found.count_probability, [0.5, 0.0, 0.5])
    assert "between 0 and 1: probability 0.50, size +4" in str(found)


def test_atoms_that_split_the_rows_alike_are_one_jump() -> None:
    data = check_training([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]], [0.0, 0.0, 0.0], standardize=False)
    same = [[-0.5, 1.0, 0.0], [0.6, -1.0, 0.0]]  # both between the first row and the others
    other, outside = [-1.5, 1.0, 0.0], [5.0, 1.0, 0.0]
    chain = draws_of([same, [*same, other], [outside]], [[1.0, 1.0], [1.0, -1.0, 3.0], [8.0]])
    found = summarise(data, [chain, chain], 0.5)
    assert found.n_jumps.tolist() == [0, 2, 0] * 2
    assert found.low.size == 0


def test_units_are_the_users() -> None:
    model = fits.line()
    found = model.jumps()
    assert found.min_size == pytest.approx(model.sigma_)
    largest = int(np.argmax(found.probability))
    assert found.low[largest] < 100.0 < found.high[largest]
    assert found.probability[largest] > 0.9
    assert found.size[largest] == pytest.approx(5.0, abs=1.0)
    assert np.all(model.jumps(min_size=100.0).n_jumps == 0)


def test_wrong_sizes_are_refused() -> None:
    posterior = fits.line().posterior_
    with pytest.raises(ValueError, match="Got min_size = -1"):
        posterior.jumps(-1.0)
