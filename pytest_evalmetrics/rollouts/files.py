"""Paths and globs of a benchmark file to files."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SHOWN = 10  # names of a folder in a message
LARGE = 128 << 20  # bytes from which on a second process saves more than its start costs
_UNPACKED = {".gz": 4, ".zst": 4}  # times as much text as compressed bytes, about
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
    given = str(folder)
    text = os.path.abspath(given)  # noqa: PTH100 - the same
    return folder if text == given else Path(text)


def find_files(
    patterns: tuple[str, ...],
    base: Path,
    *,
    takes: Callable[[Path], bool] = lambda _: False,
    fetch: bool = True,
) -> list[RolloutFile]:
    """Find the files that paths and globs name, each once."""
    found: list[RolloutFile] = []
    for pattern in patterns:
        if is_url(pattern):
            from pytest_evalmetrics.rollouts import remote  # noqa: PLC0415 - takes an extra

            get = remote.fetch if fetch else remote.find
            found += get(pattern)
            continue
        written = os.path.expanduser(pattern) if pattern.startswith("~") else pattern  # noqa: PTH111
        for path in _matches(pattern, base / written, takes):
            shown = _shown(path, base, absolute=os.path.isabs(written))  # noqa: PTH117 - many
            found.append(RolloutFile(path, shown))
    return found if len(found) < 2 else _each_once(found)  # noqa: PLR2004 - alone


def _each_once(files: list[RolloutFile]) -> list[RolloutFile]:
    once: dict[str, RolloutFile] = {}
    folders: dict[str, str] = {}  # where each really is: of many files few
    for file in files:
        name = file.shown
        if not file.url:
            folder, base = os.path.split(file.path)
            if folder not in folders:
                folders[folder] = os.path.realpath(folder)
            name = os.path.join(folders[folder], base)  # noqa: PTH118 - many
            if os.path.islink(name):  # noqa: PTH114 - many
                name = os.path.realpath(name)
        once.setdefault(name, file)
    return list(once.values())


def _matches(pattern: str, whole: Path, takes: Callable[[Path], bool]) -> list[Path]:
    if os.path.isfile(whole):  # noqa: PTH113 - many; also run[1].jsonl, which looks like a glob
        return [whole]
    if whole.is_dir():
        if takes(whole):
            return [whole]
        raise DataError(
            f"{pattern!r} is a folder, not a file",
            hint=f"write a glob such as '{pattern.rstrip('/')}/*.jsonl'",
        )
    if os.path.lexists(whole):  # a link that leads nowhere, a pipe
        return [whole]
    if not glob.has_magic(pattern):
        raise _no_file(pattern, whole)
    anchor, magic = _split(whole)
    matches = sorted(glob.glob(magic, root_dir=anchor, recursive=True))  # noqa: PTH207 - names
    top = str(anchor)
    files = [anchor / m for m in matches if not os.path.isdir(os.path.join(top, m))]  # noqa: PTH112, PTH118 - many
    if not files:
        files = [anchor / m for m in matches if takes(anchor / m)]
    if not files:
        raise _no_match(pattern, anchor, folders=matches)
    return files


def _split(whole: Path) -> tuple[Path, str]:
    """Split a path into the folder before its first wildcard, and the rest."""
    parts = whole.parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]), str(Path(*parts[first:]))


def _shown(path: Path, base: Path, *, absolute: bool) -> str:
    text = os.path.normpath(path)
    below = f"{base}{os.sep}"
    if text.startswith(below):
        return text.removeprefix(below).replace(os.sep, "/")
    plain = Path(text)
    try:
        relative = Path(os.path.relpath(plain, base))
    except ValueError:  # another drive
        return plain.as_posix()
    # an absolute path that leads elsewhere is easier to follow than a row of '..'
    return (plain if absolute and relative.parts[:1] == ("..",) else relative).as_posix()


def _no_file(pattern: str, whole: Path) -> DataError:
    folder = whole.parent
    if folder.is_dir():
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names, not paths
        there = did_you_mean(whole.name, names, what=f"{_absolute(folder)} holds")
    else:
        there = f"there is no folder {_absolute(folder)}"
    return DataError(
        f"there is no file {pattern!r}: {there}",
        hint="paths are relative to the folder of the benchmark file",
    )


def _no_match(pattern: str, anchor: Path, *, folders: list[str]) -> DataError:
    if folders:
        return DataError(
            f"{pattern!r} matches only folders: {_listed(folders)}",
            hint=f"write a glob such as '{pattern.rstrip('/')}/*.jsonl'",
        )
    there = f"there is no folder {_absolute(anchor)}"
    if anchor.is_dir():
        names = sorted(os.listdir(anchor))  # noqa: PTH208 - names, not paths
        there = f"searched {_absolute(anchor)}, which holds: {_listed(names)}"
    return DataError(
        f"{pattern!r} matches no file: {there}",
        hint="paths are relative to the folder of the benchmark file; '**' means any depth",
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) + more) or "nothing"


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - resolves '..' without following links


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
