"""Other tools' documents: JSON objects whose parts are decoded when they are asked for."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines
from pytest_evalmetrics.rollouts.json_text import decode_row
from pytest_evalmetrics.rollouts.loader import Request
from pytest_evalmetrics.rollouts.source import (
    RolloutFile,
    Source,
    open_source,
    shown_json,
)
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw] | None)


class Document:
    """A JSON object whose values are decoded lazily."""

    def __init__(self, text: bytes, source: Source, what: str) -> None:
        self._source = source
        self._what = what
        self._parts: dict[str, JsonValue | msgspec.Raw]
        try:
            self._parts = dict(_parts.decode(text))
        except (msgspec.DecodeError, RecursionError):
            self._parts = dict(self._parsed(text))

    @classmethod
    def of(cls, source: Source, what: str) -> Document:
        """Read the object that fills a file."""
        source.must_be_text()
        with source.open() as stream:
            return cls(stream.read(), source, what)

    @classmethod
    def beside(cls, source: Source, name: str, what: str) -> Document:
        """Read the object in another file of the same folder; empty if it does not exist."""
        path = source.path.parent / name
        if not path.is_file():
            return cls(b"{}", source, what)
        shown = f"{source.shown.rpartition('/')[0]}/{name}".lstrip("/")
        return cls.of(open_source(RolloutFile(path, shown)), what)

    def get(self, key: str) -> JsonValue:
        """Decode the value of a key, or return None."""
        return _decoded(self._parts.get(key))

    def whole(self, keys: Container[str] | None = None) -> JsonObject:
        """Decode the object, or some of its keys."""
        wanted = self._parts if keys is None else keys
        return {
            key: _decoded(value) for key, value in self._parts.items() if key in wanted
        }

    def object(self, key: str) -> JsonObject:
        """Decode the object of a key; empty if it is absent."""
        value = self.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._unexpected(repr(key), value, "an object")
        return value

    def items(self, key: str) -> Iterator[JsonObject] | None:
        """Decode the objects of a list one by one; None without a list."""
        items = self._list(key)
        if items is None:
            return None
        return (self._item(item, f"{key}[{index}]") for index, item in enumerate(items))

    def _list(self, key: str) -> Sequence[JsonValue | msgspec.Raw] | None:
        """Get the list of a key, its items not decoded if possible; None without one."""
        value = self._parts.get(key)
        if isinstance(value, msgspec.Raw):
            with suppress(msgspec.DecodeError):
                items: list[msgspec.Raw] | None = _items.decode(value)
                return items
        whole = _decoded(value)
        if whole is not None and not isinstance(whole, list):
            raise self._unexpected(repr(key), whole, "a list")
        return whole

    def _item(self, item: JsonValue | msgspec.Raw, name: str) -> JsonObject:
        value = _decoded(item)
        if not isinstance(value, dict):
            raise self._unexpected(name, value, "an object")
        return value

    def _unexpected(self, name: str, value: JsonValue, expected: str) -> DataError:
        return self._source.error(
            f"this looks like {self._what}, and {name} is {shown_json(value)}; expected "
            f"{expected}",
            hint="was it written by another version of the tool, or changed since?",
        )

    def _parsed(self, text: bytes) -> JsonObject:
        """Parse what msgspec refuses: an object with NaN, or one that is broken."""
        line = None
        problem = "is not a JSON object"
        try:
            value = json.loads(text)
            if isinstance(value, dict):
                return value
        except json.JSONDecodeError as error:
            line = error.lineno
            problem = (
                f"is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
            )
            if _ends_early(error):
                problem = "the file ends in the middle of it"
        except (UnicodeDecodeError, RecursionError) as error:
            problem = f"can't be read: {error}"
        hint = "was the run, its copy or its download interrupted, or the file changed by hand?"
        message = f"this looks like {self._what}, and {problem}"
        raise self._source.error(message, line=line, hint=hint)


def _decoded(value: JsonValue | msgspec.Raw) -> JsonValue:
    if not isinstance(value, msgspec.Raw):
        return value
    decoded: JsonValue = msgspec.json.decode(value)
    return decoded


def rows_of(source: Source) -> Iterator[tuple[int, JsonObject]]:
    """Yield the rows of JSON Lines or of a JSON array, with their places."""
    request = Request(FieldMap())
    loader = JsonLines(request)
    if source.is_array or source.is_objects:
        loader = JsonArray(request)
    for row in loader.texts(source):
        yield row.place, decode_row(row, source)


def _ends_early(error: json.JSONDecodeError) -> bool:
    """Check whether a text stops within a value, or within a string of it."""
    if not error.doc[error.pos :].strip():
        return True
    try:
        json.loads(f'{error.doc}"')
    except json.JSONDecodeError as closed:
        return closed.pos >= len(error.doc)
    return False
