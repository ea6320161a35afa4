"""One row the slow and exact way, and what is wrong with a row that is none."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.source import Row, Source

__all__ = ["check_utf8", "parse", "short"]

_DIGITS = 640  # int() refuses longer ones; half of these are too many for a float64 already
_SHOWN = 40  # characters of the text around a mistake


def parse(row: Row, source: Source) -> dict[str, Any]:
    """Read a row as the standard library does: NaN, Infinity and half surrogates allowed."""
    text = str(row.text, "utf-8")
    try:
        value = json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise _broken(text, error, row, source) from error
    except RecursionError as error:
        raise source.error("this row is nested too deeply to be read", row) from error
    if not isinstance(value, dict):
        raise source.error(
            f"this row is no JSON object: found {short(text)}",
            row,
            hint='each row is an object such as {"_ng_task_index": 0, "reward": 1.0}',
        )
    return value


def check_utf8(buffer: bytearray, end: int, line: int, source: Source) -> None:
    """Refuse text that is not UTF-8; msgspec does not look at what it skips."""
    few = 2 * end < len(buffer)
    if (bytes(memoryview(buffer)[:end]) if few else buffer).isascii():
        return
    try:
        codecs.utf_8_decode(memoryview(buffer)[:end], "strict", True)
    except UnicodeDecodeError as error:
        raise source.error(
            f"this is not UTF-8 text: found the byte 0x{buffer[error.start]:02x}",
            line=line + buffer.count(b"\n", 0, error.start),
            hint="save the file as UTF-8",
        ) from error


def _whole(digits: str) -> int:
    return int(digits[:_DIGITS])


def _broken(text: str, error: json.JSONDecodeError, row: Row, source: Source) -> DataError:
    what = "row" if source.unit == "row" else "line"
    cut = error.pos >= len(text.rstrip()) or not text.rstrip().endswith("}")
    if what == "line" and text.lstrip().startswith("{") and cut and _is_last(row, source):
        return source.error(
            "the file ends in the middle of a row: was the run interrupted?",
            row,
            hint="delete this line, or run again what is missing",
        )
    if what == "line" and text.strip() == "{":
        return source.error(
            "this line is no JSON object: it holds only its opening brace",
            row,
            hint="write each row on one line, or all rows as one JSON array",
        )
    start = max(0, error.pos - _SHOWN // 2)
    return source.error(
        f"this {what} is no JSON: {error.msg.removesuffix(' at')} at column {error.pos + 1}, "
        f"near {short(text[start:])}",
        row,
        hint="was it cut off, or written by two processes at once? mend or delete it",
    )


def _is_last(row: Row, source: Source) -> bool:
    with source.open() as stream:
        for number, text in enumerate(stream, 1):
            if number > row.line and text.strip():
                return False
    return True


def short(text: str) -> str:
    """Quote a text for a message, cut short."""
    text = text.strip()
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
