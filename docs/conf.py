# ruff: noqa: INP001, A001
"""How the site is built: sphinx with furo and MyST, warnings are errors (`make docs`)."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "src"))

import generate  # noqa: E402

import sfumato  # noqa: E402

# The page of Python names is never stale: it is written by every build.
generate.write(generate.built_pages())

project = "Sfumato"
author = "the authors of Sfumato"
copyright = author
version = release = sfumato.__version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"Sfumato {version}"
html_show_sphinx = False
html_copy_source = False
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
nitpicky = True
smartquotes = False  # "max" is a value, typed as it stands
