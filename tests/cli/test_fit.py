from __future__ import annotations

import json
import logging
import re
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import SHORT, call, call_json, complaint, write_line, write_plane
from widestable import StableRegressor, storage
from widestable.cli import runs
from widestable.parameters import PAPER


def test_inputs_default_to_all_other_columns_of_numbers(line_run: Path) -> None:
    record = json.loads((line_run / "run.json").read_text())
    assert (record["target"], record["inputs"], record["status"]) == ("level", ["time"], "done")
    assert sorted(p.name for p in line_run.iterdir()) == ["data.csv", "model.zip", "run.json"]
    model = StableRegressor.load(line_run / "model.zip")
    assert list(model.feature_names_in_) == ["time"]
    columns = runs.read_data(line_run, record)
    assert model.posterior_.data.n_observations == len(columns.y) == 24


def test_columns_that_tell_nothing_are_left_out_aloud(tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv")
    result = call("fit", data, "--target", "level", "--out", tmp_path / "run", *SHORT)
    assert "24 rows: level from time\nNot used: site (it holds 24 different texts in 24 rows)" in result.stderr
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["left_out"] == {"site": "it holds 24 different texts in 24 rows"}
    assert "site is not used: it holds 24 different texts" in call_report(tmp_path / "run")


def call_report(run: Path) -> str:
    call("report", run)
    return (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("given", "n_processors", "expected"), [((), 8, 2), ((), 1, 1), (("--jobs", 3), 8, 3)])
def test_each_chain_has_a_thread_unless_told_otherwise(
    given: tuple[object, ...], n_processors: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr("widestable.cli.shell.cpu_count", lambda: n_processors)
    monkeypatch.setattr("widestable.cli.fit._run", lambda folder, how, silent: seen.append(how) or {"status": "done"})
    monkeypatch.setattr("widestable.cli.fit._in_words", lambda summary, folder: "")
    call(
        "fit", write_line(tmp_path / "data.csv"), "--target", "level", "--out", tmp_path / "run", "--chains", 2, *given
    )
    assert seen[0]["n_jobs"] == expected


def test_the_model_of_the_paper_is_one_word(tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv")
    call("fit", data, "--target", "level", "--out", tmp_path / "run", *SHORT, "--paper")
    model = StableRegressor.load(tmp_path / "run" / "model.zip")
    expected = StableRegressor.paper().get_params()
    assert {name: model.get_params()[name] for name in PAPER} == {name: expected[name] for name in PAPER}
    both = ("--paper", "--noise", "outliers")
    result = call("fit", data, "--target", "level", "--out", tmp_path / "other", *both, code=2)
    assert "Got --paper and --noise, expected one of them" in complaint(result)
    assert not (tmp_path / "other").exists()


def test_the_run_is_what_python_gives(tmp_path: Path) -> None:
    data = write_plane(tmp_path / "data.csv")
    how = ("--alpha", 1.5, "--atoms", 10, "--seed", 4, "--input", "x1", "--input", "x0", "--no-standardize")
    summary = call_json("fit", data, "--target", "y", "--out", tmp_path / "run", *SHORT, *how)
    X = np.loadtxt(data, delimiter=",", skiprows=1)
    parameters = {"alpha": 1.5, "n_atoms": 10, "n_chains": 2, "n_sweeps": 60, "random_state": 4, "standardize": False}
    with pytest.warns(UserWarning, match="not converged"):
        model = StableRegressor(**parameters).fit(X[:, [1, 0]], X[:, 2])
    assert summary["sigma"] == model.sigma_
    loaded = StableRegressor.load(tmp_path / "run" / "model.zip")
    np.testing.assert_array_equal(loaded.posterior_.f, model.posterior_.f)
    assert summary["converged"] is False
    assert summary["n_draws"] == 80


def test_weights_missing_values_and_sharpness(tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    rows = ["x\tn\ty", "1\t2\t5", "2\t1\tNA", "\t1\t3", "4\t1\t6", "5\t3\t7"]
    data.write_text("\n".join(rows))
    options = ("--target", "y", "--weight", "n", *SHORT, "--sharpness", "2.5")
    assert "'y' has no value in row 2" in call("fit", data, "--out", tmp_path / "a", *options, code=1).stderr
    result = call("fit", data, "--out", tmp_path / "b", *options, "--missing", "drop")
    assert "2 rows with missing values left out" in result.stderr
    model = StableRegressor.load(tmp_path / "b" / "model.zip")
    assert (model.posterior_.data.n_observations, model.sharpness) == (6.0, 2.5)
    record = json.loads((tmp_path / "b" / "run.json").read_text())
    assert (record["inputs"], record["n_dropped"]) == (["x"], 2)


def test_infinite_sharpness_comes_back(tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv")
    call("fit", data, "--target", "level", "--out", tmp_path / "run", *SHORT, "--sharpness", "inf")
    record = json.loads((tmp_path / "run" / "run.json").read_text(), parse_constant=pytest.fail)
    assert runs.parameters_of(record)["sharpness"] == np.inf


@pytest.mark.parametrize(("text", "kept"), [("infer", None), ("equal", "equal"), ("2,0.5", [2.0, 0.5])])
def test_relevance_is_kept_with_the_run(text: str, kept: object, tmp_path: Path) -> None:
    data, out = write_plane(tmp_path / "data.csv"), tmp_path / "run"
    how = ("--target", "y", "--out", out, *SHORT, "--sharpness", 2, "--relevance", text)
    said = call("fit", data, *how).stdout
    model = StableRegressor.load(out / "model.zip")
    assert json.loads((out / "run.json").read_text())["parameters"]["relevance"] == kept == model.relevance
    expected = dict(zip(["x0", "x1"], model.relevance_, strict=True))
    about = call_json("info", out)
    assert about["relevance"] == expected
    assert ("relevance" in about["inferred"]) == (text == "infer") == ("Relevance: x0 " in said)
    assert f"x1 {expected['x1']:.6g}" in call("info", out).stdout


def test_nothing_is_overwritten_without_force(line_run: Path, tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("precious")
    options = ("--target", "level", "--out", tmp_path / "run", *SHORT)
    assert "is not empty: pass --force" in call("fit", data, *options, code=1).stderr
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["mine.txt"]
    call("fit", data, *options, "--force", "--quiet")
    assert (tmp_path / "run" / "mine.txt").read_text() == "precious"
    assert (tmp_path / "run" / "model.zip").exists()
    assert "is a file" in call("fit", data, "--target", "level", "--out", data, code=1).stderr


def test_quiet_says_nothing_and_strict_tells_by_its_exit_code(tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv")
    result = call("fit", data, "--target", "level", "--out", tmp_path / "run", *SHORT, "--quiet", "--strict", code=3)
    assert result.output == ""
    assert (tmp_path / "run" / "model.zip").exists()


def test_verbose_logs_rounds_with_the_time_and_leaves_logging_as_it_was(tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv")
    result = call("fit", data, "--target", "level", "--out", tmp_path / "run", *SHORT, "--verbose")
    assert re.search(r"^\d\d:\d\d:\d\d Round 1, .*: largest R-hat", result.stderr, re.MULTILINE)
    logger = logging.getLogger("widestable")
    assert ([type(handler) for handler in logger.handlers], logger.level) == ([logging.NullHandler], logging.NOTSET)
    assert "Round 1" not in call("fit", data, "--target", "level", "--out", tmp_path / "other", *SHORT).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "levle"), "data.csv has no column 'levle': did you mean 'level'?"),
        (("--target", "level", "--input", "tim"), "data.csv has no column 'tim': did you mean 'time'?"),
        (
            ("--target", "site"),
            "Column 'site' holds 'site 0' in row 1 (line 2) of data.csv, expected a finite number: correct it.",
        ),
        (("--target", "level", "--input", "level"), "Got column 'level' as target and as input"),
        (("--target", "level", "--input", "time", "--input", "time"), "Got input 'time' twice"),
        (("--target", "level", "--alpha", "7"), "Got alpha = 7.0, expected None or a number from 0.01 to 2"),
        (
            ("--target", "level", "--relevance", "1,2"),
            "Got 2 numbers as relevance and 1 input, expected one",
        ),
        (("--target", "level", "--relevance", "-1"), "Got relevance = [-1.0], expected"),
    ],
)
def test_errors_are_one_sentence_and_leave_nothing_behind(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    data = write_line(tmp_path / "data.csv")
    result = call("fit", data, "--out", tmp_path / "run", *options, code=1)
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "There is no file"),
        ("", "is empty"),
        ("y\n1\n2\n", "no column besides 'y' that can be used as input (there is none): add one"),
        ("name,y\na,1\nb,2\n", "('name': it holds 2 different texts in 2 rows)"),
        ("x,y\n1,\n,2\n", "Every row of data.csv has a missing value"),
    ],
)
def test_files_that_cannot_be_fitted(text: str | None, message: str, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    if text is not None:
        data.write_text(text)
    options = ("--target", "y", "--out", tmp_path / "run", "--missing", "drop")
    assert message in call("fit", data, *options, code=1).stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "DATA is missing: widestable fit DATA"),
        (("data.csv",), "--target is missing: widestable fit DATA"),
        (("data.csv", "--target", "y"), "--out is missing: widestable fit DATA"),
        (("--resume", "run", "--target", "y"), "--resume takes data and options from the run: pass only"),
        (("data.csv", "--target", "y", "--out", "run", "--sharpness", "soft"), "Got --sharpness soft, expected"),
        (("data.csv", "--target", "y", "--out", "run", "--relevance", "much"), "Got --relevance much, expected equal"),
    ],
)
def test_wrong_usage_has_its_own_exit_code(args: tuple[str, ...], message: str) -> None:
    assert message in complaint(call("fit", *args, code=2))


def test_a_finished_run_need_not_be_resumed(line_run: Path) -> None:
    before = (line_run / "model.zip").stat().st_mtime_ns
    time.sleep(0.01)
    assert "nothing to resume" in call("fit", "--resume", line_run).stderr
    assert (line_run / "model.zip").stat().st_mtime_ns == before


def test_ctrl_c_keeps_what_was_drawn_and_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = write_line(tmp_path / "data.csv"), tmp_path / "run"
    options = ("--target", "level", *SHORT)
    real, count = storage.write, iter(range(100))

    def write(*args: object) -> None:
        real(*args)
        if next(count) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(storage, "write", write)
        result = call("fit", data, "--out", out, *options, code=130)
    assert f"To continue: widestable fit --resume {out}" in result.stdout
    assert StableRegressor.load(out / "model.zip").posterior_.log_density.shape == (2, 20)
    assert call_json("info", out)["status"] == "interrupted"
    call("fit", "--resume", out)
    to_its_end = call("fit", data, "--out", tmp_path / "whole", *options)
    assert "Sampling was stopped early: continue it with --resume" in result.stdout
    assert "Sample for longer (a larger --max-sweeps or --sweeps)." in to_its_end.stdout
    resumed, whole = (StableRegressor.load(folder / "model.zip").posterior_ for folder in (out, tmp_path / "whole"))
    np.testing.assert_array_equal(resumed.f, whole.f)
    assert not (out / "checkpoint.zip").exists()


def test_a_time_limit_stops_a_run_that_can_go_on(tmp_path: Path) -> None:
    data, out = write_line(tmp_path / "data.csv"), tmp_path / "run"
    options = ("--target", "level", "--chains", "2", "--max-sweeps", "1100", "--out", out)
    result = call("fit", data, *options, "--max-time", "0.05")
    assert f"To continue: widestable fit --resume {out}" in result.stdout
    assert call_json("info", out)["status"] == "out of time"
    n_sweeps = StableRegressor.load(out / "model.zip").posterior_.n_sweeps
    assert n_sweeps < 1100
    call("fit", "--resume", out)
    assert call_json("info", out)["status"] == "done"
    assert StableRegressor.load(out / "model.zip").posterior_.n_sweeps > n_sweeps
    assert not (out / "checkpoint.zip").exists()


def test_a_time_limit_must_be_positive(tmp_path: Path) -> None:
    data, out = write_line(tmp_path / "data.csv"), tmp_path / "run"
    result = call("fit", data, "--target", "level", "--out", out, "--max-time", "0", code=1)
    assert "max_time" in result.stderr
    assert not out.exists()
