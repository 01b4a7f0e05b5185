"""Every page of docs/ is reachable, its links work, and the tutorials' code gives what their text says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from studies.benchmarks.__main__ import BENCHMARKS
from tests.docs import pages

ROOT_PAGES = sorted(pages.ROOT.glob("*.md"))


@pytest.mark.parametrize("page", [*ROOT_PAGES, *pages.PAGES], ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_links_lead_to_headings(page: Path) -> None:
    assert pages.broken_links(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# What it's for: all\n")
    page.write_text("[a](other.md#what-its-for-all) [b](other.md#none) [c](gone.md) [d](https://example.org)\n")
    assert pages.broken_links(page) == ["other.md#none", "gone.md"]


def test_every_page_is_in_one_table_of_contents() -> None:
    first = pages.DOCS / "index.md"
    listed = [file for page in pages.PAGES for file in pages.in_toctree(page)]
    assert sorted([first, *listed]) == pages.PAGES, "name every page once in docs/index.md or docs/reference/index.md"


def test_commands_that_pages_name_are_there() -> None:
    files = [*pages.PAGES, *pages.ROOT.glob("*.md")]
    named = pages.commands("\n".join(path.read_text(encoding="utf-8") for path in files))
    targets = re.findall(r"^([\w-]+):", (pages.ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert named.targets - set(targets) == set()
    assert named.benchmarks - BENCHMARKS.keys() == set()
    assert len(named.targets) > 8
    assert len(named.benchmarks) > 4


def test_a_command_that_is_gone_is_seen() -> None:
    text = "`make figs`, `python -m studies.benchmarks sizes`; cells make rows\n\n    make all\n"
    text += "`python -m studies.benchmarks.speed 50`\n"
    assert pages.commands(text) == ({"figs", "all"}, {"sizes", "speed"})


# --- Code ------------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
def test_time_series_finds_the_drop_of_the_nile() -> None:
    names = pages.run(pages.DOCS / "tutorial/time_series.md")
    assert (names["flow"].size, names["flow"].mean()) == (100, 919.35)
    (jump,) = [jump for jump in names["model"].jumps(size=75.0) if jump.probability > 0.5]
    assert jump.location_interval[0] < 1898.5 < jump.location_interval[1]
    assert jump.size == pytest.approx(-250.0, abs=50.0)
    assert names["before_and_after"][0] > 0.9
    assert names["later"][0] < 0.5
    # The text says that the two can hardly be told apart as predictors.
    assert abs(names["difference"].mean()) < 3.0 * names["difference"].std() / np.sqrt(20)


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
def test_spatial_map_finds_the_fault() -> None:
    names = pages.run(pages.DOCS / "tutorial/spatial_map.md")
    fault = names["fault"]
    assert fault.probability > 0.99
    assert fault.location / fault.direction[1] == pytest.approx(1.5, abs=0.5)
    assert -fault.direction[0] / fault.direction[1] == pytest.approx(0.7, abs=0.1)
    assert names["pairs"] == pytest.approx([1.0, 0.0], abs=0.1)
    truth = names["reading"](names["X_new"])
    error = {name: np.abs(values - truth).mean() for name, values in names["predictions"].items()}
    assert error["widestable"] < 0.6 * min(error["Gaussian process"], error["random forest"])


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
def test_which_inputs_ranks_shares_and_relevances_as_it_says() -> None:
    names = pages.run(pages.DOCS / "tutorial/which_inputs.md")
    share, alone, relevance = names["shares"]["share"], names["shares"]["alone"], names["model"].relevance_
    assert share.idxmax() == "dose"
    assert names["names"][relevance.argmax()] == "temperature"
    assert share[["batch", "operator"]].max() < 0.02
    assert share[["age", "humidity"]].min() > 0.05 > 3.0 * alone[["age", "humidity"]].max()
    assert share.sum() > 1.05
    for name, part in names["parts"].items():
        assert share[name] == pytest.approx(part / names["total"], abs=0.1)


@pytest.mark.statistical
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tables_says_what_changed_and_for_whom() -> None:
    names = pages.run(pages.DOCS / "tutorial/tables.md")
    jump, spending = names["jump"], names["spending"]
    assert [str(day)[:10] for day in jump.between] == ["2023-03-31", "2023-04-01"]
    assert jump.size == pytest.approx(60.0, abs=15.0)
    assert names["change"][0] > 0.9
    assert names["shares"]["share"].nlargest(2).index.tolist() == ["plan", "age"]
    # Any two of three splits tell the plans apart, and chains keep those that they found: ask what all of them imply.
    basic, pro = (names["X"][:1].assign(plan=plan) for plan in ("basic", "pro"))
    assert spending.jump_probability(basic, pro)[0] > 0.9
    assert "where plan is" in str(spending.jumps())
    assert "(basic, plus, pro)" in names["message"]


@pytest.mark.statistical
def test_pipeline_has_intervals_around_the_truth() -> None:
    names = pages.run(pages.DOCS / "tutorial/pipeline.md")
    truth = np.exp([3.0, 3.3, 3.8])
    for found in (names["interval"], names["in_tons"]):
        assert np.all((found[:, 0] < truth) & (truth < found[:, 1]))
    assert np.all(names["in_tons"][:, 1] < 1.6 * names["in_tons"][:, 0])
    assert names["model"][-1].jumps().names == ("line_south", "press")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive:UserWarning")
def test_ten_columns_shows_one_case_for_it_and_one_against() -> None:
    names = pages.run(pages.DOCS / "tutorial/ten_columns.md")
    assert "not converged" in str(names["caught"][0].message)
    assert names["surest"].probability > 0.95
    assert np.argsort(-np.abs(names["surest"].direction))[:2].tolist() in ([0, 1], [1, 0])
    error = np.abs(names["smooth"].predict(names["X_new"]) - names["f_new"]).mean()
    process = names["others"](names["X"], names["y"], names["X_new"])["Gaussian process"]
    assert error > np.abs(process - names["f_new"]).mean()


# --- What pages quote ------------------------------------------------------------------------------------


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """docs/published.py, reading pages of the test."""
    spec = importlib.util.spec_from_file_location("published", pages.DOCS / "published.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    return module


def test_quoted_tables_are_read(published: ModuleType, tmp_path: Path) -> None:
    table = "|  | jump | hill |\n|---|---|---|\n| us | **0.1 (0.01)** | 0.3 |\n| them | 0.2 | – |\n"
    (tmp_path / "page.md").write_text(f"# Page\n\n## Errors in s.d.\n\ntext\n\n{table}\nmore\n")
    found = published.read_table("page.md", "Errors")
    assert found["us"] == {"jump": "**0.1 (0.01)**", "hill": "0.3"}
    assert published.smallest(found, "jump", ["us", "them"]) == ("us", 0.1)
    assert published.smallest(found, "hill", ["us", "them"]) == ("us", 0.3)


def test_the_quoted_rows_and_columns_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """when_not.md asks for them by name when the site is built, with IPython, which the tests do without."""
    display = ModuleType("IPython.display")
    monkeypatch.setattr(display, "Markdown", str, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.syspath_prepend(pages.DOCS)
    names = pages.run(pages.DOCS / "when_not.md")
    assert len(names["rows"]) == 9
    for table in (names["errors"], names["places"], names["houses"]):
        assert {names["DEFAULT"], names["PAPER"], "GP ML", "BART"} <= table.keys()


# --- The site --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    for needed in ("sphinx", "myst_nb", "furo", "numpydoc", "sphinx_copybutton"):
        pytest.importorskip(needed, reason="the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "-n", "-q", "-d", tmp_path / "trees", pages.DOCS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for html in tmp_path.rglob("*.html"):
        text = html.read_text(encoding="utf-8")
        assert 'src="http' not in text, html
        assert 'rel="stylesheet" type="text/css" href="http' not in text, html
