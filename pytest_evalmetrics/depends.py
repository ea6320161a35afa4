"""The files that a benchmark depends on: globs relative to the folder of its file."""

from __future__ import annotations

import glob
import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOCK = 2**20


def files_of(pattern: str, folder: Path) -> list[Path]:
    """List the files that a glob matches, also inside of the folders that it matches."""
    found: set[Path] = set()
    # Path.glob takes no absolute pattern
    for name in glob.iglob(pattern, root_dir=folder, recursive=True):  # noqa: PTH207
        path = folder / name
        if path.is_dir():
            found.update(file for file in path.rglob("*") if _counts(file))
        elif _counts(path):
            found.add(path)
    return sorted(found)


def _counts(path: Path) -> bool:
    """Check for a file that is not compiled from another one."""
    return path.is_file() and "__pycache__" not in path.parts


def unmatched(patterns: Iterable[str], folder: Path) -> list[str]:
    """List the globs that match no file: changes of it would go unseen."""
    return [pattern for pattern in patterns if not files_of(pattern, folder)]


def digest(patterns: Iterable[str], folder: Path) -> str:
    """Hash the names and the content of the files that globs match."""
    files = {file for pattern in patterns for file in files_of(pattern, folder)}
    names = {os.path.relpath(file, folder): file for file in files}
    whole = blake2b(digest_size=8)
    for name in sorted(names):
        content = blake2b(digest_size=16)
        for block in _blocks(names[name]):
            content.update(block)
        posix_name = Path(name).as_posix()
        whole.update(posix_name.encode("utf-8", "surrogateescape") + b"\0")
        whole.update(content.digest())
    return whole.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def matches(pattern: str, folder: Path, path: Path) -> bool:
    """Check whether a glob matches a path, or a folder above it; the path need not exist."""
    whole = Path(os.path.normpath(folder / pattern)).as_posix()
    return re.fullmatch(_translated(whole), path.as_posix()) is not None


def _translated(pattern: str) -> str:
    """Write a glob as a regular expression; a match of a folder includes what is in it."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append("(?:[^/]+/)*")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "*":
            parts.append("[^/]*")
            at += 1
        elif pattern[at] == "?":
            parts.append("[^/]")
            at += 1
        elif pattern[at] == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            choice = pattern[at + 1 : end].replace("\\", "\\\\")
            if choice.startswith("!"):
                choice = f"^{choice[1:]}"
            parts.append(f"[{choice}]")
            at = end + 1
        else:
            parts.append(re.escape(pattern[at]))
            at += 1
    return f"{''.join(parts)}(?:/.*)?"
