"""Names that look like markup or terminal commands are shown as they are and have no effect."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.cli.commands import SHORT, call, call_json
from widestable.cli import app
from widestable.cli.predict import _write

INPUTS, TARGET, TEXT = ("[red]x[/red]", "[/]", "[bold]\x1b[31mz\x07"), "y\x1b[2J[/green]", "[link=x]site\x9b31m"
SEEN = "[bold]\\x1b[31mz\\x07"


def write_hostile(path: Path) -> Path:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (12, 3))
    y = 4.0 * (X[:, 0] > 0.0) + 0.2 * rng.standard_normal(12)
    rows = [",".join([*(f"{v:.5f}" for v in (*x, v)), "[/]\x1b[31m"]) for x, v in zip(X, y, strict=True)]
    path.write_text("\n".join([",".join([*INPUTS, TARGET, TEXT]), *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    result = call("fit", write_hostile(folder / "[b]data.csv"), "--target", TARGET, "--out", folder / "[/]run", *SHORT)
    check_seen(result.output, *INPUTS[:2], SEEN, "y\\x1b[2J[/green]", "[link=x]site\\x9b31m", "[/]run")
    return folder / "[/]run"


def check_seen(output: str, *names: str) -> None:
    """Every name is shown letter by letter, and the output holds no terminal command."""
    assert all(c == "\n" or c.isprintable() for c in output), repr(output)
    for name in names:
        assert name in output, f"{name!r} is not in {output!r}"


def test_info_and_jumps_show_names_as_they_are(hostile_run: Path) -> None:
    check_seen(call("info", hostile_run).output, *INPUTS[:2], SEEN, "y\\x1b[2J[/green]", "[b]data.csv")
    check_seen(call("jumps", hostile_run).output)
    between = ["--from", "-0.5,0,0", "--to", "0.5,0,0"]
    check_seen(call("jumps", hostile_run, *between).output)
    check_seen(call("jumps", hostile_run, "--from", "0", "--to", "1", code=2).output, *INPUTS[:2], SEEN)


def test_json_holds_the_names_and_no_command(hostile_run: Path) -> None:
    result = call("info", hostile_run, "--json")
    assert "\x1b" not in result.stdout
    assert json.loads(result.stdout)["inputs"] == list(INPUTS)
    assert call_json("info", hostile_run)["target"] == TARGET


def test_predict_keeps_names_for_programs_and_shows_them_to_people(
    hostile_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_hostile(tmp_path / "new.csv")
    result = call("predict", hostile_run, table)
    assert result.stdout.splitlines()[0] == ",".join([*INPUTS, TARGET, TEXT, "prediction", "lower", "upper"])
    check_seen(result.stderr, "Against y\\x1b[2J[/green]")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", terminal)
    _write(None, {name: np.zeros(2) for name in (*INPUTS, TARGET)})
    check_seen(terminal.getvalue(), *INPUTS[:2], SEEN)


@pytest.mark.parametrize(
    "wrong",
    [
        ("fit", "data.csv", "--target", "[/]\x1b[31m", "--out", "run"),
        ("fit", "data.csv", "--target", TARGET, "--input", "[/red]no", "--out", "run"),
        ("fit", "data.csv", "--target", TARGET, "--out", "run", "--sharpness", "[/]\x1b[31m"),
        ("predict", "[/]\x1b[31mnowhere", "data.csv"),
        ("predict", "run", "data.csv", "--[/]\x1b[31m"),
        ("[/]\x1b[31mfit",),
    ],
    ids=["target", "input", "sharpness", "run", "option", "command"],
)
def test_complaints_about_names_are_plain_text(
    wrong: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hostile(tmp_path / "data.csv")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, list(wrong))
    assert result.exit_code in (1, 2), repr(result.exception)
    check_seen(result.output, "[/")
