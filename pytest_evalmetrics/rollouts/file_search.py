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
                files.setdefault(file.shown if file.url else real(file.path), file)
            continue
        written = os.path.expanduser(pattern) if pattern.startswith("~") else pattern  # noqa: PTH111
        for path in _matches(pattern, base, base / written, takes):
            shown = _shown(path, base, absolute=os.path.isabs(written))  # noqa: PTH117 - many
            folder, name = os.path.split(path)
            place = os.path.join(real(folder), name)  # noqa: PTH118 - many
            place = real(place) if os.path.islink(place) else place  # noqa: PTH114 - many
            files.setdefault(place, RolloutFile(path, shown))
    return list(files.values())


def _matches(
    pattern: str, base: Path, whole: Path, takes: Callable[[Path], bool]
) -> list[Path]:
    names_folder = pattern.endswith(("/", os.sep))
    if os.path.isfile(whole):  # noqa: PTH113 - many; also run[1].jsonl, which looks like a glob
        if names_folder:
            raise DataError(f"{pattern!r} is a file, not a folder", hint=_LINK_AS_TEXT)
        return [whole]
    write_glob = f"write a glob such as '{pattern.rstrip('/')}/*.jsonl'"
    if whole.is_dir():
        if takes(whole):
            return [whole]
        raise DataError(f"{pattern!r} is a folder, not a file", hint=write_glob)
    if os.path.lexists(whole):  # a link that leads nowhere, a pipe
        return [whole]
    if not glob.has_magic(pattern):
        raise _no_file(pattern, base, whole)
    first = next(i for i, part in enumerate(whole.parts) if glob.has_magic(part))
    anchor = Path(*whole.parts[:first])
    magic = str(Path(*whole.parts[first:]))
    matches = sorted(glob.glob(magic, root_dir=anchor, recursive=True))  # noqa: PTH207 - names
    top = str(anchor)
    files = []
    if not names_folder:
        files = [anchor / m for m in matches if not os.path.isdir(os.path.join(top, m))]  # noqa: PTH112, PTH118 - many
    files = files or [anchor / m for m in matches if takes(anchor / m)]
    if matches and not files:
        raise DataError(
            f"{pattern!r} matches only folders: {layout.listed(matches, _NAMES)}",
            hint=write_glob,
        )
    if not files:
        problem = f"{pattern!r} matches no file"
        held = layout.listed(_names_in(anchor, base, problem), _NAMES) or "nothing"
        message = f"{problem}: searched {absolute(anchor)}, which holds: {held}"
        raise DataError(message, hint=f"{_relative(base)}; '**' means any depth")
    return files


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
    return (
        Path(text) if absolute and relative.parts[:1] == ("..",) else relative
    ).as_posix()
