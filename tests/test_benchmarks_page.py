"""The page of public benchmarks, which a script writes from the figures that are kept."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "perf" / "public.py"


@pytest.fixture(scope="module")
def public():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("public", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_the_one_that_the_figures_give(public):
    assert public.PAGE.read_text(encoding="utf-8") == public.page(public.kept_entries())


def test_the_newest_commit_stands_first(public):
    entries = [
        public.Entry(name, "2026-11-27", "3.11.7", "Linux", {"idle_ms": value})
        for name, value in (("older", 5.0), ("newer", 4.0))
    ]
    head, _, idle, *_ = public.page(entries).partition("| figure")[2].splitlines()
    assert head == " | unit | `newer` | `older` |"
    assert idle.endswith("| ms | 4 | 5 |")


def test_a_figure_that_an_older_commit_lacks_is_a_dash(public):
    entry = public.Entry("older", "2026-11-27", "3.11.7", "Linux", {})
    assert public.figure(entry, "gate_ms") == "-"
