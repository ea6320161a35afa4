"""A stream through a buffer that is used again, so that no file's text is held whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["BLOCK", "Window"]

BLOCK = 1 << 22  # bytes; large enough that what is done once for each block does not count


class Window:
    """The part of a stream that is being looked at."""

    def __init__(self, stream: BinaryIO, size: int = BLOCK) -> None:
        self._stream = stream
        self.buffer = bytearray(size)  # holds it; replaced by a larger one where a row needs that
        self.end = 0  # bytes of `buffer` that are filled

    def fill(self) -> int:
        """Read on, and say how many bytes came; 0 at the end of the stream."""
        if self.end > len(self.buffer) // 2:  # else long rows would come in small pieces
            larger = bytearray(2 * len(self.buffer))
            larger[: self.end] = memoryview(self.buffer)[: self.end]
            self.buffer = larger
        got: int = self._stream.readinto(memoryview(self.buffer)[self.end :])  # type: ignore[attr-defined]
        self.end += got
        return got

    def drop(self, count: int) -> None:
        """Forget the first `count` bytes."""
        kept = self.end - count
        self.buffer[:kept] = self.buffer[count : self.end]
        self.end = kept
