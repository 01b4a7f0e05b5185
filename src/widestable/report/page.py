"""The HTML around text, tables and charts. Text from users must be escaped before it gets here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .charts import Chart, safe

# The browser loads nothing from elsewhere: the page works offline, and a hostile table cannot send data anywhere.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'"
)


def page(title: str, body: str, charts: Sequence[Chart], tables: dict[str, str], plotly_js: str) -> str:
    """The whole document; `title` and `body` must be safe HTML, and `tables` are files to download."""
    drawings = [{"name": f"chart-{c.name}", "data": c.data, "layout": c.layout | {"height": c.height}} for c in charts]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{_beside("page.css")}</style>
</head>
<body>
<main>
{body}
</main>
<script type="application/json" id="charts">{json_for_script(drawings)}</script>
<script type="application/json" id="tables">{json_for_script(tables)}</script>
<script>{plotly_js}</script>
<script>{_beside("page.js")}</script>
</body>
</html>
"""


def _beside(name: str) -> str:
    """The text of a file in this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def json_for_script(value: Any) -> str:
    """JSON that cannot end the script element that contains it.

    Examples
    --------
    >>> json_for_script({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    # JSON allows these as escapes; U+2028 and U+2029 end a line in older JavaScript.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def section(title: str, *parts: str) -> str:
    """A box with a heading."""
    return f"<section>\n<h2>{title}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"


def downloads(tables: Mapping[str, str], note: str = "") -> str:
    """A button for each table; page.js makes files of them, and no server is asked."""
    buttons = "".join(f'<button type="button" data-file="{name}">{name}</button>' for name in tables)
    return f'<p class="downloads">Download {buttons}{f" ({note})" if note else ""}</p>'


def details(title: str, *parts: str) -> str:
    """Something to be opened by a click."""
    return f"<details><summary>{title}</summary>{''.join(parts)}</details>"


def figure(chart: Chart | None) -> str:
    """An empty box for a chart, and its caption."""
    if chart is None:
        return ""
    box = f'<div class="chart" id="chart-{chart.name}" style="height:{chart.height}px"></div>'
    return f"<figure>{box}<figcaption>{chart.caption}</figcaption></figure>"


def side_by_side(charts: Sequence[Chart]) -> str:
    """Charts beside each other, or one below the other on a narrow screen."""
    return f'<div class="pair">{"".join(map(figure, charts))}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], faint: Sequence[bool] = (), kind: str = "") -> str:
    """A table of safe text; `faint` says which rows are grey, and kind "numbers" that the first column is narrow."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    marks = [' class="faint"' if i < len(faint) and faint[i] else "" for i in range(len(rows))]
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    lines = "\n".join(f"<tr{mark}>{row}</tr>" for mark, row in zip(marks, cells, strict=True))
    look = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{look}><thead><tr>{top}</tr></thead><tbody>\n{lines}\n</tbody></table></div>'


def cards(values: Sequence[tuple[str, str]]) -> str:
    """Boxes with the numbers to see first."""
    boxes = "".join(f'<div class="card"><b>{value}</b><span>{label}</span></div>' for label, value in values)
    return f'<div class="cards">{boxes}</div>'


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text}</p>' if kind else f"<p>{text}</p>"


def code(text: str) -> str:
    return f"<pre>{safe(text)}</pre>"
