"""The text of JSON rows and documents: values, or what is wrong with it and the way out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.rollouts.source import (
    ENOUGH,
    Source,
    SourceRow,
    short,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.json_types import JsonObject, JsonValue

# int() refuses longer ones; half of these are too many for a float64 already
_DIGITS: Final = 640
_SHOWN: Final = 40  # characters of the text around a mistake
_INTERRUPTED: Final = (
    "was the run that writes it interrupted? rollouts are JSON, JSON Lines, CSV, Parquet or "
    "Arrow, in UTF-8"
)
SECOND_ARRAY: Final = "a second array begins here, behind the first"
JOIN_ARRAYS: Final = "join them: jq -c '.[]' FILE > rows.jsonl"
_WRITE_ONCE: Final = "only one of the values can be meant: write the key once"


class _DuplicateKeyError(ValueError):
    """An object holds one key twice."""


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _DuplicateKeyError(f"the key {twice!r} occurs twice in one object")
    return value


def has_unique_keys(texts: Sequence[bytes | memoryview]) -> bool:
    """Check many rows at once; rows that can't be read count as not unique."""
    try:
        json.loads(b"[" + b",".join(texts) + b"]", object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return False
    return True


_decode = json.JSONDecoder(
    parse_int=lambda digits: int(digits[:_DIGITS]), object_pairs_hook=_unique
).decode


def parse(row: SourceRow, source: Source) -> JsonObject:
    """Read a row as the standard library does: NaN, Infinity and half surrogates allowed."""
    text = str(row.text, "utf-8")
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise _broken(text, error, row, source) from error
    except _DuplicateKeyError as error:
        raise source.error(str(error), row, hint=_WRITE_ONCE) from error
    except RecursionError as error:
        raise source.error("this row is nested too deeply to be read", row) from error
    if not isinstance(value, dict):
        hint = 'each row is an object such as {"task": "q1", "reward": 1.0}'
        if source.is_nemo_gym:
            hint = 'each row is an object such as {"_ng_task_index": 0, "reward": 1.0}'
        raise source.error(
            f"this row is not a JSON object: found {short(text)}", row, hint=hint
        )
    return value


def decode_row(row: SourceRow, source: Source) -> JsonObject:
    """Decode a whole row, the fast way where it is plain JSON."""
    try:
        value = msgspec.json.decode(row.text)
    except (msgspec.DecodeError, RecursionError):
        # NaN, or an error that `parse` reports
        return parse(row, source)
    if not isinstance(value, dict):
        return parse(row, source)
    return value


def _broken(
    text: str, error: json.JSONDecodeError, row: SourceRow, source: Source
) -> DataError:
    """Make the error of a row that is not JSON."""
    if source.unit == "line":
        error_of_line = _broken_line(text, error, row, source)
        if error_of_line is not None:
            return error_of_line
    joined = _joined_values(text, error)
    if joined is not None:
        return source.error(joined.message, row, hint=joined.hint)
    if source.unit == "row" and row.line:
        row = structs.replace(row, line=row.line + error.lineno - 1)
    start = max(0, error.pos - _SHOWN // 2)
    problem = error.msg.removesuffix(" at")
    return source.error(
        f"this {source.unit} is not JSON: {problem} at column {error.pos + 1}, near "
        f"{short(text[start:])}",
        row,
        hint="was it cut off, or written by two processes at once? fix or delete it",
    )


def _broken_line(
    text: str, error: json.JSONDecodeError, row: SourceRow, source: Source
) -> DataError | None:
    """Recognise a last line that is cut off, and a row that spans lines."""
    end = text.rstrip()
    is_cut = error.pos >= len(end) or not end.endswith("}")
    if is_cut and text.lstrip().startswith("{") and _is_last(row, source):
        message = "the file ends in the middle of a row: was the run interrupted?"
        hint = "delete this line, or run again what is missing"
        return source.error(message, row, hint=hint)
    if text.strip() == "{":
        message = "this line is not a JSON object: it holds only its opening brace"
        hint = "write each row on one line, or all rows as one JSON array"
        return source.error(message, row, hint=hint)
    return None


class _JoinedValues(msgspec.Struct, frozen=True):
    """What stands behind a JSON value on its line, and the way out."""

    message: str
    hint: str


def _joined_values(text: str, error: json.JSONDecodeError) -> _JoinedValues | None:
    """Recognise several JSON values on one line: `error` found more behind the first."""
    first = text[: error.pos]
    if not _is_json(first):
        return None
    rest = text[error.pos :].lstrip()
    gap = first[len(first.rstrip()) :]
    if rest.startswith("[") and "\n" in gap:
        return _JoinedValues(message=SECOND_ARRAY, hint=JOIN_ARRAYS)
    if rest.startswith(("{", "[")):
        return _JoinedValues(
            message="two JSON values stand on one line, with no line break between them",
            hint="write one a line: jq -c . FILE > rows.jsonl",
        )
    if rest.startswith(","):
        return _JoinedValues(
            message="a comma follows the JSON value, as in an array",
            hint="write one value a line without commas, or all in one array: [ ... ]",
        )
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_last(row: SourceRow, source: Source) -> bool:
    with source.open() as stream:  # in blocks, because the rest may be one endless line
        lines = row.line  # still to be skipped
        while text := stream.read(ENOUGH):
            skipped = min(text.count(b"\n"), lines)
            lines -= skipped
            if not lines and text.split(b"\n", skipped)[-1].strip():
                return False
    return True


def read_document(source: Source) -> JsonObject | list[JsonValue]:
    """Read a file that is one JSON value."""
    with source.open() as stream:
        text = stream.read()
    try:
        document: JsonValue = _decode(text.decode())
    except json.JSONDecodeError as error:
        raise _no_document(error, source) from error
    except _DuplicateKeyError as error:
        raise source.error(str(error), hint=_WRITE_ONCE) from error
    except (RecursionError, ValueError) as error:
        raise source.error(f"this can't be read: {error}", hint=_INTERRUPTED) from error
    if isinstance(document, dict | list):
        return document
    found = short(json.dumps(document))
    message = f"this is not a JSON object or array: found {found}"
    raise source.error(message, hint=_INTERRUPTED)


def _no_document(error: json.JSONDecodeError, source: Source) -> DataError:
    """Make the error of a file that is not one JSON value."""
    joined = _joined_values(error.doc, error)
    if joined is not None:
        return source.error(joined.message, line=error.lineno, hint=joined.hint)
    problem = error.msg.removesuffix(" at")
    start = max(0, error.pos - _SHOWN // 2)
    near = error.doc[start : error.pos + _SHOWN].strip().partition("\n")[0]
    message = f"this is not JSON: {problem} at column {error.colno}"
    if near:
        message += f", near {short(near)}"
    return source.error(message, line=error.lineno, hint=_INTERRUPTED)
