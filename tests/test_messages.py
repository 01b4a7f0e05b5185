"""Every error and warning of the source tells its reader what to do."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from widestable.parameters import RULES

SRC = Path(__file__).resolve().parents[1] / "src" / "widestable"
# Calls that speak without a `raise`; `fail` prints a sentence and exits.
SPEAKING = {"warnings.warn", "fail"}
# Exceptions that carry an exit code instead of a message.
SILENT = {"typer.Exit"}
# OSError takes its number before its message.
PLACE = {"FileExistsError": 1, "IsADirectoryError": 1}
# A remedy is a clause that begins with an order. Add a verb here when a new message needs it.
ORDERS = {
    "add", "ask", "build", "call", "check", "choose", "close", "continue", "convert", "correct", "delete", "drop",
    "encode", "fill", "fit", "give", "go", "install", "load", "pass", "put", "raise", "rename", "rescale", "reshape",
    "run", "save", "set", "try", "use", "widestable", "write",
}  # fmt: skip
# These end in a remedy that is written elsewhere: a near name (tests/cli/test_tables.py), RULES (below), or the
# message of the error that they pass on.
REMEDY_ELSEWHERE = {
    "There is no file {}{}",
    "{} has no column {}{}",
    "Got {} = {}, expected {}: {}.",
    "Cannot read {}: {}",
    "The chains have not converged: {}. {}",
}


class Message(NamedTuple):
    """A message of the source, with `{}` for each value that is filled in."""

    text: str
    where: str


def written_text(node: ast.expr) -> str | None:
    """The text of a literal or an f-string; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def messages_in(path: Path) -> Iterator[Message]:
    """Messages that a file raises, warns with or prints before it exits."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        call = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Expr) else None
        name = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or name in SILENT or not (isinstance(node, ast.Raise) or name in SPEAKING):
            continue
        place = PLACE.get(name, 0)
        text = written_text(call.args[place]) if len(call.args) > place else None
        if name == "fail" and not re.search("[a-z]", text or ""):
            continue  # it passes on the message of another error
        assert text is not None, f"{path}, line {node.lineno}: write the message out as one (f-)string in the call"
        yield Message(text, f"{path}, line {node.lineno}")


def has_remedy(text: str) -> bool:
    """Whether a clause of the text begins with an order: after a colon, a semicolon or the end of a sentence."""
    clauses = re.split(r"(?<=[:;.!?])\s+", text)[1:]
    return any(clause.split()[0].lower() in ORDERS for clause in clauses if clause)


MESSAGES = [message for path in sorted(SRC.rglob("*.py")) for message in messages_in(path)]


def test_every_message_has_a_remedy() -> None:
    """And the exceptions are all needed."""
    assert len(MESSAGES) > 80
    without = {message.text: message.where for message in MESSAGES if not has_remedy(message.text)}
    assert without.keys() == REMEDY_ELSEWHERE, without


def test_every_rule_about_a_parameter_has_a_remedy() -> None:
    """Either an order or a value to pass."""
    for name, rule in RULES.items():
        assert re.match(r"(leave|pass|True|None|\d+) ", rule.remedy), name


def test_every_message_is_written_once() -> None:
    """Otherwise a bug report would not tell where it came from."""
    assert [text for text, n in Counter(message.text for message in MESSAGES).items() if n > 1] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Got q = {}, expected a number below 1.", False),
        ("Pass a number", False),
        ("The set of rows is empty; the check of rows failed: nothing is left.", False),
        ("Got q = {}: pass 0.5.", True),
        ("it is damaged ({} is missing); save the model again.", True),
        ("The chains have not converged. Call continue_sampling().", True),
    ],
)
def test_a_message_without_a_remedy_is_caught(text: str, expected: bool) -> None:
    assert has_remedy(text) == expected


def test_the_walk_finds_what_is_raised_warned_and_printed(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(
        "raise ValueError(f'Got {x.shape[0]!r} rows')\nwarnings.warn('Careful', UserWarning)\nraise typer.Exit(2)\n"
        "raise\nraise OSError\nfail('Go away')\nfail(str(error))\nraise FileExistsError(0, 'it is there', name)\n"
    )
    assert [message.text for message in messages_in(path)] == ["Got {} rows", "Careful", "Go away", "it is there"]
    path.write_text("raise ValueError(message)\n")
    with pytest.raises(AssertionError, match="write the message out"):
        list(messages_in(path))
