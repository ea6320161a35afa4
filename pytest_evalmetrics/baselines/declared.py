"""The owners of baselines: which benchmark each belongs to, and which are unused.

A baseline lies in one file per benchmark, in a folder of its own beside the benchmark file. A test
decides at run time what it checks, so that its baseline is an orphan only where the test ran to
its end without asking for it, or is gone from the file that was collected.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from fnmatch import fnmatch
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.settings import COLLECTED, is_benchmark_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.spec import BenchmarkSpec

FOLDER = "__baselines__"
# also a first dot, which hides a file, and a last dot or space, which Windows drops
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+ -]|^\.|[. ]\Z")
_LONGEST = 100
# Windows' names of devices
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_FUNCTION = re.compile(r"[A-Za-z0-9_.]+")
_KEY = pytest.StashKey["Declared"]()


def folder_of(file: Path) -> Path:
    """Return the folder of a benchmark file's baselines."""
    return file.parent.joinpath(FOLDER, file.stem)


def shown_below(path: Path, root: Path) -> str:
    """Call a file as messages do: relative to pytest's root folder, if it is inside."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def file_name(benchmark: str) -> str:
    """Escape a benchmark's name, so that no two share a file."""
    escaped = _UNSAFE.sub(lambda match: _hex(match[0]), benchmark)
    if _RESERVED.fullmatch(escaped):
        escaped = _hex(escaped[0]) + escaped[1:]
    if len(escaped) <= _LONGEST:
        return escaped
    digest = blake2b(
        benchmark.encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()
    return f"{escaped[:_LONGEST]}%{digest}"


def _hex(character: str) -> str:
    return "".join(
        f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass")
    )


def name_of_test(item: pytest.Item) -> str:
    """Name a test within its file: ``TestMath.test_sums[large]``."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*classes, item.name])


def benchmark_name(test: str, check: str | None) -> str:
    """Name a check's benchmark; a function's name holds no ``-``, so that no two are alike."""
    return test if check is None else f"{test}-{check}"


class Declared:
    """The benchmarks of the files that this process has collected, which are read only once."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # by the folder of a file's baselines: these (without case, as some file systems have it),
        # each with the benchmarks that keep one there
        self._declared: dict[Path, dict[str, list[str]]] = {}
        self._file_names: dict[
            Path, str
        ] = {}  # by the same folder: the benchmark file's name
        self._asked: dict[Path, set[str]] = {}  # test file -> baselines, without case
        self._ended: dict[Path, set[str]] = {}  # test file -> tests that passed
        self._beside: dict[Path, dict[str, list[str]]] = {}  # folder -> stem -> files

    @classmethod
    def of(cls, config: pytest.Config) -> Declared:
        """Return the declarations of a run."""
        return config.stash.setdefault(_KEY, cls(config))

    def add(self, file: Path, benchmarks: Sequence[BenchmarkSpec]) -> None:
        """Remember the benchmarks that a file declares."""
        folder = folder_of(file)
        self._file_names[folder] = file.name
        kept = self._declared[folder] = {}
        for spec in benchmarks:
            sharing = kept.setdefault(file_name(spec.name).casefold(), [])
            if spec.baseline is not None and spec.baseline.committed:
                sharing.append(spec.name)

    def asked(self, file: Path, benchmark: str) -> None:
        """Remember that a test compares with a baseline."""
        self._asked.setdefault(file, set()).add(file_name(benchmark).casefold())

    def ended(self, file: Path, test: str) -> None:
        """Record that a test ran to its end and uses no further baseline."""
        self._ended.setdefault(file, set()).add(file_name(test).casefold())

    def conflict(self, file: Path, benchmark: str) -> str:
        """Explain why a benchmark can't have a baseline of its own; empty if it can."""
        beside = self._stems(file.parent).get(file.stem, [])
        twins = [
            n for n in beside if is_benchmark_file(n, self._config) or n == file.name
        ]
        if len(twins) > 1:
            message = f"{' and '.join(twins)} would keep their baselines in one folder"
            return f"{message}, {FOLDER}/{file.stem}: rename one of these files"
        kept = self._declared.get(folder_of(file), {})
        sharing = kept.get(file_name(benchmark).casefold(), [])
        if len(set(sharing)) < 2:  # two share it
            return ""
        message = (
            f"the benchmarks {' and '.join(map(repr, sharing))} would have one baseline"
        )
        return f"{message} if file names ignore case: rename one of them"

    def orphans(self, folder: Path) -> list[Path]:
        """List the baselines that no benchmark file, and no test, on disk declares."""
        orphans: list[Path] = []
        stems = self._stems(folder.parent)
        for place in map(folder.joinpath, _names(folder)):
            paths = map(place.joinpath, _names(place))
            baselines = [
                path for path in paths if path.suffix == ".json" and path.is_file()
            ]
            beside = stems.get(place.name, [])
            if beside == [f"{place.name}.py"]:
                orphans += self._orphans_of_tests(folder.parent / beside[0], baselines)
            elif not set(beside) - {self._file_names.get(place)}:
                kept = self._declared.get(place, {})
                orphans += [
                    path for path in baselines if path.stem.casefold() not in kept
                ]
        return orphans

    @cached_property
    def _collected(self) -> dict[Path, set[str]]:
        """The functions collected of each whole file, without parameters, also deselected ones."""
        names: dict[Path, set[str]] = {}
        args = self._config.args
        if self._config.getoption("lf", default=False) or any(
            "::" in str(arg) for arg in args
        ):
            return names
        for item in self._config.stash.get(COLLECTED, ()):
            if isinstance(item, pytest.Function):
                names.setdefault(item.path, set()).add(
                    name_of_test(item).partition("[")[0]
                )
        return names

    def _orphans_of_tests(self, file: Path, kept: Sequence[Path]) -> list[Path]:
        """List the baselines of a test file that no test uses any more."""
        asked, ended = self._asked.get(file, set()), self._ended.get(file, set())
        functions, text = self._collected.get(file, set()), ""
        if functions:  # otherwise the file was left out, or has no tests
            with suppress(OSError, UnicodeDecodeError):
                text = file.read_text(encoding="utf-8")

        def is_gone(stem: str) -> bool:
            """Check that a baseline's function is neither collected nor written in the file."""
            match = _FUNCTION.match(stem)
            function = (
                match[0].rpartition(".")[2]
                if match and match[0] not in functions
                else ""
            )
            return bool(text and function) and not re.search(
                rf"\bdef {function}\b", text
            )

        unasked = [path for path in kept if path.stem.casefold() not in asked]
        begun = tuple(f"{test}-" for test in ended)
        return [
            p
            for p in unasked
            if is_gone(p.stem) or f"{p.stem.casefold()}-".startswith(begun)
        ]

    def _stems(self, folder: Path) -> dict[str, list[str]]:
        """List the possible benchmark files of a folder by their stems."""
        if folder not in self._beside:
            stems: dict[str, list[str]] = {}
            for name in _names(folder):
                path = Path(name)
                if path.suffix in (".yaml", ".yml", ".py") or is_benchmark_file(
                    name, self._config
                ):
                    stems.setdefault(path.stem, []).append(name)
            self._beside[folder] = stems
        return self._beside[folder]


def _names(folder: Path) -> list[str]:
    """List the visible names of a folder in order; an unreadable folder has none."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - most never become paths
    except OSError:
        return []
    return [name for name in names if not name.startswith(".")]


def handle_unused(config: pytest.Config, *, delete: bool) -> tuple[list[str], bool]:
    """Delete unused baselines if an option asks for it; return lines, and whether all went."""
    # Every benchmark file of the root folder is read, whatever the command line names.
    lines: list[str] = []
    declared = Declared(config)
    unused: list[Path] = []
    for folder in _folders_with_baselines(config):
        lines += _declare(declared, folder.parent, config)
        unused += declared.orphans(folder)
    failures = 0
    for path in unused:
        lines.append(f"unused: {shown_below(path, config.rootpath)}")
        if not delete:
            continue
        try:
            path.unlink()
            path.with_name(f"{path.stem}.rows.jsonl.gz").unlink(missing_ok=True)
        except OSError as error:
            lines.append(f"  can't be deleted: {error.strerror or error}")
            failures += 1
        for empty in (path.parent, path.parent.parent):
            with suppress(OSError):  # there is something else in it
                empty.rmdir()
    if not unused:
        lines.append("no baseline is unused")
    elif not delete:
        count = many(len(unused), "unused baseline")
        lines.append(f"{count}: `pytest --evalmetrics-delete-unused` deletes them")
    else:
        lines.append(f"{many(len(unused) - failures, 'unused baseline')} deleted")
    return lines, not failures


def _declare(declared: Declared, folder: Path, config: pytest.Config) -> Iterator[str]:
    """Read the benchmark files of a folder, and yield what can't be read."""
    from pytest_evalmetrics.config import load_benchmarks  # only asked for here

    for file in sorted(folder.iterdir()):
        if not is_benchmark_file(file.name, config) or not file.is_file():
            continue
        shown = shown_below(file, config.rootpath)
        try:
            declared.add(
                file, [each.spec for each in load_benchmarks(file, shown=shown)]
            )
        except ConfigError as error:
            if folder_of(file).is_dir():
                what = str(error).partition("\n")[0]
                yield f"kept: the baselines of {shown}: {what}"


def _folders_with_baselines(config: pytest.Config) -> Iterator[Path]:
    """Yield every ``__baselines__`` of a project, but of folders that pytest passes over too."""
    skipped = [
        pattern for pattern in config.getini("norecursedirs") if "/" not in pattern
    ]
    skipped += [FOLDER, "__pycache__", "node_modules"]
    for root, folders, files in os.walk(config.rootpath):
        if "pyvenv.cfg" in files:
            folders.clear()
        if FOLDER in folders:
            yield Path(root, FOLDER)
        folders[:] = [
            f for f in sorted(folders) if not any(fnmatch(f, p) for p in skipped)
        ]
