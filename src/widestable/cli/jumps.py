"""`widestable jumps`: the jumps of a run."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from widestable.inputs import NUMBER

from . import runs
from .shell import FLAG, Json, Run, emit, say, visible

Size = Annotated[float | None, typer.Option(help="Least change of f that counts. Default: the noise s.d.")]
MaxWidth = Annotated[
    float | None,
    typer.Option(help="Greatest width of a step that counts: in units of x for one input, of its s.d. for several."),
]

Full = Annotated[bool, typer.Option("--full", help="Name all inputs of a plane, small weights too.", **FLAG)]


def jumps(
    run: Run,
    size: Size = None,
    max_width: MaxWidth = None,
    start: Annotated[str | None, typer.Option("--from", metavar="X1,...", help="One place; needs --to.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="X1,...", help="The other place; needs --from.")] = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """List the jumps: where they are, how large and how probable.

    With --from and --to, show the probability of a jump between two places.

    Examples:

      widestable jumps run --size 2.5

      widestable jumps run --from 24.97,121.53 --to 24.98,121.54

      widestable jumps run --from 2023-03-01 --to 2023-05-01
    """
    model, record = runs.load(run)
    if (start is None) != (end is None):
        raise typer.BadParameter("Got only one of --from and --to, expected both: pass two places.")
    if start is None or end is None:
        found, outliers = replace(model.jumps(size, max_width), target=record["target"]), model.outliers()
        if as_json:
            emit(found.to_dict() | {"outliers": [asdict(outlier) for outlier in outliers]})
        else:
            say("\n".join([found.in_words(full), *([str(outliers)] if outliers.are_modelled else [])]), quiet=False)
        return
    a, b = (_place(text, record["kinds"]) for text in (start, end))
    probability = float(model.jump_probability(a, b, size, max_width)[0])
    # The default size is known to the model only.
    least = model.jumps(size, max_width).min_size
    if as_json:
        emit({"probability": probability, "min_size": least})
    else:
        text = f"A jump larger than {least:.3g} separates {start} from {end} with probability {probability:.3f}"
        say(text, quiet=False)


def _place(text: str, kinds: dict[str, str]) -> Any:
    """One row of inputs from text such as `24.97,121.53` or `2023-05-01,A`."""
    parts = [part.strip() for part in next(csv.reader([text]), [])]
    if len(parts) != len(kinds):
        columns = visible(", ".join(kinds))
        raise typer.BadParameter(
            f"Got {len(parts)} value{'s' * (len(parts) != 1)}, expected one for each of {columns}: pass as many, with "
            "commas between."
        )
    return runs.frame({name: [_value(part, name, kinds[name])] for name, part in zip(kinds, parts, strict=True)})


def _value(part: str, name: str, kind: str) -> float | str:
    try:
        return float(part) if kind == NUMBER else part
    except ValueError:
        raise typer.BadParameter(
            f"Got {part!r}, expected a number for {visible(name)}: pass 24.97, for example."
        ) from None
