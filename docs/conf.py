"""Sphinx configuration: ``sphinx-build -W -b html docs build/docs`` (extra ``docs``)."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "pytest-evalmetrics"
author = copyright = "The developers of pytest-evalmetrics"  # noqa: A001 - Sphinx's name
release = version_of("pytest-evalmetrics")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = project
nitpicky = False

autodoc_typehints = "none"  # the docstrings describe the types
autodoc_member_order = "bysource"
napoleon_google_docstring = False
suppress_warnings = ["myst.xref_missing"]  # links to files outside of docs/
