"""The benchmarks and tests of a run that use a baseline.

Benchmark files declare their baselines. A test decides at run time what it checks, so
that its baselines are known only when the test ran to its end.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.baselines.files import FOLDER, file_name, folder_of
from pytest_evalmetrics.settings import is_benchmark_file

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from pytest_evalmetrics.spec import BenchmarkSpec

_KEY = pytest.StashKey["Declared"]()


class Declared:
    """The users of baselines that one process has collected.

    File names are compared without case, because some file systems ignore it.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # folder of baselines -> file name -> the benchmarks that keep a baseline there
        self._keepers: dict[Path, dict[str, list[str]]] = {}
        # folder of baselines -> name of its benchmark file
        self._benchmark_files: dict[Path, str] = {}
        # test file -> file names of the baselines that its tests compare with
        self._asked: dict[Path, set[str]] = {}
        # test file -> file names of its tests that passed
        self._ended: dict[Path, set[str]] = {}
        # folder -> stem -> names of the possible benchmark files and test files in it
        self._files_by_stem: dict[Path, dict[str, list[str]]] = {}

    @classmethod
    def of(cls, config: pytest.Config) -> Declared:
        """Return the declarations of a run."""
        return config.stash.setdefault(_KEY, cls(config))

    def add(self, file: Path, benchmarks: Sequence[BenchmarkSpec]) -> None:
        """Record the benchmarks that a file declares."""
        keepers: dict[str, list[str]] = {}
        for spec in benchmarks:
            of_file = keepers.setdefault(file_name(spec.name).casefold(), [])
            if spec.baseline is not None and spec.baseline.committed:
                of_file.append(spec.name)
        folder = folder_of(file)
        self._keepers[folder] = keepers
        self._benchmark_files[folder] = file.name

    def asked(self, file: Path, benchmark: str) -> None:
        """Record that a test compares with a baseline."""
        self._asked.setdefault(file, set()).add(file_name(benchmark).casefold())

    def ended(self, file: Path, test: str) -> None:
        """Record that a test ran to its end and uses no further baseline."""
        self._ended.setdefault(file, set()).add(file_name(test).casefold())

    def asked_in(self, file: Path) -> Collection[str]:
        """Return the names of the baselines that a test file's tests compared with."""
        return self._asked.get(file, set())

    def ended_in(self, file: Path) -> Collection[str]:
        """Return the names of a test file's tests that ran to their end."""
        return self._ended.get(file, set())

    def declares(self, baseline: Path) -> bool:
        """Check whether a collected benchmark file declares this baseline."""
        keepers = self._keepers.get(baseline.parent, {})
        return baseline.stem.casefold() in keepers

    def benchmark_file_of(self, folder: Path) -> str | None:
        """Return the collected file of a folder of baselines; None without one."""
        return self._benchmark_files.get(folder)

    def conflict(self, file: Path, benchmark: str) -> str:
        """Explain why a benchmark can't have a baseline of its own; empty if it can."""
        twins = [
            name
            for name in self.files_of_stem(file.parent, file.stem)
            if name == file.name or is_benchmark_file(name, self._config)
        ]
        if len(twins) > 1:
            return (
                f"{' and '.join(twins)} would keep their baselines in one folder, "
                f"{FOLDER}/{file.stem}: rename one of these files"
            )
        keepers = self._keepers.get(folder_of(file), {})
        sharing = keepers.get(file_name(benchmark).casefold(), [])
        if len(set(sharing)) > 1:
            names = " and ".join(repr(name) for name in sharing)
            return (
                f"the benchmarks {names} would have one baseline if file names ignore "
                "case: rename one of them"
            )
        return ""

    def files_of_stem(self, folder: Path, stem: str) -> Sequence[str]:
        """List the possible benchmark files and test files of a folder by their stem."""
        if folder not in self._files_by_stem:
            self._files_by_stem[folder] = self._stems(folder)
        return self._files_by_stem[folder].get(stem, [])

    def _stems(self, folder: Path) -> dict[str, list[str]]:
        stems: dict[str, list[str]] = {}
        for name in visible_names(folder):
            stem, suffix = os.path.splitext(name)  # noqa: PTH122 - most become no path
            known = suffix in (".yaml", ".yml", ".py")
            if known or is_benchmark_file(name, self._config):
                stems.setdefault(stem, []).append(name)
        return stems


def visible_names(folder: Path) -> list[str]:
    """List the visible names of a folder in order; an unreadable folder has none."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - most become no path
    except OSError:
        return []
    return [name for name in names if not name.startswith(".")]
