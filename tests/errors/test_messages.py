"""Every message is provoked once, and says what was got and what to do."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from tests.cli.commands import SHORT, call, write_line
from tests.errors import of_commands, of_files, of_the_estimator, of_the_mathematics
from tests.errors.sites import Site, all_sites
from tests.errors.trigger import Env, Trigger

TRIGGERS = [
    *of_commands.TRIGGERS,
    *of_files.TRIGGERS,
    *of_the_estimator.TRIGGERS,
    *of_the_mathematics.TRIGGERS,
]
# A remedy is an order: one of these words.
REMEDY = re.compile(
    r"\b(pass|use|add|drop|fill|fit|go on|call|give|take|save|load|install|put|write|choose|rescale|reshape|raise|run|"
    r"build|encode|set NUMBA_CACHE_DIR|convert|check|correct|close|rename|delete|ask|try|did you mean|widestable fit|"
    r"there are)\b",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    call("fit", write_line(folder / "data.csv"), "--target", "level", "--out", folder / "run", *SHORT)
    return folder / "run"


def site_of(trigger: Trigger) -> Site:
    """The one message that the trigger is about."""
    (site,) = (site for site in all_sites() if trigger.part in site.message)
    return site


def met(trigger: Trigger, env: Env) -> tuple[str, str]:
    """What the user reads, and the name of what carried it (a command's own outcome carries it as text)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            outcome = trigger.do(env)
        except (Exception, KeyboardInterrupt) as error:
            return str(error), type(error).__name__
    # A usage error stands in a box.
    return re.sub(r"[│╭╰╮╯─|+]+", " ", outcome.stderr), ""


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda trigger: trigger.part)
def test_message_is_met_and_helps(
    trigger: Trigger, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_of(trigger)
    text, carrier = met(trigger, Env(tmp_path, monkeypatch, finished_run))
    text = " ".join(text.split())
    assert site.matches(text), text
    assert trigger.got in text
    assert carrier in ("", site.carrier.split(".")[-1])
    assert REMEDY.search(text), f"no remedy in: {text}"


def test_every_message_has_a_trigger() -> None:
    without = {site.message for site in all_sites()} - {site_of(trigger).message for trigger in TRIGGERS}
    assert not without, f"Provoke these in tests/errors/of_*.py: {sorted(without)}"
