from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from widestable import _code_cache
from widestable._jit import inline_kernel, inner_kernel, kernel, when_compiling
from widestable.progress import compilation_told, reporter, tell_preparation


def test_compilation_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point that calls three functions, one of them twice and one inlined, beside one that calls nothing."""
    scope: dict[str, Any] = {"kernel": kernel, "inner_kernel": inner_kernel, "inline_kernel": inline_kernel}
    exec(PROGRAM, scope)
    monkeypatch.setattr(_code_cache, "_said", ["code without a file cannot be kept"])
    told: list[tuple[int, int]] = []
    with when_compiling(lambda *counts: told.append(counts)):
        scope["entry"](1.0)
        assert told == [(0, 4), (0, 4), (0, 4), (1, 4), (2, 4), (3, 4)]
        scope["other"](1.0)
        assert told[-1] == (4, 4)
        scope["entry"](2.0)
    assert len(told) == 8


PROGRAM = """
@inner_kernel
def leaf(x):
    return x + 1.0

@inner_kernel
def branch(x):
    return leaf(x) * 2.0

@inline_kernel
def part(x):
    return leaf(x) - 1.0

def entry(x):
    return branch(x) + part(x)

def other(x):
    return x

entry, other = kernel(entry), kernel(other)
"""


@pytest.mark.parametrize(("progress", "expected"), [(True, True), (False, False), (None, False)])
def test_where_a_bar_would_be_shown(progress: bool | None, expected: bool, capfd: pytest.CaptureFixture[str]) -> None:
    double = njit(lambda x: 2 * x)
    with reporter(progress) as report, compilation_told(report):
        double(1)
        double(np.ones(2))
        double(1)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("Compiling the sampler") == expected


@pytest.mark.parametrize(
    ("n_rows", "progress", "expected"), [(2001, True, True), (2000, True, False), (9999, False, False)]
)
def test_preparing_many_rows_is_told(
    n_rows: int, progress: bool, expected: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    tell_preparation(n_rows, progress)
    assert ("Decomposing the kernel of 2,001 rows" in capfd.readouterr().err) == expected


def test_the_bar_waits_until_its_length_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    with reporter(True) as report:
        report.advance(0)
    assert "sweeps" not in capfd.readouterr().err
    with reporter(True) as report:
        report.extend(20, "warming up")
        report.advance(5)
    assert "5/20 sweeps" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("width", "shown", "left_out"),
    [
        (140, "235 per second|about 40 s left|0:00:0", ""),
        (100, "about 40 s left|0:00:0", "per second"),
        (80, "about 40 s left", "0:00:0"),
        (50, "R-hat 1.03", "left"),
    ],
)
def test_the_line_about_sampling_fits_into_the_terminal(
    width: int, shown: str, left_out: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("rich.progress.Task.speed", 235.0)
    with reporter(True) as report:
        report.extend(None, "sampling")
        report.advance(2048)
        report.tell(lambda: "R-hat 1.03 (1.01 wanted), ESS 210 (400), about 40 s left")
    lines = capfd.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "2,048 sweeps" in lines[0]
    assert all(part in lines[0] for part in shown.split("|"))
    assert not left_out or left_out not in lines[0]
