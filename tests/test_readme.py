"""The code in README.md and docs/ runs and says what it says, and the files they name exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands import SHORT, call

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/development/*.md"))]


def blocks(page: str) -> list[str]:
    """Python code in a page, block after block."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(page: str) -> dict[str, Any]:
    """Run all blocks of a page in one namespace, as a reader would."""
    names: dict[str, Any] = {}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)
    return names


# Whether a short run converges may differ between machines in the last bit; the answer must not.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_readme_finds_the_jump() -> None:
    names = run("README.md")
    model = names["model"]
    assert model.predict([[-1.0], [1.0]]) == pytest.approx([0.0, 5.0], abs=0.5)
    low, high = model.predict_interval([[-1.0], [1.0]]).T
    assert np.all((low < [0.0, 5.0]) & (high > [0.0, 5.0]))
    jumps = model.jumps()
    (jump,) = [jump for jump in jumps if jump.probability > 0.95]
    assert jump.location_interval[0] < 0.25 < jump.location_interval[1] + 0.01
    assert jump.size == pytest.approx(5.0, abs=1.0)


def test_the_command_lines_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, one after the other in one folder; only fits are made short."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    widestable (.*?)(?:#.*)?$", text, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["example", "fit", "report", "jumps", "predict", "example", "fit"]
    for line in lines:
        parts = line.split()
        call(*parts, *(SHORT if parts[0] == "fit" else ()))
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 101
    assert (tmp_path / "run" / "report.html").exists()


def test_readme_example_is_about_ten_lines() -> None:
    (example,) = blocks("README.md")
    assert len([line for line in example.splitlines() if line.strip()]) <= 11
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 100


@pytest.mark.statistical
def test_exact_page() -> None:
    names = run("docs/exact.md")
    assert names["partition"].signs.shape == (4849, 130)
    assert names["draws"].f_new.shape == (200, 81)
    truth = 5.0 * (names["X_new"] > 0).sum(axis=1)
    off_the_jumps = np.abs(names["X_new"]).min(axis=1) > 0.3
    assert np.abs(names["median"] - truth)[off_the_jumps].max() < 1.0


@pytest.mark.statistical
def test_cross_validation_page() -> None:
    search = run("docs/cross_validation.md")["search"]
    scores = search.cv_results_["mean_test_score"]
    assert -search.best_score_ == pytest.approx(np.min(-scores))
    # The noise alone costs 0.4; a constant prediction costs 2.5.
    assert 0.3 < -search.best_score_ < 1.2


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_named_in_tables_exist(page: Path) -> None:
    """Names such as `engine/run.py` in back quotes, from the page's own tables and text."""
    package = ROOT / "src/widestable"
    folders = ("engine", "engine/moves", "exact", "predict")
    places = [ROOT, package, *(package / name for name in folders), ROOT / "tests/exact", ROOT / "tests/engine"]
    for name in re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8")):
        assert any((place / name).is_file() for place in places), f"{page.name} names {name}"
