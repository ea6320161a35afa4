"""Rollouts on other machines, through fsspec: copied whole, or read in parts."""

from __future__ import annotations

import atexit
import glob
import hashlib
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.source import (
    BOM,
    ENOUGH,
    SPACE,
    RolloutFile,
    Source,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXTRAS: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf"}
WEB: Final = ("http", "https")
# errors of fsspec's libraries, which share no class
_CUT: Final = (
    "ClientPayload",
    "IncompleteRead",
    "ServerDisconnected",
    "ResponseStreaming",
)
_UNREACHABLE: Final = {  # aiohttp's errors, the special ones first
    "ClientProxy": (
        "the proxy can't be reached",
        "the environment names it: HTTP_PROXY, HTTPS_PROXY; NO_PROXY lists hosts to reach without",
    ),
    "ClientConnectorDNS": ("there is no such host", "is its name spelled right?"),
    "ClientConnectorSSL": (
        "no encrypted connection can be made",
        "does the server speak plain HTTP? then write http://",
    ),
    "ClientConnectorCertificate": (
        "the server's certificate is not trusted",
        "SSL_CERT_FILE in the environment names a file of trusted certificates",
    ),
    "ClientConnector": (
        "the server can't be reached",
        "does it run, and are the host and the port right?",
    ),
}
_secret = re.compile(r"(?<=://)[^/@\s]+@|\?[^\s'\")]*").sub
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
    with _explained(url):
        system, path = system_of(url)
        files = _files(system, path, url)
        return [_copy(system, each, file) if fetch else file for each, file in files]


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn errors of a remote place into data errors."""
    shown = _secret("", url)
    try:
        yield
    except DataError:
        raise
    except ImportError as error:
        scheme = urlsplit(url).scheme
        extra = "http" if scheme in WEB else _EXTRAS.get(scheme)
        how = f'pip install "pytest-evalmetrics[{extra}]"' if extra else _message(error)
        what = f"reading {scheme}:// takes a package that is not installed ({_message(error)})"
        raise DataError(what, file=shown, hint=f"install it: {how}") from error
    except Exception as error:
        what, hint = _explanation(shown, error)
        raise DataError(what, file=shown, hint=hint) from error


def system_of(url: str) -> tuple[Any, str]:
    """Make a file system of fsspec, and give the path in it that a URL names."""
    import fsspec  # an extra, and only where a file lies elsewhere

    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if urlsplit(url).scheme in WEB:
        options = {
            "skip_instance_cache": True,
            "client_kwargs": {"trust_env": True},
        }  # proxies
    system, path = fsspec.core.url_to_fs(url, **options)
    return system, str(path)


_cached_system = lru_cache(maxsize=1)(
    system_of
)  # the parts of a file come one after the other


def _files(system: Any, path: str, url: str) -> Iterator[tuple[str, RolloutFile]]:
    """Yield the files that a URL names, each with its path in its system."""
    shown, is_web = _secret("", url), urlsplit(url).scheme in WEB
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
        yield each, RolloutFile(name, _secret("", whole), whole, size)


def _copy(system: Any, path: str, file: RolloutFile) -> RolloutFile:
    local = _folder() / hashlib.sha256(path.encode()).hexdigest()[:16] / file.path
    local.parent.mkdir(exist_ok=True)
    options = {"block_size": 0} if urlsplit(path).scheme in WEB else {}  # one stream
    with system.open(path, "rb", **options) as there, local.open("wb") as here:
        shutil.copyfileobj(there, here, 1 << 20)
    if file.size is not None:
        _must_be_whole(file.shown, local.stat().st_size, file.size)
    return RolloutFile(local, file.shown)


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="evalmetrics-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _explanation(shown: str, error: Exception) -> tuple[str, str | None]:
    # over HTTP, fsspec raises FileNotFoundError whatever happened
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    status, kind = getattr(cause, "status", None), type(cause).__name__
    denied = status in (401, 403) or isinstance(error, PermissionError)
    if denied or "Credentials" in type(error).__name__:
        hint = (
            "are the credentials set, and not expired? they come from the environment, or "
            "from where the tools of this place keep them"
        )
        return f"access is denied: {_message(cause if denied else error)}", hint
    if isinstance(error, FileNotFoundError) and (
        cause is error or status in (404, 410)
    ):
        return "there is no such file", None
    is_cut = kind.startswith(_CUT) or type(error).__name__.startswith(_CUT)
    if is_cut or isinstance(error, ConnectionResetError):
        what = (
            f"the connection was closed before all of it had arrived: {_message(cause)}"
        )
        return what, "try again; or copy the file here, and name the copy"
    if isinstance(cause, ValueError) and shown.startswith(
        WEB
    ):  # also UnicodeError, InvalidURL
        return (
            f"this is not a valid URL: {_message(cause)}",
            "is its host spelled right?",
        )
    what, hint = next(
        (texts for name, texts in _UNREACHABLE.items() if kind.startswith(name)),
        (
            "this can't be fetched",
            "is the place reachable from here, and the name right?",
        ),
    )
    return f"{what}: {_message(cause)}", hint


def _message(error: Exception) -> str:
    return shortened(
        " ".join(_secret("", str(error)).split()) or type(error).__name__, 200
    )


def _must_be_whole(shown: str, arrived: int, size: int) -> None:
    if arrived != size:
        hint = "was the connection cut, or is the file being written? try again"
        raise DataError(
            f"only {arrived} of {size} bytes arrived", file=shown, hint=hint
        )


def look(file: RolloutFile) -> Source | None:
    """Read the start of a file."""
    url, size = file.url or "", file.size
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


def read_range(url: str, shown: str, start: int, stop: int) -> bytes:
    """Read some bytes of a file."""
    with _explained(url):
        system, path = _cached_system(url)
        data = bytes(system.cat_file(path, start=start, end=stop))
    _must_be_whole(shown, len(data), stop - start)
    return data


def line_ends(source: Source, size: int) -> list[int]:
    """Find where lines end, one in about each `size` bytes, and where the file does."""
    url, total = source.url or "", source.size
    ends: set[int] = {total}
    starts = [at - 1 for at in range(size, total, size)]
    peeked = _PEEKED
    while starts:
        stops = [min(start + peeked, total) for start in starts]
        with _explained(url):
            system, path = _cached_system(url)
            texts = system.cat_ranges(
                [path] * len(starts), starts, stops, on_error="raise"
            )
        longer = []
        following = [*starts[1:], total]
        for start, stop, text, after in zip(
            starts, stops, texts, following, strict=True
        ):
            _must_be_whole(source.shown, len(text), stop - start)
            if end := text.find(b"\n") + 1:
                ends.add(start + end)
            elif stop < after:  # otherwise the line also covers the next start
                longer.append(stop)
        starts, peeked = longer, 4 * peeked
    return sorted(ends)


def _gives_parts(url: str) -> bool:
    """Detect whether a server can send parts of a file."""
    with _explained(url), suppress(ValueError):
        system, path = _cached_system(url)
        with system.open(path, "rb", cache_type="none") as file:
            file.seek(1)
            return len(file.read(1)) == 1
    return False
