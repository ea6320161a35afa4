"""Answers of a journal that SQLite can't read any more, taken from the pages of the damaged file.

A row of a table lies on a leaf page (type 13) and, where it is long, on a chain of overflow pages;
neither needs the pages above them, which damage makes unreadable. Source: sqlite.org/fileformat2.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"
_LEAF, _PAGE = 13, 4096
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # serial type -> bytes
_COLUMNS = (bytes, int, str, float, int, float, float, int)  # of an answer; crc since version 2
_KEY = 20


def rows_in(path: Path) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of answers that are whole, some of them in several versions."""
    pages = _Pages(path)
    for number in range(1, pages.count + 1):
        page = pages[number]
        start = 100 if number == 1 else 0
        if page[start : start + 1] != bytes([_LEAF]):
            continue
        for cell in range(int.from_bytes(page[start + 3 : start + 5])):
            at = start + 8 + 2 * cell
            try:
                row = _record(pages.payload(page, int.from_bytes(page[at : at + 2])))
            except (IndexError, ValueError, UnicodeDecodeError):
                continue
            if _is_answer(row):
                yield row


class _Pages:
    """The pages of the file, the newer ones from the log beside it."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        size = int.from_bytes(self._data[16:18])
        readable = self._data.startswith(_MAGIC) and size in {1, *(2**n for n in range(9, 16))}
        self.size = (65_536 if size == 1 else size) if readable else _PAGE
        self.count = -(-len(self._data) // self.size)
        self._newer: dict[int, bytes] = {}
        log = path.with_name(f"{path.name}-wal")
        frames = log.read_bytes() if log.is_file() else b""
        for at in range(32, len(frames) - 24 - self.size + 1, 24 + self.size):
            if frames[at + 8 : at + 16] == frames[16:24]:  # of this log, not of one before it
                number = int.from_bytes(frames[at : at + 4])
                self._newer[number] = frames[at + 24 : at + 24 + self.size]
                self.count = max(self.count, number)

    def __getitem__(self, number: int) -> bytes:
        return self._newer.get(number) or self._data[(number - 1) * self.size : number * self.size]

    def payload(self, page: bytes, at: int) -> bytes:
        """Put a row together; a chain that ends early is a ValueError."""
        length, at = _varint(page, at)
        _, at = _varint(page, at)
        held = length
        if length > self.size - 35:
            least = (self.size - 12) * 32 // 255 - 23
            held = least + (length - least) % (self.size - 4)
            held = held if held <= self.size - 35 else least
        parts, missing = [page[at : at + held]], length - held
        following = int.from_bytes(page[at + held : at + held + 4])
        while missing > 0:
            rest = self[following] if 0 < following <= self.count else b""
            if len(rest) < min(missing + 4, self.size):
                raise ValueError("the rest is gone")
            parts.append(rest[4 : 4 + missing])
            missing -= len(parts[-1])
            following = int.from_bytes(rest[:4])
        return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        byte = data[at + place]
        if place == 8:  # noqa: PLR2004 - the ninth byte counts whole
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 127
        if byte < 128:  # noqa: PLR2004 - the last one
            break
    return value, at + place + 1


def _record(payload: bytes) -> tuple[Any, ...]:
    body, at = _varint(payload, 0)
    kinds = []
    while at < body:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    row: list[Any] = []
    for kind in kinds:
        size = _INTEGERS.get(kind, 8 if kind == 7 else max(kind - 12, 0) // 2)  # noqa: PLR2004 - a float
        value = payload[body : body + size]
        if len(value) < size:
            raise ValueError("the row is cut")
        body += size
        row.append(_decoded(kind, value))
    return tuple(row)


def _decoded(kind: int, value: bytes) -> Any:
    if kind in _INTEGERS:
        return int.from_bytes(value, signed=True)
    if kind == 7:  # noqa: PLR2004 - a float
        import struct  # noqa: PLC0415 - where a journal is damaged

        return struct.unpack(">d", value)[0]
    if kind in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(kind)]
    return value.decode() if kind % 2 else value


def _is_answer(row: tuple[Any, ...]) -> bool:
    # a float that is whole is kept as an integer
    kinds = ((int, float) if kind is float else kind for kind in _COLUMNS)
    if len(row) not in (7, 8) or not all(map(isinstance, row, kinds)):
        return False
    key, status, text = row[:3]
    if len(key) != _KEY or not 100 <= status < 600:  # noqa: PLR2004 - HTTP
        return False
    if len(row) == len(_COLUMNS):
        return bool(zlib.crc32(text.encode()) == row[7])
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
