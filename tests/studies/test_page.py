from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from studies import pieces
from studies.reproduction import paper
from studies.problems import BY_NAME, simulate
from studies.reproduction.page import figures
from studies.reproduction.page.kept import Kept, Summary, bold_smallest, summarise
from studies.reproduction.page.targets import targets
from studies.reproduction.page.write import write_page
from studies.pieces import Piece, Result
from studies.reproduction.presets import PRESETS
from studies.reproduction import STUDIES

QUICK = PRESETS["quick"]
LINK = r"!\[.*?\]\((.*?)\)"


def made_up(piece: Piece, score: float) -> Result:
    """A result of the right shape for any piece."""
    scores = {"mae_sets": [score, score + 0.1], "crps": score, "coverage": 0.9, "width": 2.0, "mae": score}
    result: Result = {
        "seconds": 9.0,
        "cpu_seconds": 6.0,
        "fit_seconds": 5.0,
        "n_iterations": 100,
        "info": {"alpha": 1.25},
    }
    result |= {"mixing": {"rhat": 1.125, "ess": 50.0, "ess_tenth": 80.0}, "scores": scores | {"mae_truth": score}}
    if piece.data in BY_NAME:
        m = len(simulate(piece.data, 0).X_new)
        result |= {"point": np.zeros(m), "lower": -np.ones(m), "upper": np.ones(m)}
    if piece.study == "sp500":
        result |= {name: np.zeros(3) for name in ("point", "lower", "upper", "x_new", "y_new", "x", "y")}
    if piece.data == "map":
        result |= {"latitude": [0.0, 1.0], "longitude": [0.0, 1.0], "quantiles": np.zeros((3, 4))}
        result |= {"rows": [[0.5, 0.5]], "prices": [30.0]}
    if piece.study == "ablation":
        result |= {"alpha": 0.5, "nus": [0.25, 4.0], "mae_truth": [0.1, 0.2], "mae": [0.4, 0.5]}
    if piece.study == "covariance":
        result |= {"quantiles": np.zeros((3, 40, 40))}
    if piece.study == "traces":
        result |= {"x": np.arange(100.0), "rhat": np.full(100, 1.5), "ess": np.full(100, 33.0), "n_draws": 800}
        result |= {"places": [0.0, 0.5], "traces": np.zeros((2, 2, 50))}
    return result


def fill(cache: Path, score_of: dict[str, float], studies: tuple[str, ...] = tuple(STUDIES)) -> None:
    for name in studies:
        for piece in STUDIES[name].plan(QUICK):
            pieces.write(cache, piece, made_up(piece, score_of.get(piece.method, 0.5)))


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made but not rendered, which takes most of their time."""
    monkeypatch.setattr(figures, "_save", lambda figure, folder, name: folder / f"{name}.png")


@pytest.mark.usefixtures("no_drawing")
def test_the_page_holds_both_numbers_and_links_all_figures(tmp_path: Path) -> None:
    fill(tmp_path / "cache", {"jumps_inferred": 0.31415})
    write_page(tmp_path / "page.md", tmp_path / "cache", QUICK)
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "**0.314**" in text
    for printed in (*paper.REAL_ESTATE.values(), *paper.SP500.values()):
        assert f"{printed.mae:.3f} ({printed.standard_error:.3f})" in text
    assert "446.5" in text
    assert len(re.findall(LINK, text)) == 11
    assert "numbers mean nothing" in text
    assert "## Where we differ" in text


@pytest.mark.slow
def test_figures_are_small_files_beside_the_page(tmp_path: Path) -> None:
    fill(tmp_path / "cache", {})
    write_page(tmp_path / "docs" / "page.md", tmp_path / "cache", QUICK)
    links = re.findall(LINK, (tmp_path / "docs" / "page.md").read_text(encoding="utf-8"))
    assert len(links) == 11
    assert all(1000 < (tmp_path / "docs" / link).stat().st_size < 200_000 for link in links)


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    fill(tmp_path / "cache", {}, ("timing",))
    write_page(tmp_path / "page.md", tmp_path / "cache", QUICK)
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text.count("Not run yet") == len(STUDIES) - 1
    assert "`python -m studies simulated --preset quick`" in text


@pytest.mark.parametrize(
    ("sign", "smooth", "answer"),
    [(0.05, 0.05, "both"), (0.05, 0.7, "sign units"), (0.7, 0.05, "inferred"), (0.7, 0.7, "**none**")],
)
def test_targets_compare_with_the_best_other(tmp_path: Path, sign: float, smooth: float, answer: str) -> None:
    errors = {"jumps_inferred": sign, "jumps_smooth": smooth, "bart": 0.45}
    fill(tmp_path, errors, ("simulated", "real_estate", "sp500"))
    kept = {name: Kept.of(tmp_path, study.plan(QUICK)) for name, study in STUDIES.items()}
    lines = targets(kept).splitlines()[2:]
    assert len(lines) == 2 * 7 + 3
    assert all(line.endswith(f"| {answer} |") for line in lines)
    assert "0.450 (BART)" in lines[0]


def test_summaries() -> None:
    assert summarise([1.0, 2.0, 3.0]) == Summary(2.0, 1.0 / np.sqrt(3.0), 3)
    cells = [Summary(0.5, 0.0, 1), None, Summary(0.4996, 0.1, 2)]
    assert bold_smallest(cells) == ["**0.500**", "–", "**0.500 (0.100)**"]
