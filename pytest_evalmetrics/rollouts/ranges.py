"""Files on other machines read in parts, where their place gives out parts."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.peek import ENOUGH
from pytest_evalmetrics.rollouts.remote import WEB, in_words, system_of
from pytest_evalmetrics.rollouts.source import BOM, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.rollouts.files import RolloutFile

__all__ = ["line_ends", "look", "read_range"]

# others may fetch a whole file for each of its parts, or lie in this process alone
_PLACES: Final = frozenset(
    {*WEB, "s3", "s3a", "gs", "gcs", "hf", "az", "abfs", "abfss", "adl", "file", "local"}
)
_SPACE: Final = b" \t\r\n"
_PEEKED: Final = 1 << 16  # bytes in which the end of a line is looked for at a time


def look(file: RolloutFile) -> Source | None:
    """Look at the start of a file."""
    url, size = file.url or "", file.size
    scheme = urlsplit(url).scheme
    if scheme not in _PLACES or not size:
        return None
    if scheme in WEB and not _asked(file.shown, partial(_gives_parts, url)):
        return None
    start = min(size, ENOUGH)
    head = read_range(url, file.shown, 0, start).removeprefix(BOM).lstrip(_SPACE)
    if not head.startswith(b"{"):
        return None
    # its name tells files apart, as the path does of those that are here
    return Source(Path(file.shown), file.shown, size, head, span=(0, start), url=url)


def read_range(url: str, shown: str, start: int, stop: int) -> bytes:
    """Read some bytes of a file."""

    def read() -> Any:
        system, path = _system(url)
        return system.cat_file(path, start=start, end=stop)

    found = bytes(_asked(shown, read))
    if len(found) != stop - start:
        raise _other_length(shown, len(found), stop - start)
    return found


def line_ends(source: Source, size: int) -> list[int]:
    """Find where lines end, one in about each `size` bytes, and where the file does."""
    url, total = source.url or "", source.size
    ends: set[int] = {total}
    starts = [at - 1 for at in range(size, total, size)]
    peeked = _PEEKED
    while starts:
        stops = [min(start + peeked, total) for start in starts]
        texts = _asked(source.shown, partial(_parts, url, starts, stops))
        longer = []
        following = [*starts[1:], total]
        for start, stop, text, after in zip(starts, stops, texts, following, strict=True):
            if len(text) != stop - start:
                raise _other_length(source.shown, len(text), stop - start)
            found = text.find(b"\n")
            if found >= 0:
                ends.add(start + found + 1)
            elif stop < after:  # else the line is the next one's, too
                longer.append(stop)
        starts, peeked = longer, 4 * peeked
    return sorted(ends)


def _parts(url: str, starts: Sequence[int], stops: Sequence[int]) -> list[bytes]:
    system, path = _system(url)
    found: list[bytes] = system.cat_ranges([path] * len(starts), starts, stops, on_error="raise")
    return found


def _gives_parts(url: str) -> bool:
    """Ask for a byte: some servers answer with the whole file, of which nothing is read then."""
    system, path = _system(url)
    with system.open(path, "rb", cache_type="none") as file:
        try:
            file.seek(1)
            return len(file.read(1)) == 1
        except ValueError:
            return False


@lru_cache(maxsize=1)  # the parts of a file come one after the other
def _system(url: str) -> tuple[Any, str]:
    return system_of(url)


def _asked(shown: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        raise in_words(shown, error) from error


def _other_length(shown: str, found: int, expected: int) -> DataError:
    return DataError(
        f"only {found} of {expected} bytes arrived",
        file=shown,
        hint="was the connection cut, or is the file being written? try again",
    )
