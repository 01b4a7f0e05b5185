"""Tables as people have them, from CSV to report with no preparation by hand, in Python and on the command line."""

from __future__ import annotations

import json
import re
import warnings
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.dates
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from tests import fits
from tests.cli.commands import SHORT, call, call_json
from widestable import StableRegressor
from widestable.plots import plot_boundaries, plot_effects, plot_fit, plot_map, plot_outliers, predict_grid
from widestable.report import About, build_report


class Kept(NamedTuple):
    """A table, the column to predict, how to fit it, and what its inputs are."""

    text: str
    target: str
    kinds: dict[str, str]
    left_out: tuple[str, ...] = ()
    missing: str = "error"


def dated_series() -> Kept:
    """Visits per day with a jump on 1 April."""
    rng = np.random.default_rng(1)
    days = pd.date_range("2023-03-01", periods=60).strftime("%Y-%m-%d")
    visits = 200.0 + 80.0 * (days >= "2023-04-01") + 5.0 * rng.standard_normal(60)
    rows = [f"{day},{v:.1f}" for day, v in zip(days, visits, strict=True)]
    return Kept("\n".join(["date,visits", *rows]), "visits", {"date": "date"})


def customers() -> Kept:
    """Spending by plan, with a missing age and a missing region, and names that tell nothing."""
    rng = np.random.default_rng(2)
    plan, region = rng.choice(["basic", "plus", "pro"], 60), rng.choice(["north", "south"], 60).astype(object)
    age = [f"{a:.0f}" for a in rng.uniform(18.0, 80.0, 60)]
    region[5], age[7] = "", "NA"
    spend = 10.0 + 30.0 * (plan == "pro") + rng.standard_normal(60)
    rows = [f"c{i},{plan[i]},{region[i]},{age[i]},{spend[i]:.2f}" for i in range(60)]
    kinds = {"plan": "category", "region": "category", "age": "number"}
    return Kept("\n".join(["name,plan,region,age,spend", *rows]), "spend", kinds, ("name",), "indicator")


def city_map() -> Kept:
    """A value over longitude and latitude with an edge."""
    rng = np.random.default_rng(3)
    lon, lat = rng.uniform(121.4, 121.6, 50), rng.uniform(24.9, 25.1, 50)
    value = 5.0 * (lon > 121.5) + 0.3 * rng.standard_normal(50)
    rows = [f"{a:.4f};{b:.4f};{v:.3f}".replace(".", ",") for a, b, v in zip(lon, lat, value, strict=True)]
    return Kept("\n".join(["lon;lat;value", *rows]), "value", {"lon": "number", "lat": "number"})


def plant_log() -> Kept:
    """Sensors by the hour, two presses, an operator's remarks and a column that never changes."""
    rng = np.random.default_rng(4)
    stamps = pd.date_range("2024-02-01 06:00", periods=60, freq="h").strftime("%d.%m.%Y %H:%M")
    press, heat = rng.choice(["P1", "P2"], 60), rng.uniform(180.0, 220.0, 60)
    yields = 90.0 - 8.0 * (press == "P2") + 0.05 * heat + 0.5 * rng.standard_normal(60)
    rows = [f"{stamps[i]},{press[i]},{heat[i]:.2f},ok,remark {i},{yields[i]:.2f}" for i in range(60)]
    kinds = {"time": "date", "press": "category", "heat": "number"}
    return Kept("\n".join(["time,press,heat,state,remark,yield", *rows]), "yield", kinds, ("state", "remark"))


TABLES = {"visits": dated_series, "customers": customers, "map": city_map, "plant": plant_log}
# What `jumps` must say, and what its row of the report's table says.
SAYS = {
    "visits": "between 2023-03-31 and 2023-04-01",
    "customers": "where plan is pro",
    "map": "where lon > 121.50",
    "plant": "where press is P1",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_csv_goes_to_a_report(name: str, tmp_path: Path) -> None:
    table, run = TABLES[name](), tmp_path / "run"
    (tmp_path / "data.csv").write_text(table.text, encoding="utf-8")
    how = ("--target", table.target, "--out", run, *SHORT, "--missing", table.missing)
    said = call("fit", tmp_path / "data.csv", *how)
    record = json.loads((run / "run.json").read_text())
    assert record["kinds"] == table.kinds
    assert tuple(record["left_out"]) == table.left_out
    for column in table.left_out:
        assert f"Not used: {column} (it " in said.stderr
    assert SAYS[name] in call("jumps", run).stdout
    call("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    for column in table.left_out:
        assert f"{column} is not used: it " in page
    assert escape(SAYS[name].removeprefix("between ").replace(" and ", " to ")) in page
    # The table that was fitted, with every column as it was given.
    call("predict", run, tmp_path / "data.csv", "--out", tmp_path / "p.csv")
    given = [line.split(";" if ";" in table.text else ",") for line in table.text.splitlines()]
    predicted = pd.read_csv(tmp_path / "p.csv", dtype=str, keep_default_na=False)
    for j, column in enumerate(given[0]):
        if ";" not in table.text:
            assert predicted[column].tolist() == [row[j] for row in given[1:]]
    assert predicted["prediction"].astype(float).notna().all()


@pytest.mark.parametrize("name", TABLES)
def test_python_takes_the_table_as_pandas_reads_it(name: str, tmp_path: Path) -> None:
    table = TABLES[name]()
    (tmp_path / "data.csv").write_text(table.text, encoding="utf-8")
    how: dict[str, Any] = {"sep": ";", "decimal": ","} if ";" in table.text else {}
    data = pd.read_csv(tmp_path / "data.csv", **how)
    X, y = data[list(table.kinds)], data[table.target]
    model = fits.fit(X, y, missing=table.missing)
    assert model.n_features_in_ == len(table.kinds) == len(model.relevance_) == len(model.input_shares())
    assert SAYS[name] in str(model.jumps())
    model.save(tmp_path / "model")
    again = StableRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.jumps()) == str(model.jumps())
    page = build_report(again, X, y, About(table.target, tuple(table.kinds)))
    assert ('"type":"date"' in page) == ("date" in table.kinds.values())
    # The command line fits the same model.
    how = {"target": table.target, "out": tmp_path / "run", "missing": table.missing}
    options = [part for key, value in how.items() for part in (f"--{key}", value)]
    inputs = [part for column in table.kinds for part in ("--input", column)]
    call_json("fit", tmp_path / "data.csv", *options, *inputs, *SHORT, "--paper")
    loaded = StableRegressor.load(tmp_path / "run" / "model.zip")
    np.testing.assert_array_equal(loaded.posterior_.f, model.posterior_.f)


# --- Dates -----------------------------------------------------------------------------------------------


def visits() -> tuple[pd.DataFrame, np.ndarray]:
    days = pd.date_range("2023-03-01", periods=60)
    rng = np.random.default_rng(1)
    y = 200.0 + 80.0 * (days >= "2023-04-01") + 5.0 * rng.standard_normal(60)
    return pd.DataFrame({"date": days}), np.asarray(y)


def test_dates_are_days_to_the_engine_and_dates_to_the_user() -> None:
    X, y = visits()
    model = fits.fit(X, y)
    days = fits.fit(np.arange(60.0)[:, None], y)
    np.testing.assert_array_equal(model.posterior_.f, days.posterior_.f)
    (jump,) = [jump for jump in model.jumps(size=40.0) if jump.probability > 0.5]
    assert jump.between == (pd.Timestamp("2023-03-31"), pd.Timestamp("2023-04-01"))
    assert jump.location_interval[0] <= jump.location <= jump.location_interval[1]
    assert jump.to_dict()["between"] == ["2023-03-31T00:00:00", "2023-04-01T00:00:00"]
    json.dumps(model.jumps().to_dict())
    smooth = fits.fit(X, y, sharpness=5.0).jumps(size=40.0)
    assert "larger than 40 and narrower than 4.33 days" in str(smooth)
    assert " days wide; probability" in str(smooth)
    assert model.jumps(size=40.0).to_frame()["location"].dtype.kind == "M"
    before, after = (pd.DataFrame({"date": [day]}) for day in ("2023-03-15", "2023-04-15"))
    assert model.jump_probability(before, after, size=40.0)[0] > 0.9
    assert model.posterior_.names[-1] == "f at row 59 (date = 2023-04-29)"
    assert model.jumps().gaps.low.dtype.kind == "M"


def test_pictures_of_dates_have_axes_of_dates() -> None:
    X, y = visits()
    y[20] += 500.0
    model = fits.fit(X, y, noise="outliers")
    for given in ((), (X, y), (X["date"], y)):
        upper, lower = plot_fit(model, *given, ax=Figure().subplots()).figure.axes
        for ax in (upper, lower):
            assert isinstance(ax.xaxis.get_major_formatter(), matplotlib.dates.ConciseDateFormatter)
            assert matplotlib.dates.num2date(ax.get_xlim()[0]).year == 2023
    assert plot_outliers(model, ax=upper).get_legend() is not None
    two = fits.fit(X.assign(x=np.sin(np.arange(60.0))), y)
    grid = predict_grid(two, 5)
    assert grid.x[0] == np.datetime64("2023-03-01")
    assert repr(grid) == "Grid(5 x 5 points, date 2023-03-01 to 2023-04-29, x -1 to 0.9999)"
    effect, _ = plot_effects(two, axes=Figure().subplots(1, 2))
    shown = [plot_map(two, ax=Figure().subplots()), plot_boundaries(two, ax=Figure().subplots())]
    for ax in (*shown, plot_map(grid, points=[[np.datetime64("2023-03-05"), 0.0]], ax=Figure().subplots()), effect):
        assert matplotlib.dates.num2date(ax.get_xlim()[1]).year == 2023
        # Points and grid are on the same axis.
        inside = ax.lines[0].get_xdata()
        assert np.all((inside >= ax.get_xlim()[0]) & (inside <= ax.get_xlim()[1]))


# --- Categories ------------------------------------------------------------------------------------------


def kinds() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"kind": rng.choice(list("ABC"), 40), "x": rng.standard_normal(40), "on": rng.random(40) < 0.5})
    return X, 4.0 * (X["kind"] != "B").to_numpy() + 0.3 * rng.standard_normal(40)


def test_a_category_is_one_input_in_every_answer() -> None:
    X, y = kinds()
    model = fits.fit(X, y, relevance=None, sharpness=2.0)
    posterior = model.posterior_
    assert posterior.relevance.shape[2] == model.relevance_.size == 3
    of_columns = posterior.chains[0].relevance
    np.testing.assert_array_equal(of_columns[:, :3], of_columns[:, :1].repeat(3, axis=1))
    assert np.unique(posterior.relevance[:, :, 0]).size > 10
    assert list(posterior.summary().index[4:7]) == ["relevance of kind", "relevance of x", "relevance of on"]
    assert posterior.names[3:6] == ["relevance of kind", "relevance of x", "relevance of on"]
    shares = model.input_shares()
    assert list(shares.index) == ["kind", "x", "on"]
    assert shares["share"].idxmax() == "kind"
    fixed = fits.fit(X, y, relevance=[2.0, 1.0, 0.5])
    assert fixed.posterior_.chains[0].relevance[0].tolist() == [2.0, 2.0, 2.0, 1.0, 0.5, 0.5]
    with pytest.raises(ValueError, match="Got 6 numbers as relevance and 3 inputs"):
        fits.fit(X, y, relevance=np.ones(6))


def test_jumps_speak_of_levels() -> None:
    X, y = kinds()
    jumps = fits.fit(X, y).jumps()
    assert jumps[0].levels == ("kind", ("A", "C"))
    assert " where kind is A or C; probability" in str(jumps)
    # The whole plane has a weight for each level, but only differences between levels matter.
    assert "[kind is B]" in jumps.describe(jumps[0], full=True)
    assert jumps.to_dict()["jumps"][0]["levels"] == {"kind": ["A", "C"]}
    assert jumps.to_dict()["terms"][0] == "[kind is A]"
    alone = fits.fit(X[["kind"]], y)
    assert "where kind is A or C" in str(alone.jumps())
    for picture in (plot_fit, plot_outliers):
        with pytest.raises(ValueError, match=r"a number or a date|numbers or dates"):
            picture(alone, ax=Figure().subplots())
    assert "<!DOCTYPE html>" in build_report(alone, X[["kind"]], y, About("y", ("kind",)))


def test_pictures_of_categories_have_levels_on_their_axes() -> None:
    X, y = kinds()
    X.loc[0, "kind"] = None
    model = fits.fit(X[["kind", "x"]], pd.Series(y, name="cost"), missing="indicator")
    levels = ["A", "B", "C", "missing"]
    of_kind, of_x = plot_effects(model, axes=Figure().subplots(1, 2))
    assert [text.get_text() for text in of_kind.get_xticklabels()] == levels
    middle = of_kind.lines[0].get_ydata()
    # Averages of f over all rows, had they this level: 4, but 0 for B.
    assert middle[[0, 1, 2]] == pytest.approx([4.0, 0.0, 4.0], abs=0.7)
    assert (of_kind.get_xlabel(), of_x.get_xlabel(), of_kind.get_ylabel()) == ("kind", "x", "effect on cost")
    grid = predict_grid(model, 5)
    assert grid.x.tolist() == levels
    assert grid.middle.shape == (5, 4)
    rows = pd.DataFrame({"kind": list("ABC"), "x": grid.y[2]})
    every = predict_grid(model, 5, n_draws=10**6)
    np.testing.assert_allclose(every.middle[2, :3], model.predict(rows))
    ax = plot_map(model, ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_xticklabels()] == levels
    # Each row is marked above its own level.
    found = np.bincount(ax.lines[0].get_xdata().astype(int), minlength=4)
    assert found.tolist() == X["kind"].fillna("missing").value_counts()[levels].tolist()
    with pytest.raises(ValueError, match="two inputs which are numbers or dates"):
        plot_boundaries(model, ax=Figure().subplots())
    page = build_report(model, X[["kind", "x"]], y, About("cost", ("kind", "x")))
    assert page.count('"type":"category"') == 2  # the map and the effect
    assert '"ticktext":["A","B","C","missing"]' in page


def test_the_order_of_rows_and_the_names_of_levels_change_no_draw() -> None:
    X, y = kinds()
    model, order = fits.fit(X, y), np.random.default_rng(0).permutation(40)
    other = fits.fit(X.iloc[order], y[order])
    np.testing.assert_array_equal(other.posterior_.f, model.posterior_.f)
    renamed = fits.fit(X.replace({"kind": {"A": "a", "B": "b", "C": "c"}}), y)
    np.testing.assert_array_equal(renamed.posterior_.f, model.posterior_.f)


def test_new_levels_are_refused_or_predicted() -> None:
    X, y = kinds()
    model = fits.fit(X, y)
    new = X[:2].assign(kind="D")
    with pytest.raises(ValueError, match=r"'kind' holds 'D' in row 0 .*\(A, B, C\)"):
        model.predict(new)
    found = model.set_params(unknown="other").predict(new)
    assert np.all((found > -2.0) & (found < 6.0))


# --- Missing values --------------------------------------------------------------------------------------


def test_rows_that_are_dropped_have_no_prediction() -> None:
    X, y = kinds()
    X.loc[3, "x"], X.loc[4, "kind"] = np.nan, None
    model = fits.fit(X, y, missing="drop")
    assert model.posterior_.data.kept.sum() == 38
    keywords = model.predict(X, interval=0.9)[:, 1], model.predict(X, return_std=True)[1]
    for found in (model.predict(X), model.predict_interval(X)[:, 0], model.sample_y(X, 2)[:, 1], *keywords):
        assert np.flatnonzero(np.isnan(found)).tolist() == [3, 4]
    assert np.isnan(model.jump_probability(X[:5], X[5:10])).tolist() == [False] * 3 + [True] * 2
    assert np.isnan(model.predict(X[3:5])).all()
    whole = fits.fit(X.dropna(), y[X.notna().all(axis=1)])
    np.testing.assert_array_equal(whole.posterior_.f, model.posterior_.f)
    page = build_report(model, X, y, About("y", ("kind", "x", "on")))
    # The table to download has rows as they were given, under their numbers.
    text = re.search(r'"predictions.csv":("(?:[^"\\]|\\.)*")', page)
    assert text is not None
    table = pd.read_csv(StringIO(json.loads(text.group(1))), index_col="row")
    assert table.index.tolist() == [i for i in range(40) if i not in (3, 4)]
    assert table["kind"].tolist() == X["kind"].drop([3, 4]).tolist()
    np.testing.assert_allclose(table["prediction"], model.predict(X.drop([3, 4])))
    with pytest.raises(ValueError, match="NaN at row 3, column 'x'"):
        model.set_params(missing="error").predict(X)


def test_known_noise_of_rows_that_are_dropped_does_not_count() -> None:
    X, y = kinds()
    X.loc[3, "x"] = np.nan
    variance = np.linspace(0.05, 0.2, 40)
    variance[3] = 1e-6
    kept = X["x"].notna().to_numpy()
    how: dict[str, Any] = {"n_chains": 2, "n_sweeps": 60, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = StableRegressor(**how, missing="drop").fit(X, y, noise_variance=variance)
        whole = StableRegressor(**how).fit(X[kept], y[kept], noise_variance=variance[kept])
    np.testing.assert_array_equal(model.posterior_.f, whole.posterior_.f)
    assert model.posterior_.to_arviz()["log_likelihood"]["y"].shape[2] == 39


def test_an_indicator_learns_what_missing_means() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal(60)
    y = np.where(np.arange(60) % 4 == 0, 9.0, 0.0) + 0.2 * rng.standard_normal(60)
    x[::4] = np.nan
    model = fits.fit(x[:, None], y, missing="indicator")
    assert model.predict([[np.nan], [0.0]]) == pytest.approx([9.0, 0.0], abs=1.5)


def test_predict_on_the_command_line_leaves_predictions_empty(tmp_path: Path) -> None:
    table = customers()
    (tmp_path / "data.csv").write_text(table.text)
    call("fit", tmp_path / "data.csv", "--target", "spend", "--out", tmp_path / "run", *SHORT, "--missing", "drop")
    (tmp_path / "new.csv").write_text("plan,region,age\npro,north,40\nbasic,,40\ngold,south,20\n")
    said = call("predict", tmp_path / "run", tmp_path / "new.csv", "--unknown", "other")
    assert "1 of them with missing values: their predictions are empty" in said.stderr
    assert [line.endswith(",,,") for line in said.stdout.splitlines()] == [False, False, True, False]
    for wrong, message in (
        (("--unknown", "other", "--missing", "error"), "NaN at row 1, column 'region'"),
        ((), "'plan' holds 'gold' in row 2"),
        (("--missing", "guess"), "Got missing = 'guess', expected one of error, drop, indicator"),
    ):
        assert message in call("predict", tmp_path / "run", tmp_path / "new.csv", *wrong, code=1).stderr
    place = ("--from", "pro,north,40", "--to", "basic,north,40")
    assert call_json("jumps", tmp_path / "run", *place)["probability"] > 0.5


def test_numbers_can_be_a_category_on_the_command_line(tmp_path: Path) -> None:
    rows = [f"{k},{i},{5.0 * (k == 2) + 0.1 * (i % 3)}" for i, k in enumerate([1, 2, 3] * 10)]
    (tmp_path / "data.csv").write_text("\n".join(["zone,x,y", *rows]))
    how = ("--target", "y", "--out", tmp_path / "run", *SHORT, "--category", "zone")
    assert "from zone (category of 3 levels), x" in call("fit", tmp_path / "data.csv", *how).stderr
    assert "where zone is 2" in call("jumps", tmp_path / "run").stdout
    wrong = call("fit", tmp_path / "data.csv", "--target", "y", "--out", tmp_path / "b", "--category", "y", code=1)
    assert re.search("Got --category 'y', which is no input: pass", wrong.stderr)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    X, y = kinds()
    how: dict[str, Any] = {"n_chains": 2, "n_sweeps": 60, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = StableRegressor(**how).fit(X, y, checkpoint=tmp_path / "c")
        again = StableRegressor(**how).fit(X, y, checkpoint=tmp_path / "c")
        np.testing.assert_array_equal(again.posterior_.f, first.posterior_.f)
        with pytest.raises(ValueError, match="was made with other data"):
            StableRegressor(**how).fit(X.replace({"kind": {"A": "Z"}}), y, checkpoint=tmp_path / "c")
