"""Run commands as a shell would, and tables to run them on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from widestable.cli import app

SHORT = ("--sweeps", "60", "--chains", "2", "--jobs", "1")


def call(*args: object, code: int = 0) -> Result:
    """The outcome of `widestable args`, which must exit with `code`."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def complaint(result: Result) -> str:
    """What a usage error says, out of its box and on one line."""
    assert "Traceback" not in result.output
    return " ".join(re.sub(r"[│╭╰╮╯─|+]+", " ", result.stderr).split())


def call_json(*args: object, code: int = 0) -> dict[str, Any]:
    result = call(*args, "--json", code=code)
    assert result.stderr == ""
    return dict(json.loads(result.stdout))


def write_line(path: Path, n: int = 24) -> Path:
    """A jump of 3 at 4.2, and a column of text."""
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    y = 2.0 + 3.0 * (x > 4.2) + 0.3 * rng.standard_normal(n)
    rows = [f"{a:.4f},{b:.4f},site {i}" for i, (a, b) in enumerate(zip(x, y, strict=True))]
    path.write_text("\n".join(["time,level,site", *rows]) + "\n")
    return path


def write_plane(path: Path, d: int = 2, n: int = 30) -> Path:
    rng = np.random.default_rng(6)
    X = rng.uniform(-1.0, 1.0, (n, d))
    y = 5.0 * (X[:, 0] + X[:, 1] > 0.0) + 0.3 * rng.standard_normal(n)
    rows = [",".join(f"{v:.5f}" for v in (*x, v)) for x, v in zip(X, y, strict=True)]
    path.write_text("\n".join([",".join([*(f"x{j}" for j in range(d)), "y"]), *rows]) + "\n")
    return path
