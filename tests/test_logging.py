"""The library does not print. It logs the progress of long runs under its own name."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path

import pytest

from tests import fits
from widestable import StableRegressor

SRC = Path(__file__).resolve().parents[1] / "src" / "widestable"
# The command line speaks to people.
MAY_PRINT = ("cli",)


def prints(path: Path) -> list[int]:
    """Lines that call print()."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


def test_the_library_does_not_print() -> None:
    files = [path for path in SRC.rglob("*.py") if path.relative_to(SRC).parts[0] not in MAY_PRINT]
    assert len(files) > 50
    assert {str(path): prints(path) for path in files if prints(path)} == {}


def test_the_check_sees_a_print(tmp_path: Path) -> None:
    path = tmp_path / "loud.py"
    path.write_text('"""print(1) in a docstring is none."""\nConsole().print(1)\nprint(1)\n')
    assert prints(path) == [3]


def test_it_is_silent_until_logging_is_set_up() -> None:
    """Without our handler, Python would write the logger's warnings to standard error."""
    logger = logging.getLogger("widestable")
    assert [type(handler) for handler in logger.handlers] == [logging.NullHandler]
    assert logger.level == logging.NOTSET


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert all(record.name.startswith("widestable.") for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_run_can_be_followed(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.INFO, "widestable")
    model = fits.fit(*fits.line_data())
    first, warm_up, *rounds, last = messages(caplog)
    assert first == "Fit started: n = 14 distinct rows, d = 1 inputs, 2 chains"
    assert warm_up == "Warm-up finished: 20 sweeps per chain"
    assert len(rounds) == 8
    assert rounds[0] == "Round 1, 25 sweeps per chain: largest R-hat nan, least effective sample size nan"
    found = re.fullmatch(r"Round 8, 60 .*: largest R-hat (\S+), least effective sample size (\d+)", rounds[-1])
    assert found is not None
    worst = model.posterior_.convergence()
    assert float(found[1]) == pytest.approx(worst.rhat.max(), abs=0.5)
    assert last == "Finished after 60 sweeps per chain; kept 40 draws of each"
    caplog.clear()
    model.save(tmp_path / "model.zip")
    StableRegressor.load(tmp_path / "model.zip").continue_sampling(8)
    saved, loaded, *_, last = messages(caplog)
    assert saved == f"Saved Posterior(2 chains of 40 draws, 14 distinct rows, 1 input) to {tmp_path / 'model.zip'}"
    assert loaded.startswith("Loaded Posterior(")
    assert last == "Finished after 68 sweeps per chain; kept 48 draws of each"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_end_says_whether_the_chains_converged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "widestable")
    fits.fit(*fits.line_data(), n_sweeps=None, max_sweeps=40)
    assert messages(caplog)[-1].startswith("Stopped without convergence after 40 sweeps per chain")
    caplog.clear()
    fits.fit([[0.0], [1.0]], [0.0, 1.0], alpha=2.0, nu=1.0, sigma2=1.0, n_sweeps=None)
    assert messages(caplog)[-1].startswith("Converged after ")


def test_details_are_for_debugging(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    model = fits.line()  # fitted here, or before by another test
    caplog.set_level(logging.DEBUG, "widestable")
    caplog.clear()
    model.save(tmp_path / "model.zip")
    assert messages(caplog)[0] == f"Wrote {tmp_path / 'model.zip'}, format 1"
