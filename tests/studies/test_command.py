from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from studies.reproduction.command import reproduce
from studies.reproduction.session import make_plan

app = typer.Typer()
app.command()(reproduce)
runner = CliRunner()


def test_list_shows_every_study(tmp_path: Path) -> None:
    answer = runner.invoke(app, ["--list", "--quick", "--cache", str(tmp_path)])
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.output.splitlines()] == list(make_plan([], "quick").names)


@pytest.mark.parametrize("arguments", [["nothing"], ["--preset", "huge"]])
def test_unknown_names_are_refused_with_the_choices(arguments: list[str]) -> None:
    answer = runner.invoke(app, arguments)
    assert answer.exit_code == 2
    assert "choose from simulated" in answer.output or "expected one of quick" in answer.output


def test_the_page_alone_runs_nothing(tmp_path: Path) -> None:
    answer = runner.invoke(app, ["--quick", "--only-page", "--cache", str(tmp_path)])
    assert answer.exit_code == 0
    assert "Not run yet" in (tmp_path / "quick.md").read_text(encoding="utf-8")


def test_a_study_without_data_is_skipped_with_a_sentence(tmp_path: Path) -> None:
    answer = runner.invoke(app, ["sp500", "--quick", "--cache", str(tmp_path), "--data", str(tmp_path)])
    assert answer.exit_code == 1
    assert "Skipping sp500: There is no sp500.csv" in answer.output


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of other libraries
def test_the_quick_preset_runs_everything_and_resumes(tmp_path: Path, shared_data: Path) -> None:
    for name in ("numpyro", "stochtree"):
        pytest.importorskip(name)
    arguments = ["--quick", "--cache", str(tmp_path), "--data", str(shared_data), "--n-jobs", "1"]
    answer = runner.invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    text = (tmp_path / "quick.md").read_text(encoding="utf-8")
    assert "Not run yet" not in text
    assert "missing" not in text
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert runner.invoke(app, arguments).exit_code == 0
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
