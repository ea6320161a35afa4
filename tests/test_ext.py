"""`pytest_evalmetrics.ext`: every name is there, typed, documented, and loaded on first use."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_evalmetrics import ext

ROOT = Path(__file__).parents[1]


def test_each_name_can_be_imported_and_is_documented():
    page = (ROOT / "docs" / "reference" / "extending.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", page))
    assert [n for n in ext.__all__ if n not in words or getattr(ext, n) is None] == []


def test_what_is_typed_is_what_is_imported():
    tree = ast.parse(Path(ext.__file__).read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {
        alias.name: node.module
        for node in block.body
        for alias in node.names  # type: ignore[attr-defined]
    }
    assert sorted(typed) == sorted(ext.__all__) == sorted(ext._HOMES)
    assert {
        name: f"pytest_evalmetrics.{home}" for name, home in ext._HOMES.items()
    } == typed


def test_an_import_loads_nothing_else():
    code = (
        "import sys; from pytest_evalmetrics import ext;"
        "print([m for m in sys.modules if m.startswith('pytest_evalmetrics.')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "['pytest_evalmetrics.ext']\n"


def test_an_unknown_name_is_named():
    with pytest.raises(ImportError, match="Chunks"):
        from pytest_evalmetrics.ext import Chunks  # noqa: F401
