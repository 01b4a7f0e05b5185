"""One self-contained HTML page about a fitted model.

`build.py` puts the page together. `fits.py` and `checks.py` make its charts from the traces and layouts in `charts.py`,
and `page.py` writes the HTML around them.
"""

from .build import About, build_report
from .checks import Verdict, judge

__all__ = ["About", "Verdict", "build_report", "judge"]
