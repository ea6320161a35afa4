"""The places seen in JSON rows so far, and decoders that decode no more than needed.

A decoder accepts exactly the keys and kinds of value seen so far, so a row that it takes holds
nothing new. A refused row is parsed and learnt from, and the decoder is made anew.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec.structs import astuple

from pytest_evalmetrics.json_types import JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_TYPES: Final = (type(None), bool, int, float, str, dict, list)
KINDS: Final[dict[type, int]] = {kind: 1 << bit for bit, kind in enumerate(_TYPES)}
NULL, BOOL, INT, FLOAT, TEXT, OBJECT, LIST = KINDS.values()
NUMBER: Final = BOOL | INT | FLOAT
NOT_NUMBER: Final = TEXT | OBJECT | LIST
# the types that each kind of single value is decoded as: float alone would make 1.0 of 1
_SINGLE_TYPES: Final = (
    (FLOAT, (float, int)),
    (INT, (int,)),
    (BOOL, (bool,)),
    (TEXT, (str,)),
)
_Verdict = bool | int | float | str | None  # of a list
_NULL: Final = msgspec.Raw(b"null")
_undeclarable = re.compile(r'["\\\x00-\x1f]').search  # msgspec takes no such key

#: A decoded value: the text of a whole one, a struct where only parts of it are read.
Decoded: TypeAlias = JsonValue | msgspec.Raw | msgspec.Struct


class _Nothing(Enum):
    """The type of a place that no row has had yet: it refuses any value, even null."""

    NOTHING = "\x00 nothing was met here yet"


class _SkippedObject(msgspec.Struct, gc=False):
    """An object of which nothing is read."""


class _SkippedList(msgspec.Struct, array_like=True, gc=False):
    """A list of which nothing is read."""


class Node(msgspec.Struct, eq=False):
    """One place in the rows: a key of an object, an index of a list, or the row itself."""

    key: str = ""
    open: bool = False  # takes keys that were not declared
    wanted: bool = False
    whole: bool = False  # is read as text
    ignored: bool = False
    verdicts: bool = False  # lists of numbers are read
    kinds: int = 0  # of the values so far
    # where text, an object or a list was first
    not_number: tuple[int, int] | None = None
    fields: dict[str, Node] = msgspec.field(default_factory=dict)
    items: dict[int, Node] = msgspec.field(default_factory=dict)

    def field(self, key: str) -> Node:
        """Get the place under a key, made if need be."""
        return self.fields.setdefault(key, Node(key))

    def item(self, index: int) -> Node:
        """Get the place at an index, made if need be."""
        return self.items.setdefault(index, Node(str(index)))

    def declare(self, path: str) -> list[Node]:
        """Get the places that a dotted path may mean, a key that holds dots first."""
        parts = path.split(".")
        nodes = [self.field(path)]
        if len(parts) == 1 and path.isdecimal():
            nodes.append(self.item(int(path)))
        for size in range(len(parts) - 1, 0, -1):
            key = ".".join(parts[:size])
            rest = ".".join(parts[size:])
            nodes += self.field(key).declare(rest)
            if size == 1 and key.isdecimal():
                nodes += self.item(int(key)).declare(rest)
        return nodes

    def learn(self, value: JsonValue, where: tuple[int, int], record: Record) -> bool:
        """Learn the kind of a parsed value, and return whether it is new at this place."""
        kind = KINDS[type(value)]
        new = not self.kinds & kind
        self.kinds |= kind
        record[self] = value
        if not kind & NOT_NUMBER:
            return new
        if self.not_number is None:
            self.not_number = where
        if isinstance(value, str):
            record[self] = _clean(value)
            return new
        for place, inner in self._inside(value):
            is_new = place.learn(inner, where, record)
            new = new or is_new
        return new

    def _inside(self, value: JsonValue) -> Iterator[tuple[Node, JsonValue]]:
        """Yield the places of interest inside of an object or a list, with their values."""
        if isinstance(value, dict):
            for key, inner in value.items():
                place = self.place(key)
                if place is not None and not (place.ignored and place.kinds):
                    yield place, inner
        elif isinstance(value, list):
            for index, place in self.items.items():
                if index < len(value):
                    yield place, value[index]

    def place(self, key: str) -> Node | None:
        """Get the place under a key that a row has; None if it is of no interest."""
        place = self.fields.get(key)
        if place is None and self.open:
            place = self.field(_clean(key))
            place.ignored = key.startswith("_")
        return place


#: The values of one row by their places.
Record: TypeAlias = dict[Node, JsonValue]


def _clean(text: str) -> str:
    """Replace the halves of surrogate pairs, which no file can hold as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


class Decoder(msgspec.Struct, frozen=True):
    """Decodes objects or lists that look like those that a place has held so far."""

    struct: type[msgspec.Struct]
    #: An instance without values, for rows that hold nothing there.
    blank: msgspec.Struct
    #: The places that are read, each with the index of its field.
    wanted: Sequence[tuple[Node, int]]
    #: The decoders of objects and lists inside, each with the index of its field.
    inner: Sequence[tuple[Decoder, int]]

    @property
    def decode(self) -> Callable[[memoryview], msgspec.Struct]:
        """The function that decodes one row, or raises."""
        return _json_decoder(self.struct).decode

    def values(
        self, objects: Sequence[msgspec.Struct]
    ) -> Iterator[tuple[Node, Sequence[Decoded]]]:
        """Yield the wanted places in decoded rows, with their values."""
        columns = list(zip(*map(astuple, objects), strict=True))
        for place, field in self.wanted:
            yield place, columns[field]
        for decoder, field in self.inner:
            struct = decoder.struct
            blank = decoder.blank
            held = [
                value if type(value) is struct else blank for value in columns[field]
            ]
            yield from decoder.values(held)


class _Field(msgspec.Struct, frozen=True):
    """How the value of one place is decoded."""

    accepted: type
    #: Of the parts of an object or a list; None where no part is read.
    decoder: Decoder | None = None


def _field_of(node: Node | None) -> _Field:
    """Accept all kinds of value that a place has held; any value where there is no place."""
    if node is None:
        return _Field(accepted=msgspec.Raw)
    if not node.kinds:
        return _Field(accepted=_Nothing)
    if node.whole or node.ignored:
        return _Field(accepted=msgspec.Raw)
    types: list[type] = []
    for kind, single_types in _SINGLE_TYPES:
        if node.kinds & kind:
            types += single_types
    decoder = None
    if node.kinds & (OBJECT | LIST):
        decoder = _decoder_inside(node)
        types += _types_inside(node) if decoder is None else [decoder.struct]
    union: type = reduce(or_, types, type(None))
    return _Field(accepted=union, decoder=decoder)


def _decoder_inside(node: Node) -> Decoder | None:
    """Make the decoder of the objects or lists of a place; None if no part is of interest."""
    if not node.fields and not node.items and not node.open:
        return None
    if node.kinds & OBJECT:
        return object_decoder(node)
    return _list_decoder(node)


def _types_inside(node: Node) -> list[type]:
    """List the types of objects and lists of which no part is of interest."""
    if not node.kinds & OBJECT:
        return [list[_Verdict]] if node.verdicts else [_SkippedList]
    if node.kinds & LIST:  # no union can hold two structs
        return [_SkippedObject, list[msgspec.Raw]]
    return [_SkippedObject]


def object_decoder(node: Node) -> Decoder:
    """Make the decoder of objects that look like those that a place, or `root`, has held."""
    # a place that no row has had yet is unknown, which an open place refuses all the same
    places = [place for place in node.fields.values() if place.kinds or not node.open]
    members: dict[str, Node | None] = {}
    keys: dict[str, str] = {}
    for index, place in enumerate(places):
        if not _undeclarable(place.key):
            members[f"f{index}"] = place
            keys[f"f{index}"] = place.key
    # a place that can't be declared is left to the reader that refused rows get
    is_closed = node.open or len(members) < len(places)
    fields = {name: _field_of(place) for name, place in members.items()}
    struct = _object_struct(_types(fields), tuple(keys.items()), is_closed=is_closed)
    return _decoder(struct, members, fields)


def _list_decoder(node: Node) -> Decoder:
    """Make the decoder of lists up to the last index that is read."""
    last = max(node.items, default=-1)
    members = {f"f{index}": node.items.get(index) for index in range(last + 1)}
    fields = {name: _field_of(place) for name, place in members.items()}
    return _decoder(_list_struct(_types(fields)), members, fields)


def _decoder(
    struct: type[msgspec.Struct],
    members: dict[str, Node | None],
    fields: dict[str, _Field],
) -> Decoder:
    """Find which fields of a struct are read, and which have parts that are."""
    wanted = []
    for index, place in enumerate(members.values()):
        if place is not None and place.wanted and not place.ignored:
            wanted.append((place, index))
    inner = []
    for index, field in enumerate(fields.values()):
        decoder = field.decoder
        if decoder is not None and (decoder.wanted or decoder.inner):
            inner.append((decoder, index))
    return Decoder(struct=struct, blank=struct(), wanted=wanted, inner=inner)


def _types(fields: dict[str, _Field]) -> _FieldTypes:
    return tuple((name, field.accepted) for name, field in fields.items())


# cached: creating decoders takes most of the time for a small file, and most rows are similar


#: Name -> type, of all fields of a struct.
_FieldTypes: TypeAlias = tuple[tuple[str, type], ...]
_json_decoder = lru_cache(maxsize=256)(msgspec.json.Decoder)


@lru_cache(maxsize=256)
def _object_struct(
    fields: _FieldTypes, keys: tuple[tuple[str, str], ...], *, is_closed: bool
) -> type[msgspec.Struct]:
    """Make the struct of objects; `keys` are those of its fields, and a closed one has no other."""
    return msgspec.defstruct(
        "_Row",
        _with_defaults(fields),
        gc=False,
        rename=dict(keys) or None,
        forbid_unknown_fields=is_closed,
    )


@lru_cache(maxsize=256)
def _list_struct(fields: _FieldTypes) -> type[msgspec.Struct]:
    """Make the struct of lists."""
    return msgspec.defstruct("_Row", _with_defaults(fields), gc=False, array_like=True)


def _with_defaults(
    fields: _FieldTypes,
) -> list[tuple[str, type, msgspec.Raw | None]]:
    """Let each field be absent, which is the same as null."""
    return [
        (name, kind, _NULL if kind is msgspec.Raw else None) for name, kind in fields
    ]
