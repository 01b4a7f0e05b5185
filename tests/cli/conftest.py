from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import SHORT, call, write_line


@pytest.fixture(scope="session")
def line_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; do not write into it."""
    folder = tmp_path_factory.mktemp("line")
    call("fit", write_line(folder / "data.csv"), "--target", "level", "--out", folder / "run", *SHORT)
    return folder / "run"
