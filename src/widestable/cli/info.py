"""`widestable info`: versions, or what a run is."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

from widestable import __version__

from . import runs
from .shell import Json, emit, say

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "arviz-stats", "matplotlib", "plotly", "pandas", "polars")
Folder = Annotated[Path | None, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]


def info(run: Folder = None, as_json: Json = False) -> None:
    """Tell the versions of widestable and its libraries; with a run folder, what it holds.

    Examples:

      widestable info

      widestable info run --json
    """
    values = _versions() if run is None else _about(run)
    if as_json:
        emit(values)
        return
    width = max(map(len, values))
    say("\n".join(f"{name:<{width}}  {_text(value)}" for name, value in values.items()), quiet=False)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items() if item is not None)
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {"widestable": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = None
    return found


def _about(folder: Path) -> dict[str, Any]:
    record = runs.read_record(folder)
    about = {name: record[name] for name in ("status", "source", "target", "inputs", "n_rows", "started", "seconds")}
    about["parameters"] = record["parameters"]
    if (folder / runs.MODEL).exists():
        model, _ = runs.load(folder)
        about |= {"alpha": model.alpha_, "nu": model.nu_, "sigma": model.sigma_, "draws": repr(model.posterior_)}
    return about
