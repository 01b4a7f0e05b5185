"""Every place in the source that raises an error or warns with a message of its own, read from the syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).resolve().parents[2] / "src" / "widestable"
# Leaving with a code is no message; `fail` prints one and leaves.
SILENT = {"typer.Exit"}
SPEAKING = {"warnings.warn", "fail"}
# Where the message stands among the arguments, when it is not the first: OSError has a number before it.
PLACE = {"FileExistsError": 1, "IsADirectoryError": 1}


class Site(NamedTuple):
    """A message with its blanks, `{...}`, where it is, and what carries it to the user."""

    message: str
    where: str
    carrier: str

    def matches(self, text: str) -> bool:
        """Whether `text` is this message with its blanks filled in."""
        parts = re.split(r"\{[^{}]*\}", " ".join(self.message.split()))
        return re.search(".*".join(map(re.escape, parts)), " ".join(text.split())) is not None


def template(node: ast.expr) -> str | None:
    """Text with `{name}` for each blank; None when it is not written out in place."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{" + _blank(part) + "}" for part in node.values
        )
    return None


def _blank(node: ast.expr) -> str:
    """A short name for what fills a blank: the last identifier of the expression that is not a function's."""
    assert isinstance(node, ast.FormattedValue)
    return (re.findall(r"[A-Za-z_]\w*", ast.unparse(node.value)) or ["number"])[-1]


def sites_in(path: Path, root: Path = SRC) -> Iterator[Site]:
    """Messages of one file, in the order of its lines; ValueError for one that is put together elsewhere."""
    where = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        call = node.exc if isinstance(node, ast.Raise) else node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        if name in SILENT or not (isinstance(node, ast.Raise) or name in SPEAKING):
            continue
        message = template(call.args[PLACE.get(name, 0)]) if call.args else None
        if name == "fail" and not re.search(r"[a-z]", re.sub(r"\{.*?\}", "", message or "")):
            continue  # hands on the message of another error
        if message is None:
            raise ValueError(f"{path}, line {node.lineno}: write the message out as one (f-)string in the call.")
        yield Site(message, where, _carrier(name, call))


def _carrier(name: str, call: ast.Call) -> str:
    if name == "warnings.warn":
        return ast.unparse(call.args[1])
    return "exit code 1" if name == "fail" else name


@cache
def all_sites() -> tuple[Site, ...]:
    """Every message of the package."""
    return tuple(site for path in sorted(SRC.rglob("*.py")) for site in sites_in(path))
