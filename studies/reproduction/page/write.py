"""Write the page: what was run and how, targets, a section for each study, discussion, data."""

from __future__ import annotations

import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from studies.reproduction.page.kept import Kept
from studies.reproduction.page.sections import SECTIONS
from studies.reproduction.page.targets import targets
from studies.reproduction.presets import Preset
from studies.reproduction import STUDIES

PACKAGES = ("widestable", "numpy", "scikit-learn", "numpyro", "jax", "stochtree")
QUICK_NOTE = "**This is a smoke run: budgets are tiny and the numbers mean nothing.**"


def write_page(out: Path, cache: Path, preset: Preset) -> None:
    """Write `out` and its figures, in a folder of the same name beside it, from what the cache holds."""
    kept = {name: Kept.of(cache, study.plan(preset)) for name, study in STUDIES.items()}
    parts = [_head(preset, kept)]
    if preset.name == "quick":
        parts.append(QUICK_NOTE)
    parts += ["## Targets", targets(kept)]
    for name, study in STUDIES.items():
        parts += [f"## {study.title}", _command(name, preset, kept[name])]
        if kept[name].found:
            parts.append(SECTIONS[name](kept[name], out.with_suffix("")))
    parts.append(files("studies.reproduction.page").joinpath("discussion.md").read_text(encoding="utf-8").strip())
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _head(preset: Preset, kept: dict[str, Kept]) -> str:
    n_found, n_planned = (
        sum(values) for values in zip(*((len(k.found), k.n_planned) for k in kept.values()), strict=True)
    )
    hours = sum(k.seconds for k in kept.values()) / 3600.0
    return "\n\n".join(
        [
            "# The paper's experiments, run with this package",
            "Written by `make reproduce` (`python -m studies`), not by hand, except the last two "
            "sections. The paper is Loría & Bhadra (UAI 2024). *Stable, published sampler* is its Algorithm 1 with the "
            "errors of its formulas put right; the other lines called Stable are this package's jump engine.",
            f"Preset `{preset.name}`: {n_found} of {n_planned} pieces, {hours:.2f} core hours, "
            f"{date.today():%d %B %Y}, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
            f"{_versions()}.",
        ]
    )


def _versions() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _command(name: str, preset: Preset, kept: Kept) -> str:
    command = f"`python -m studies {name} --preset {preset.name}`"
    if not kept.found:
        return f"Not run yet: {command}."
    missing = kept.n_planned - len(kept.found)
    rest = f"; {missing} of {kept.n_planned} pieces are missing" if missing else ""
    return f"{command}, {kept.seconds / 60.0:.1f} core minutes{rest}."
