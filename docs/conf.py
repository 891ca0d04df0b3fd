"""The documentation as a site: ``python -m sphinx -W docs build/site`` (extra ``docs``).

It reads from local files without a network: no font, script or style comes from elsewhere, and
the search is a script beside the pages.
"""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "bpe-interop"
author = "the maintainers of bpe-interop"
release = version = version_of("bpe-interop")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
exclude_patterns = ["first-look.ipynb"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # examples of YAML and JSON are cut with dots

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # as the code writes them
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "bpe-interop"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
smartquotes = False  # "--json" stays two dashes
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False}

# ``python -m sphinx -b man docs man``; ``setup.py`` puts a page that is there into the wheel.
man_pages = [
    ("reference/command-line", "bpe-interop", "move BPE tokenizers between formats", [author], 1)
]
