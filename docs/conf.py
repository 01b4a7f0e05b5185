"""Sphinx configuration for `make docs`. Neither building nor reading the pages needs a network."""

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

# --- Pages with code: every build runs them, and an error in a cell fails the build ------------------------

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
nb_render_markdown_format = "gfm"
# An empty mapping keeps pages from loading scripts from other sites.
nb_ipywidgets_js: dict[str, Any] = {}
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
# A separate IPython profile, so that the user's startup files have no effect and no messages about sockets appear.
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
# Names of this package must resolve. Names of other packages would need inventories from the network.
nitpicky = True
PUBLIC = r"widestable(\.(exact|jumps|plots|report|stable|network|diagnostics|storage))?\.\w+"
nitpick_ignore_regex = [("py:.*", rf"(?!{PUBLIC}$).*")]

# --- Appearance ------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "widestable"
html_static_path = ["_static"]
html_css_files = ["widestable.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
pygments_style = "friendly"
copybutton_exclude = ".linenos, .gp, .go"


def name_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Replace Sphinx's placeholders for type aliases by their names, as in `ArrayLike | None`."""
    found = [text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returns)]
    return found[0], found[1]


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", name_aliases)
