"""JSON that other tools write: whole documents, and rows as plain objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.rollouts.json_array import JsonArray
from pytest_evalmetrics.rollouts.json_lines import JsonLines
from pytest_evalmetrics.rollouts.parse import parse, short
from pytest_evalmetrics.rollouts.seam import Request
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["Document", "rows_of"]

_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


class Document:
    """One JSON object of which only what is asked for is decoded."""

    def __init__(self, text: bytes, source: Source, what: str) -> None:
        self._source = source
        self._what = what
        self._parts: dict[str, Any]
        try:
            self._parts = dict(_parts.decode(text))
        except (msgspec.DecodeError, RecursionError):  # NaN, or what is wrong is said there
            self._parts = _whole(text, source, what)

    @classmethod
    def of(cls, source: Source, what: str) -> Document:
        """Read the object that fills a file."""
        source.must_be_text()
        with source.open() as stream:
            return cls(stream.read(), source, what)

    @property
    def keys(self) -> tuple[str, ...]:
        """The object's keys."""
        return tuple(self._parts)

    def get(self, key: str) -> Any:
        """Decode what stands under a key; None where there is nothing."""
        value = self._parts.get(key)
        return _value(value) if isinstance(value, msgspec.Raw) else value

    def object(self, key: str) -> dict[str, Any]:
        """Decode an object; an empty one where there is none."""
        value = self.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(f"{key!r} is {short(json.dumps(value))}", "an object")
        return value

    def items(self, key: str) -> Iterator[dict[str, Any]]:
        """Decode the objects of a list one by one; none where there is no list."""
        value: Any = self._parts.get(key)
        if isinstance(value, msgspec.Raw):
            raw = value
            try:
                value = _items.decode(raw)
            except msgspec.DecodeError:
                value = _value(raw)
        if value is not None and not isinstance(value, list):
            raise self._wrong(f"{key!r} is {short(json.dumps(value))}", "a list")
        for number, each in enumerate(value or ()):
            item = _value(each) if isinstance(each, msgspec.Raw) else each
            if not isinstance(item, dict):
                raise self._wrong(f"{key}[{number}] is {short(json.dumps(item))}", "an object")
            yield item

    def _wrong(self, found: str, expected: str) -> Exception:
        return self._source.error(
            f"this looks like {self._what}, and {found}; expected {expected}",
            hint="was it written by another version of the tool, or changed since?",
        )


def rows_of(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Go through the rows of JSON Lines or of a JSON array, with their places."""
    loader = (JsonArray if JsonArray.recognises(source) else JsonLines)(Request(FieldMap()))
    for row in loader.texts(source):
        try:
            value = msgspec.json.decode(row.text)
        except (msgspec.DecodeError, RecursionError):
            value = None
        yield row.place, value if isinstance(value, dict) else parse(row, source)


def _value(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw)


def _whole(text: bytes, source: Source, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except UnicodeDecodeError as error:
        raise source.error(
            f"this is not UTF-8 text: found the byte 0x{text[error.start]:02x}",
            line=text.count(b"\n", 0, error.start) + 1,
            hint="save the file as UTF-8",
        ) from error
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos :].strip()
        if not rest or "Unterminated" in error.msg:
            raise source.error(
                f"this looks like {what}, and the file ends in the middle of it",
                line=error.lineno,
                hint="was the run, its copy or its download interrupted?",
            ) from error
        raise source.error(
            f"this looks like {what}, and is no JSON: {error.msg.removesuffix(' at')} at column "
            f"{error.colno}, near {short(rest)}",
            line=error.lineno,
            hint="was it changed by hand, or written by two processes at once?",
        ) from error
    except RecursionError as error:
        raise source.error(f"this {what} is nested too deeply to be read") from error
    if not isinstance(value, dict):
        raise source.error(f"this is no {what}: it is no JSON object")
    return value
