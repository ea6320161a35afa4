"""The forms of judges' answers: each is asked for by its JSON Schema, and reads what came.

Schemas are in the strict form: closed objects, all keys required.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.json_types import (
    JsonObject,
    JsonValue,
    list_of,
    objects_in,
    text_of_value,
)
from pytest_evalmetrics.layout import shown
from pytest_evalmetrics.scoring.scorers.row_reading import unexpected


class AnswerForm(Protocol):
    """The form of one value."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the value."""
        ...

    def read(self, value: JsonValue, key: str) -> JsonValue:
        """Read the value under a key; RowError for one of another form."""
        ...


class TextForm(msgspec.Struct, frozen=True):
    """A text that is not empty."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the value."""
        return {"type": "string"}

    def read(self, value: JsonValue, key: str) -> JsonValue:
        """Read the text, without the spaces around it."""
        if isinstance(value, str) and value.strip():
            return value.strip()
        raise _other(key, value, "text that is not empty")


class TruthForm(msgspec.Struct, frozen=True):
    """True or false."""

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the value."""
        return {"type": "boolean"}

    def read(self, value: JsonValue, key: str) -> JsonValue:
        """Read a boolean, also one that is written as text."""
        if isinstance(value, bool):
            return value
        word = text_of_value(value).strip().lower()
        if word in ("true", "false"):
            return word == "true"
        raise _other(key, value, "true or false")


class ScaleForm(msgspec.Struct, frozen=True):
    """One of a few whole numbers."""

    values: tuple[int, ...]

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the value."""
        return {"type": "integer", "enum": list(self.values)}

    def read(self, value: JsonValue, key: str) -> JsonValue:
        """Read a number; a text or a boolean is no value of a scale."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and value in self.values:
            return self.values[self.values.index(value)]
        expected = " or ".join(", ".join(map(str, self.values)).rsplit(", ", 1))
        raise _other(key, value, expected)


class ListForm(msgspec.Struct, frozen=True):
    """A list of values of one form."""

    item: AnswerForm
    # how many there are to be; None for any number
    length: int | None = None

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the value."""
        return {"type": "array", "items": self.item.schema}

    def read(self, value: JsonValue, key: str) -> JsonValue:
        """Read each value of the list."""
        if isinstance(value, list) and self.length in (None, len(value)):
            return [self.item.read(item, key) for item in value]
        expected = "a list"
        if self.length is not None:
            expected = f"a list of {self.length}"
        raise _other(key, value, expected)


class ObjectForm(msgspec.Struct, frozen=True):
    """An object; a model writes its keys in this order."""

    fields: Mapping[str, AnswerForm]

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of the value."""
        return closed({key: form.schema for key, form in self.fields.items()})

    def read(self, value: JsonValue, key: str) -> JsonValue:
        """Read the object under a key."""
        del key
        return self.read_fields(value)

    def read_fields(self, answer: JsonValue) -> JsonObject:
        """Read each field; a reasoning may be missing."""
        fields: JsonObject = {}
        for key, form in self.fields.items():
            value = answer.get(key) if isinstance(answer, dict) else None
            if key == "reasoning":
                fields[key] = " ".join(text_of_value(value).split())
            elif value is None:
                fault = f"the judge's answer has no {key!r}: {shown(answer)}"
                raise RowError("no-score", fault)
            else:
                fields[key] = form.read(value, key)
        return fields


TEXT = TextForm()
BOOLEAN = TruthForm()


def closed(properties: Mapping[str, JsonObject]) -> JsonObject:
    """Return the schema of an object whose keys are all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _other(key: str, value: JsonValue, expected: str) -> RowError:
    return unexpected("bad-answer", f"the judge's {key!r}", value, expected)


class Answered(msgspec.Struct, frozen=True):
    """The fields of an answer, which its form has read."""

    fields: JsonObject

    def text(self, key: str) -> str:
        """Return a field of `TEXT`."""
        return text_of_value(self.fields[key])

    def truth(self, key: str) -> bool:
        """Return a field of `BOOLEAN`."""
        return self.fields[key] is True

    def number(self, key: str) -> int:
        """Return a field of a `ScaleForm`."""
        value = self.fields[key]
        if not isinstance(value, int):
            raise TypeError(f"{key} is {value!r}, no number of a scale")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a field that is a list of `TEXT`."""
        return [text_of_value(value) for value in list_of(self.fields[key])]

    def objects(self, key: str) -> list[Answered]:
        """Return a field that is a list of objects."""
        return [Answered(value) for value in objects_in(self.fields[key])]
