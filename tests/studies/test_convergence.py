"""Equal convergence and anytime quality: runs that go on, looks at them, pieces, tables and the picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from studies.benchmarks import convergence as study
from studies.benchmarks import convergence_tables
from studies.benchmarks.anytime import MANY_ROWS, Point, follow
from studies.forecasts import LEVELS
from studies.methods.bart_runs import BartzRun, PymcRun, StochtreeRun
from studies.methods.gaussian_process import GaussianProcessRun
from studies.methods.ours import OurRun
from studies.methods.running import FEW, LATE_PART, N_CHAINS, N_WARM, Records, judged_rows, quantiles_from
from studies.problems import Floats, Problem, oblique, simulate, two_jumps_and_slope
from studies.results import Kept
from studies.runner import Piece, write
from studies.sampling import fit, observations_at
from widestable.inputs import scale_inputs

ROOT = Path(__file__).resolve().parents[2]


class Exact:
    """Independent draws of f ~ N(0, 1) at five rows, one iteration per millisecond; the noise has s.d. 1.

    The first chain is shifted in its first iterations.
    """

    def __init__(self, shift: float = 0.0, n_shifted: int = 20_000) -> None:
        self.n_iterations, self.n_stretches = 0, 0
        self._draws = np.random.default_rng(0).standard_normal((N_CHAINS, 20_000, 5))
        self._draws[0, :n_shifted] += shift

    @property
    def seconds(self) -> float:
        return 1e-3 * self.n_iterations

    def advance(self, n_iterations: int) -> None:
        self.n_iterations += n_iterations
        self.n_stretches += 1

    def f(self, part: float = LATE_PART) -> Floats:
        return self._draws[:, int((1.0 - part) * self.n_iterations) : self.n_iterations]

    def quantiles(self) -> Floats:
        return quantiles_from(
            self.f()[:, :, :1].repeat(3, axis=2), np.ones(self.f().shape[:2]), np.random.default_rng(1)
        )


def of_noise(n_sets: int = 200) -> Problem:
    y_new = np.sqrt(2.0) * np.random.default_rng(2).standard_normal((n_sets, 3))
    return Problem(np.zeros((5, 1)), np.zeros(5), np.zeros((3, 1)), y_new)


def test_exact_draws_converge_at_400_and_their_crps_is_known() -> None:
    run = Exact()
    found = follow(run, of_noise(2000), 5.0)
    curve = found["curve"]
    assert found["converged"]
    # 400 of 4 chains are 100 of each; R-hat <= 1.01 takes some times as many.
    assert 110 <= found["n_iterations"] < 3000
    assert curve["ess"][-1] >= 400.0
    assert not any(
        rhat <= 1.01 and ess >= 400.0 for rhat, ess in zip(curve["rhat"][:-1], curve["ess"][:-1], strict=True)
    )
    assert found["run_seconds"] == curve["seconds"][-1] == pytest.approx(1e-3 * found["n_iterations"])
    assert found["seconds_per_sweep"] == pytest.approx(1e-3 / N_CHAINS)
    # A new observation and its forecast are N(0, 2): the CRPS is s.d. / sqrt(pi); 6000 values have an error of 0.6%.
    assert curve["crps"][-1] == pytest.approx(np.sqrt(2.0 / np.pi), rel=0.04)


def test_a_poor_start_is_left_out_of_what_is_judged() -> None:
    found = follow(Exact(shift=3.0, n_shifted=1000), of_noise(), 10.0)
    assert found["converged"]
    # The first tenth of 10 000 iterations, or nearly the first third of 2700.
    assert 2700 <= found["n_iterations"] < 4000


def test_a_run_is_looked_at_at_geometric_times_until_its_budget() -> None:
    run = Exact(shift=1.0)
    found = follow(run, of_noise(), 2.0)
    seconds = np.array(found["curve"]["seconds"])
    assert not found["converged"]
    assert found["curve"]["rhat"][-1] > 1.1
    assert seconds[-1] == pytest.approx(2.0, abs=1e-3 * FEW)
    later = seconds[seconds >= 0.25]
    np.testing.assert_allclose(np.log2(later[1:-1] / later[:-2]), 0.25, atol=0.06)
    assert run.n_stretches < 2 * len(seconds) + 4


def test_with_many_rows_the_score_is_computed_when_the_time_has_doubled_and_at_the_end() -> None:
    few = of_noise()
    many = replace(few, X=np.zeros((MANY_ROWS + 1, 1)), y=np.zeros(MANY_ROWS + 1))
    every, some = (follow(Exact(shift=1.0), problem, 2.0)["curve"]["crps"] for problem in (few, many))
    assert len(every) == len(some)
    assert len(set(every)) == len(every)
    assert len(every) / 6 < len(set(some)) < len(every) / 2
    assert set(some) < set(every)
    assert some[-1] == every[-1]


def test_a_run_without_draws_in_its_budget_has_an_empty_curve() -> None:
    run = Exact()
    run.f = lambda part: np.empty((N_CHAINS, 0, 5))  # type: ignore[method-assign]
    found = follow(run, of_noise(), 0.4)
    assert found["curve"] == {name: [] for name in Point._fields}
    assert not found["converged"]
    assert 0.4 <= found["run_seconds"] < 0.5


# --- Runs ------------------------------------------------------------------------------------------------


def test_records_are_evenly_spread_over_the_last_two_thirds() -> None:
    records = Records(most=100)
    for i in range(1, 1001):
        records.add(i, i)
    kept = records.last(LATE_PART, 1000)
    assert 33 <= len(kept) <= 67
    assert set(np.diff(kept)) == {records.every}
    assert kept[0] - records.every <= 1000 / 3 < kept[0]
    assert kept[-1] > 1000 - records.every


def test_few_draws_get_many_draws_of_the_noise() -> None:
    rng = np.random.default_rng(0)
    found = quantiles_from(np.array([[0.0, 5.0], [0.0, 5.0]]), np.array([2.0, 2.0]), rng)
    middle = slice(5, 95)
    np.testing.assert_allclose(found[0, middle], 2.0 * norm.ppf(LEVELS[middle]), atol=0.25)
    np.testing.assert_allclose(found[1, middle], 5.0 + 2.0 * norm.ppf(LEVELS[middle]), atol=0.25)


def test_rows_that_are_judged_are_those_of_our_draws() -> None:
    """Repeated rows and more rows than are stored: the order of the engine's rows decides."""
    problem = oblique(700, 2)
    X, y = np.concatenate([problem.X, problem.X[:50]]), np.append(problem.y, problem.y[:50])
    rows = judged_rows(Problem(X, y, problem.X_new, problem.y_new))
    assert len(rows) == 200
    posterior = fit(X, y, 0, n_chains=1, n_sweeps=24).posterior_
    stored = posterior.data.X[posterior.model.rows]
    assert len(stored) == 500
    chosen = stored[np.linspace(0, 499, 200).round().astype(int)]
    np.testing.assert_allclose(scale_inputs(X[rows], posterior.data.scaling), chosen)
    assert len(judged_rows(simulate("quadrants", 0))) == 49


def test_our_observations_are_drawn_from_the_mixture_that_users_see() -> None:
    problem = simulate("one_jump", 0)
    posterior = fit(problem.X, problem.y, 0, n_chains=2, n_sweeps=150, noise="outliers").posterior_
    y = observations_at(posterior, problem.X_new[::25], 20_000, np.random.default_rng(0))
    below = (y[:, :, None] <= posterior.quantiles(problem.X_new[::25], [0.05, 0.5, 0.99])).mean(axis=0)
    # 20 000 draws: 4.5 standard errors.
    np.testing.assert_allclose(below, np.tile([0.05, 0.5, 0.99], (4, 1)), atol=0.016)


RUNS = {
    "paper": (OurRun, "widestable", study.OURS["paper"].settings, 0.2),
    "learned": (OurRun, "widestable", study.OURS["learned"].settings, 0.2),
    "stochtree": (StochtreeRun, "stochtree", {}, 0.7),
    "bartz": (BartzRun, "bartz", {}, 0.7),
    "pymc_bart": (PymcRun, "pymc_bart", {}, 0.7),
    "gp": (GaussianProcessRun, "numpyro", {}, 0.7),
}


@pytest.mark.filterwarnings("default")  # of other libraries
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n != "paper" else ()) for n in RUNS])
def test_every_run_goes_on_and_knows_the_jump(name: str) -> None:
    start, library, settings, largest_error = RUNS[name]
    pytest.importorskip(library)
    problem = simulate("one_jump", 0)
    X, y = 100.0 * problem.X - 3.0, 10.0 * problem.y + 70.0
    problem = Problem(X, y, 100.0 * problem.X_new - 3.0, 10.0 * problem.y_new + 70.0)
    rows = judged_rows(problem)[::4]
    run = start(problem, rows, 0, **settings)
    before = run.n_iterations, run.seconds
    run.advance(N_WARM + 40)
    first = run.n_iterations, run.seconds, run.f().shape[1]
    run.advance(120)
    assert before[0] + N_WARM + 40 <= first[0] <= run.n_iterations - 120
    assert run.seconds > 0.0
    f = run.f()
    assert f.shape == (N_CHAINS, f.shape[1], len(rows))
    assert f.shape[1] > first[2]
    # Chains differ, and so do their draws; f follows the data at the rows that were asked for.
    assert all(len(np.unique(f[:, :, i])) > 2 * N_CHAINS for i in range(len(rows)))
    assert np.corrcoef(f.mean(axis=(0, 1)), problem.y[rows])[0, 1] > 0.9
    quantiles = run.quantiles()
    assert quantiles.shape == (100, 100)
    truth = 70.0 + 50.0 * (problem.X_new[:, 0] > -3.0)
    assert np.abs(quantiles[:, 49:51].mean(axis=1) - truth).mean() < 10.0 * largest_error
    # 90% of new observations around a known f are within 16.4.
    assert 10.0 < np.median(quantiles[:, 94] - quantiles[:, 5]) < 40.0


# --- Pieces, tables and the picture ----------------------------------------------------------------------


def pieces_of(*words: str) -> list[Piece]:
    return study.plan(study._parse(list(words)))


def made_up(seconds: float, *, converged: bool, crps: tuple[float, ...] = (0.5, 0.4)) -> dict[str, Any]:
    times = list(np.linspace(seconds / len(crps), seconds, len(crps)))
    same: dict[str, list[Any]] = {"n_iterations": [7, 900], "rhat": [1.3, 1.004], "ess": [3.0, 500.0]}
    curve = same | {"seconds": times, "ess_tenth": [9.0, 800.0], "crps": list(crps)}
    ended = {"run_seconds": seconds, "n_iterations": 900, "seconds_per_sweep": 0.002}
    return {"curve": curve, "converged": converged, **ended}


def test_the_new_problem_has_two_jumps_and_a_slope() -> None:
    problem = two_jumps_and_slope(20, 4, n_new=400)
    X = problem.X_new
    expected = 2.0 * X[:, 0] + 5.0 * (X.sum(axis=1) > 0.4) + 3.0 * (X[:, 1] > -0.3)
    np.testing.assert_allclose(problem.f_new, expected, rtol=1e-12)
    np.testing.assert_array_equal(problem.y, two_jumps_and_slope(20, 4).y)
    assert not np.any(problem.y == two_jumps_and_slope(20, 4, 1).y)


def test_what_cannot_be_run_is_left_out_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIDESTABLE_DATA", str(tmp_path))
    monkeypatch.setattr(study, "find_spec", lambda name: None if name == "bartz" else name)
    pieces = pieces_of("sp500", "rows10000", "smooth", "--seeds", "2")
    assert [(piece.data, piece.method) for piece in pieces if piece.repeat == 1] == [
        *(("smooth", name) for name in (*study.OURS, "stochtree", "pymc_bart", "gp")),
        *(("rows10000", name) for name in (*study.OURS, "stochtree", "pymc_bart")),
    ]
    told = capsys.readouterr().out
    assert "sp500 skipped: There is no sp500.csv" in told
    assert "gp skipped on rows10000: it is for at most 1000 rows" in told
    assert "bartz skipped: bartz is missing" in told
    assert len({piece.file_name for piece in pieces}) == len(pieces) == 26


def test_the_digest_notices_the_sampler_and_nothing_else(tmp_path: Path) -> None:
    for name in ("engine/run.py", "stable.py", "cli.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("from ._jit import kernel" if name == "stable.py" else "1")
    digests = [study.digest(tmp_path)]
    for name in ("cli.py", "stable.py", "engine/run.py"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + " ")
        digests.append(study.digest(tmp_path))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_finished_pieces_are_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def start(problem: Problem, rows: Any, seed: int, **settings: Any) -> Exact:
        started.append(seed)
        return Exact()

    monkeypatch.setattr(study, "METHODS", study.METHODS | {"paper": study.METHODS["paper"]._replace(start=start)})
    monkeypatch.setitem(study.PROBLEMS, "smooth", lambda repeat: of_noise())
    words = ["smooth", "--methods", "paper", "--budget", "5", "--cache", str(tmp_path), "--seeds"]
    study.convergence(*words, "2")
    study.convergence(*words, "3")
    assert started == [0, 1, 2]
    assert "| smooth | paper | 3 of 3 |" in capsys.readouterr().out
    study.convergence(*words[:4], "4", *words[5:], "1")
    assert started == [0, 1, 2, 0]


def test_tables_tell_medians_and_runs_that_did_not_converge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pieces = pieces_of("smooth", "--methods", "paper", "learned", "--budget", "70")
    for piece in pieces:
        # Of three seeds, one of the first method and two of the second did not converge.
        seconds = [10.0, 20.0, 70.0][piece.repeat]
        has_converged = piece.repeat < (2 if piece.method == "paper" else 1)
        write(tmp_path, piece, made_up(seconds, converged=has_converged, crps=(0.5, 0.4 + 0.1 * piece.repeat)))
    convergence_tables.show_all(Kept.of(tmp_path, pieces), 70.0)
    text = capsys.readouterr().out
    assert "| smooth | paper | 2 of 3 | 20.0 | 900 | 2.00 | 1.004 | 500 | 25.0 | 40.0 | 0.5000 |" in text
    assert "| smooth | learned | 1 of 3 | > 70 | 900 | 2.00 |" in text
    # Looks are after 5, 10 and 35 s and at the ends: at 16 s one seed has not begun, at 64 s two have ended.
    assert "| problem | method | 1 | 4 | 16 | 64 |" in text
    assert "| smooth | paper | – | – | – | 0.5000 |" in text
    assert "| smooth | paper | – | – | – | 1.004, 500 |" in text


def test_the_picture_has_a_panel_per_problem_and_a_line_per_method(tmp_path: Path) -> None:
    pieces = pieces_of("smooth", "one_jump", "--methods", "paper", "learned", "--seeds", "2")
    empty = made_up(5.0, converged=False) | {"curve": {name: [] for name in Point._fields}}
    for piece in pieces:
        is_empty = (piece.data, piece.method) == ("one_jump", "learned")
        write(tmp_path, piece, empty if is_empty else made_up(5.0 + piece.repeat, converged=piece.repeat == 0))
    convergence_tables.draw(Kept.of(tmp_path, pieces), tmp_path / "folder" / "picture.svg")
    text = (tmp_path / "folder" / "picture.svg").read_text()
    assert [text.count(f"<!-- {word} -->") for word in ("smooth", "one_jump", "paper", "learned")] == [1, 1, 1, 1]


def test_another_source_tree_is_run_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that is not there: its error is told, and the present one is not run in its place."""
    (tmp_path / "older/src/widestable").mkdir(parents=True)
    (tmp_path / "older/src/widestable/__init__.py").write_text("raise ImportError('this is the other one')")
    words = ["smooth", "--methods", "paper", "--seeds", "1", "--beside", str(tmp_path / "older")]
    own, other = pieces_of(*words)
    assert (own.method, other.method) == ("paper", "paper@older")
    assert own.settings["source"] != other.settings["source"]
    with pytest.raises(RuntimeError, match="this is the other one"):
        study.run_piece(other, None)
    with pytest.raises(SystemExit, match="expected"):
        study.answer(tmp_path / "older")


@pytest.mark.slow
def test_the_same_source_tree_gives_the_same_quality() -> None:
    """Seeds are the same; how many sweeps fit into the budget is up to the clock."""
    words = ["one_jump", "--methods", "paper", "--seeds", "1", "--budget", "2"]
    own, other = (study.run_piece(piece, None) for piece in pieces_of(*words, "--beside", str(ROOT)))
    assert own["curve"]["seconds"]
    assert own["curve"].keys() == other["curve"].keys()
    assert other["curve"]["crps"][-1] == pytest.approx(own["curve"]["crps"][-1], rel=0.05)
