from __future__ import annotations

import numpy as np
import pytest

from studies.benchmarks import __main__ as command
from studies.benchmarks import low_rank
from studies.benchmarks.__main__ import BENCHMARKS, Benchmark, main
from studies.benchmarks.measure import oblique
from studies.benchmarks.three_jumps import run_one
from studies.datasets import DataError
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


@pytest.mark.slow
def test_coverage_and_error_over_50_data_sets() -> None:
    """The promise of the library on its first example."""
    scores = [run_one(seed)[0] for seed in range(50)]
    ours, *others = (np.array([row[i][1:] for row in scores]).mean(axis=0) for i in range(3))
    mae, _, coverage, _ = ours
    assert 0.86 <= coverage <= 0.94
    assert all(mae < 0.5 * other[0] for other in others)
