"""How the documentation is built: `make docs`. Nothing is fetched while building or reading, so it works offline."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from widestable import __version__

HERE = Path(__file__).parent

project = "widestable"
author = "The widestable developers"
copyright = author
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]

# --- Text ------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "code"

# --- Pages with code: run by every build, and an error in a cell is an error of the build ------------------

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
nb_render_markdown_format = "gfm"
# Without these no page asks for scripts from elsewhere.
nb_ipywidgets_js: dict[str, Any] = {}
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
# A profile of its own, so that a reader's startup files change nothing and kernels keep quiet about local sockets.
os.environ["IPYTHONDIR"] = str(HERE / "_build" / "ipython")
kernel_config = HERE / "_build" / "ipython" / "profile_default" / "ipython_kernel_config.py"
kernel_config.parent.mkdir(parents=True, exist_ok=True)
kernel_config.write_text("c.IPKernelApp.log_level = 40\n", encoding="utf-8")

# --- Reference -------------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats", "FloatArray", "IntArray", "Sampler", "Size")}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Names of this package must resolve. Those of others would need their inventories, which a build would have to fetch.
nitpicky = True
PUBLIC = r"widestable(\.(exact|jumps|plots|report|stable|network|diagnostics|storage))?\.\w+"
nitpick_ignore_regex = [("py:.*", rf"(?!{PUBLIC}$).*")]

# --- Looks -----------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "widestable"
html_static_path = ["_static"]
html_css_files = ["widestable.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
pygments_style = "friendly"
copybutton_exclude = ".linenos, .gp, .go"

ENTRY = re.compile(r"^(\*{0,2}\w[\w, ]*) : (.+)$")
SECTIONS = {"Parameters", "Attributes"}


def split_entries(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Move the text after `name :` to a line of its own.

    Our docstrings put types into the signature and describe a parameter right after its name; numpydoc takes what
    stands there for a type.
    """
    result: list[str] = []
    section = ""
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[number + 1]):
            section = line
        entry = ENTRY.match(line) if section in SECTIONS else None
        result.extend([entry[1], f"    {entry[2]}"] if entry else [line])
    lines[:] = result


def name_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write `ArrayLike | None` where Sphinx leaves the type that stands for an alias."""
    found = [text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returns)]
    return found[0], found[1]


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", name_aliases)
    # Before numpydoc, which listens with the usual priority of 500.
    app.connect("autodoc-process-docstring", split_entries, priority=100)
