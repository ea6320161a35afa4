"""Which baselines belong to checks in tests: known only as the tests run.

A test decides at run time what it checks, so that a baseline is an orphan only where its test
ran to its end here without asking for it, or is gone from the file that was collected.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import pytest

from pytest_evalmetrics.baselines.naming import file_name
from pytest_evalmetrics.settings import COLLECTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["InTests", "Tests", "benchmark_name", "collected_tests", "name_of_test"]

Tests: TypeAlias = "Mapping[Path, set[str]]"
_FUNCTION = re.compile(r"[A-Za-z0-9_.]+")


def name_of_test(item: pytest.Item) -> str:
    """Name a test within its file: ``TestMath.test_sums[large]``."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*classes, item.name])


def benchmark_name(test: str, check: str | None) -> str:
    """Name a check's benchmark; a function's name holds no ``-``, so that no two are alike."""
    return test if check is None else f"{test}-{check}"


def collected_tests(config: pytest.Config) -> dict[Path, set[str]]:
    """Name the functions that were collected of each file, without their parameters.

    Also those that a selection, or somebody's conftest.py, then left out. Of a file that was
    not collected whole nothing is known.
    """
    found: dict[Path, set[str]] = {}
    if config.getoption("lf", default=False) or any("::" in str(arg) for arg in config.args):
        return found
    for item in config.stash.get(COLLECTED, ()):
        if isinstance(item, pytest.Function):
            found.setdefault(item.path, set()).add(name_of_test(item).partition("[")[0])
    return found


class InTests:
    """What the tests that ran in this process asked for."""

    def __init__(self) -> None:
        self._asked: dict[Path, set[str]] = {}  # file -> baselines, without case
        self._ended: dict[Path, set[str]] = {}  # file -> tests that passed

    def asked(self, file: Path, benchmark: str) -> None:
        """Remember that a test compares with a baseline."""
        self._asked.setdefault(file, set()).add(file_name(benchmark).casefold())

    def ended(self, file: Path, test: str) -> None:
        """Remember that a test ran to its end: it asks for no further baseline."""
        self._ended.setdefault(file, set()).add(file_name(test).casefold())

    def orphans(self, file: Path, kept: Sequence[Path], collected: Tests) -> list[Path]:
        """List those of a test file's baselines that no test asks for any more."""
        asked, ended = self._asked.get(file, set()), self._ended.get(file, set())
        gone = set(_gone(file, kept, collected.get(file, set())))
        return [
            path
            for path in kept
            if (stem := path.stem.casefold()) not in asked
            and (path in gone or any(_is_of(stem, test) for test in ended))
        ]


def _is_of(stem: str, test: str) -> bool:
    return stem == test or stem.startswith(f"{test}-")


def _gone(file: Path, kept: Sequence[Path], collected: set[str]) -> Iterator[Path]:
    """Yield the baselines of functions that are neither collected nor written in the file."""
    if not collected:  # the file was left out, or has no tests at all
        return
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for path in kept:
        match = _FUNCTION.match(path.stem)
        name = match[0] if match else ""
        function = name.rpartition(".")[2]
        if function and name not in collected and not re.search(rf"\bdef {function}\b", text):
            yield path
