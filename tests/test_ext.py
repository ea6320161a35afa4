"""`pytest_evalmetrics.ext`: every name is there and documented."""

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


def test_all_that_is_imported_is_offered():
    tree = ast.parse(Path(ext.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module != "__future__"
        for alias in node.names
    }
    assert sorted(imported) == sorted(ext.__all__)


def test_registering_a_metric_loads_the_registry_alone():
    code = (
        "import sys; from pytest_evalmetrics import register_metric;"
        "print(sorted(m for m in sys.modules if m.startswith('pytest_evalmetrics.')),"
        "'numpy' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = "['pytest_evalmetrics.errors', 'pytest_evalmetrics.registry']"
    assert run.stdout == f"{modules} False\n"


def test_an_unknown_name_is_named():
    with pytest.raises(ImportError, match="Chunks"):
        from pytest_evalmetrics.ext import Chunks  # noqa: F401
