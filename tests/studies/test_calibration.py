from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from studies.calibration import simulations, study
from studies.calibration.page import COVERAGE_TITLE, TITLES, ranks_of, read_sections, write_page
from studies.calibration.uniformity import Verdict, band, judge, pointwise, rank
from tests.checks import P_VALUE
from widestable.network import kernel_diagonal

N_SIMULATIONS, N_DRAWS = 400, 99


def normal_ranks(spread: float, shift: float) -> np.ndarray:
    """Ranks in y ~ N(f, 1), f ~ N(0, 1), by a sampler whose s.d. and mean are wrong."""
    rng = np.random.default_rng(0)
    f = rng.standard_normal(N_SIMULATIONS)
    y = f + rng.standard_normal(N_SIMULATIONS)
    sd = np.sqrt(0.5)
    draws = y[:, None] / 2.0 + shift * sd + spread * sd * rng.standard_normal((N_SIMULATIONS, N_DRAWS))
    return np.array([rank(truth, row, rng) for truth, row in zip(f, draws, strict=True)])


def test_a_right_sampler_passes() -> None:
    assert judge(normal_ranks(1.0, 0.0), N_DRAWS).least > 0.05


@pytest.mark.parametrize(("spread", "shift"), [(0.7, 0.0), (1.4, 0.0), (1.0, 0.35), (1.0, -0.35)])
def test_a_biased_sampler_fails(spread: float, shift: float) -> None:
    assert judge(normal_ranks(spread, shift), N_DRAWS).least < P_VALUE


def test_bands_hold_whole_functions_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    _, low, high = band(50, 19, 0.9)
    n_inside = 0
    for _ in range(400):
        below, _ = pointwise(rng.integers(0, 20, 50), 19)
        n_inside += bool(np.all((below >= 50 * low - 1e-9) & (below <= 50 * high + 1e-9)))
    assert 0.86 < n_inside / 400 < 0.94


def test_ties_are_broken_evenly() -> None:
    rng = np.random.default_rng(2)
    ranks = np.array([rank(1.0, np.ones(N_DRAWS), rng) for _ in range(400)])
    assert judge(ranks, N_DRAWS).least > 0.01


def test_data_that_are_too_large_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulations, "LARGEST_Y", 5.0)
    truths = [simulations.draw_truth("sign", np.random.default_rng(i)) for i in range(30)]
    assert max(np.abs(t.y[: len(simulations.LINE.X)]).max() for t in truths) <= 5.0
    assert sum(t.n_redrawn for t in truths) >= 5


def test_the_page_is_made_from_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(study.SETTINGS, "gibbs", {"n_warm": 10, "thin": 1, "n_draws": 19, "alpha": 1.1})
    page = tmp_path / "docs" / "calibration.md"
    for _ in range(2):
        assert study.run(["gibbs"], 3, tmp_path / "cache", page, 1, n_repeats=0, progress=False)
    assert len(list((tmp_path / "cache").glob("*.json"))) == 3
    text = page.read_text(encoding="utf-8")
    assert "3 simulations" in text
    assert "| largest step |" in text
    assert os.listdir(page.parent / "images") == ["calibration_gibbs.png"]


def test_sections_without_results_stay_as_they_are(tmp_path: Path) -> None:
    page = tmp_path / "calibration.md"
    ranks = {"log sigma2": 3, "alpha": 5}
    results = [{"ranks": ranks, "inside": [[True] * 4] * 3, "n_redrawn": 0}] * 2
    covered = [{"inside": [[0.5, 0.8, 0.9, 0.95]], "n_each": 100}]
    n_draws = {"sign": 19, "law": 19}
    write_page(page, {"sign": results}, n_draws, {"one jump": covered, "smooth": []})
    first = page.read_text(encoding="utf-8")
    for _ in range(2):
        write_page(page, {"law": results, "sign": []}, n_draws, {"one jump": [], "smooth": covered})
    both = page.read_text(encoding="utf-8")
    assert sorted(read_sections(page)) == sorted([TITLES["sign"], TITLES["law"], COVERAGE_TITLE])
    assert all(line in both.splitlines() for line in first.splitlines())
    assert both.count("| one jump | 0.500 | 0.800 | 0.900 | 0.950 | 100 |") == 1
    assert both.count("| smooth |") == 1


def short_run(kind: str, n: int) -> dict[str, Verdict]:
    settings = study.SETTINGS[kind] | {"n_draws": 19}
    found = [simulations.simulate(kind, i, **settings) for i in range(n)]
    return {name: judge(ranks, 19) for name, ranks in ranks_of(found).items()}


@pytest.mark.parametrize("kind", study.SETTINGS)
def test_every_quantity_has_a_truth_and_a_rank(kind: str) -> None:
    found = simulations.simulate(kind, 0, n_warm=8, thin=2, n_draws=19, alpha=study.SETTINGS[kind].get("alpha"))
    relevances, spikes = {"log r_1", "log r_2"}, {"p", "number of spikes", "largest spike"}
    of_kind = {"law": {"log sharpness"} | relevances, "outliers": spikes, "relevance": relevances | spikes}.get(
        kind, set()
    )
    parameters = {"log sigma2", "largest step"} | ({"alpha", "log nu"} if kind != "gibbs" else set()) | of_kind
    assert parameters | set(simulations.design_of(kind).new_names) == set(found["ranks"])
    assert all(0 <= rank <= 19 for rank in found["ranks"].values())
    assert found["inside"].shape == (3, len(simulations.COVERAGES))


def test_the_truth_of_an_inferred_law_follows_its_prior() -> None:
    """The scale of f at the training rows, not nu itself, has the prior of nu; relevances differ between inputs."""
    truths = [simulations.draw_truth("law", np.random.default_rng(i)) for i in range(300)]
    rows = [simulations.PLANE.X * np.exp(t.log_relevance) for t in truths]
    log_scale = [
        t.log_nu + np.log(kernel_diagonal(X, np.exp(t.log_sharpness)).mean()) for t, X in zip(truths, rows, strict=True)
    ]
    assert stats.kstest(log_scale, stats.norm(0.0, 3.0).cdf).pvalue > P_VALUE
    length = [0.5 * np.logaddexp.reduce(2.0 * t.log_relevance) for t in truths]
    assert stats.kstest(length, stats.norm(0.0, 2.0).cdf).pvalue > P_VALUE
    assert np.mean([t.log_relevance[0] > t.log_relevance[1] for t in truths]) == pytest.approx(0.5, abs=0.12)


def test_truths_have_the_outliers_of_the_prior_and_noise_above_its_floor() -> None:
    truths = [simulations.draw_truth("outliers", np.random.default_rng(i)) for i in range(300)]
    n = len(simulations.LINE.X)
    number = np.array([np.count_nonzero(t.spikes[:n]) for t in truths])
    # Beta(1/2, 25) has mean 1/51.
    assert number.mean() == pytest.approx(n / 51.0, abs=4.0 * number.std() / np.sqrt(len(truths)))
    floors = [simulations.training_data("outliers", t.y[:n]).least_variance for t in truths]
    assert all(np.exp(t.log_sigma2) >= floor for t, floor in zip(truths, floors, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["relevance", "sign", "outliers", "law", "gibbs"])
def test_ranks_are_uniform(kind: str) -> None:
    for name, verdict in short_run(kind, 100).items():
        assert verdict.least > P_VALUE, f"{name}: {verdict}"


@pytest.mark.slow
def test_a_broken_engine_fails() -> None:
    """It counts every row twice; the other quantities hardly notice."""
    assert short_run("broken", 100)["log sigma2"].least < P_VALUE
