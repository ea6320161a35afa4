"""Which files of a folder are its rollouts: one glob, and the files that it leaves out."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.rollouts.loaders.harbor import is_trials_folder
from pytest_evalmetrics.rollouts.run_sidecars import sidecars_among

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# the endings of rollouts; where a folder holds equally many of two, the first one counts
_ENDINGS: Final = (
    "jsonl",
    "jsonl.gz",
    "jsonl.zst",
    "json",
    "parquet",
    "csv",
    "eval",
)


class FolderFiles(msgspec.Struct, frozen=True):
    """The rollouts of a folder.

    Attributes
    ----------
    pattern
        A glob; the folder itself if its format reads folders, or if it holds no file of a known
        kind.
    left_out
        Files that may be rollouts too, relative to the folder, which the glob does not match.
    """

    pattern: str
    left_out: tuple[str, ...] = ()


def files_in(folder: str, base: Path) -> FolderFiles:
    """Choose the files of a folder that are its rollouts: those of the most frequent kind.

    Parameters
    ----------
    folder
        The folder, absolute or relative to `base`; the glob begins with it.
    base
        The folder that paths are relative to.
    """
    top = base / folder
    if is_trials_folder(top):
        return FolderFiles(pattern=folder)
    files = set(_files_below(top))
    endings = _endings_of(files - sidecars_among(files))
    counts = Counter(endings.values())
    if not counts:
        return FolderFiles(pattern=folder)
    ending = max(_ENDINGS, key=lambda name: counts[name])
    # the same kind of file may be compressed or not
    alike = {name for name in counts if _kind(name) == _kind(ending)}
    chosen = {path for path, name in endings.items() if name in alike}
    name = ending if alike == {ending} else f"{_kind(ending)}*"
    below = "**/"
    # the folder's own files, if it has any
    if any(path.parent == top for path in chosen):
        below = ""
        chosen = {path for path in chosen if path.parent == top}
    left_out = [path.relative_to(top).as_posix() for path in endings.keys() - chosen]
    glob = (Path(folder) / f"{below}*.{name}").as_posix()
    return FolderFiles(pattern=glob, left_out=tuple(sorted(left_out)))


def _endings_of(files: Iterable[Path]) -> dict[Path, str]:
    """Find the endings of the files that may hold rollouts."""
    endings = {}
    for path in files:
        ending = _ending(path.name)
        if ending:
            endings[path] = ending
    return endings


def _files_below(top: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those below it, without hidden ones and baselines."""
    seen: set[str] = set()  # folders that links lead to, too
    for place, folders, names in os.walk(top, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in names:
            if not name.startswith("."):
                yield Path(place) / name


def _kind(ending: str) -> str:
    """Return the ending without that of the compression."""
    return ending.partition(".")[0]


def _ending(name: str) -> str:
    """Return the ending of a file that may hold rollouts; else nothing."""
    for ending in _ENDINGS:
        if name.endswith(f".{ending}"):
            return ending
    return ""
