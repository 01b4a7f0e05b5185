"""A run killed with SIGKILL and resumed ends with the same draws."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import call, write_line
from widestable import StableRegressor


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300.0
    while not path.exists():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline, "no checkpoint in five minutes"
        time.sleep(0.002)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    "how",
    [("--sweeps", "1500"), pytest.param(("--max-sweeps", "6000", "--alpha", "0.7"), marks=pytest.mark.statistical)],
    ids=["fixed", "until converged"],
)
def test_killed_and_resumed_is_never_killed(how: tuple[str, ...], tmp_path: Path) -> None:
    data = write_line(tmp_path / "data.csv", 40)
    options = ("--target", "level", "--chains", "2", "--jobs", "1", "--quiet", *how)
    out = tmp_path / "run"
    command = [sys.executable, "-m", "widestable", "fit", str(data), "--out", str(out), *options]
    process = subprocess.Popen(command)
    wait_for(out / "checkpoint.zip", process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (out / "model.zip").exists()
    call("fit", "--resume", out, "--quiet")
    call("fit", data, "--out", tmp_path / "whole", *options)
    resumed, whole = (StableRegressor.load(folder / "model.zip").posterior_ for folder in (out, tmp_path / "whole"))
    assert resumed.sample.rounds == whole.sample.rounds
    for mine, theirs in zip(resumed.chains, whole.chains, strict=True):
        for name in vars(mine):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), name)
