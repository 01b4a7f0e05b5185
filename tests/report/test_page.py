from __future__ import annotations

import html.parser
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests import fits
from tests.report.pages import HOSTILE, model_of, outlying, page_of
from widestable.effects import effects
from widestable.jumps import Jump, Jumps
from widestable.report import About, build, build_report, judge
from widestable.report.charts import histogram, short
from widestable.report.checks import _histograms, predict_rows, predictive_chart
from widestable.report.fits import clip_line
from widestable.report.outliers import outlier_section, rows_to_show
from widestable.report.page import json_for_script


class Outline(html.parser.HTMLParser):
    """Tags and text as a browser's parser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self._inside):
            self.words.append(data)


def charts_in(text: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return list(json.loads(found.group(1), parse_constant=pytest.fail))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_everything_is_on_the_page(d: int) -> None:
    text = page_of(d)
    words = " ".join(Outline(text).words)
    headings = (
        "Fit",
        "Jumps",
        "Parameters",
        "Convergence",
        "Predictive check",
        "Residuals",
        "Data",
        "Cite and reproduce",
    )
    for heading in headings:
        assert f"<h2>{heading}</h2>" in text
    for fact in ("price", "input 0", "houses.csv", "40 rows", "2 rows with missing values", "Loría", "random_state=0"):
        assert fact in words
    assert judge(model_of(d)[0].posterior_).text in words
    assert len(text.encode()) < 8_000_000
    drawn = {chart["name"] for chart in charts_in(text)}
    assert drawn == {attributes["id"] for tag, attributes in Outline(text).tags if attributes.get("class") == "chart"}
    assert ("chart-boundaries" in drawn) == (d == 2)
    assert ({"chart-shares", "chart-relevance"} <= drawn) == ("<h2>Inputs</h2>" in text) == (d > 1)
    assert ("Here the relevances are fixed" in words) == (d == 2)
    if d > 1:  # planes are written with the names that the caller gave
        assert re.search(r"1\. where .*input 0.* [<>] -?[\d.]+", words)
    likely = len(model_of(d)[0].jumps().likely)
    assert re.search(rf"<b>{likely}</b><span>jumps above [\d.]+ with probability 0.5 or more</span>", text)


def test_nothing_is_loaded_from_elsewhere() -> None:
    for tag, attributes in Outline(page_of(2)).tags:
        assert tag not in {"iframe", "object", "embed", "base"}
        assert all((attributes.get(name) or "data:").startswith("data:") for name in ("src", "href"))
    assert "default-src 'none'" in page_of(2)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_hostile_names_are_text(d: int) -> None:
    tame, hostile = Outline(page_of(d)), Outline(page_of(d, hostile=True))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in tame.tags]
    assert not any(name.startswith("on") for _, attributes in hostile.tags for name in attributes)
    assert HOSTILE in " ".join(hostile.words)
    # Charts know some HTML in their labels: none of it may come from a name.
    assert "<img" not in json.dumps(charts_in(page_of(d, hostile=True)))


def test_json_cannot_leave_its_script() -> None:
    value = {"a": "</script><!--", "b": "&\u2028", "c": [1.5, None]}
    text = json_for_script(value)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == value
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_for_script(float("nan"))


def test_the_jump_threshold_and_weights_are_shown() -> None:
    model, X, y = model_of(2)
    text = build_report(model, X, y, About("y", ("a", "b")), size=1.25, weight=np.ones(40))
    assert "A step counts as a jump when it is larger than 1.25. Locations" in text
    assert "<th>Width</th>" not in text
    assert "narrower than" in page_of(1)
    assert "<th>Width</th>" in page_of(1)
    assert "<td>weight</td>" in text


def test_possible_outliers_are_noted_beside_their_jumps() -> None:
    jump = Jump(0.9, 2.0, (1.8, 2.1), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0)
    pair = (jump, replace(jump, location=1.9, possible_outliers=(20,)))
    for names in (("a",), ("a", "b")):
        directed = tuple(replace(jump, direction=np.ones(len(names))) for jump in pair)
        found = Jumps(1.0, 1.0, np.full(3, 2), directed, names, np.zeros(len(names)), np.ones(len(names)))
        text = "".join(build._jumps(found))
        assert text.count("<th>Note</th>") == 1
        assert re.findall("<td>(possibly.*?)?</td></tr>", text) == ["", "possibly an outlier: row 20"]
        assert "count from 0" in text
        assert "Note" not in "".join(build._jumps(replace(found, found=directed[:1])))


def test_planes_name_the_inputs_that_carry_them_and_all_on_request() -> None:
    jump = Jump(0.9, 2.0, (1.8, 2.1), np.array([1.0, 0.0, -0.1]), 5.0, (4.0, 6.0), 0.0, 1.0)
    found = Jumps(1.0, 1.0, np.full(3, 2), (jump,), ("<a>", "b", "c"), np.zeros(3), np.ones(3), target="<t>")
    text = "".join(build._jumps(found))
    assert "<th>&lt;t&gt; is higher</th>" in text
    assert "<td>1. where &lt;a&gt; &gt; 2.00 (1.80 to 2.10), 2 small weights left out</td>" in text
    assert "<p>1. where 1 &lt;a&gt; + 0 b - 0.1 c &gt; 2.00</p></details>" in text
    sure = replace(found, found=(replace(jump, direction=np.ones(3)),))
    assert "<details>" not in "".join(build._jumps(sure))


def section_of(text: str, heading: str) -> str:
    """A section's words, with the cells of its tables."""
    found = re.search(rf"<section>\s*<h2>{heading}</h2>(.*?)</section>", text, re.DOTALL)
    return "" if found is None else " ".join(" ".join(Outline(found.group(1)).words).split())


@pytest.mark.parametrize("d", [1, 2, 3])
def test_outliers_have_a_section_with_their_numbers(d: int) -> None:
    model, X, y = outlying(d)
    names = tuple(f"<i>{j}" for j in range(d))
    words = section_of(build_report(model, X, y, About("y", names)), "Outliers")
    assert "2 of 60 observations look like outliers; they are kept in the data and count little for the fit." in words
    assert f"Row {' '.join(names)} Observed Fitted Residual Size Probability" in words
    fitted = model.predict(X)
    for item in model.outliers():
        numbers = [f"{item.row}", *(f"{x:.5g}" for x in X[item.row]), f"{y[item.row]:.4g}", f"{fitted[item.row]:.4g}"]
        numbers += [f"{item.residual:+.3g}", f"{item.size:+.3g}", f"{item.probability:.2f}"]
        assert " ".join(numbers) in words
    assert [item.row for item in model.outliers()] == [12, 40]


def test_outliers_are_marked_in_the_charts_and_far_ones_do_not_squash_them() -> None:
    model, X, y = outlying(1)
    charts = {chart["name"]: chart for chart in charts_in(build_report(model, X, y, About("y", ("x",))))}
    fit, residuals = charts["chart-fit"], charts["chart-residuals"]
    low, high = fit["layout"]["yaxis"]["range"]
    assert low < y[12] < 4.0 < high < 20.0
    ring, arrow = (trace for trace in fit["data"] if "outlier" in trace.get("name", ""))
    assert ring["name"] == "outlier (probability above 0.5)"
    np.testing.assert_allclose([ring["x"][0], ring["y"][0]], [X[12, 0], y[12]], rtol=1e-3)
    assert arrow["marker"]["symbol"] == ["triangle-up"]
    assert (arrow["text"], arrow["hovertext"]) == ([f"{y[40]:.3g}"], [f"outlier: row 40, {y[40]:.4g}"])
    assert low < arrow["y"][0] < high
    assert max(next(trace for trace in fit["data"] if trace.get("name") == "data")["y"]) < high
    # Residuals: the same, and the quantiles of the noise know no outliers.
    assert residuals["layout"]["yaxis"]["range"][1] < 20.0
    (quantiles,) = (trace for trace in residuals["data"] if trace.get("name") == "quantiles")
    assert len(quantiles["y"]) == 58
    assert "outliers" in [
        axis["title"]["text"] for key, axis in charts["chart-chains"]["layout"].items() if "yaxis" in key
    ]


def test_outliers_are_marked_on_both_maps() -> None:
    model, X, y = outlying(2)
    charts = {chart["name"]: chart for chart in charts_in(build_report(model, X, y, About("y", ("a", "b"))))}
    for name in ("chart-fit", "chart-boundaries"):
        (ring,) = (trace for trace in charts[name]["data"] if trace.get("name") == "outlier (probability above 0.5)")
        np.testing.assert_allclose(np.column_stack([ring["x"], ring["y"]]), X[[12, 40]], rtol=1e-3)
        assert ring["hovertext"] == ["outlier: row 12", "outlier: row 40"]


def test_no_outliers_are_told_in_one_line() -> None:
    X, y = fits.line_data()
    model = fits.fit(X, y, noise="outliers")
    text = build_report(model, X, y, About("y", ("x",)))
    assert section_of(text, "Outliers") == f"None of the {len(y)} observations looks like an outlier."
    assert "range" not in next(c for c in charts_in(text) if c["name"] == "chart-fit")["layout"]["yaxis"]


def test_normal_noise_tells_of_possible_outliers_only() -> None:
    assert "<h2>Outliers</h2>" not in page_of(1)
    model = model_of(1)[0]
    jump = Jump(0.9, 2.0, (1.8, 2.1), np.ones(1), 5.0, (4.0, 6.0), 0.0, 1.0, possible_outliers=(20,))

    def words(*jumps: Jump) -> str:
        found = Jumps(1.0, 1.0, np.full(3, 2), jumps, ("a",), np.zeros(1), np.ones(1))
        return section_of(outlier_section(model, found, ("a",)), "Outliers")

    assert words(replace(jump, possible_outliers=())) == ""
    assert "Row 20 is possibly an outlier: it lies alone between two opposite jumps." in words(jump, jump)
    assert 'Fit with noise="outliers" ( --noise outliers ) to model outliers as such.' in words(jump)
    two = words(jump, replace(jump, possible_outliers=(3, 4)))
    assert "Rows 3, 4 and 20 are possibly outliers: they lie alone" in two


def test_many_outliers_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("widestable.report.outliers.MAX_ROWS", 1)
    monkeypatch.setattr("widestable.report.outliers.MAX_INPUTS", 2)
    model = outlying(3)[0]
    words = section_of(outlier_section(model, model.jumps(), ("a", "b", "c")), "Outliers")
    assert "Only the 1 most probable are shown; outliers() lists them all. Only the first 2 inputs are shown." in words
    assert "Row a b Observed" in words
    assert words.count("1.00") == 1


def test_all_outliers_are_among_the_rows_to_show() -> None:
    is_outlier = np.zeros(1000, dtype=bool)
    is_outlier[[5, 777]] = True
    rows = rows_to_show(is_outlier, 10)
    assert {5, 777} <= set(rows)
    assert 10 <= rows.size <= 12


def test_replicated_data_surround_the_observations() -> None:
    model, X, y = model_of(2)
    chart = predictive_chart(model, predict_rows(model, X, y), "price")
    scatter, _, low, high, histogram_ = chart.data
    np.testing.assert_allclose(scatter["y"], y, atol=1e-3)
    np.testing.assert_allclose(scatter["x"], model.predict(X), atol=1e-3)
    ends = (
        np.add(scatter["x"], scatter["error_x"]["array"]),
        np.subtract(scatter["x"], scatter["error_x"]["arrayminus"]),
    )
    np.testing.assert_allclose(np.transpose(ends[::-1]), model.predict_interval(X), atol=2e-3)
    assert sum(histogram_["y"]) == pytest.approx(1.0)
    assert np.mean(np.less_equal(low["y"], histogram_["y"]) & np.less_equal(histogram_["y"], high["y"])) > 0.8
    # Observations that the model would not make lie outside.
    shifted = replace(model.posterior_, data=replace(model.posterior_.data, obs_y=model.posterior_.data.obs_y + 3.0))
    centre, height, lower, upper = _histograms(shifted, y.min(), y.max())
    assert np.mean((lower <= height) & (height <= upper)) < 0.8
    assert centre.size == height.size


def test_effects_are_drawn_with_bands() -> None:
    model = model_of(3)[0]
    fit = next(chart for chart in charts_in(page_of(3)) if chart["name"] == "chart-fit")
    for j, effect in enumerate(effects(model.posterior_, range(3))):
        low, high, middle = fit["data"][3 * j : 3 * j + 3]
        np.testing.assert_allclose(middle["x"], effect.x, atol=1e-3)
        for trace, values in ((low, effect.lower), (high, effect.upper), (middle, effect.middle)):
            np.testing.assert_allclose(trace["y"], values, atol=1e-2)
    assert "chart-effects" in {chart["name"] for chart in charts_in(page_of(2))}


def test_maps_of_places_have_longitude_across() -> None:
    model, X, y = model_of(2)
    charts = {chart["name"]: chart for chart in charts_in(build_report(model, X, y, About("y", ("lat", "lon"))))}
    turned = {chart["name"]: chart for chart in charts_in(page_of(2))}
    for name in ("chart-fit", "chart-boundaries"):
        layout = charts[name]["layout"]
        assert (layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"]) == ("lon", "lat")
        for mine, other in zip(charts[name]["data"], turned[name]["data"], strict=True):
            assert (mine["x"], mine["y"]) == (other["y"], other["x"])
        np.testing.assert_array_equal(np.array(charts[name]["data"][0]["z"]).T, turned[name]["data"][0]["z"])


def test_fixed_parameters_have_no_chart() -> None:
    X, y = fits.line_data()
    model = fits.fit(X, y, alpha=1.0, nu=1.0, sigma2=0.1)
    text = build_report(model, X, y, About("y", ("x",)))
    names = {"chart-fit", "chart-counts", "chart-predictive", "chart-residuals"}
    assert {chart["name"] for chart in charts_in(text)} == names
    assert "<td>fixed</td>" in text


def test_inputs_are_shown_with_their_shares_and_relevances() -> None:
    model, charts = model_of(3)[0], {chart["name"]: chart for chart in charts_in(page_of(3))}
    shares = model.input_shares().sort_values("share", ascending=False)
    (dots,) = charts["chart-shares"]["data"]
    np.testing.assert_allclose(dots["x"], shares["share"], rtol=1e-6)
    np.testing.assert_allclose(
        np.subtract(dots["x"], dots["error_x"]["arrayminus"]), shares["5%"], rtol=1e-5, atol=1e-9
    )
    order = [int(name[1:]) - 1 for name in shares.index]
    assert charts["chart-shares"]["layout"]["yaxis"]["ticktext"] == [f"input {j}" for j in order]
    (dots,) = charts["chart-relevance"]["data"]
    np.testing.assert_allclose(dots["x"], model.relevance_[order], rtol=1e-6)
    low, high = np.quantile(model.posterior_.relevance[:, :, order], [0.05, 0.95], axis=(0, 1))
    np.testing.assert_allclose(np.add(dots["x"], dots["error_x"]["array"]), high, rtol=1e-5)
    np.testing.assert_allclose(np.subtract(dots["x"], dots["error_x"]["arrayminus"]), low, rtol=1e-4)
    # Each relevance has its own chains, one row each below alpha, nu and the noise.
    chains = charts["chart-chains"]["layout"]
    assert sum("relevance" in axis["title"]["text"] for key, axis in chains.items() if key.startswith("yaxis")) == 3
    assert "<td>move: " not in page_of(3)


def test_one_input_whose_relevance_is_inferred_is_shown() -> None:
    X, y = fits.line_data()
    text = build_report(fits.fit(X, y, n_sweeps=36, relevance=None), X, y, About("y", ("x",)))
    assert {"chart-shares", "chart-relevance"} <= {chart["name"] for chart in charts_in(text)}


def test_the_verdict_is_good_only_for_chains_that_agree() -> None:
    short_run = judge(fits.line().posterior_)
    assert not short_run.good
    assert "have not converged" in short_run.text
    assert "longer" in short_run.remedy
    # At alpha = 2 with everything fixed, draws are independent.
    long_run = judge(fits.fit(*fits.line_data(), n_sweeps=1500, alpha=2.0, nu=1.0, sigma2=0.1).posterior_)
    assert long_run.good
    assert long_run.rhat <= 1.01
    assert "The chains agree" in long_run.text


def test_plotly_is_asked_for_when_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ValueError, match="install widestable with its extra 'report'"):
        build._plotly_js()


def test_numbers_are_short_for_their_range_and_finite() -> None:
    assert short([1.0 / 3.0, np.nan, np.inf, 1.0]) == [0.33333, None, None, 1.0]
    assert short([[1, 2], [3, 4]]) == [[1.0, 2.0], [3.0, 4.0]]
    assert (short(1.0 / 3.0), short([]), short([0.0, 0.0]), short([7.0])) == (0.33333, [], [0.0, 0.0], [7.0])
    # Far from zero, and near each other: places on a map.
    longitude = 121.5 + 1e-3 * np.arange(5) / 3.0
    np.testing.assert_allclose(short(longitude), longitude, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(short(1e12 * longitude), 1e12 * longitude, rtol=0.0, atol=1e5)


def test_bars_hold_all_draws() -> None:
    for values in (np.geomspace(0.1, 10.0, 500), np.repeat([0.1, 1.0, 10.0], [1, 5, 4]), np.full(5, 2.0)):
        height, centre, width = histogram(values, log=True)
        assert height.sum() == pytest.approx(1.0)
        assert np.all(width > 0.0)
        assert np.all(np.diff(centre) > 0.0)
    np.testing.assert_allclose(histogram(np.repeat([0.1, 1.0, 10.0], [1, 5, 4]), log=True)[0], [0.1, 0.5, 0.4])


@pytest.mark.parametrize(
    ("direction", "location", "ends"),
    [
        ((1.0, 0.0), 0.5, [(0.5, 0.0), (0.5, 3.0)]),
        ((0.0, 2.0), 2.0, [(0.0, 1.0), (2.0, 1.0)]),
        ((1.0, 1.0), 9.0, []),
        ((3.0, -2.0), 0.0, [(0.0, 0.0), (2.0, 3.0)]),
    ],
)
def test_lines_end_at_the_edge(
    direction: tuple[float, float], location: float, ends: list[tuple[float, float]]
) -> None:
    found = clip_line(np.array(direction), location, np.array([0.0, 2.0]), np.array([0.0, 3.0]))
    np.testing.assert_allclose(found, np.array(ends).reshape(-1, 2))
