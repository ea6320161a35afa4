"""Where baselines lie: one file per benchmark, with a name for every file system."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FOLDER", "baseline_file", "file_name", "folder_of", "shown_below"]

FOLDER = "__baselines__"

_PLAIN = re.compile(r"[A-Za-z0-9_.+ -]+")
_LONGEST = 100
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


@lru_cache(maxsize=1024)  # one for each item, and again for syrupy
def folder_of(file: Path) -> Path:
    """Return where the baselines of a benchmark file lie: in a folder of its own beside it."""
    return file.parent.joinpath(FOLDER, file.stem)


@lru_cache(maxsize=1024)  # syrupy asks several times for each
def baseline_file(file: Path, benchmark: str) -> Path:
    """Return where the baseline of a benchmark lies."""
    return file.parent.joinpath(FOLDER, file.stem, f"{file_name(benchmark)}.json")


def shown_below(path: Path, root: Path) -> str:
    """Call a file as messages do: relative to pytest's root folder, where it is below it."""
    text, above = str(path), os.path.join(root, "")  # noqa: PTH118 - many
    if text.startswith(above):  # pathlib takes its time
        return text.removeprefix(above).replace(os.sep, "/")
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return str(path)


def file_name(benchmark: str) -> str:
    """Escape a benchmark's name, so that no two share a file."""
    parts = [*benchmark]
    if not _PLAIN.fullmatch(benchmark):
        parts = [c if _PLAIN.fullmatch(c) else _hex(c) for c in benchmark]
    if parts and parts[0] == ".":  # hidden
        parts[0] = _hex(".")
    if parts and parts[-1] in (".", " "):  # which Windows drops
        parts[-1] = _hex(parts[-1])
    if _RESERVED.fullmatch("".join(parts)):  # devices of Windows
        parts[0] = _hex(parts[0])
    escaped = "".join(parts)
    if len(escaped) <= _LONGEST:
        return escaped
    digest = blake2b(_utf8(benchmark), digest_size=8).hexdigest()
    return f"{escaped[:_LONGEST]}%{digest}"


def _hex(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in _utf8(character))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
