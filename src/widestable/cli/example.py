"""`widestable example`: a small table to try the other commands on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from widestable.files import replacing

from .shell import Force, Json, Quiet, emit, refuse_to_overwrite, say


class Example(NamedTuple):
    """A table that comes with the package: what it is, and the column to predict."""

    about: str
    target: str
    options: str = ""


EXAMPLES = {
    "nile": Example("yearly flow of the Nile at Aswan in 10^8 m^3, 1871 to 1970 (real: Cobb, Biometrika 1978)", "flow"),
    "visits": Example("visits to a site per day, with one jump (made up)", "visits"),
    "customers": Example(
        "customers with a date, categories and missing values (made up)", "spend", " --missing indicator"
    ),
}

Name = Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(EXAMPLES)}.")]
Out = Annotated[Path | None, typer.Option(help="CSV file to write. Default: NAME.csv, here.", show_default=False)]


def example(
    name: Name = "nile", out: Out = None, force: Force = False, quiet: Quiet = False, as_json: Json = False
) -> None:
    """Write a small table to try the other commands on.

    Examples:

      widestable example

      widestable example customers --out data/customers.csv
    """
    if name not in EXAMPLES:
        raise typer.BadParameter(f"Got {name!r}, expected one of {', '.join(EXAMPLES)}: pass one of these names.")
    path, chosen = Path(f"{name}.csv") if out is None else out, EXAMPLES[name]
    refuse_to_overwrite(path, force)
    with replacing(path, parents=True) as temporary:
        temporary.write_bytes(files("widestable").joinpath("data", f"{name}.csv").read_bytes())
    if as_json:
        emit({"out": str(path), "about": chosen.about, "target": chosen.target})
    else:
        text = f"{path}: {chosen.about}\nNext: widestable fit {path} --target {chosen.target}{chosen.options} --out run"
        say(text, quiet=quiet)
