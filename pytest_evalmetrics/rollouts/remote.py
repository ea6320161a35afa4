"""Rollouts on other machines, through fsspec: copied whole, or read in parts."""

from __future__ import annotations

import atexit
import glob
import hashlib
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import urlsplit

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.remote_access import (
    WEB,
    cached_system,
    explained_remote,
    must_be_whole,
    read_range,
    system_of,
    without_secrets,
)
from pytest_evalmetrics.rollouts.source import (
    BOM,
    ENOUGH,
    SPACE,
    RolloutFile,
    Source,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.rollouts.remote_access import FileSystem

# others may fetch a whole file for each of its parts, or lie in this process alone
_RANGED: Final = frozenset(
    {
        *WEB,
        "s3",
        "s3a",
        "gs",
        "gcs",
        "hf",
        "az",
        "abfs",
        "abfss",
        "adl",
        "file",
        "local",
    }
)
_PEEKED: Final = 1 << 16  # bytes in which the end of a line is looked for at a time


def find(url: str, *, fetch: bool) -> list[RolloutFile]:
    """Find the files that a URL or a glob in one names, and copy them here if wanted."""
    with explained_remote(url):
        system, path = system_of(url)
        files = _files(system, path, url)
        if not fetch:
            return [file for _, file in files]
        return [_copy(system, place, file) for place, file in files]


def _files(
    system: FileSystem, path: str, url: str
) -> Iterator[tuple[str, RolloutFile]]:
    """Yield the files that a URL names, each with its path in its system."""
    for place in _paths(system, path, url):
        whole = url
        if place != path:
            whole = system.unstrip_protocol(place)
        size = system.info(place).get("size")
        yield (
            place,
            RolloutFile(
                path=Path(Path(urlsplit(place).path).name or "rollouts"),
                shown=without_secrets("", whole),
                url=whole,
                size=size if isinstance(size, int) else None,
            ),
        )


def _paths(system: FileSystem, path: str, url: str) -> list[str]:
    """List the paths that a URL means: one, or those that match a glob."""
    if urlsplit(url).scheme in WEB:
        return [path]
    shown = without_secrets("", url)
    # a question mark starts a query in the web
    if glob.has_magic(path):
        matches = sorted(
            match for match in system.glob(path) if not system.isdir(match)
        )
        if not matches:
            raise DataError("this matches no file", file=shown)
        return matches
    if system.isdir(path):
        hint = f"write a glob such as '{shown.rstrip('/')}/*.jsonl', or copy the folder here"
        raise DataError("this is a folder, not a file", file=shown, hint=hint)
    return [path]


def _copy(system: FileSystem, path: str, file: RolloutFile) -> RolloutFile:
    """Copy a file here."""
    local = _folder() / hashlib.sha256(path.encode()).hexdigest()[:16] / file.path
    local.parent.mkdir(exist_ok=True)
    with _opened(system, path) as there, local.open("wb") as here:
        shutil.copyfileobj(there, here, 1 << 20)
    if file.size is not None:
        must_be_whole(file.shown, local.stat().st_size, file.size)
    return RolloutFile(local, file.shown)


def _opened(system: FileSystem, path: str) -> BinaryIO:
    """Open a file to be read from its start to its end; of the web as one stream."""
    if urlsplit(path).scheme in WEB:
        return system.open(path, "rb", block_size=0)
    return system.open(path, "rb")


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="evalmetrics-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def look(file: RolloutFile) -> Source | None:
    """Read the start of a file."""
    url = file.url or ""
    size = file.size
    scheme = urlsplit(url).scheme
    if scheme not in _RANGED or not size:
        return None
    if scheme in WEB and not _gives_parts(url):
        return None
    start = min(size, ENOUGH)
    head = read_range(url, file.shown, 0, start).removeprefix(BOM).lstrip(SPACE)
    if not head.startswith(b"{"):
        return None
    # the URL identifies the file, as the path does for local files
    return Source(Path(file.shown), file.shown, size, head, span=(0, start), url=url)


def line_ends(source: Source, size: int) -> list[int]:
    """Find where lines end, one in about each `size` bytes, and where the file does."""
    url = source.url or ""
    total = source.size
    ends: set[int] = {total}
    starts = [at - 1 for at in range(size, total, size)]
    peeked = _PEEKED
    while starts:
        stops = [min(start + peeked, total) for start in starts]
        with explained_remote(url):
            system, path = cached_system(url)
            texts = system.cat_ranges(
                [path] * len(starts), starts, stops, on_error="raise"
            )
        longer = []
        following = [*starts[1:], total]
        for start, stop, text, after in zip(
            starts, stops, texts, following, strict=True
        ):
            must_be_whole(source.shown, len(text), stop - start)
            line_break = text.find(b"\n")
            if line_break >= 0:
                ends.add(start + line_break + 1)
            elif stop < after:  # otherwise the line also covers the next start
                longer.append(stop)
        starts = longer
        peeked = 4 * peeked
    return sorted(ends)


def _gives_parts(url: str) -> bool:
    """Detect whether a server can send parts of a file."""
    with explained_remote(url), suppress(ValueError):
        system, path = cached_system(url)
        with system.open(path, "rb", cache_type="none") as file:
            file.seek(1)
            return len(file.read(1)) == 1
    return False
