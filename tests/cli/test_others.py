from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.cli.commands import call, call_json, complaint
from widestable import StableRegressor, __version__
from widestable._code_cache import FOLDER
from widestable.cli import info
from widestable.cli.example import EXAMPLES
from widestable.cli.tables import numbers, read_table


def test_predict_adds_three_columns(line_run: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("name,time\nleft,2\nright,8\n")
    out = tmp_path / "deep" / "p.csv"
    call("predict", line_run, new, "--out", out, "--coverage", 0.5)
    table = read_table(out)
    assert list(table.columns) == ["name", "time", "prediction", "lower", "upper"]
    model = StableRegressor.load(line_run / "model.zip")
    X = np.array([[2.0], [8.0]])
    np.testing.assert_array_equal(numbers(table, "prediction"), model.posterior_.quantiles(X, [0.5], noise=False)[:, 0])
    np.testing.assert_array_equal(numbers(table, "upper"), model.posterior_.quantiles(X, [0.75])[:, 0])
    assert "there already" in call("predict", line_run, new, "--out", out, code=1).stderr
    assert "it is a folder" in call("predict", line_run, new, "--out", tmp_path, "--force", code=1).stderr
    assert "Got --json without --out" in complaint(call("predict", line_run, new, "--json", code=2))
    f = call_json("predict", line_run, new, "--out", out, "--coverage", 0.5, "--no-noise", "--force")
    assert f["n_rows"] == 2
    assert np.all(numbers(read_table(out), "upper") < numbers(table, "upper"))


def test_predict_writes_to_standard_output_and_scores_known_targets(line_run: Path) -> None:
    result = call("predict", line_run, line_run / "data.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "time,level,prediction,lower,upper"
    assert len(lines) == 25
    values = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]]).T
    mae = np.abs(values[1] - values[2]).mean()
    covered = ((values[3] <= values[1]) & (values[1] <= values[4])).mean()
    assert f"mean absolute error {mae:.4g}, {covered:.0%} inside the 90% intervals" in result.stderr


def test_predict_names_what_is_missing(line_run: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("tme\n2\n")
    assert "new.csv has no column 'time': did you mean 'tme'?" in call("predict", line_run, new, code=1).stderr
    assert "does not exist" in call("predict", tmp_path / "no", new, code=1).stderr
    assert "has no run.json" in call("predict", tmp_path, new, code=1).stderr
    (tmp_path / "run.json").write_text("{}")
    assert "is damaged or from another version" in call("info", tmp_path, code=1).stderr


def test_an_unfinished_run_says_how_to_go_on(line_run: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text((line_run / "run.json").read_text())
    assert f"widestable fit --resume {tmp_path}" in call("jumps", tmp_path, code=1).stderr
    (tmp_path / "model.zip").write_text("broken")
    assert "not a widestable model" in call("report", tmp_path, code=1).stderr


def test_jumps(line_run: Path) -> None:
    found = call_json("jumps", line_run, "--size", 1.5)
    assert found["min_size"] == 1.5
    assert found["jumps"][0]["location"] == pytest.approx(4.2, abs=0.8)
    words = call("jumps", line_run, "--size", 1.5).stdout
    assert words.startswith("1 jump larger than 1.5, with 90% intervals:\n  level rises by ")
    assert found["jumps"][0]["words"] in words
    assert call("jumps", line_run, "--size", 1.5, "--full").stdout == words  # one input has no small weights
    across = call_json("jumps", line_run, "--from", 1.0, "--to", 9.0, "--size", 1.5)
    assert across["probability"] > 0.9
    assert call_json("jumps", line_run, "--from", 1.0, "--to", 1.0)["probability"] == 0.0
    assert "with probability" in call("jumps", line_run, "--from", 1.0, "--to", 9.0).stdout
    for wrong, message in (
        (("--from", "1"), "Got only one of --from and --to"),
        (("--from", "1", "--to", "2,3"), "Got 2 values, expected one for each of time: pass as many"),
        (("--from", "a", "--to", "2"), "Got 'a', expected a number for time"),
    ):
        assert message in complaint(call("jumps", line_run, *wrong, code=2))
    assert "Got size = -1.0" in call("jumps", line_run, "--size", -1, code=1).stderr


def test_info(line_run: Path) -> None:
    machine = call_json("info")
    assert machine["widestable"] == __version__
    assert machine["numpy"] == np.__version__
    assert {"scipy", "numba", "llvmlite", "typer", "plotly", "distributed"} <= machine.keys()
    assert "pytest" not in machine  # those who work on the package know what they have
    assert machine["cores"] >= machine["usable cores"] >= 1
    assert all(re.fullmatch(r".+: \d+", pool) for pool in machine["threads"])
    assert Path(machine["compile cache"]).is_dir()
    assert re.fullmatch(r"\d+ functions, [\d.]+ MiB", machine["compiled"])
    assert (machine["compiled code"], machine["shipped code"]) == ("disk", "not used: this installation has none")
    about = call_json("info", line_run)
    assert (about["target"], about["inputs"], about["n_rows"]) == ("level", ["time"], 24)
    assert "level" in call("info", line_run).stdout


@pytest.mark.parametrize(
    ("sampler", "reason", "expected", "words"),
    [
        (
            {"_cache": SimpleNamespace(cache_path="empty")},
            "no",
            ("disk", "empty"),
            "nothing yet: the first fit compiles",
        ),
        ({"_cache": SimpleNamespace(cache_path=None)}, "no", ("memory", None), "set NUMBA_CACHE_DIR to a folder"),
        ({"_cache": SimpleNamespace(cache_path=None)}, None, ("shipped", str(FOLDER)), ""),
        ({}, "no", ("none", None), "NUMBA_DISABLE_JIT is set"),
    ],
)
def test_info_says_where_compiled_code_comes_from(
    sampler: dict[str, Any],
    reason: str | None,
    expected: tuple[str, str | None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(info, "sweep", SimpleNamespace(_make_sweeps=SimpleNamespace(**sampler)))
    monkeypatch.setattr(info, "why_not_shipped", lambda: reason)
    machine = call_json("info")
    assert (machine["compiled code"], machine["compile cache"]) == expected
    assert words in machine["compiled"]
    assert machine["shipped code"] == ("fits" if reason is None else "not used: no")


def test_a_table_goes_to_a_report_in_two_commands(line_run: Path, tmp_path: Path) -> None:
    """tests/report looks at reports of more inputs."""
    out = tmp_path / "page.html"
    found = call_json("report", line_run, "--out", out)
    assert found["bytes"] == out.stat().st_size < 8_000_000
    assert "there already" in call("report", line_run, "--out", out, code=1).stderr
    assert "Report: " in call("report", line_run, "--out", out, "--force", "--size", 2.0).stdout
    assert "larger than 2." in out.read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_writes_a_table_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = call("example", name).stdout
    table = read_table(tmp_path / f"{name}.csv")
    assert table.n_rows >= 100
    assert f"widestable fit {name}.csv --target {EXAMPLES[name].target}" in said
    assert numbers(table, EXAMPLES[name].target).std() > 0.0
    assert "there already" in call("example", name, code=1).stderr
    other = call_json("example", name, "--out", tmp_path / "other.csv")
    assert Path(other["out"]).read_bytes() == (tmp_path / f"{name}.csv").read_bytes()


def test_an_unknown_example_is_refused() -> None:
    assert "Got 'mars', expected one of nile, visits, customers" in complaint(call("example", "mars", code=2))


@pytest.mark.parametrize("command", ["example", "fit", "predict", "report", "jumps", "info", "demo", "prior"])
def test_help_has_examples(command: str) -> None:
    assert f"widestable {command}" in call(command, "--help").stdout.split("Examples:")[1]
