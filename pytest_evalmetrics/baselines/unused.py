"""``--evalmetrics-delete-unused``: the baselines of a whole project that nothing has any more."""

from __future__ import annotations

import os
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.in_tests import collected_tests
from pytest_evalmetrics.baselines.naming import FOLDER, folder_of
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

__all__ = ["handle_unused"]


def handle_unused(config: pytest.Config, *, delete: bool) -> tuple[list[str], bool]:
    """List the unused baselines below the root folder, and delete them where that is asked for.

    Every benchmark file of the root folder is read, whatever the command line names. A baseline
    of a test is unused where its file is gone, or was collected whole and has no such test.

    Parameters
    ----------
    config
        pytest's, of a run that has collected.
    delete
        Whether they are deleted; else they are listed alone.

    Returns
    -------
    lines, done
        What was found and done; and whether all that was to be deleted is gone.
    """
    lines: list[str] = []
    declared, tests = Declared(config.getini("evalmetrics_files")), collected_tests(config)
    unused: list[Path] = []
    for folder in _folders_with_baselines(config):
        lines += _declare(declared, folder.parent, config)
        unused += declared.orphans(folder, tests)
    failures = 0
    for path in unused:
        lines.append(f"unused: {_shown(path, config)}")
        why = _remove(path) if delete else ""
        if why:
            lines.append(f"  can't be deleted: {why}")
            failures += 1
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
    for file in sorted(folder.iterdir()):
        patterns = config.getini("evalmetrics_files")
        if not any(fnmatch(file.name, pattern) for pattern in patterns) or not file.is_file():
            continue
        try:
            benchmarks = load_benchmarks(file, shown=_shown(file, config))
            declared.add(file, [benchmark.spec for benchmark in benchmarks])
        except ConfigError as error:
            if folder_of(file).is_dir():
                what = str(error).partition("\n")[0]
                yield f"kept: the baselines of {_shown(file, config)}: {what}"


def _remove(path: Path) -> str:
    """Remove a baseline, with the folders that are empty then; say why it can't be."""
    try:
        path.unlink()
        path.with_name(f"{path.stem}.rows.jsonl.gz").unlink(missing_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    for folder in (path.parent, path.parent.parent):
        with suppress(OSError):  # there is something else in it
            folder.rmdir()
    return ""


def _folders_with_baselines(config: pytest.Config) -> Iterator[Path]:
    """Yield every ``__baselines__`` of a project, but of folders that pytest passes over too."""
    skipped = [pattern for pattern in config.getini("norecursedirs") if "/" not in pattern]
    for root, folders, files in os.walk(config.rootpath):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        if FOLDER in folders:
            yield Path(root, FOLDER)
        folders[:] = sorted(
            name
            for name in folders
            if name not in (FOLDER, "__pycache__", "node_modules")
            and not any(fnmatch(name, pattern) for pattern in skipped)
        )


def _shown(path: Path, config: pytest.Config) -> str:
    here = config.rootpath
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
