"""`python -m widestable` is the command line."""

from widestable.cli import app

app(prog_name="widestable")
