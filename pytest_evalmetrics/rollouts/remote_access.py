"""Access to files on other machines through fsspec, and its errors in our words."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import shortened

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


cached_system = lru_cache(maxsize=1)(
    system_of
)  # the parts of a file come one after the other


def _explanation(shown: str, error: Exception) -> tuple[str, str | None]:
    # over HTTP, fsspec raises FileNotFoundError whatever happened
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    status = getattr(cause, "status", None)
    kind = type(cause).__name__
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
        " ".join(without_secrets("", str(error)).split()) or type(error).__name__, 200
    )


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
