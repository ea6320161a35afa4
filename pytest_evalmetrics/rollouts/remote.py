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
from typing import TYPE_CHECKING, Any, Final
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
        return [_copy(system, each, file) if fetch else file for each, file in files]


def _files(system: Any, path: str, url: str) -> Iterator[tuple[str, RolloutFile]]:
    """Yield the files that a URL names, each with its path in its system."""
    shown = without_secrets("", url)
    is_web = urlsplit(url).scheme in WEB
    paths = [path]
    if not is_web and glob.has_magic(path):  # a question mark starts a query in the web
        paths = sorted(each for each in system.glob(path) if not system.isdir(each))
        if not paths:
            raise DataError("this matches no file", file=shown)
    elif not is_web and system.isdir(path):
        hint = f"write a glob such as '{shown.rstrip('/')}/*.jsonl', or copy the folder here"
        raise DataError("this is a folder, not a file", file=shown, hint=hint)
    for each in paths:
        whole = url if each == path else str(system.unstrip_protocol(each))
        size = system.info(each).get("size")
        name = Path(Path(urlsplit(each).path).name or "rollouts")
        size = size if isinstance(size, int) else None
        yield each, RolloutFile(name, without_secrets("", whole), whole, size)


def _copy(system: Any, path: str, file: RolloutFile) -> RolloutFile:
    local = _folder() / hashlib.sha256(path.encode()).hexdigest()[:16] / file.path
    local.parent.mkdir(exist_ok=True)
    options = {"block_size": 0} if urlsplit(path).scheme in WEB else {}  # one stream
    with system.open(path, "rb", **options) as there, local.open("wb") as here:
        shutil.copyfileobj(there, here, 1 << 20)
    if file.size is not None:
        must_be_whole(file.shown, local.stat().st_size, file.size)
    return RolloutFile(local, file.shown)


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
            if end := text.find(b"\n") + 1:
                ends.add(start + end)
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
