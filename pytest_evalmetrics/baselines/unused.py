"""Unused baselines: found in whole runs, listed and deleted by an option of their own.

A baseline is unused if no benchmark file on disk declares it. A test's baseline is unused
if the test ran to its end without comparing with it, or is gone from the file that was
collected. No run deletes a baseline: a selection, an error or a crash would take good ones.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.baselines.declared import Declared, visible_names
from pytest_evalmetrics.baselines.files import (
    FOLDER,
    folder_of,
    name_of_test,
    rows_path_of,
    shown_below,
)
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.settings import BASELINES, COLLECTED, is_benchmark_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

# pytest's options that leave out tests, syrupy's that update, and syrupy's that asks for
# no search
_NO_SEARCH = (
    "keyword",
    "markexpr",
    "deselect",
    "lf",
    "stepwise",
    "update_snapshots",
    "evalmetrics_update",
    "disable_unused_snapshots",
)
_PATIENCE = 10  # seconds for git
_FUNCTION = re.compile(r"[A-Za-z0-9_.]+")


# -- a whole run -----------------------------------------------------------------------------


def unused_of_run(config: pytest.Config) -> list[str]:
    """List the unused baselines beside the collected files; none in a run of a selection."""
    if _is_selection(config):
        return []
    folders = {item.path.parent / FOLDER for item in config.stash.get(COLLECTED, ())}
    folders.update(_searched_folders(config))
    unused = {path for folder in folders for path in unused_in(folder, config)}
    unused.update(_committed_without_file(config.rootpath))
    found: list[str] = []
    for path in sorted(unused):
        shown = shown_below(path, config.rootpath)
        if not _has_file(path):
            shown = f"{shown} ({_file_of(path)} is gone)"
        found.append(shown)
    return found


def _searched_folders(config: pytest.Config) -> Iterator[Path]:
    """Yield the folders of baselines below the folders that the command line names."""
    base = config.invocation_params.dir
    named = [base / argument for argument in config.args if "::" not in argument]
    places = [path.resolve() for path in named if path.is_dir()]
    for folder in config.stash.get(BASELINES, ()):
        if any(folder.resolve().is_relative_to(place) for place in places):
            yield folder


def _committed_without_file(root: Path) -> Iterator[Path]:
    """Yield the committed baselines of the project whose file was deleted.

    CI runs the files that git tracks: a deleted one would take its gates with it, unseen.
    """
    command = ["git", "-C", str(root), "ls-files", "-z", "--", f"*{FOLDER}/*.json"]
    try:
        listed = subprocess.run(  # noqa: S603 - the user's own git
            command, capture_output=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return  # no repository, or no git
    for name in os.fsdecode(listed.stdout).split("\0"):
        path = root / name
        is_baseline = path.parent.parent.name == FOLDER
        if is_baseline and path.is_file() and not _has_file(path):
            yield path


def _has_file(baseline: Path) -> bool:
    """Check whether the file that a baseline belongs to is there."""
    folder = baseline.parent.parent.parent
    return any(path.stem == baseline.parent.name for path in folder.iterdir())


def _file_of(baseline: Path) -> str:
    """Name the file that a baseline belonged to, as it is usually spelled."""
    stem = baseline.parent.name
    return f"{stem}.py" if stem.startswith("test_") else f"{stem}.yaml"


def _is_selection(config: pytest.Config) -> bool:
    names_items = any("::" in str(argument) for argument in config.args)
    return names_items or any(
        config.getoption(option, default=None) for option in _NO_SEARCH
    )


def unused_in(folder: Path, config: pytest.Config) -> list[Path]:
    """List the baselines in a ``__baselines__`` that nothing on disk uses."""
    declared = Declared.of(config)
    unused: list[Path] = []
    for name in visible_names(folder):
        place = folder / name
        baselines = _baselines_in(place)
        owners = declared.files_of_stem(folder.parent, name)
        collected = declared.benchmark_file_of(place)
        if owners == [f"{name}.py"]:
            unused += _unused_of_tests(folder.parent / owners[0], baselines, config)
        elif all(owner == collected for owner in owners):
            unused += [path for path in baselines if not declared.declares(path)]
    return unused


def _baselines_in(place: Path) -> list[Path]:
    paths = [place / name for name in visible_names(place)]
    return [path for path in paths if path.suffix == ".json" and path.is_file()]


def _unused_of_tests(
    file: Path, baselines: Sequence[Path], config: pytest.Config
) -> list[Path]:
    """List the baselines of a test file that no test uses any more."""
    declared = Declared.of(config)
    asked = declared.asked_in(file)
    ended = tuple(f"{test}-" for test in declared.ended_in(file))
    functions = _functions_of(file, config)
    text = _text_of(file) if functions else ""
    unused: list[Path] = []
    for path in baselines:
        name = path.stem.casefold()
        if name in asked:
            continue
        # a check of a test that made no such check
        is_of_ended_test = f"{name}-".startswith(ended)
        if is_of_ended_test or _is_of_removed_test(path.stem, functions, text):
            unused.append(path)
    return unused


def _is_of_removed_test(stem: str, functions: Collection[str], text: str) -> bool:
    """Check that a baseline's function is neither collected nor written in the file."""
    match = _FUNCTION.match(stem)
    if not text or match is None or match[0] in functions:
        return False
    function = match[0].rpartition(".")[2]
    return re.search(rf"\bdef {function}\b", text) is None


def _functions_of(file: Path, config: pytest.Config) -> set[str]:
    """Name the functions collected of a whole file, without parameters, also deselected ones."""
    names_items = any("::" in str(argument) for argument in config.args)
    if names_items or config.getoption("lf", default=False):
        return set()
    return {
        name_of_test(item).partition("[")[0]
        for item in config.stash.get(COLLECTED, ())
        if item.path == file and isinstance(item, pytest.Function)
    }


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def unused_lines(unused: Sequence[str]) -> list[str]:
    """Report the unused baselines of a run, and the way out."""
    which = many(len(unused), "unused baseline")
    them = "it" if len(unused) == 1 else "them"
    option = "evalmetrics baselines delete"
    return [f"{which}: `{option}` deletes {them}", *(f"    {path}" for path in unused)]


# -- --evalmetrics-delete-unused -------------------------------------------------------------


def handle_unused(config: pytest.Config, *, delete: bool) -> tuple[list[str], bool]:
    """List the unused baselines of a project, and delete them if asked to.

    Every benchmark file below the root folder is read, whatever the command line names.
    Returns the lines to print, and whether every unused baseline is deleted as asked.
    """
    lines: list[str] = []
    unused: list[Path] = []
    for folder in _folders_with_baselines(config):
        lines += _declare(folder.parent, config)
        unused += unused_in(folder, config)
    failures = 0
    for path in unused:
        lines.append(f"unused: {shown_below(path, config.rootpath)}")
        if not delete:
            continue
        try:
            _delete(path)
        except OSError as error:
            lines.append(f"  can't be deleted: {error.strerror or error}")
            failures += 1
    if not unused:
        lines.append("no baseline is unused")
    elif delete:
        deleted = many(len(unused) - failures, "unused baseline")
        lines.append(f"{deleted} deleted")
    else:
        count = many(len(unused), "unused baseline")
        which = "it" if len(unused) == 1 else "them"
        lines.append(f"{count}: `evalmetrics baselines delete` deletes {which}")
    return lines, not failures


def baseline_files(config: pytest.Config) -> Iterator[Path]:
    """Yield the baselines of a project."""
    for folder in _folders_with_baselines(config):
        for place in sorted(path for path in folder.iterdir() if path.is_dir()):
            yield from _baselines_in(place)


def _delete(path: Path) -> None:
    """Delete a baseline with its rows, and its folders if they are empty then."""
    path.unlink()
    rows_path_of(path).unlink(missing_ok=True)
    with suppress(OSError):  # another baseline is in it
        path.parent.rmdir()
        path.parent.parent.rmdir()


def _declare(folder: Path, config: pytest.Config) -> Iterator[str]:
    """Read the benchmark files of a folder, and yield a line for each that can't be read."""
    from pytest_evalmetrics.config import load_benchmarks  # only asked for here

    for file in sorted(folder.iterdir()):
        if not is_benchmark_file(file.name, config) or not file.is_file():
            continue
        shown = shown_below(file, config.rootpath)
        try:
            benchmarks = load_benchmarks(file, shown=shown)
        except ConfigError as error:
            if folder_of(file).is_dir():
                what = str(error).partition("\n")[0]
                yield f"kept: the baselines of {shown}: {what}"
            continue
        specs = [benchmark.spec for benchmark in benchmarks]
        Declared.of(config).add(file, specs)


def _folders_with_baselines(config: pytest.Config) -> Iterator[Path]:
    """Yield every ``__baselines__`` of a project, except in folders that pytest skips too."""
    patterns = [
        pattern for pattern in config.getini("norecursedirs") if "/" not in pattern
    ]
    skipped = [*patterns, FOLDER, "__pycache__", "node_modules"]
    for root, folders, files in os.walk(config.rootpath):
        if "pyvenv.cfg" in files:
            folders.clear()
        if FOLDER in folders:
            yield Path(root, FOLDER)
        folders[:] = [name for name in sorted(folders) if not _matches(name, skipped)]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)
