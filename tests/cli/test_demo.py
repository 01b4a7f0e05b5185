from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from widestable import StableRegressor, cli
from widestable.cli import demo


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_demo_prints_a_table_and_writes_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command itself, on a short run."""

    def short(**parameters: object) -> StableRegressor:
        return StableRegressor(**(parameters | {"n_sweeps": 300, "n_chains": 2, "n_jobs": 1}))

    monkeypatch.setattr("widestable.cli.demo.StableRegressor", short)
    path = tmp_path / "new" / "picture.png"
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(path), "--seed", "1"])
    assert result.exit_code == 0, result.output
    for word in ("MAE", "CRPS", "coverage", "seconds", "widestable", "Gaussian process", path.name):
        assert word in result.output.replace("\n", "")
    assert matplotlib.image.imread(path).std() > 0.05  # not blank


def test_scores_of_the_gaussian_process_are_those_of_its_normal_distributions() -> None:
    example = demo.simulate(np.random.default_rng(2))
    outcome = demo.run_gp(example)
    sd = (outcome.upper - outcome.lower) / 2.0 / stats.norm.ppf(0.95)
    grid = np.linspace(-30.0, 30.0, 60_001)
    for i in (0, 50, 99):
        F = stats.norm.cdf(grid, outcome.middle[i], sd[i])
        brute = np.trapezoid((F - (grid >= example.y_new[i])) ** 2, grid)
        assert outcome.crps[i] == pytest.approx(brute, abs=1e-3)
    score = demo.judge(example, outcome)
    assert 0.5 < score.coverage <= 1.0
    assert score.mae == pytest.approx(np.abs(outcome.middle - example.f_new).mean())
