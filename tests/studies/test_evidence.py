"""The wider comparison: plan, metrics against numbers by hand, the rule, the page from made-up results, competitors."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import norm

from studies.datasets import DataError
from studies.evidence import __main__ as command
from studies.evidence import changes, choice, data, fits, page, plan, ranks, segments, series, table
from studies.forecasts import Forecast, from_normal, score
from studies.methods.limited import OutOfTimeError, affordable, at_most
from studies.problems import Floats, simulate
from studies.runner import Piece, Result, read, write
from studies.sampling import default_model

ROOT = Path(__file__).resolve().parents[2]

# --- The plan --------------------------------------------------------------------------------------------


def test_every_piece_is_planned_once_and_the_first_data_sets_come_first() -> None:
    pieces = plan.pieces()
    assert len({piece.file_name for piece in pieces}) == len(pieces)
    assert [piece.repeat for piece in pieces] == sorted(piece.repeat for piece in pieces)
    per_set = Counter((piece.data, piece.repeat) for piece in pieces)
    assert set(per_set) == {(name, repeat) for name in plan.PROBLEMS for repeat in range(plan.N_SETS)}
    # Data set after data set, so that each is complete before the next begins.
    runs = [key for key, _ in groupby((piece.data, piece.repeat) for piece in pieces)]
    assert len(runs) == len(set(runs))


def test_methods_for_few_rows_are_left_out_where_there_are_more() -> None:
    where = {piece.data for piece in plan.pieces(methods=["deep_gp"])}
    assert "one_jump" in where
    assert "schools" not in where
    assert all(plan.n_rows(name) <= plan.METHODS["deep_gp"].max_rows for name in where)


def test_ours_are_all_combinations_with_the_limit() -> None:
    settings = [method.settings for method in plan.OURS.values()]
    assert len({tuple(s[name] for name in ("sharpness", "relevance", "noise")) for s in settings}) == 8
    assert {s["max_time"] for s in settings} == {plan.LIMIT}
    assert plan.OURS[plan.PAPER].settings == {
        "sharpness": "inf",
        "relevance": "equal",
        "noise": "normal",
        "max_time": plan.LIMIT,
    }
    assert all(method.settings.get("limit", plan.LIMIT) == plan.LIMIT for method in plan.OTHERS.values())


def test_problems_are_of_the_sizes_that_the_list_promises() -> None:
    assert sum(task.kind == "real" for task in plan.PROBLEMS.values()) >= 8
    for real in data.REAL.values():
        assert 100 <= real.shape[0] <= 3000
        assert 1 <= real.shape[1] <= 13


@pytest.mark.parametrize("name", data.REAL)
def test_real_sets_have_the_shape_of_the_list(name: str) -> None:
    if why := plan.without_data(name):
        pytest.skip(why)
    problem = plan.PROBLEMS[name].make(1)
    assert problem.X.shape == (data.REAL[name].n_train, data.REAL[name].shape[1])
    assert len(problem.X_new) == min(data.MAX_TEST, data.REAL[name].shape[0] - data.REAL[name].n_train)
    assert np.all(np.isfinite(problem.X))
    assert np.linalg.matrix_rank(problem.X - problem.X.mean(axis=0)) == problem.X.shape[1]


def test_without_r_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.shutil, "which", lambda name: None)
    with pytest.raises(DataError, match="apt install r-base-core r-cran-mass"):
        data.r_frame.__wrapped__("MASS", "mcycle")


# --- Limits ----------------------------------------------------------------------------------------------


def test_a_fit_that_takes_too_long_is_stopped() -> None:
    def spin(seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            sum(range(1000))

    with pytest.raises(OutOfTimeError, match=r"stopped after 0\.05 s"), at_most(0.05):
        spin(10.0)
    spin(0.1)  # the clock is off again: nothing is raised later
    with at_most(10.0):
        spin(0.01)


def test_as_many_iterations_are_made_as_fit_in_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: clock[0])

    def run(n: int) -> None:
        clock[0] += 1.0 + 0.01 * n

    # Trials take 1.1 s and 1.5 s, and each run 1 s besides its iterations: 0.9 * 10 - 3.6 s are left for them.
    assert affordable(run, (10, 50), 10_000, 10.0) == pytest.approx(540, abs=1)
    assert affordable(run, (10, 50), 300, 10.0) == 300
    assert affordable(run, (10, 50), 300, 1.0) == 0


# --- Pieces and the table --------------------------------------------------------------------------------


def made_up(crps: float, **more: Any) -> Result:
    scores = dict.fromkeys([*plan.SCORES, "mae_truth"], crps) | {"coverage": 0.9}
    mixing = {"rhat": 1.004, "ess": 900.0}
    found = {"scores": scores, "fit_seconds": 3.0, "cpu_seconds": 4.0, "n_iterations": 10, "versions": "thing 1.0"}
    return found | {"mixing": mixing, "converged": True} | more


def fake(monkeypatch: pytest.MonkeyPatch, fit: Any, name: str = "gp_matern") -> Piece:
    method = plan.METHODS[name]._replace(fit=fit, settings={"limit": 5.0})
    monkeypatch.setattr(fits, "METHODS", {name: method})
    return Piece(plan.STUDY, name, "one_jump", 0, method.settings)


def test_a_piece_has_scores_and_a_failure_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def good(X: Floats, y: Floats, X_new: Floats, seed: int, *, limit: float) -> Forecast:
        return from_normal(np.full(len(X_new), 2.5), np.full(len(X_new), 2.5))

    def slow(*rows: Floats, limit: float) -> Forecast:
        return replace(good(*rows, limit=limit), info={"fit_seconds": 2.1 * limit})

    def broken(*rows: Floats, limit: float) -> Forecast:
        raise np.linalg.LinAlgError("singular")

    found = fits.run_piece(fake(monkeypatch, good), None)
    assert set(found["scores"]) == {*plan.SCORES, "mae_truth"}
    assert found["scores"]["mae_truth"] == 2.5
    assert found["versions"].startswith("scikit-learn ")
    assert "mixing" not in found
    assert fits.run_piece(fake(monkeypatch, slow), None)["failed"].endswith("took 10 s")
    assert fits.run_piece(fake(monkeypatch, broken), None)["failed"] == "LinAlgError: singular"


def test_the_table_survives_its_file_and_the_cache_adds_to_it(tmp_path: Path) -> None:
    pieces = plan.pieces(["one_jump"], ["stochtree", "forest", "tgp"], 1)
    path = tmp_path / "results.csv"
    write(tmp_path, pieces[0], made_up(0.5))
    write(tmp_path, pieces[2], {"failed": "OutOfTimeError: took 99 s", "fit_seconds": 99.0, "versions": "tgp 2"})
    first = table.export(tmp_path, pieces, path)
    assert list(first["method"]) == ["stochtree", "tgp"]
    write(tmp_path, pieces[1], made_up(0.25))
    found = table.gather(tmp_path, pieces, path)
    assert list(found["method"]) == ["stochtree", "forest", "tgp"]
    assert list(found["crps"][:2]) == [0.5, 0.25]
    assert np.isnan(found["crps"][2])
    assert list(found["failed"]) == [None, None, "OutOfTimeError: took 99 s"]
    # The file alone has it all.
    table.export(tmp_path, pieces, path)
    pd.testing.assert_frame_equal(table.gather(tmp_path / "none", pieces, path), found)


def test_what_the_repository_has_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = plan.pieces(["one_jump"], ["gp_matern", "forest"], 1)
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results.csv")
    write(tmp_path / "old", pieces[0], made_up(0.5))
    table.export(tmp_path / "old", pieces, table.RESULTS)
    monkeypatch.setattr(command, "run_piece", lambda piece, folder: made_up(0.1))
    words = ["run", "one_jump", "--methods", "gp_matern", "forest", "--sets", "1", "--cache", str(tmp_path / "new")]
    command.main(words)
    assert "1 of 2 pieces are not in results.csv" in capsys.readouterr().out
    assert read(tmp_path / "new", pieces[0]) is None
    assert read(tmp_path / "new", pieces[1]) is not None


def test_an_unknown_problem_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["run", "poetry"])
    assert "there is no problem 'poetry': choose from three_jumps" in capsys.readouterr().err


def results(crps: dict[str, dict[str, float | None]], n_sets: int = 1, **more: Any) -> pd.DataFrame:
    """Return made-up results by method and problem, the same for each data set; None is a failure."""
    rows = []
    for repeat in range(n_sets):
        for method, by_problem in crps.items():
            for problem, value in by_problem.items():
                piece = Piece(plan.STUDY, method, problem, repeat, plan.METHODS[method].settings)
                failure = {"failed": "ValueError: no", "fit_seconds": 1.0, "versions": "thing 1.0"}
                rows.append(table.row(piece, failure if value is None else made_up(value, **more)))
    return table._typed(pd.DataFrame(rows), table.FITS)


def test_data_sets_count_when_every_method_has_them() -> None:
    frame = results({"forest": {"one_jump": 1.0, "nile": 1.0}, "tgp": {"one_jump": 2.0}})
    planned = plan.pieces(["one_jump", "nile"], n_sets=1)
    assert set(table.complete(frame, planned)["problem"]) == {"one_jump"}
    # A method that was not run at all is not waited for.
    assert len(table.complete(frame[frame["method"] == "forest"], planned)) == 2


def test_one_failure_makes_a_mean_missing() -> None:
    frame = pd.concat([results({"tgp": {"nile": 1.0}}), results({"tgp": {"nile": None}})])
    assert np.isnan(table.means(frame, "crps").loc["nile", "tgp"])
    frame = pd.concat([results({"tgp": {"nile": 1.0}}), results({"tgp": {"nile": 2.0}})])
    assert table.means(frame, "crps").loc["nile", "tgp"] == 1.5


# --- The rule --------------------------------------------------------------------------------------------

A, B, C = plan.PAPER, "smooth_inferred_normal", "sign_inferred_normal"


def test_the_default_is_the_smallest_log_ratio_among_those_that_may() -> None:
    crps = {
        A: {"one_jump": 1.0, "friedman1": 2.0, "nile": 1.0},
        B: {"one_jump": 1.01, "friedman1": 1.0, "nile": 1.0},
        C: {"one_jump": 1.03, "friedman1": 0.5, "nile": 1.0},
        "tgp": {"one_jump": 2.0, "friedman1": 3.0, "nile": 0.5},
    }
    found = choice.candidates(results(crps)).loc[[A, B, C]]
    ratios = [[1.0, 4.0, 2.0], [1.01, 2.0, 2.0], [1.03, 1.0, 2.0]]
    np.testing.assert_allclose(found["log_ratio"], np.log(ratios).mean(axis=1))
    np.testing.assert_allclose(found["steps"], [1.0, 1.01, 1.03])
    # C would be first, but loses more than 2% where f is constant between jumps.
    assert list(found["eligible"]) == [True, True, False]
    assert choice.chosen(found) == B


def test_a_combination_that_fails_or_seldom_converges_is_not_chosen() -> None:
    good = results({A: {"one_jump": 1.0, "nile": 1.0}})
    failing = results({B: {"one_jump": 0.5, "nile": None}})
    lazy = results({C: {"one_jump": 0.5, "nile": 0.5}}, converged=False)
    found = choice.candidates(pd.concat([good, failing, lazy]))
    assert np.isinf(found.loc[B, "log_ratio"])
    assert choice.chosen(found) == A
    assert choice.chosen(found.loc[[B, C]]) is None


def test_convergence_counts_on_every_data_set_of_a_combination() -> None:
    shared = results({A: {"one_jump": 1.0}, B: {"one_jump": 0.5}})
    elsewhere = results({B: {"nile": 9.0}}, converged=False)
    found = choice.candidates(shared, pd.concat([shared, elsewhere]))
    assert found.loc[B, "converged"] == 0.5
    assert found.loc[B, "log_ratio"] == 0.0
    assert choice.chosen(found) == A
    assert choice.chosen(choice.candidates(shared)) == B


# --- Ranks -----------------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    scores = pd.DataFrame({"a": [1.0, 2.0, 1.0], "b": [2.0, 1.0, 1.0], "c": [3.0, np.nan, 5.0]})
    found = ranks.rank(scores)
    # Rows: 1 2 3; 2 1 3; 1.5 1.5 3.
    np.testing.assert_allclose(found.mean[["a", "b", "c"]], [1.5, 1.5, 3.0])
    np.testing.assert_allclose(found.error["a"], 0.5 / np.sqrt(3.0))
    assert found.n_problems == 3


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_the_published_table(k: int, q: float) -> None:
    """Table 5(a) of Demsar (2006); for two methods Nemenyi's test is the normal one."""
    expected = q * np.sqrt(k * (k + 1) / (6.0 * 30))
    assert ranks.critical_difference(k, 30) == pytest.approx(expected, abs=5e-4)
    if k == 2:
        assert ranks.critical_difference(2, 30, 0.01) == pytest.approx(norm.ppf(0.995) / np.sqrt(30.0), rel=1e-6)


def test_groups_are_maximal_and_overlap() -> None:
    mean = pd.Series({"a": 1.0, "b": 1.5, "c": 2.2, "d": 4.0})
    assert ranks.Ranked(mean, mean, 10, 1.3).groups == [["a", "b", "c"]]
    assert ranks.Ranked(mean, mean, 10, 0.8).groups == [["a", "b"], ["b", "c"]]
    assert ranks.Ranked(mean, mean, 10, 0.1).groups == []


# --- The page --------------------------------------------------------------------------------------------


def test_the_page_names_the_default_wins_losses_failures_and_what_is_missing(tmp_path: Path) -> None:
    crps = {
        A: {"one_jump": 1.0, "nile": 1.3},
        B: {"one_jump": 0.99, "nile": 1.2},
        "stochtree": {"one_jump": 1.5, "nile": 1.0},
        "tgp": {"one_jump": None, "nile": 1.21},
    }
    planned = plan.pieces(["one_jump", "nile"], list(crps), 2)
    frame = results(crps)
    page.write_page(tmp_path / "evidence.md", frame, planned, table.read(tmp_path / "none.csv", series.LAYOUT))
    text = (tmp_path / "evidence.md").read_text(encoding="utf-8")
    assert "Chosen: **ours: smooth, inferred, normal**" in text
    assert "8 of 16 pieces" in text
    assert "BART, stochtree: ours is better on 1, worse on 1 and level on 0 problems; its CRPS is 0.89 times" in text
    assert "treed GP, tgp: ours is better on 0, worse on 0 and level on 1 problems" in text
    assert "Ours is behind the best competitor on 1: flow of the Nile (BART, stochtree, +20%)." in text
    assert "level with the best, on 1: one jump (BART, stochtree, -34%)." in text
    assert "| treed GP, tgp | one_jump 0 | ValueError: no | 1 |" in text
    assert "- `sign_equal_normal`, `smooth_inferred_normal`, `stochtree`, `tgp`: one_jump 1, nile 1" in text
    assert "| one jump | **0.990** | 1.000 | 1.500 | – |" in text
    assert "Not run yet: `python -m studies.evidence series`" in text
    assert (tmp_path / "images" / page.PICTURE).stat().st_size > 5000


def test_the_page_without_results_is_the_list(tmp_path: Path) -> None:
    page.write_page(
        tmp_path / "evidence.md",
        table.read(tmp_path / "none.csv"),
        plan.pieces(),
        table.read(tmp_path / "none.csv", series.LAYOUT),
    )
    text = (tmp_path / "evidence.md").read_text(encoding="utf-8")
    assert "Nothing has been run yet" in text
    for name in (*plan.PROBLEMS, *plan.METHODS, *series.SOURCES, *series.METHODS):
        assert f"| `{name}` |" in text
    assert plan.RULE in text


def test_the_page_compares_nothing_before_ours_has_been_run(tmp_path: Path) -> None:
    planned = plan.pieces(["one_jump"], [A, "stochtree", "tgp"], 1)
    frame = results({"stochtree": {"one_jump": 1.5}, "tgp": {"one_jump": 1.2}})
    page.write_page(tmp_path / "evidence.md", frame, planned, table.read(tmp_path / "none.csv", series.LAYOUT))
    text = (tmp_path / "evidence.md").read_text(encoding="utf-8")
    assert "2 of 3 pieces have been run, all of other methods" in text
    assert "## Scores" not in text
    assert plan.RULE in text


def test_the_page_in_the_repository_has_the_list_of_the_plan() -> None:
    text = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert plan.RULE in text
    for name in (*plan.PROBLEMS, *plan.METHODS, *series.SOURCES, *series.METHODS):
        assert f"| `{name}` |" in text, "write the page again: python -m studies.evidence page"


# --- What is published -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return table.read(table.RESULTS)


def test_the_default_is_that_of_the_published_results(published: pd.DataFrame) -> None:
    best = choice.chosen(choice.candidates(table.complete(published, plan.pieces()), published))
    assert best is not None
    chosen = plan.OURS[best].settings
    assert {name: chosen[name] for name in default_model()} == default_model()
    assert f"Chosen: **{plan.OURS[best].title}**" in (ROOT / "docs/evidence.md").read_text(encoding="utf-8")


def test_the_readme_has_the_published_ranks(published: pd.DataFrame) -> None:
    """Ours, and the best competitor, on real data, with jumps and without."""
    ours = next(name for name, method in plan.OURS.items() if default_model().items() <= method.settings.items())
    methods = [ours, plan.PAPER, *(name for name in plan.OTHERS if np.isinf(plan.METHODS[name].max_rows))]
    crps = table.means(table.complete(published[published["method"].isin(methods)], plan.pieces()), "crps")[methods]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"Average ranks by CRPS.*?\. \[Beside", readme, re.DOTALL)
    for group in ("real data", "data with jumps", "no jumps"):
        kinds = page.GROUPS[group]
        mean = ranks.rank(crps[[plan.PROBLEMS[name].kind in kinds for name in crps.index]]).mean
        for rank in (mean[ours], mean.drop([ours, plan.PAPER]).min()):
            assert re.search(rf"(?<![\d.]){rank:.2f}(?!\d)", sentence), (group, rank, sentence)


# --- Change points ---------------------------------------------------------------------------------------


def test_f1_by_hand() -> None:
    # One person has changes at 50 and 100, one has none; found are 52, 80 and the beginning.
    found = segments.compare([[50, 100], []], [52, 80])
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx((2 / 3 + 1) / 2)
    assert found.f1 == pytest.approx(2 * (2 / 3) * (5 / 6) / (2 / 3 + 5 / 6))
    assert segments.compare([[50]], [55]).f1 == 1.0
    assert segments.compare([[50]], [56]).f1 == 0.5
    # One found change does not count for two annotated ones.
    assert segments.compare([[50, 53]], [51]).recall == pytest.approx(2 / 3)


def test_covering_by_hand() -> None:
    # Annotated [0, 40), [40, 100); found [0, 50), [50, 100): 40/50 and 50/60 are the largest overlaps.
    assert segments.covering([[40]], [50], 100) == pytest.approx((40 * 40 / 50 + 60 * 50 / 60) / 100)
    assert segments.covering([[40], []], [40], 100) == pytest.approx((1.0 + 60 / 100) / 2)
    assert segments.covering([[]], [], 10) == 1.0


def test_series_have_the_changes_that_they_say() -> None:
    for repeat in range(3):
        found = series.shifts(repeat, rise=6.0)
        ends = [0, *found.annotations[0], len(found.y)]
        assert min(np.diff(ends)) >= series.APART
        without = found.y - 6.0 * np.arange(len(found.y)) / len(found.y)
        parts = [part.mean() for part in np.split(without, found.annotations[0])]
        assert np.all(np.abs(np.diff(parts)) > series.SMALLEST - 0.8)
    assert np.abs(series.shifts(0, outliers=0.05).y - series.shifts(0).y).astype(bool).sum() == 10


def brute_force(y: Floats, expected_length: float) -> tuple[int, ...]:
    """The most probable of all segmentations, by trying them; segments from the textbook marginal likelihood."""
    z = (y - y.mean()) / y.std()
    n = len(z)

    def evidence(part: Floats) -> float:
        k, alpha = 1.0 + len(part), 1.0 + 0.5 * len(part)
        squares = ((part - part.mean()) ** 2).sum() + len(part) * part.mean() ** 2 / k
        beta = 1.0 + 0.5 * squares
        return float(gammaln(alpha) - alpha * np.log(beta) - 0.5 * np.log(k) - 0.5 * len(part) * np.log(2.0 * np.pi))

    def total(points: tuple[int, ...]) -> float:
        prior = len(points) * np.log(1.0 / expected_length) + (n - 1 - len(points)) * np.log(
            1.0 - 1.0 / expected_length
        )
        return prior + sum(evidence(part) for part in np.split(z, points))

    return max((points for k in range(4) for points in combinations(range(1, n), k)), key=total)


def test_online_detection_finds_the_most_probable_segmentation() -> None:
    rng = np.random.default_rng(3)
    for size in (4.0, 1.0):
        y = rng.standard_normal(18) + size * (np.arange(18) >= 11) - size * (np.arange(18) >= 15)
        assert tuple(changes.online(y, 0, expected_length=6.0)) == brute_force(y, 6.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in series.METHODS if name not in plan.OURS])
def test_competitors_find_a_clear_change(name: str) -> None:
    method = series.METHODS[name]
    if method.module is not None:
        pytest.importorskip(method.module)
    y = 5.0 * (np.arange(100) >= 60) + np.random.default_rng(0).standard_normal(100)
    assert method.find(y, 0, **method.settings) == [60]


def test_ours_finds_a_clear_change() -> None:
    y = 5.0 * (np.arange(60) >= 40) + 0.5 * np.random.default_rng(0).standard_normal(60)
    assert changes.ours(y, 0, n_sweeps=300, n_chains=2) == [40]


# --- Competitors -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of other libraries
@pytest.mark.parametrize("name", plan.OTHERS)
def test_competitors_keep_the_limit_and_know_where_the_jump_is(name: str) -> None:
    method = plan.OTHERS[name]
    if not method.is_installed:
        pytest.skip(f"{method.package} is not installed")
    problem = simulate("one_jump", 0)
    limit = 8.0
    settings = method.settings | ({"limit": limit} if "limit" in method.settings else {"n_trees": 40})
    started = time.process_time()
    forecast = method.fit(problem.X, problem.y, problem.X_new, 0, **settings)
    seconds = forecast.info.get("fit_seconds", time.process_time() - started)
    assert seconds < plan.TOO_LONG * limit
    assert forecast.quantiles.shape == (100, 100)
    assert np.all(np.diff(forecast.quantiles, axis=1) >= 0.0)
    found = score(forecast, problem)
    assert found["mae_truth"] < 1.0
    assert 0.6 < found["coverage"] <= 1.0
    # About that of the noise alone, 0.73, or more.
    assert "log_score" not in found or 0.7 < found["log_score"] < 1.6
