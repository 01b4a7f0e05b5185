"""`widestable jumps`: where f jumps."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from . import runs
from .shell import Json, Run, emit, say, visible

Size = Annotated[float | None, typer.Option(help="Least change of f that counts; the noise s.d. by default.")]
MaxWidth = Annotated[
    float | None,
    typer.Option(help="Greatest width of a step that counts: units of x for one input, of its s.d. for several."),
]


def jumps(
    run: Run,
    size: Size = None,
    max_width: MaxWidth = None,
    start: Annotated[str | None, typer.Option("--from", metavar="X1,...", help="A place, with --to.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="X1,...", help="Another place.")] = None,
    as_json: Json = False,
) -> None:
    """List the jumps: where, how large, how sure. With --from and --to, how sure one lies between two places.

    Examples:

      widestable jumps run --size 2.5

      widestable jumps run --from 24.97,121.53 --to 24.98,121.54
    """
    model, record = runs.load(run)
    if (start is None) != (end is None):
        raise typer.BadParameter("Got only one of --from and --to, expected both: pass two places.")
    if start is None or end is None:
        found = model.jumps(size, max_width)
        emit(found.to_dict()) if as_json else say(str(found), quiet=False)
        return
    a, b = (runs.frame(tuple(record["inputs"]), _place(text, record["inputs"])) for text in (start, end))
    probability = float(model.jump_probability(a, b, size, max_width)[0])
    least = model.jumps(size, max_width).min_size
    if as_json:
        emit({"probability": probability, "min_size": least})
    else:
        say(
            f"A jump larger than {least:.3g} lies between {start} and {end} with probability {probability:.3f}",
            quiet=False,
        )


def _place(text: str, names: list[str]) -> np.ndarray:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"Got {text!r}, expected numbers with commas between them: pass 24.97,121.53 for example."
        ) from None
    if len(values) != len(names):
        columns = visible(", ".join(names))
        raise typer.BadParameter(f"Got {len(values)} numbers, expected one for each of {columns}: pass as many.")
    return np.array([values])
