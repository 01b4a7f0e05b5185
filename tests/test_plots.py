from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from widestable.plots import plot_stacked


def test_stacked_functions_keep_their_shape_and_do_not_overlap() -> None:
    x, f = np.arange(4.0), np.array([[0.0, 10.0, 10.0, 5.0], [-1e6, 1e6, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0]])
    ax = Figure().subplots()
    assert plot_stacked(x, f, ax=ax) is ax
    drawn = [np.asarray(line.get_ydata()) for line in ax.lines]
    np.testing.assert_allclose(drawn[0], [0.0, 1.0, 1.0, 0.5])
    np.testing.assert_allclose(drawn[1] - drawn[1].min(), [0.0, 1.0, 0.5, 0.5])
    np.testing.assert_allclose(np.diff(drawn[2]), 0.0)
    assert all(below.max() < above.min() for below, above in pairwise(drawn))


def test_the_current_axes_are_the_default() -> None:
    figure, ax = plt.subplots()
    assert plot_stacked([0.0, 1.0], [0.0, 1.0]) is ax
    assert len(ax.lines) == 1
    plt.close(figure)


@pytest.mark.parametrize("f", [np.zeros((2, 3)), np.full((1, 3), 7.0)])
def test_constant_functions_are_flat_lines(f: np.ndarray) -> None:
    ax = plot_stacked(np.arange(3.0), f, ax=Figure().subplots())
    assert all(np.ptp(line.get_ydata()) == 0.0 for line in ax.lines)
