"""`python -m widestable.experiments` is the command `reproduce`."""

from __future__ import annotations

import typer

from widestable.experiments.command import reproduce

if __name__ == "__main__":
    typer.run(reproduce)
