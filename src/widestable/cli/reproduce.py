"""`widestable reproduce`: the paper's tables and figures, handed on to the experiments."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from .shell import fail

WHERE = "widestable.experiments.command"
PASS_ON: dict[Any, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}


def reproduce(ctx: typer.Context) -> None:
    """Make the paper's tables and figures (widestable reproduce --help says which)."""
    try:
        command = importlib.import_module(WHERE).reproduce
    except ModuleNotFoundError as error:
        if error.name is None or not WHERE.startswith(error.name):
            fail(f"The experiments need {error.name}: install widestable with its extra 'experiments'.")
        fail("The paper's tables and figures are not part of this version: install the whole package.")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    app(args=ctx.args, prog_name="widestable reproduce")
