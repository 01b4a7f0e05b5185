"""Results as one file of the repository, so that the page can be written, and a run go on, on another machine.

One line of JSON per piece. No result holds the real data, which must not be published.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from studies.runner import Piece, plain, read, write

RESULTS = Path(__file__).with_name("results.jsonl")


def export(cache: Path, pieces: Sequence[Piece], path: Path = RESULTS) -> int:
    """Write the results of these pieces into the repository, and return how many there are.

    Parameters
    ----------
    cache : Path
        Folder where runs keep results.
    pieces : sequence of Piece
        All that are planned; a result that is no longer planned is dropped.
    path : Path
        The file. A result that it has and the cache has not stays.
    """
    take_over(cache, path)
    found = [(piece, read(cache, piece)) for piece in pieces]
    lines = [
        json.dumps({"piece": asdict(piece), "result": plain(result)}, allow_nan=False)
        for piece, result in found
        if result is not None
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def take_over(cache: Path, path: Path = RESULTS) -> None:
    """Put the published results into the cache; results that it has already stay as they are."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        kept = json.loads(line)
        piece = Piece(**kept["piece"])
        if read(cache, piece) is None:
            write(cache, piece, kept["result"])
