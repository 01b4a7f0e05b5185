"""One self-contained HTML page about a fitted model."""

from .build import About, build_report
from .verdict import Verdict, judge

__all__ = ["About", "Verdict", "build_report", "judge"]
