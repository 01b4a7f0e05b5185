"""The public interface as text: names, signatures, fields, commands and their options.

`python -m tools.public_api` rewrites tests/public_api.txt; tests/test_public_api.py compares.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from widestable.cli import app

FILE = Path(__file__).resolve().parents[1] / "tests" / "public_api.txt"
# What the reference lists (tests/docs/test_reference.py compares): modules whose __all__ is public, and the public
# names of modules that hold other things too.
MODULES = (
    "widestable",
    *(f"widestable.{name}" for name in ("exact", "plots", "jumps", "report", "network", "stable")),
)
SOME = {
    "widestable.diagnostics": ("Convergence", "convergence", "ess", "rhat"),
    "widestable.outliers": ("Outlier", "Outliers"),
    "widestable.storage": ("UnreadableFileError",),
}
# Made by the library, of parts that are its own business: users rely on what it offers, not on how it is made.
MADE_BY_FIT = ("widestable.Posterior",)
# Methods that parts of the library call on each other.
PLUMBING = {"chains", "scale_rows"}
HEADER = (
    "# Names that users may rely on, written by `python -m tools.public_api`. docs/versioning.md: what a change needs."
)


def describe() -> str:
    """Return everything public, one line each."""
    lines = [HEADER]
    for name in MODULES:
        module = importlib.import_module(name)
        lines += ["", *_module(name, module, module.__all__)]
    for name, names in SOME.items():
        lines += ["", *_module(name, importlib.import_module(name), names)]
    return "\n".join([*lines, "", *_commands()]) + "\n"


def _module(name: str, module: Any, names: Any) -> Iterator[str]:
    for public in sorted(names):
        thing = getattr(module, public)
        if inspect.isclass(thing):
            yield from _class(f"{name}.{public}", thing)
        elif callable(thing):
            yield f"{name}.{public}{_signature(thing)}"
        else:
            yield f"{name}.{public}: {type(thing).__name__}"


def _signature(thing: Any) -> str:
    """Return names and defaults; annotations may become wider without breaking anyone."""
    signature = inspect.signature(thing)
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _class(name: str, cls: type) -> Iterator[str]:
    if issubclass(cls, Exception):
        yield f"{name}: {cls.__base__.__name__}"
        return
    yield name if name in MADE_BY_FIT else f"{name}{_signature(cls)}"
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    fields |= set(getattr(cls, "_fields", ()))
    for attribute in sorted({a for base in cls.__mro__ if _is_ours(base) for a in vars(base)} - fields):
        member = inspect.getattr_static(cls, attribute)
        # Those that end in _request are scikit-learn's.
        if attribute.startswith("_") or attribute.endswith("_request") or attribute in PLUMBING:
            continue
        if isinstance(member, property):
            yield f"{name}.{attribute}: property"
        elif callable(getattr(cls, attribute)):
            yield f"{name}.{attribute}{_signature(getattr(cls, attribute))}"


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("widestable")


def _commands() -> Iterator[str]:
    """Yield the commands with the names and defaults of their arguments and options."""
    group: Any = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):
        for parameter in command.params:
            kind = type(parameter).__name__.removeprefix("Typer").lower()
            words = "/".join([*parameter.opts, *parameter.secondary_opts])
            default = parameter.default.as_posix() if isinstance(parameter.default, Path) else parameter.default
            yield f"widestable {name}: {kind} {words}, {'required' if parameter.required else f'default {default}'}"
        if not command.params:
            yield f"widestable {name}"


if __name__ == "__main__":
    FILE.write_text(describe(), encoding="utf-8")
