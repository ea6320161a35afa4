"""The files that the paths, globs and URLs of a benchmark name."""

from __future__ import annotations

import glob
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalmetrics import layout
from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.rollouts.source import RolloutFile, absolute

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_FILLED_IN = (
    "{} is not filled in: in a path *, ? and ** stand for anything, several paths are a list, and "
    "a link, such as runs/latest, may lead to the files of each run"
)
_LINK_AS_TEXT = (
    "leave out the slash at its end; where it should be a link to a folder, check it out as one: "
    "git config core.symlinks true"
)
_NAMES = 10  # of a folder in a message
# what a shell or a template fills in
_FILLED_IN = re.compile(r"\$\{?\w+\}?|\{\{.*?\}\}|\{[^{}/]+\}|%\w+%")
_is_url = re.compile(r"[a-z][a-z0-9+.-]+://").match


def find_files(
    patterns: tuple[str, ...],
    base: Path,
    *,
    takes: Callable[[Path], bool] = lambda _: False,
    fetch: bool = True,
) -> list[RolloutFile]:
    """Find the files that paths and globs name, each once."""
    files: dict[str, RolloutFile] = {}  # by where each really is
    real = cache(os.path.realpath)  # of many files few folders
    for pattern in patterns:
        if _is_url(pattern):
            from pytest_evalmetrics.rollouts import remote  # takes an extra

            for file in remote.find(pattern, fetch=fetch):
                place = file.shown if file.url else real(file.path)
                files.setdefault(place, file)
            continue
        written = pattern
        if pattern.startswith("~"):
            written = os.path.expanduser(pattern)  # noqa: PTH111
        is_absolute = os.path.isabs(written)  # noqa: PTH117 - many
        for path in _matches(pattern, base, base / written, takes):
            folder, name = os.path.split(path)
            place = os.path.join(real(folder), name)  # noqa: PTH118 - many
            if os.path.islink(place):  # noqa: PTH114 - many
                place = real(place)
            shown = _shown(path, base, absolute=is_absolute)
            files.setdefault(place, RolloutFile(path, shown))
    return list(files.values())


def _matches(
    pattern: str, base: Path, whole: Path, takes: Callable[[Path], bool]
) -> list[Path]:
    """Find what a pattern names; `whole` is the path that it is in its folder."""
    if os.path.isfile(whole):  # noqa: PTH113 - many; also run[1].jsonl, which looks like a glob
        if _names_folder(pattern):
            raise DataError(f"{pattern!r} is a file, not a folder", hint=_LINK_AS_TEXT)
        return [whole]
    if whole.is_dir():
        if not takes(whole):
            message = f"{pattern!r} is a folder, not a file"
            raise DataError(message, hint=_write_glob(pattern))
        return [whole]
    if os.path.lexists(whole):  # a link that leads nowhere, a pipe
        return [whole]
    if not glob.has_magic(pattern):
        raise _no_file(pattern, base, whole)
    return _glob(pattern, base, whole, takes)


def _glob(
    pattern: str, base: Path, whole: Path, takes: Callable[[Path], bool]
) -> list[Path]:
    """Find the files that a glob matches, or else the folders that a format takes."""
    magic_parts = [n for n, part in enumerate(whole.parts) if glob.has_magic(part)]
    first = magic_parts[0]
    anchor = Path(*whole.parts[:first])
    magic = str(Path(*whole.parts[first:]))
    matches = sorted(glob.glob(magic, root_dir=anchor, recursive=True))  # noqa: PTH207 - names
    top = str(anchor)
    files: list[Path] = []
    names: list[str] = []  # of folders
    for match in matches:
        if os.path.isdir(os.path.join(top, match)):  # noqa: PTH112, PTH118 - many
            names.append(match)
        else:
            files.append(anchor / match)
    if files and not _names_folder(pattern):
        return files
    if not names:
        raise _no_match(pattern, base, anchor)
    folders = [anchor / name for name in names if takes(anchor / name)]
    if not folders:
        shown = layout.listed(names, _NAMES)
        message = f"{pattern!r} matches only folders: {shown}"
        raise DataError(message, hint=_write_glob(pattern))
    return folders


def _names_folder(pattern: str) -> bool:
    return pattern.endswith(("/", os.sep))


def _write_glob(pattern: str) -> str:
    return f"write a glob such as '{pattern.rstrip('/')}/*.jsonl'"


def _no_match(pattern: str, base: Path, anchor: Path) -> DataError:
    """Explain that a glob matches nothing, with what its folder holds."""
    problem = f"{pattern!r} matches no file"
    names = _names_in(anchor, base, problem)
    holds = layout.listed(names, _NAMES) or "nothing"
    message = f"{problem}: searched {absolute(anchor)}, which holds: {holds}"
    return DataError(message, hint=f"{_relative(base)}; '**' means any depth")


def _relative(base: Path) -> str:
    return f"paths are relative to {absolute(base)}"


def _no_file(pattern: str, base: Path, whole: Path) -> DataError:
    """Explain that a file is not there, with a name that may be meant."""
    problem = f"there is no file {pattern!r}"
    filled_in = _FILLED_IN.search(pattern)
    if filled_in is not None:
        return DataError(problem, hint=_NOT_FILLED_IN.format(filled_in[0]))
    names = _names_in(whole.parent, base, problem)
    guess = did_you_mean(whole.name, names, what=f"{absolute(whole.parent)} holds")
    return DataError(f"{problem}: {guess}", hint=_relative(base))


def _names_in(folder: Path, base: Path, problem: str) -> list[str]:
    if not folder.is_dir():
        missing = f"{problem}: there is no folder {absolute(folder)}"
        raise DataError(missing, hint=_relative(base))
    return sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths


def _shown(path: Path, base: Path, *, absolute: bool) -> str:
    text = os.path.normpath(path)
    below = f"{base}{os.sep}"
    if text.startswith(below):
        return text.removeprefix(below).replace(os.sep, "/")
    try:
        relative = Path(os.path.relpath(text, base))
    except ValueError:  # another drive
        return Path(text).as_posix()
    # an absolute path that leads elsewhere is easier to follow than a row of '..'
    if absolute and relative.parts[:1] == ("..",):
        return Path(text).as_posix()
    return relative.as_posix()
