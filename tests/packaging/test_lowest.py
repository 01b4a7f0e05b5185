from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.lowest import constraints, lowest

ROOT = Path(__file__).resolve().parents[2]


def test_every_dependency_has_a_bound_that_is_pinned() -> None:
    pinned = constraints()
    assert {"numpy", "numba", "scikit-learn", "typer", "plotly", "polars"} <= {line.split("==")[0] for line in pinned}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for line in pinned:
        name, version = line.split("==")
        assert re.search(rf'"{name}(\[\w+\])?>={version}"', text), line


def test_a_dependency_without_a_bound_is_refused() -> None:
    assert lowest(["a[x]>=1.2", "b >= 3"]) == ["a==1.2", "b==3"]
    with pytest.raises(ValueError, match="Got 'numpy' in"):
        lowest(["numpy"])
