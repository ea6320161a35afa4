"""Other tools' documents: JSON objects whose parts are decoded when they are asked for."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines, decode_row
from pytest_evalmetrics.rollouts.loader import Request
from pytest_evalmetrics.rollouts.source import (
    RolloutFile,
    Source,
    open_source,
    shown_json,
)
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw] | None)


class Document:
    """A JSON object whose values are decoded lazily."""

    def __init__(self, text: bytes, source: Source, what: str) -> None:
        self._source = source
        self._what = what
        self._parts: dict[str, Any]
        try:
            self._parts = dict(_parts.decode(text))
        except (msgspec.DecodeError, RecursionError):
            self._parts = self._parsed(text)

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

    def get(self, key: str) -> Any:
        """Decode the value of a key, or return None."""
        return _decoded(self._parts.get(key))

    def whole(self, keys: Container[str] | None = None) -> dict[str, Any]:
        """Decode the object, or some of its keys."""
        wanted = self._parts if keys is None else keys
        return {
            key: _decoded(value) for key, value in self._parts.items() if key in wanted
        }

    def object(self, key: str) -> dict[str, Any]:
        """Decode the object of a key; empty if it is absent."""
        value = self.get(key)
        return {} if value is None else self._expect(dict, value, repr(key))

    def items(self, key: str) -> Iterator[dict[str, Any]] | None:
        """Decode the objects of a list one by one; None without a list."""
        value = self._parts.get(key)
        with suppress(msgspec.DecodeError):
            value = _items.decode(value) if isinstance(value, msgspec.Raw) else value
        value = _decoded(value)
        if value is None:
            return None
        items = enumerate(self._expect(list, value, repr(key)))
        return (
            self._expect(dict, _decoded(each), f"{key}[{at}]") for at, each in items
        )

    def _expect(self, kind: type, value: Any, name: str) -> Any:
        if isinstance(value, kind):
            return value
        raise self._source.error(
            f"this looks like {self._what}, and {name} is {shown_json(value)}; expected "
            f"{'a list' if kind is list else 'an object'}",
            hint="was it written by another version of the tool, or changed since?",
        )

    def _parsed(self, text: bytes) -> dict[str, Any]:
        """Parse what msgspec refuses: an object with NaN, or one that is broken."""
        line, problem = None, "is not a JSON object"
        try:
            value = json.loads(text)
            if isinstance(value, dict):
                return value
        except json.JSONDecodeError as error:
            line, rest = error.lineno, error.doc[error.pos :].strip()
            problem = (
                f"is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
            )
            if not rest or "Unterminated" in error.msg:
                problem = "the file ends in the middle of it"
        except (UnicodeDecodeError, RecursionError) as error:
            problem = f"can't be read: {error}"
        hint = "was the run, its copy or its download interrupted, or the file changed by hand?"
        message = f"this looks like {self._what}, and {problem}"
        raise self._source.error(message, line=line, hint=hint)


def _decoded(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


def rows_of(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of JSON Lines or of a JSON array, with their places."""
    is_document = source.is_array or source.is_objects
    loader = (JsonArray if is_document else JsonLines)(Request(FieldMap()))
    for row in loader.texts(source):
        yield row.place, decode_row(row, source)
