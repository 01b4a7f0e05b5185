"""`widestable info`: about this installation, or about a run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path
from typing import Annotated, Any

import joblib
import threadpoolctl
import typer

from widestable import __version__
from widestable._code_cache import FOLDER, why_not_shipped
from widestable.engine import sweep

from . import runs
from .shell import Json, emit, say

# Extras for people who work on the package itself; a bug report does not need their versions.
NOT_FOR_USERS = {"dev", "docs"}
Folder = Annotated[Path | None, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)]


def info(run: Folder = None, as_json: Json = False) -> None:
    """Show versions, threads and where compiled code comes from; with a run folder, what the run holds.

    Examples:

      widestable info

      widestable info run --json
    """
    values = _versions() | _machine() if run is None else _about(run)
    if as_json:
        emit(values)
        return
    width = max(map(len, values))
    say("\n".join(f"{name:<{width}}  {_text(value)}" for name, value in values.items()), quiet=False)


def _text(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        texts = {name: _text(item) if isinstance(item, float) else item for name, item in value.items()}
        return ", ".join(f"{name} {text}" for name, text in texts.items() if text is not None)
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _versions() -> dict[str, Any]:
    """Versions of Python and of every library the package can use; None for those not installed."""
    found: dict[str, Any] = {"widestable": __version__, "python": platform.python_version()}
    for library in _dependencies(importlib.metadata.requires("widestable") or []):
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = None
    return found


def _dependencies(requirements: list[str]) -> list[str]:
    """Names of the libraries in the metadata of the package, required ones first.

    Examples
    --------
    >>> _dependencies(["numpy>=2.0", "ruff>=0.12; extra == 'dev'", "plotly>=5.22; extra == 'report'"])
    ['numpy', 'plotly']
    """
    names = []
    for requirement in requirements:
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if extra is None or extra[1] not in NOT_FOR_USERS:
            names += re.findall(r"^[\w.-]+", requirement)
    return list(dict.fromkeys(names))


def _machine() -> dict[str, Any]:
    """Threads of the numerical libraries, cores of the machine and of this process, and compiled code."""
    pools = [
        f"{pool['internal_api']} {pool['version'] or ''}".strip() + f": {pool['num_threads']}"
        for pool in threadpoolctl.threadpool_info()
    ]
    return {
        "platform": platform.platform(),
        "threads": pools,
        "cores": os.cpu_count(),
        "usable cores": joblib.cpu_count(),
    } | _compiled_code()


def _compiled_code() -> dict[str, Any]:
    """Which of three places compiled code comes from, the folder, and what to expect of a first fit."""
    # The cache of the sampler stands for all: every package with compiled code has a folder of its own.
    cache, reason = getattr(sweep._make_sweeps, "_cache", None), why_not_shipped()
    if cache is None:
        where, folder, words = "none", None, "nothing: NUMBA_DISABLE_JIT is set, so fits are slow"
    elif reason is None:
        where, folder, words = "shipped", FOLDER, _counted(FOLDER)
    elif cache.cache_path is None:
        remedy = "set NUMBA_CACHE_DIR to a folder that can be written"
        where, folder, words = "memory", None, f"kept nowhere, so each process compiles again: {remedy}"
    else:
        where, folder = "disk", Path(cache.cache_path)
        words = _counted(folder) or "nothing yet: the first fit compiles the sampler, which takes about a minute"
    return {
        "compiled code": where,
        "compile cache": None if folder is None else str(folder),
        "compiled": words,
        "shipped code": "fits" if reason is None else f"not used: {reason}",
    }


def _counted(folder: Path) -> str:
    """How much compiled code a folder holds, in words; empty if none."""
    sizes = [path.stat().st_size for path in folder.glob("*.nbc")]
    return f"{len(sizes)} functions, {sum(sizes) / 2**20:.1f} MiB" if sizes else ""


def _about(folder: Path) -> dict[str, Any]:
    """What was asked for in a run, and its posterior medians once there are draws."""
    record = runs.read_record(folder)
    about = {name: record[name] for name in ("status", "source", "target", "inputs", "n_rows", "started", "seconds")}
    about |= {"kinds": record["kinds"], "left_out": record["left_out"], "parameters": record["parameters"]}
    if (folder / runs.MODEL).exists():
        model, _ = runs.load(folder)
        about |= {"alpha": model.alpha_, "nu": model.nu_, "sigma": model.sigma_, "sharpness": model.sharpness_}
        about |= {"relevance": runs.relevances(model), "inferred": list(model.posterior_.inferred)}
        about["draws"] = repr(model.posterior_)
    return about
