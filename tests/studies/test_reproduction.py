"""The plan of the studies, the page that is written from their results, and the command."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from studies.datasets import Table
from studies.methods import METHODS
from studies.problems import BY_NAME, FUNCTIONS, simulate
from studies.reproduction import comparisons, figures, paper, published
from studies.reproduction.__main__ import PAGE, reproduce
from studies.reproduction.page import targets, write_page
from studies.reproduction.presets import PRESETS, STAR, Preset
from studies.reproduction.sections import SECTIONS
from studies.reproduction.session import STUDIES, all_pieces
from studies.results import Kept, Summary, bold_smallest, summarise
from studies.runner import Piece, Result, read, write

QUICK = PRESETS["quick"]
# Of the made-up S&P 500; a third is held out.
N_DAYS = 9
ROOT = Path(__file__).resolve().parents[2]
LINK = r"!\[.*?\]\((.*?)\)"
app = typer.Typer()
app.command()(reproduce)
runner = CliRunner()


# --- Plans -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_piece_is_its_own_file_and_plain_data(preset: Preset) -> None:
    pieces = all_pieces(preset)
    assert len({piece.file_name for piece in pieces}) == len(pieces)
    assert all(json.loads(json.dumps(asdict(piece))) == asdict(piece) for piece in pieces)
    assert all(piece.study in STUDIES and piece.method in METHODS for piece in pieces)
    assert f'"{STAR}"' not in json.dumps([piece.settings for piece in pieces])


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_method_meets_every_data_set(preset: Preset) -> None:
    met = {(piece.study, piece.data, piece.method) for piece in all_pieces(preset)}
    for method in METHODS:
        assert all(("simulated", function.name, method) in met for function in FUNCTIONS)
        assert {("real_estate", "random_rows", method), ("sp500", "closes", method)} <= met
        assert ("real_estate", "whole_locations", method) in met or method == "published"


def test_the_papers_numbers_of_splits_and_sweeps() -> None:
    for name in ("standard", "full"):
        pieces = all_pieces(PRESETS[name])
        count = {
            (study, data, method): sum((p.study, p.data, p.method) == (study, data, method) for p in pieces)
            for study, data in (("real_estate", "random_rows"), ("real_estate", "whole_locations"), ("sp500", "closes"))
            for method in METHODS
        }
        for (_, data, method), n in count.items():
            few = data == "whole_locations" and name == "standard"
            assert n == (5 if few else 10) or method == "published"
        assert count["real_estate", "random_rows", "published"] == 1
        assert count["sp500", "closes", "published"] == 2
        published = {p.study: p.settings["iterations"] for p in pieces if p.method == "published"}
        assert (published["simulated"], published["real_estate"], published["sp500"]) == (3000, 600, 600)


def test_given_means_the_papers_alpha() -> None:
    for function in FUNCTIONS:
        settings = PRESETS["full"].settings(function.name, "jumps_given")
        assert (settings["alpha"], settings["nu"]) == (function.alpha, 1.0)
        searched = PRESETS["full"].settings(function.name, "published")["alphas"]
        assert searched == [function.alpha] if function.n_inputs == 2 else len(searched) > 9


# --- The page --------------------------------------------------------------------------------------------


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
        result |= {name: np.zeros(N_DAYS // 3) for name in ("point", "lower", "upper")}
    if piece.data == "map":
        result |= {"latitude": [0.0, 1.0], "longitude": [0.0, 1.0], "quantiles": np.zeros((3, 4))}
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
            write(cache, piece, made_up(piece, score_of.get(piece.method, 0.5)))


@pytest.fixture
def made_up_data(monkeypatch: pytest.MonkeyPatch) -> None:
    days = np.arange(float(N_DAYS))
    monkeypatch.setattr(comparisons, "load_sp500", lambda data: Table(days[:, None], days))
    monkeypatch.setattr(figures, "load_real_estate", lambda data: Table(np.full((1, 2), 0.5), np.array([30.0])))


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made but not rendered, which takes most of their time."""
    monkeypatch.setattr(figures, "_save", lambda figure, folder, name: folder / f"{name}.png")


@pytest.mark.usefixtures("no_drawing", "made_up_data")
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


@pytest.mark.usefixtures("no_drawing")
def test_without_data_the_page_lacks_the_figures_that_show_them(tmp_path: Path) -> None:
    fill(tmp_path / "cache", {})
    write_page(tmp_path / "page.md", tmp_path / "cache", QUICK, data=tmp_path)
    links = re.findall(LINK, (tmp_path / "page.md").read_text(encoding="utf-8"))
    assert len(links) == 9
    assert not {"page/closes.png", "page/prices.png"} & set(links)


@pytest.mark.slow
@pytest.mark.usefixtures("made_up_data")
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
    assert "`python -m studies.reproduction simulated --preset quick`" in text


@pytest.mark.parametrize(
    ("theirs", "default", "answer"),
    [(0.05, 0.05, "both"), (0.05, 0.7, "the paper's"), (0.7, 0.05, "ours"), (0.7, 0.7, "**none**")],
)
def test_targets_compare_with_the_best_other(tmp_path: Path, theirs: float, default: float, answer: str) -> None:
    errors = {"jumps_inferred": theirs, "jumps_default": default, "bart": 0.45}
    fill(tmp_path, errors, ("simulated", "real_estate", "sp500"))
    kept = {name: Kept.of(tmp_path, study.plan(QUICK)) for name, study in STUDIES.items()}
    lines = targets(kept).splitlines()[2:]
    assert len(lines) == 2 * 7 + 3
    assert all(line.endswith(f"| {answer} |") for line in lines)
    assert "0.450 (BART)" in lines[0]


def test_the_tables_say_how_many_splits_converged(tmp_path: Path) -> None:
    """Chains that were still running at the last sweep they may make had not."""
    pieces = [piece for piece in STUDIES["sp500"].plan(PRESETS["full"]) if piece.method in ("jumps_default", "bart")]
    for piece in pieces:
        n_sweeps = 99_968 if piece.repeat < 3 else 96_768
        write(tmp_path, piece, made_up(piece, 0.5) | {"n_iterations": 4 * n_sweeps})
    text = SECTIONS["sp500"](Kept.of(tmp_path, pieces), tmp_path, tmp_path)
    (ours,) = [line for line in text.splitlines() if "default" in line]
    (theirs,) = [line for line in text.splitlines() if "BART" in line]
    assert "7 of 10 converged" in ours
    assert "converged" not in theirs


def test_summaries() -> None:
    assert summarise([1.0, 2.0, 3.0]) == Summary(2.0, 1.0 / np.sqrt(3.0), 3)
    cells = [Summary(0.5, 0.0, 1), None, Summary(0.4996, 0.1, 2)]
    assert bold_smallest(cells) == ["**0.500**", "–", "**0.500 (0.100)**"]


# --- Results in the repository ---------------------------------------------------------------------------


def test_a_run_goes_on_from_exported_results(tmp_path: Path) -> None:
    fill(tmp_path / "here", {}, ("timing",))
    path = tmp_path / "results.jsonl"
    assert published.export(tmp_path / "here", all_pieces(QUICK), path) == len(STUDIES["timing"].plan(QUICK))
    published.take_over(tmp_path / "there", path)
    for piece in STUDIES["timing"].plan(QUICK):
        assert read(tmp_path / "there", piece) == read(tmp_path / "here", piece) is not None


def test_an_export_adds_to_what_is_there_and_drops_what_is_not_planned(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first, second, third = STUDIES["timing"].plan(QUICK)[:3]
    write(tmp_path / "one", first, made_up(first, 0.5))
    write(tmp_path / "one", second, made_up(second, 0.5))
    published.export(tmp_path / "one", [first, second], path)
    write(tmp_path / "two", third, made_up(third, 0.5))
    assert published.export(tmp_path / "two", [second, third], path) == 2
    found = [json.loads(line)["piece"]["method"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert found == [second.method, third.method]


def test_no_published_result_holds_real_data() -> None:
    """Scores, settings and predictions at held-out rows, but neither inputs nor outputs."""
    lines = [json.loads(line) for line in published.RESULTS.read_text(encoding="utf-8").splitlines()]
    names = {name for line in lines if line["piece"]["study"] in ("real_estate", "sp500") for name in line["result"]}
    assert not names & {"x", "y", "x_new", "y_new", "rows", "prices"}


@pytest.mark.usefixtures("no_drawing")
def test_the_page_shows_the_published_results(tmp_path: Path) -> None:
    published.take_over(tmp_path / "cache")
    write_page(tmp_path / "page.md", tmp_path / "cache", PRESETS["full"], data=tmp_path)
    written, shown = (
        [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        for path in (tmp_path / "page.md", ROOT / PAGE)
    )
    assert shown == written, "Write it anew: python -m studies.reproduction --preset full --only-page --published"


# --- The command -----------------------------------------------------------------------------------------


def test_list_shows_every_study(tmp_path: Path) -> None:
    answer = runner.invoke(app, ["--list", "--preset", "quick", "--cache", str(tmp_path)])
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.output.splitlines()] == list(STUDIES)


@pytest.mark.parametrize("arguments", [["nothing"], ["--preset", "huge"]])
def test_unknown_names_are_refused_with_the_choices(arguments: list[str]) -> None:
    answer = runner.invoke(app, arguments)
    assert answer.exit_code == 2
    assert "choose from simulated" in answer.output or "expected one of quick" in answer.output


def test_the_page_alone_runs_nothing(tmp_path: Path) -> None:
    answer = runner.invoke(app, ["--preset", "quick", "--only-page", "--cache", str(tmp_path)])
    assert answer.exit_code == 0
    assert "Not run yet" in (tmp_path / "quick.md").read_text(encoding="utf-8")


def test_a_study_without_data_is_skipped_with_a_sentence(tmp_path: Path) -> None:
    answer = runner.invoke(app, ["sp500", "--preset", "quick", "--cache", str(tmp_path), "--data", str(tmp_path)])
    assert answer.exit_code == 1
    assert "Skipping sp500: There is no sp500.csv" in answer.output


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of other libraries
def test_the_quick_preset_runs_everything_and_resumes(tmp_path: Path, shared_data: Path) -> None:
    for name in ("numpyro", "stochtree"):
        pytest.importorskip(name)
    arguments = ["--preset", "quick", "--cache", str(tmp_path), "--data", str(shared_data), "--n-jobs", "1"]
    answer = runner.invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    text = (tmp_path / "quick.md").read_text(encoding="utf-8")
    assert "Not run yet" not in text
    assert "missing" not in text
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert runner.invoke(app, arguments).exit_code == 0
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
