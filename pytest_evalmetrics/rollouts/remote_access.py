"""Access to files on other machines through fsspec, and its errors in our words."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
_CREDENTIALS: Final = (
    "are the credentials set, and not expired? they come from the environment, or "
    "from where the tools of this place keep them"
)
without_secrets = re.compile(r"(?<=://)[^/@\s]+@|\?[^\s'\")]*").sub


@contextmanager
def explained_remote(url: str) -> Iterator[None]:
    """Turn errors of a remote place into data errors."""
    shown = without_secrets("", url)
    try:
        yield
    except DataError:
        raise
    except ImportError as error:
        scheme = urlsplit(url).scheme
        extra = "http" if scheme in WEB else _EXTRAS.get(scheme)
        how = _message(error)
        if extra is not None:
            how = f'pip install "pytest-evalmetrics[{extra}]"'
        what = f"reading {scheme}:// takes a package that is not installed ({_message(error)})"
        raise DataError(what, file=shown, hint=f"install it: {how}") from error
    except Exception as error:
        what, hint = _explanation(shown, error)
        raise DataError(what, file=shown, hint=hint) from error


class FileSystem(Protocol):
    """What is used of a file system of fsspec, which has no types of its own."""

    def glob(self, path: str) -> list[str]:
        """List the paths that match."""

    def isdir(self, path: str) -> bool:
        """Check for a folder."""

    def info(self, path: str) -> Mapping[str, object]:
        """Describe a file."""

    def unstrip_protocol(self, path: str) -> str:
        """Write a path as a URL."""

    def open(
        self,
        path: str,
        mode: str,
        block_size: int | None = None,
        cache_type: str = "readahead",
    ) -> BinaryIO:
        """Open a file."""

    def cat_file(self, path: str, *, start: int, end: int) -> bytes:
        """Read a part of a file."""

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Sequence[int],
        ends: Sequence[int],
        *,
        on_error: str,
    ) -> list[bytes]:
        """Read several parts of files."""

    def exists(self, path: str) -> bool:
        """Check for a file."""

    def get_file(self, remote: str, local: str) -> None:
        """Copy a file here."""

    def makedirs(self, path: str, *, exist_ok: bool) -> None:
        """Make a folder, and those above it."""

    def put_file(self, local: str, remote: str) -> None:
        """Copy a file there."""

    def mv(self, old: str, new: str) -> None:
        """Move a file."""


def system_of(url: str) -> tuple[FileSystem, str]:
    """Make a file system of fsspec, and give the path in it that a URL names."""
    import fsspec  # an extra, and only where a file lies elsewhere

    options: dict[str, object] = {
        "skip_instance_cache": True,
        "use_listings_cache": False,
    }
    if urlsplit(url).scheme in WEB:
        # which has the proxies
        options = {"skip_instance_cache": True, "client_kwargs": {"trust_env": True}}
    system, path = fsspec.core.url_to_fs(url, **options)
    return system, str(path)


# the parts of a file come one after the other
cached_system = lru_cache(maxsize=1)(system_of)


class _Fault(msgspec.Struct, frozen=True):
    """An error of fsspec or of one of its libraries, with what tells its kind."""

    error: Exception
    cause: Exception
    status: int | None  # of HTTP

    @classmethod
    def of(cls, error: Exception) -> _Fault:
        """Look for the cause of an error."""
        # over HTTP, fsspec raises FileNotFoundError whatever happened
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        return cls(error=error, cause=cause, status=getattr(cause, "status", None))

    @property
    def is_denied(self) -> bool:
        """Whether the place refused the credentials."""
        return self.status in (401, 403) or isinstance(self.error, PermissionError)

    @property
    def lacks_credentials(self) -> bool:
        """Whether a library found no credentials, or none that it can use."""
        return "Credentials" in type(self.error).__name__

    @property
    def is_absent(self) -> bool:
        """Whether there is no such file."""
        if not isinstance(self.error, FileNotFoundError):
            return False
        return self.cause is self.error or self.status in (404, 410)

    @property
    def is_cut(self) -> bool:
        """Whether the connection was closed too early."""
        if isinstance(self.error, ConnectionResetError):
            return True
        names = (type(self.cause).__name__, type(self.error).__name__)
        return any(name.startswith(_CUT) for name in names)


def _explanation(shown: str, error: Exception) -> tuple[str, str | None]:
    """Say what an error means, and the way out."""
    fault = _Fault.of(error)
    cause = fault.cause
    if fault.is_denied:
        return f"access is denied: {_message(cause)}", _CREDENTIALS
    if fault.lacks_credentials:
        return f"access is denied: {_message(error)}", _CREDENTIALS
    if fault.is_absent:
        return "there is no such file", None
    if fault.is_cut:
        what = "the connection was closed before all of it had arrived"
        hint = "try again; or copy the file here, and name the copy"
        return f"{what}: {_message(cause)}", hint
    # also UnicodeError and InvalidURL
    if isinstance(cause, ValueError) and shown.startswith(WEB):
        what = f"this is not a valid URL: {_message(cause)}"
        return what, "is its host spelled right?"
    what, hint = _unreachable(cause)
    return f"{what}: {_message(cause)}", hint


def _unreachable(cause: Exception) -> tuple[str, str]:
    """Say why a place can't be reached, by the name of aiohttp's error."""
    name = type(cause).__name__
    for prefix, texts in _UNREACHABLE.items():
        if name.startswith(prefix):
            return texts
    return (
        "this can't be fetched",
        "is the place reachable from here, and the name right?",
    )


def _message(error: Exception) -> str:
    words = without_secrets("", str(error)).split()
    return shortened(" ".join(words) or type(error).__name__, 200)


def must_be_whole(shown: str, arrived: int, size: int) -> None:
    """Refuse a file of which fewer bytes arrived than it has."""
    if arrived != size:
        hint = "was the connection cut, or is the file being written? try again"
        raise DataError(
            f"only {arrived} of {size} bytes arrived", file=shown, hint=hint
        )


def read_range(url: str, shown: str, start: int, stop: int) -> bytes:
    """Read some bytes of a file."""
    with explained_remote(url):
        system, path = cached_system(url)
        data = bytes(system.cat_file(path, start=start, end=stop))
    must_be_whole(shown, len(data), stop - start)
    return data
