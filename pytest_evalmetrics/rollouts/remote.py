"""Rollouts on other machines, through fsspec: copied here, whole, before they are read."""

from __future__ import annotations

import atexit
import glob
import hashlib
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.files import RolloutFile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WEB", "fetch", "find", "in_words", "system_of"]

_EXTRAS: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf"}
WEB: Final = ("http", "https")
_CUT: Final = (  # what the libraries that fsspec uses raise then: they share no class
    "ClientPayloadError",
    "IncompleteRead",
    "IncompleteReadError",
    "ServerDisconnectedError",
    "ResponseStreamingError",
)
_SAID: Final = 200  # characters of an error's message
_secret = re.compile(r"(?<=://)[^/@\s]+@|\?[^\s'\")]*").sub


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
    # over HTTP, whatever was answered is said to be a file that is not there
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    status = getattr(cause, "status", None)
    if status in (401, 403) or isinstance(error, PermissionError):
        return _denied(shown, cause)
    if "Credentials" in type(error).__name__:
        return _denied(shown, error)
    if isinstance(error, FileNotFoundError) and status in (None, 404, 410):
        return DataError("there is no such file", file=shown)
    if type(error).__name__ in _CUT or isinstance(error, ConnectionResetError):
        return DataError(
            f"the connection was closed before all of it had arrived: {_said(cause)}",
            file=shown,
            hint="try again; or copy the file here, and name the copy",
        )
    return DataError(
        f"this can't be fetched: {_said(cause)}",
        file=shown,
        hint="is the place reachable from here, and the name right?",
    )


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
