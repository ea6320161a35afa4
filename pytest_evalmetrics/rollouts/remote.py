"""Rollouts on other machines, through fsspec: copied whole, or read in parts."""

from __future__ import annotations

import atexit
import glob
import hashlib
import re
import shutil
import tempfile
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.source import BOM, ENOUGH, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_EXTRAS: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf"}
WEB: Final = ("http", "https")
_CUT: Final = (  # what the libraries that fsspec uses raise then: they share no class
    "ClientPayloadError",
    "IncompleteRead",
    "IncompleteReadError",
    "ServerDisconnectedError",
    "ResponseStreamingError",
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
_SAID: Final = 200  # characters of an error's message
_secret = re.compile(r"(?<=://)[^/@\s]+@|\?[^\s'\")]*").sub
# others may fetch a whole file for each of its parts, or lie in this process alone
_RANGED: Final = frozenset(
    {*WEB, "s3", "s3a", "gs", "gcs", "hf", "az", "abfs", "abfss", "adl", "file", "local"}
)
_BLANKS: Final = b" \t\r\n"
_PEEKED: Final = 1 << 16  # bytes in which the end of a line is looked for at a time


def fetch(url: str) -> list[RolloutFile]:
    """Copy the files that a URL or a glob in one names."""
    return _each(url, lambda system, found, shown, _: _copy(system, found, shown))


def find(url: str) -> list[RolloutFile]:
    """Find the same files, and leave them where they are; parameters and errors of `fetch`."""

    def found(system: Any, path: str, shown: str, whole: str) -> RolloutFile:
        size = system.info(path).get("size")
        name = Path(Path(urlsplit(path).path).name)
        return RolloutFile(name, shown, whole, size if isinstance(size, int) else None)

    return _each(url, found)


def _each(url: str, make: Callable[[Any, str, str, str], RolloutFile]) -> list[RolloutFile]:
    """Make something of each file: of its system, its path there, its name and its whole URL."""
    shown = _secret("", url)
    try:
        system, path = system_of(url)
        return [
            make(
                system,
                found,
                _shown(system, found, path, shown),
                url if found == path else str(system.unstrip_protocol(found)),
            )
            for found in _paths(system, path, url, shown)
        ]
    except DataError:
        raise
    except ImportError as error:
        raise _not_installed(url, shown, error) from error
    except Exception as error:
        raise in_words(shown, error) from error


def system_of(url: str) -> tuple[Any, str]:
    """Make a file system of fsspec, and give the path in it that a URL names."""
    import fsspec  # noqa: PLC0415 - an extra, and only where a file lies elsewhere

    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if urlsplit(url).scheme in WEB:
        options = {"skip_instance_cache": True, "client_kwargs": {"trust_env": True}}  # proxies
    system, path = fsspec.core.url_to_fs(url, **options)
    return system, str(path)


def _paths(system: Any, path: str, url: str, shown: str) -> list[str]:
    if urlsplit(url).scheme in WEB:  # a question mark starts a query there
        return [path]
    if glob.has_magic(path):
        found = sorted(p for p in system.glob(path) if not system.isdir(p))
        if not found:
            raise DataError("this matches no file", file=shown)
        return found
    if system.isdir(path):
        raise DataError(
            "this is a folder, not a file",
            file=shown,
            hint=f"write a glob such as '{shown.rstrip('/')}/*.jsonl', or copy the folder here",
        )
    return [path]


def _shown(system: Any, found: str, path: str, shown: str) -> str:
    return shown if found == path else _secret("", str(system.unstrip_protocol(found)))


def _copy(system: Any, path: str, shown: str) -> RolloutFile:
    name = Path(urlsplit(path).path).name or "rollouts"
    local = _folder() / hashlib.sha256(path.encode()).hexdigest()[:16] / name
    local.parent.mkdir(exist_ok=True)
    size = system.info(path).get("size")
    options = {"block_size": 0} if urlsplit(path).scheme in WEB else {}  # one stream
    with system.open(path, "rb", **options) as there, local.open("wb") as here:
        shutil.copyfileobj(there, here, 1 << 20)
    arrived = local.stat().st_size
    if isinstance(size, int) and arrived != size:
        raise DataError(
            f"only {arrived} of {size} bytes arrived",
            file=shown,
            hint="was the connection cut, or is the file being written? try again",
        )
    return RolloutFile(local, shown)


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="evalmetrics-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def in_words(shown: str, error: Exception) -> DataError:
    """Say what went wrong at another machine."""
    # over HTTP, fsspec raises FileNotFoundError whatever happened
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    status, kind = getattr(cause, "status", None), type(cause).__name__
    if status in (401, 403) or isinstance(error, PermissionError):
        return _denied(shown, cause)
    if "Credentials" in type(error).__name__:
        return _denied(shown, error)
    if isinstance(error, FileNotFoundError) and (cause is error or status in (404, 410)):
        return DataError("there is no such file", file=shown)
    if {kind, type(error).__name__} & set(_CUT) or isinstance(error, ConnectionResetError):
        return DataError(
            f"the connection was closed before all of it had arrived: {_said(cause)}",
            file=shown,
            hint="try again; or copy the file here, and name the copy",
        )
    if isinstance(cause, ValueError) and shown.startswith(WEB):  # also UnicodeError, InvalidURL
        return DataError(
            f"this is no valid URL: {_said(cause)}", file=shown, hint="is its host spelled right?"
        )
    what, hint = next(
        (texts for name, texts in _UNREACHABLE.items() if kind.startswith(name)),
        ("this can't be fetched", "is the place reachable from here, and the name right?"),
    )
    return DataError(f"{what}: {_said(cause)}", file=shown, hint=hint)


def _denied(shown: str, error: Exception) -> DataError:
    return DataError(
        f"access is denied: {_said(error)}",
        file=shown,
        hint="are the credentials set, and not expired? they come from the environment, or "
        "from where the tools of this place keep them",
    )


def _not_installed(url: str, shown: str, error: ImportError) -> DataError:
    scheme = urlsplit(url).scheme
    extra = "http" if scheme in WEB else _EXTRAS.get(scheme)
    how = f'pip install "pytest-evalmetrics[{extra}]"' if extra else _said(error)
    return DataError(
        f"reading {scheme}:// takes a package that is not installed ({_said(error)})",
        file=shown,
        hint=f"install it: {how}",
    )


def _said(error: Exception) -> str:
    text = " ".join(_secret("", str(error)).split()) or type(error).__name__
    return text if len(text) <= _SAID else text[:_SAID] + "…"


def look(file: RolloutFile) -> Source | None:
    """Look at the start of a file."""
    url, size = file.url or "", file.size
    scheme = urlsplit(url).scheme
    if scheme not in _RANGED or not size:
        return None
    if scheme in WEB and not _ask(file.shown, partial(_gives_parts, url)):
        return None
    start = min(size, ENOUGH)
    head = read_range(url, file.shown, 0, start).removeprefix(BOM).lstrip(_BLANKS)
    if not head.startswith(b"{"):
        return None
    # its name tells files apart, as the path does of those that are here
    return Source(Path(file.shown), file.shown, size, head, span=(0, start), url=url)


def read_range(url: str, shown: str, start: int, stop: int) -> bytes:
    """Read some bytes of a file."""

    def read() -> Any:
        system, path = _cached_system(url)
        return system.cat_file(path, start=start, end=stop)

    found = bytes(_ask(shown, read))
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
        texts = _ask(source.shown, partial(_parts, url, starts, stops))
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
    system, path = _cached_system(url)
    found: list[bytes] = system.cat_ranges([path] * len(starts), starts, stops, on_error="raise")
    return found


def _gives_parts(url: str) -> bool:
    """Ask for a byte: some servers answer with the whole file, of which nothing is read then."""
    system, path = _cached_system(url)
    with system.open(path, "rb", cache_type="none") as file:
        try:
            file.seek(1)
            return len(file.read(1)) == 1
        except ValueError:
            return False


@lru_cache(maxsize=1)  # the parts of a file come one after the other
def _cached_system(url: str) -> tuple[Any, str]:
    return system_of(url)


def _ask(shown: str, ask: Callable[[], Any]) -> Any:
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
