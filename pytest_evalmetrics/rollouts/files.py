"""Paths and globs of a benchmark file to files."""

from __future__ import annotations

import glob
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SHOWN = 10  # names of a folder in a message
LARGE = 128 << 20  # bytes from which on a second process saves more than its start costs
_UNPACKED = {".gz": 4, ".zst": 4}  # times as much text as compressed bytes, about
_RELATIVE = "paths are relative to the folder of the benchmark file"
is_url = re.compile(r"[a-z][a-z0-9+.-]+://").match


class RolloutFile(msgspec.Struct, frozen=True):
    """A file that holds rollouts."""

    path: Path  # where it is
    shown: str  # as a user would write it: relative to the benchmark file, with ``/``
    url: str | None = None  # where it is, if it is not here yet: then `path` is only its name
    size: int | None = None  # bytes of one that is not here yet, where its place says so
    data: bytes | None = None  # its bytes, if the benchmark file itself holds them


def absolute(folder: Path) -> Path:
    """Give a folder's place from the root on, without following links."""
    return Path(os.path.abspath(folder))  # noqa: PTH100 - resolves '..' without following links


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
        if is_url(pattern):
            from pytest_evalmetrics.rollouts import remote  # noqa: PLC0415 - takes an extra

            for file in (remote.fetch if fetch else remote.find)(pattern):
                files.setdefault(file.shown if file.url else real(file.path), file)
            continue
        written = os.path.expanduser(pattern) if pattern.startswith("~") else pattern  # noqa: PTH111
        for path in _matches(pattern, base / written, takes):
            shown = _shown(path, base, absolute=os.path.isabs(written))  # noqa: PTH117 - many
            folder, name = os.path.split(path)
            place = os.path.join(real(folder), name)  # noqa: PTH118 - many
            place = real(place) if os.path.islink(place) else place  # noqa: PTH114 - many
            files.setdefault(place, RolloutFile(path, shown))
    return list(files.values())


def _matches(pattern: str, whole: Path, takes: Callable[[Path], bool]) -> list[Path]:
    if os.path.isfile(whole):  # noqa: PTH113 - many; also run[1].jsonl, which looks like a glob
        return [whole]
    write_glob = f"write a glob such as '{pattern.rstrip('/')}/*.jsonl'"
    if whole.is_dir():
        if takes(whole):
            return [whole]
        raise DataError(f"{pattern!r} is a folder, not a file", hint=write_glob)
    if os.path.lexists(whole):  # a link that leads nowhere, a pipe
        return [whole]
    if not glob.has_magic(pattern):
        there, names = _contents(whole.parent)
        there = there or did_you_mean(whole.name, names, what=f"{absolute(whole.parent)} holds")
        raise DataError(f"there is no file {pattern!r}: {there}", hint=_RELATIVE)
    first = next(i for i, part in enumerate(whole.parts) if glob.has_magic(part))
    anchor, magic = Path(*whole.parts[:first]), str(Path(*whole.parts[first:]))
    matches = sorted(glob.glob(magic, root_dir=anchor, recursive=True))  # noqa: PTH207 - names
    top = str(anchor)
    files = [anchor / m for m in matches if not os.path.isdir(os.path.join(top, m))]  # noqa: PTH112, PTH118 - many
    files = files or [anchor / m for m in matches if takes(anchor / m)]
    if matches and not files:
        raise DataError(f"{pattern!r} matches only folders: {_listed(matches)}", hint=write_glob)
    if not files:
        there, names = _contents(anchor)
        there = there or f"searched {absolute(anchor)}, which holds: {_listed(names)}"
        hint = f"{_RELATIVE}; '**' means any depth"
        raise DataError(f"{pattern!r} matches no file: {there}", hint=hint)
    return files


def _contents(folder: Path) -> tuple[str, list[str]]:
    """List the names in a folder; say so where there is none."""
    if not folder.is_dir():
        return f"there is no folder {absolute(folder)}", []
    return "", sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths


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
    return (Path(text) if absolute and relative.parts[:1] == ("..",) else relative).as_posix()


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) + more) or "nothing"


def is_large(files: Sequence[RolloutFile]) -> bool:
    """Whether files are worth several processes."""
    total = 0
    for file in files:
        try:
            size = file.path.stat().st_size if file.url is None else file.size or 0
        except OSError:  # its turn comes
            return False
        total += size * _UNPACKED.get(file.path.suffix, 1)
    return total >= LARGE
