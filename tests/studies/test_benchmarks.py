from __future__ import annotations

from dataclasses import asdict
from json import dumps, loads
from pathlib import Path

import numpy as np
import pytest

from studies.benchmarks import __main__ as command
from studies.benchmarks import law, law_tables, low_rank, outlier_data, outliers
from studies.benchmarks.__main__ import BENCHMARKS, Benchmark, main
from studies.benchmarks.measure import oblique
from studies.benchmarks.three_jumps import run_one
from studies.datasets import DataError
from studies.problems import simulate
from studies.results import Kept
from studies.runner import Piece, write
from studies.sampling import Draw
from widestable.network import arcsine_kernel


def test_one_benchmark_gets_its_arguments_and_all_run_without_a_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_data() -> None:
        raise DataError("There is no file.")

    called: list[tuple[object, ...]] = []
    some = {"one": Benchmark(lambda *given: called.append(given), "first"), "two": Benchmark(without_data, "second")}
    monkeypatch.setattr(command, "BENCHMARKS", some)
    main(["one", "50", "sp500"])
    main([])
    assert called == [(50, "sp500"), ()]
    assert "skipped: There is no file." in capsys.readouterr().out


def test_an_unknown_name_is_refused_with_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["poetry"])
    assert f"choose from {', '.join(BENCHMARKS)}" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="There is no problem 'poetry': choose from three_jumps"):
        BENCHMARKS["convergence"].run("poetry")


def test_the_conditional_posterior_is_that_of_a_gaussian_process() -> None:
    """Against the textbook formula, without atoms; the slope against a finite difference."""
    data = oblique(60, 2)
    K = arcsine_kernel(data.X)
    draw = Draw(2.0, 0.3, np.empty((0, 3)), np.empty(0))
    found = low_rank.condition(data, K, draw)
    Q = 2.0 * K
    posterior = Q - Q @ np.linalg.solve(Q + 0.3 * np.eye(60), Q)
    np.testing.assert_allclose(found.mean, Q @ np.linalg.solve(Q + 0.3 * np.eye(60), data.y), rtol=1e-9)
    np.testing.assert_allclose(found.sd, np.sqrt(np.diag(posterior)), rtol=1e-9)

    def log_likelihood(log_sigma2: float) -> float:
        S = Q + np.exp(log_sigma2) * np.eye(60)
        return -0.5 * (np.linalg.slogdet(S)[1] + data.y @ np.linalg.solve(S, data.y))

    exact = (log_likelihood(np.log(0.3) + 1e-4) - log_likelihood(np.log(0.3) - 1e-4)) / 2e-4
    # 200 random probes: the trace, about 20, is known to a few tenths.
    assert found.slope == pytest.approx(exact, abs=1.0)


# --- The law of the hyperplanes --------------------------------------------------------------------------


def law_pieces(*words: str) -> list[Piece]:
    return law.plan(law._parse(list(words)))


def made_up(score: float) -> dict[str, object]:
    mixing = {"f": {"rhat": 1.005, "ess": 500.0}, "relevance": {"rhat": None, "ess": 90.0}}
    scores = {"mae_truth": score, "crps": score, "coverage": 0.9}
    return {"scores": scores, "fit_seconds": 2.0, "info": {"n_sweeps": 90, "mixing": mixing}}


def test_the_plan_has_every_method_on_every_data_set_once() -> None:
    pieces = law_pieces()
    assert len(pieces) == len(law.METHODS) * (10 * 20 + 6 * 5) == len({piece.file_name for piece in pieces})
    assert all(loads(dumps(asdict(piece))) == asdict(piece) for piece in pieces)
    short = law_pieces("smooth", "--sets", "3", "--sweeps", "60", "--methods", "sign_equal", "forest")
    assert [(piece.repeat, piece.settings.get("n_sweeps")) for piece in short] == [
        (repeat, n_sweeps) for repeat in range(3) for n_sweeps in (60, None)
    ]


def test_tables_come_from_what_is_kept_and_the_rest_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["smooth", "--sets", "2", "--sweeps", "60", "--cache", str(tmp_path)]
    words += ["--methods", "law_inferred", "gp_gaussian", "gp_matern"]
    for piece in law_pieces(*words):
        if piece.method != "gp_matern":
            write(tmp_path, piece, made_up(0.001 if piece.method == "law_inferred" else 0.002 + 0.002 * piece.repeat))
    law.law(*words)
    text = capsys.readouterr().out
    # The process that was run cannot be the better one. 0.002 over 0.006; without one of the two, 0.25 or 0.5.
    assert "| smooth | 0.333 ± 0.125 | – | – | 0.333 ± 0.125 |" in text
    assert "| smooth | law_inferred | 90 | nan (0 of 2) | – | 1.005 (2 of 2) | – | 90 |" in text
    assert len(list(tmp_path.glob("law-smooth-gp_matern-*.json"))) == 2


def test_the_jackknife_is_right_where_the_error_is_known() -> None:
    """With a constant below, the ratio is a mean; with both alike, it has no error."""
    a = np.random.default_rng(0).gamma(3.0, size=12)
    exact = a.std(ddof=1) / np.sqrt(12.0) / 4.0
    assert law_tables.jackknife_error(a, np.full(12, 4.0)) == pytest.approx(exact, rel=1e-12)
    assert law_tables.jackknife_error(a, 3.0 * a) == pytest.approx(0.0, abs=1e-12)


def test_only_data_sets_that_both_have_are_compared(tmp_path: Path) -> None:
    pieces = law_pieces("smooth", "--sets", "3", "--methods", "law_inferred", "sign_equal")
    for piece in pieces:
        if (piece.method, piece.repeat) != ("sign_equal", 2):
            write(tmp_path, piece, made_up([1.0, 3.0, 100.0][piece.repeat] * (1.0 + (piece.method == "sign_equal"))))
    assert law_tables.ratios(Kept.of(tmp_path, pieces), "crps", "smooth")[1] == "0.500 ± 0.000"


# --- Outliers --------------------------------------------------------------------------------------------


def is_constant_between(sides: np.ndarray, f: np.ndarray) -> bool:
    """Whether f is the same at all rows that no jump separates."""
    same = np.all(sides[:, :, None] == sides[:, None, :], axis=0)
    return bool(np.all((f[:, None] == f[None, :])[same]))


@pytest.mark.parametrize("name", outliers.PLANTED)
def test_planted_outliers_are_far_off_and_jumps_are_where_f_changes(name: str) -> None:
    data = outliers.LINES[name].make(1)
    residual = np.abs(data.y - data.f)
    assert residual[data.outliers].min(initial=np.inf) > np.delete(residual, data.outliers).max()
    assert is_constant_between(data.sides, data.f)
    assert not any(is_constant_between(np.delete(data.sides, j, axis=0), data.f) for j in range(len(data.sides)))


def test_five_percent_of_the_training_rows_are_outliers() -> None:
    clean, dirty = simulate("quadrants", 0), outlier_data.contaminated("quadrants", 0)
    shift = np.abs(dirty.y - clean.y)
    assert np.sum(shift > 0.0) == 2
    assert np.all((shift[shift > 0.0] >= 4.0) & (shift[shift > 0.0] <= 15.0))
    assert np.array_equal(dirty.y_new, clean.y_new)


def test_outliers_and_the_step_are_found_and_false_jumps_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlier_data, "N_ROWS", 60)
    words = ["size_30", "--sets", "1", "--max-sweeps", "600", "--cache", str(tmp_path)]
    outliers.outliers(*words)
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| size_30")]
    assert rows[0][1:7] == ["outliers", "3 of 3", "0", "1 of 1", "0", "0 of 1"]
    assert float(rows[0][8]) < 0.55
    assert rows[1][1] == "normal"
    assert int(rows[1][5]) >= 4
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_lines_without_data_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIDESTABLE_DATA", str(tmp_path))
    assert outliers.plan(outliers._parse(["sp500", "real_estate"])) == []
    assert "sp500 skipped: There is no" in capsys.readouterr().out


@pytest.mark.slow
def test_coverage_and_error_over_50_data_sets() -> None:
    """The promise of the library on its first example."""
    scores = [run_one(seed)[0] for seed in range(50)]
    ours, *others = (np.array([row[i][1:] for row in scores]).mean(axis=0) for i in range(3))
    mae, _, coverage, _ = ours
    assert 0.86 <= coverage <= 0.94
    assert all(mae < 0.5 * other[0] for other in others)
