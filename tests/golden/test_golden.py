"""The engines have the golden posteriors, a wrong one is seen, and disagreeing engines are not written down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.engine.test_agreement import TRUNCATION
from tests.golden.engines import ENGINES, Case, Length
from tests.golden.records import FOLDER, PROBABILITIES, Golden, check_same, read, summarise, write
from tools.golden import CASES, main

# Other seeds than those of the files: the same numbers again would show nothing. Eight chains, because a chain may
# stay long on one side of a jump: short runs of few chains then believe their errors smaller than they are.
QUICK = {"gibbs": Length(8, 400, 200, 2, seed=1), "jumps": Length(8, 300, 200, 2, seed=1)}
LONG = {"gibbs": Length(8, 3000, 500, 2, seed=2), "jumps": Length(8, 1000, 300, 2, seed=2)}
# The exact sampler mixes fast enough for a short run where nothing jumps.
QUICK_CASES = {"gibbs": "line_smooth", "jumps": "line_jumps"}


def golden(name: str) -> Golden:
    return read(FOLDER / f"{name}.json")


def compare(name: str, engine: str, length: Length, case: Case | None = None) -> None:
    """Run an engine and compare it with its own record: the same target, so no truncation is allowed."""
    kept = golden(name)
    draws = ENGINES[engine](kept.case if case is None else case, length)
    k = len(kept.case.y)
    if case is not None and len(case.y) != k:
        draws = np.concatenate([draws[..., :k], draws[..., len(case.y) :]], axis=2)
    check_same(summarise(draws, kept.cuts), kept.engines[engine], kept.case)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_engines_have_the_golden_posterior(engine: str) -> None:
    compare(QUICK_CASES[engine], engine, QUICK[engine])


# The jump engine is what changes, and is quick; the exact one is compared at leisure.
BY_COST = [pytest.param("jumps", marks=pytest.mark.statistical), pytest.param("gibbs", marks=pytest.mark.slow)]


@pytest.mark.parametrize("engine", BY_COST)
@pytest.mark.parametrize("name", list(CASES))
def test_engines_have_all_golden_posteriors(name: str, engine: str) -> None:
    compare(name, engine, LONG[engine])


def with_double_nu(case: Case) -> Case:
    return case._replace(nu=2.0 * case.nu)


def with_four_times_nu(case: Case) -> Case:
    return case._replace(nu=4.0 * case.nu)


def with_rows_counted_twice(case: Case) -> Case:
    return case._replace(X=np.tile(case.X, (2, 1)), y=np.tile(case.y, 2))


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("spoil", [with_four_times_nu, with_rows_counted_twice])
def test_a_wrong_engine_is_seen(spoil: Callable[[Case], Case], engine: str) -> None:
    name = QUICK_CASES[engine]
    case = spoil(golden(name).case)
    with pytest.raises(AssertionError, match="posteriors differ"):
        compare(name, engine, QUICK[engine], case)


@pytest.mark.parametrize("engine", BY_COST)
def test_a_nu_that_is_double_is_seen_by_longer_runs(engine: str) -> None:
    name = QUICK_CASES[engine]
    with pytest.raises(AssertionError, match="posteriors differ"):
        compare(name, engine, LONG[engine], with_double_nu(golden(name).case))


@pytest.mark.parametrize("name", list(CASES))
def test_the_engines_agree_in_every_file(name: str) -> None:
    """What the files say, they say of the same case, and of posteriors known better than a tenth of their s.d."""
    kept = golden(name)
    check_same(kept.engines["jumps"], kept.engines["gibbs"], kept.case, bias=TRUNCATION)
    assert len(kept.cuts) == len(kept.case.y) + len(kept.case.X_new) + 1
    for summary in kept.engines.values():
        assert (summary.mean_error < 0.1 * summary.sd).all()
        np.testing.assert_allclose(summary.below, np.tile(PROBABILITIES, (len(kept.cuts), 1)), atol=0.05)
        assert (np.diff(summary.quantiles, axis=1) > 0.0).all()


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = golden("space")
    write(tmp_path / "copy.json", "A copy.", kept)
    again = read(tmp_path / "copy.json")
    assert again.lengths == kept.lengths
    for one, other in zip([*again.case, *again.engines["gibbs"]], [*kept.case, *kept.engines["gibbs"]], strict=True):
        np.testing.assert_array_equal(one, other)


def normal_draws(shift: float) -> Callable[[Case, Length], np.ndarray]:
    """An engine whose posterior is known, and the same everywhere."""

    def draw(case: Case, length: Length) -> np.ndarray:
        shape = length.n_chains, length.n_sweeps, len(case.y) + len(case.X_new) + 1
        return shift + np.random.default_rng(length.seed).standard_normal(shape)

    return draw


def test_engines_that_disagree_are_not_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lengths = {"gibbs": Length(4, 500, 0, 1, seed=1), "jumps": Length(4, 500, 0, 1, seed=2)}
    monkeypatch.setitem(ENGINES, "gibbs", normal_draws(0.0))
    monkeypatch.setitem(ENGINES, "jumps", normal_draws(0.0))
    assert main(["space"], tmp_path, lengths) == 0
    before = (tmp_path / "space.json").read_bytes()
    monkeypatch.setitem(ENGINES, "jumps", normal_draws(0.3))
    assert main(["space"], tmp_path, lengths) == 1
    assert "NOT written, the engines disagree" in capsys.readouterr().out
    assert (tmp_path / "space.json").read_bytes() == before
    with pytest.raises(SystemExit, match="no case 'line'"):
        main(["line"], tmp_path, lengths)
