from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from widestable._jit import when_compiling
from widestable.progress import compilation_told, reporter, tell_preparation


def test_a_compilation_is_told_once() -> None:
    told = []
    double = njit(lambda x: 2 * x)
    with when_compiling(lambda: told.append(1)):
        double(1)
        double(np.ones(2))
        double(1)
    assert told == [1]
    with when_compiling(lambda: told.append(2)):
        double(1)
    assert told == [1]


@pytest.mark.parametrize(("progress", "expected"), [(True, True), (False, False), (None, False)])
def test_where_a_bar_would_be_shown(progress: bool | None, expected: bool, capfd: pytest.CaptureFixture[str]) -> None:
    with compilation_told(progress):
        njit(lambda x: x + 1)(1)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert ("Compiling the sampler" in captured.err) == expected


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
