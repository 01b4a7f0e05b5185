"""The report in a real browser: charts are drawn, nothing complains, nothing hostile runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.report.browser import Browser, find_browser, start_browser
from tests.report.pages import HOSTILE, model_of, outlying, page_of
from widestable.report import About, build_report

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium found: install it, or set WIDESTABLE_BROWSER")

DRAWN = "document.body && document.body.dataset.drawn > 0"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with start_browser(PROGRAM, tmp_path_factory.mktemp("profile")) as found:
        yield found


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("d", [1, 2, 3])
def test_charts_are_drawn_and_hostile_names_do_nothing(d: int, browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, page_of(d, hostile=True)), DRAWN)
    n_charts = browser.evaluate("document.querySelectorAll('.chart').length")
    # Every chart has a drawing with something in it, of the size of its box.
    drawn = browser.evaluate(
        "[...document.querySelectorAll('.chart')].filter(box => {"
        "  const svg = box.querySelector('svg.main-svg');"
        "  const marks = box.querySelectorAll('.trace path, .hm image');"
        "  return svg && svg.getBoundingClientRect().width > 300 && marks.length > 0;"
        "}).length"
    )
    assert drawn == n_charts >= 5
    seen = browser.seen()
    assert seen.errors == []
    assert seen.dialogs == []
    assert seen.requests == []
    text = browser.evaluate("document.body.innerText")
    assert "How many jumps" in text
    assert "Effective draws" in text
    assert HOSTILE in text
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    titles = browser.evaluate("[...document.querySelectorAll('.xtitle')].map(title => title.textContent).join('|')")
    assert "</script><script>" in titles


def test_the_map_changes_with_its_buttons(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, page_of(2)), DRAWN)
    z = "JSON.stringify(document.getElementById('chart-fit').data[0].z)"
    median = browser.evaluate(z)
    label = "Width"
    browser.evaluate(
        "[...document.querySelectorAll('.updatemenu-button')].find(b => b.textContent.includes("
        f"'{label}')).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
    )
    assert browser.evaluate(z) != median
    assert browser.seen().errors == []


@pytest.mark.parametrize("d", [1, 2, 3])
def test_nothing_is_cut_or_overlaps_on_a_phone(d: int, browser: Browser, tmp_path: Path) -> None:
    browser.command("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    model, X, y = outlying(d)
    try:
        browser.open(write(tmp_path, build_report(model, X, y, About("price", tuple("abc"[:d])))), DRAWN)
        assert browser.seen().errors == []
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        # Their classes are xtitle, x2title, ytitle and so on.
        titles = ".infolayer text[class*=title]"
        # Boxes of words in charts: all inside their drawing, and titles of axes apart from each other.
        outside = browser.evaluate(
            f"[...document.querySelectorAll('.legendtext, .updatemenu-button text, {titles}')].filter(word => {{"
            "  const box = word.getBoundingClientRect(), all = word.closest('.chart').getBoundingClientRect();"
            "  return box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1;"
            "}).map(word => word.textContent)"
        )
        assert outside == []
        overlapping = browser.evaluate(
            f"(() => {{ const boxes = [...document.querySelectorAll('{titles}')]"
            "    .filter(word => word.textContent).map(word => [word.textContent, word.getBoundingClientRect()]);"
            "  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b, q]) => p.left < q.right - 1 &&"
            "    q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1).map(([b]) => a + '|' + b)); })()"
        )
        assert overlapping == []
    finally:
        browser.command("Emulation.clearDeviceMetricsOverride")


def test_tables_are_downloaded_without_a_server(browser: Browser, tmp_path: Path) -> None:
    model, X, y = model_of(3)
    names = ("press", 'a "quoted", name', "ü")
    browser.command("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open(write(tmp_path, build_report(model, X, y, About("price", names))), DRAWN)
    for name in ("predictions.csv", "jumps.csv"):
        browser.evaluate(f"document.querySelector('[data-file=\"{name}\"]').click()")
        deadline = time.monotonic() + 20.0
        while not (tmp_path / name).exists():
            assert time.monotonic() < deadline, "no file"
            browser.evaluate("new Promise(done => setTimeout(done, 50))")
    seen = browser.seen()
    assert (seen.errors, seen.requests) == ([], [])
    table = pd.read_csv(tmp_path / "predictions.csv", index_col="row")
    assert list(table.columns) == [*names, "price", "prediction", "lower", "upper"]
    np.testing.assert_allclose(table[list(names)], X)
    np.testing.assert_allclose(table["prediction"], model.predict(X))
    np.testing.assert_allclose(table[["lower", "upper"]], model.predict_interval(X))
    jumps = pd.read_csv(tmp_path / "jumps.csv")
    np.testing.assert_allclose(jumps["size"], [jump.size for jump in model.jumps()])
    assert jumps["words"].str.startswith("price rises by").all()


def test_the_browser_would_notice(browser: Browser, tmp_path: Path) -> None:
    """The checks above can fail: errors, dialogs and requests are seen."""
    page = "<body data-drawn=1><script>alert('boo'); console.error('bad'); throw Error('worse')</script><img src=x.png>"
    browser.open(write(tmp_path, page), DRAWN)
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    seen = browser.seen()
    assert seen.dialogs == ["boo"]
    assert any("bad" in error for error in seen.errors)
    assert any("worse" in error for error in seen.errors)
    assert [url.rsplit("/", 1)[1] for url in seen.requests] == ["x.png"]
