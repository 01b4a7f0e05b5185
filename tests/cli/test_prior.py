from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
from typer.testing import CliRunner

from widestable.cli import app
from widestable.cli.prior import ALPHAS, prior_figure


def test_prior_writes_a_picture(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["prior", "--out", str(tmp_path / "new" / "prior.png"), "--seed", "3"])
    assert result.exit_code == 0, result.output
    path = tmp_path / "new" / "prior.png"
    assert path.name in result.output
    assert matplotlib.image.imread(path).std() > 0.05  # not blank


def test_prior_figure_shows_the_limit_above_networks_for_each_alpha() -> None:
    axes = prior_figure(np.random.default_rng(0), n_functions=3).axes
    assert len(axes) == 2 * len(ALPHAS)
    assert [ax.get_title().split()[2] for ax in axes[:4]] == ["0.5", "1", "1.5", "2"]
    assert all(len(ax.lines) == 3 for ax in axes)


def test_jumps_grow_as_alpha_falls() -> None:
    """The largest step, in units of the range, is what the picture is about."""
    axes = prior_figure(np.random.default_rng(1), n_functions=20).axes
    largest = [np.median([np.abs(np.diff(line.get_ydata())).max() for line in ax.lines]) for ax in axes]
    for row in (largest[:4], largest[4:]):
        assert row == sorted(row, reverse=True)
