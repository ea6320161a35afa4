"""Sphinx configuration: ``sphinx-build -W -b html docs build/docs`` (extra ``docs``)."""

from __future__ import annotations

import builtins
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

import msgspec

import pytest_evalmetrics.ext

sys.path.insert(0, str(Path(__file__).parent))


def know_types(record: type[msgspec.Struct]) -> None:
    """Give a module the names in the types of a record, which only a type checker imports.

    A signature can't be read without them; the types themselves are not shown.
    """
    for part in record.__mro__:
        module = sys.modules[part.__module__]
        for written in vars(part).get("__annotations__", {}).values():
            for name in re.findall(r"[A-Za-z_]\w*", str(written)):
                if not hasattr(module, name) and not hasattr(builtins, name):
                    setattr(module, name, dict)  # any type with parameters


for offered in vars(pytest_evalmetrics.ext).values():
    if isinstance(offered, type) and issubclass(offered, msgspec.Struct):
        know_types(offered)

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
