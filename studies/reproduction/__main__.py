"""`python -m studies` is the command `reproduce`."""

from __future__ import annotations

import typer

from studies.reproduction.command import reproduce

if __name__ == "__main__":
    typer.run(reproduce)
