"""What the benchmark files of a run declare: whose baseline a file is, and whose it is not."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_evalmetrics.baselines.in_tests import InTests
from pytest_evalmetrics.baselines.naming import FOLDER, file_name, folder_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.baselines.in_tests import Tests
    from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["Declared"]


class _File(msgspec.Struct, frozen=True):
    """A benchmark file that was read; file names without case, as some file systems have it."""

    path: Path  # the file
    names: frozenset[str]  # the baselines that its benchmarks may have
    kept: Mapping[str, tuple[str, ...]]  # baseline -> the benchmarks that have one
    crowded: bool  # whether several benchmarks have the same

    @classmethod
    def of(cls, path: Path, benchmarks: Iterable[BenchmarkSpec]) -> _File:
        kept: dict[str, tuple[str, ...]] = {}
        names = set()
        for spec in benchmarks:
            name = file_name(spec.name).casefold()
            names.add(name)
            if spec.baseline is not None and spec.baseline.committed:
                kept[name] = (*kept.get(name, ()), spec.name)
        crowded = any(len(sharing) > 1 for sharing in kept.values())
        return cls(path, frozenset(names), kept, crowded)


class Declared:
    """The benchmarks of the files that this process has collected.

    No file is read for it a second time: what a file declares that was not collected is not
    known, and then none of its baselines is an orphan.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._added: list[tuple[Path, Sequence[BenchmarkSpec]]] = []  # not looked at yet
        self._looked_at: dict[Path, _File] = {}  # by the folder of its baselines
        self.tests = InTests()
        self._beside: dict[Path, dict[str, list[str]]] = {}  # folder -> stem -> files

    @classmethod
    def of(cls, config: pytest.Config) -> Declared:
        """Return what is known in a run."""
        if _KEY not in config.stash:
            config.stash[_KEY] = cls(config.getini("evalmetrics_files"))
        return config.stash[_KEY]

    def add(self, file: Path, benchmarks: Sequence[BenchmarkSpec]) -> None:
        """Remember what a benchmark file declares."""
        self._added.append((file, benchmarks))

    @property
    def _files(self) -> Mapping[Path, _File]:
        """The files that were added, looked at when somebody asks: mostly nobody does."""
        for path, benchmarks in self._added:
            self._looked_at[folder_of(path)] = _File.of(path, benchmarks)
        self._added.clear()
        return self._looked_at

    def trouble(self, file: Path, benchmark: str) -> str:
        """Say why a benchmark can't have a baseline of its own; empty where it can."""
        beside = self._of_stem(file)
        if len(beside) > 1 and len(twins := self._twins(file, beside)) > 1:
            return (
                f"{' and '.join(twins)} would keep their baselines in one folder, "
                f"{FOLDER}/{file.stem}: rename one of these files"
            )
        declared = self._files.get(folder_of(file))
        if declared is None or not declared.crowded:
            return ""
        sharing = declared.kept.get(file_name(benchmark).casefold(), ())
        if len(set(sharing)) > 1:
            named = " and ".join(map(repr, sharing))
            return (
                f"the benchmarks {named} would have one baseline where file names ignore case: "
                "rename one of them"
            )
        return ""

    def orphans(self, folder: Path, collected: Tests | None = None) -> list[Path]:
        """List the baselines that no benchmark file, and no test, on disk declares."""
        found: list[Path] = []
        files, stems = self._files, self._stems(folder.parent)
        for place in _entries(folder):
            declared = files.get(place)
            known = set() if declared is None else {declared.path.name}
            beside = stems.get(place.name, [])
            if beside == [f"{place.name}.py"]:
                kept = [p for p in _entries(place) if p.suffix == ".json" and p.is_file()]
                found += self.tests.orphans(folder.parent / beside[0], kept, collected or {})
                continue
            if set(beside) - known:
                continue
            names = frozenset[str]() if declared is None else declared.names
            others = (
                name
                for name in _names(place)
                if name.endswith(".json") and name.removesuffix(".json").casefold() not in names
            )
            found += [path for path in map(place.joinpath, others) if path.is_file()]
        return found

    def _of_stem(self, file: Path) -> list[str]:
        """List what lies beside a file, has its stem and may be a benchmark file."""
        return self._stems(file.parent).get(file.stem, [])

    def _stems(self, folder: Path) -> dict[str, list[str]]:
        """List what lies in a folder and may be a benchmark file, by its stem."""
        if folder not in self._beside:
            stems: dict[str, list[str]] = {}
            for path in _entries(folder):
                if path.suffix in (".yaml", ".yml", ".py") or self._is_benchmark_file(path.name):
                    stems.setdefault(path.stem, []).append(path.name)
            self._beside[folder] = stems
        return self._beside[folder]

    def _twins(self, file: Path, beside: Iterable[str]) -> list[str]:
        return [name for name in beside if self._is_benchmark_file(name) or name == file.name]

    def _is_benchmark_file(self, name: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in self._patterns)


_KEY = pytest.StashKey[Declared]()


def _entries(folder: Path) -> list[Path]:
    """List a folder, sorted, without what is hidden; nothing where it can't be read."""
    return [folder / name for name in _names(folder)]


def _names(folder: Path) -> list[str]:
    """List the names of a folder's entries; see `_entries`."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - most never become paths
    except OSError:
        return []
    return [name for name in names if not name.startswith(".")]
