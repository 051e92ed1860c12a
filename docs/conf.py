# ruff: noqa: INP001, A001
"""How the site is built: sphinx with furo and MyST, warnings are errors (`make docs`)."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import sfumato

# The page of Python names is never stale: it is written by every build.
_spec = spec_from_file_location("generate", Path(__file__).with_name("generate.py"))
assert _spec is not None
assert _spec.loader is not None
_generate = module_from_spec(_spec)
_spec.loader.exec_module(_generate)
_generate.write(_generate.built_pages())

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
