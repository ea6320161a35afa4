"""What a file may be wrapped in, and what may be wrong with it, in our own words."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["explained", "unwrapped"]


def unwrapped(raw: BinaryIO, packed: Literal["gzip", "zstd"] | None) -> BinaryIO:
    """Give the plain bytes of a file that may be compressed."""
    if packed == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if packed == "zstd":
        if sys.version_info >= (3, 14):
            from compression import zstd  # noqa: PLC0415 - only where a file needs it
        else:
            from backports import zstd  # noqa: PLC0415 - only where a file needs it
        return cast("BinaryIO", zstd.ZstdFile(raw))
    return raw


@contextmanager
def explained(shown: str) -> Iterator[None]:
    """Turn what the operating system and the decompressors raise into our own words."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("there is no such file", file=shown) from error
    except PermissionError as error:
        raise DataError(
            "no permission to read this file", file=shown, hint=f"try: chmod u+r {shown}"
        ) from error
    except EOFError as error:
        raise DataError(
            "the compressed file ends too early",
            file=shown,
            hint="was its copy or its download interrupted?",
        ) from error
    except _damage() as error:
        raise DataError(f"the compressed file is damaged: {error}", file=shown) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise DataError(f"the file can't be read: {why}", file=shown) from error


def _damage() -> tuple[type[Exception], ...]:
    # ZstdError comes from a module that is imported only where a file needs it
    module = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    return (gzip.BadGzipFile, zlib.error, *([module.ZstdError] if module else []))
