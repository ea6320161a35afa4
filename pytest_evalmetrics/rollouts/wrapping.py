"""What a file may be wrapped in, and what may be wrong with it, in our own words."""

from __future__ import annotations

import gzip
import sys
import zlib
from typing import BinaryIO, Literal, cast

from pytest_evalmetrics.errors import DataError

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


class explained:  # noqa: N801 - is called like a function
    """Turn what the operating system and the decompressors raise into our own words.

    No generator: a small file enters this four times.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __enter__(self) -> None:
        """Begin to listen."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Say it."""
        told = None if error is None else _explanation(error, self._shown)
        if told is not None:
            raise told from error


def _explanation(error: BaseException, shown: str) -> DataError | None:
    if isinstance(error, FileNotFoundError):
        return DataError("there is no such file", file=shown)
    if isinstance(error, PermissionError):
        return DataError(
            "no permission to read this file", file=shown, hint=f"try: chmod u+r {shown}"
        )
    if isinstance(error, EOFError):
        return DataError(
            "the compressed file ends too early",
            file=shown,
            hint="was its copy or its download interrupted?",
        )
    if isinstance(error, _damage()):
        return DataError(f"the compressed file is damaged: {error}", file=shown)
    if isinstance(error, OSError):
        return DataError(f"the file can't be read: {error.strerror or error}", file=shown)
    return None


def _damage() -> tuple[type[Exception], ...]:
    # ZstdError comes from a module that is imported only where a file needs it
    module = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    return (gzip.BadGzipFile, zlib.error, *([module.ZstdError] if module else []))
