from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies import runner
from studies.runner import Piece, Places, Result, read, run_all, write

PIECE = Piece("study", "method", "data", 0, {"n": 3}, 1)


def test_every_part_of_the_configuration_counts() -> None:
    others = [
        replace(PIECE, study="other"),
        replace(PIECE, method="other"),
        replace(PIECE, data="other"),
        replace(PIECE, repeat=1),
        replace(PIECE, settings={"n": 4}),
        replace(PIECE, version=2),
    ]
    assert len({piece.file_name for piece in [PIECE, *others]}) == 7
    assert replace(PIECE, settings={"a": 1, "b": 2}).file_name == replace(PIECE, settings={"b": 2, "a": 1}).file_name


def test_results_come_back(tmp_path: Path) -> None:
    assert read(tmp_path, PIECE) is None
    write(tmp_path, PIECE, {"a": np.arange(2.0), "b": np.inf, "c": {"d": np.nan}, "e": True, "f": np.float64(1 / 3)})
    assert read(tmp_path, PIECE) == {"a": [0.0, 1.0], "b": "inf", "c": {"d": None}, "e": True, "f": 0.333333}


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, PIECE, {"a": 1})
    assert list(tmp_path.iterdir()) == []


def double(piece: Piece, data: Path | None) -> Result:
    if piece.repeat == 2:
        raise RuntimeError("no luck")
    return {"value": 2 * piece.repeat}


JOBS = [(double, replace(PIECE, repeat=k)) for k in range(4)]


def test_an_error_stops_one_piece_only(tmp_path: Path) -> None:
    outcomes = run_all(JOBS, Places(tmp_path), progress=False)
    assert [outcome.error for outcome in outcomes] == [None, None, "RuntimeError: no luck", None]
    kept = [read(tmp_path, piece) for _, piece in JOBS]
    assert [result and result["value"] for result in kept] == [0, 2, None, 6]


def test_finished_pieces_are_not_run_again(tmp_path: Path) -> None:
    run_all(JOBS, Places(tmp_path), progress=False)
    path = tmp_path / JOBS[0][1].file_name
    path.write_text(json.dumps(json.loads(path.read_text()) | {"result": {"value": -1}}))
    assert len(run_all(JOBS, Places(tmp_path), progress=False)) == 1  # the failed one
    assert read(tmp_path, JOBS[0][1]) == {"value": -1}


def interrupt(piece: Piece, data: Path | None) -> Result:
    if piece.repeat == 2:
        raise KeyboardInterrupt
    return {"value": piece.repeat}


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    jobs = [(interrupt, piece) for _, piece in JOBS]
    with pytest.raises(KeyboardInterrupt):
        run_all(jobs, Places(tmp_path), progress=False)
    assert [read(tmp_path, piece) is not None for _, piece in jobs] == [True, True, False, False]


def test_progress_has_one_line_per_piece_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_all(JOBS, Places(tmp_path))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["1/4", "2/4", "3/4", "4/4"]
    assert "failed (RuntimeError: no luck)" in lines[2]


@pytest.mark.slow
def test_processes_give_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "compile_engine", lambda: None)
    run_all(JOBS, Places(tmp_path), n_jobs=2, progress=False)
    kept = [read(tmp_path, piece) for _, piece in JOBS]
    assert [result and result["value"] for result in kept] == [0, 2, None, 6]
