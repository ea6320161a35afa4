"""The places seen in JSON rows so far, and decoders that decode no more than needed.

A decoder accepts exactly the keys and kinds of value seen so far, so a row that it takes holds
nothing new. A refused row is parsed and learnt from, and the decoder is made anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import astuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonValue

_TYPES: Final = (type(None), bool, int, float, str, dict, list)
KINDS: Final[dict[type, int]] = {kind: 1 << bit for bit, kind in enumerate(_TYPES)}
NULL, BOOL, INT, FLOAT, TEXT, OBJECT, LIST = KINDS.values()
NUMBER: Final = BOOL | INT | FLOAT
NOT_NUMBER: Final = TEXT | OBJECT | LIST
_Nothing: Any = Literal["\x00 nothing was met here yet"]  # refuses any value, even null
_Skipped = msgspec.defstruct("_Skipped", [], gc=False)
_SkippedList = msgspec.defstruct("_SkippedList", [], array_like=True, gc=False)
_Verdict = bool | int | float | str | None  # of a list
_NULL: Final = msgspec.Raw(b"null")
_undeclarable = re.compile(r'["\\\x00-\x1f]').search  # msgspec takes no such key


@dataclass(slots=True, eq=False)
class Node:
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
    fields: dict[str, Node] = dataclass_field(default_factory=dict)
    items: dict[int, Node] = dataclass_field(default_factory=dict)

    def field(self, key: str) -> Node:
        """Get the place under a key, made if need be."""
        return self.fields.setdefault(key, Node(key))

    def declare(self, path: str) -> list[Node]:
        """Get the places that a dotted path may mean, a key that holds dots first."""
        parts = path.split(".")
        nodes: list[Node] = []
        for size in range(len(parts), 0, -1):
            key = ".".join(parts[:size])
            rest = ".".join(parts[size:])
            places = [self.field(key)]
            if size == 1 and key.isdecimal():
                places.append(self.items.setdefault(int(key), Node(key)))
            for place in places:
                nodes += [place] if size == len(parts) else place.declare(rest)
        return nodes

    def learn(self, value: JsonValue, where: tuple[int, int], record: Record) -> bool:
        """Learn the kind of a parsed value, and return whether it is new at this place."""
        kind = KINDS[type(value)]
        new = not self.kinds & kind
        self.kinds |= kind
        if not kind & NOT_NUMBER:
            record[self] = value
            return new
        if self.not_number is None:
            self.not_number = where
        record[self] = _clean(value) if isinstance(value, str) else value
        if isinstance(value, dict):
            for key, inner in value.items():
                place = self.place(key)
                if place is not None and not (place.ignored and place.kinds):
                    new = place.learn(inner, where, record) or new
        elif isinstance(value, list):
            for index, place in self.items.items():
                if index < len(value):
                    new = place.learn(value[index], where, record) or new
        return new

    def place(self, key: str) -> Node | None:
        """Get the place under a key that a row has; None if it is of no interest."""
        place = self.fields.get(key)
        if place is None and self.open:
            place = self.field(_clean(key))
            place.ignored = key.startswith("_")
        return place


Record: TypeAlias = "dict[Node, JsonValue]"


def _clean(text: str) -> str:
    """Replace the halves of surrogate pairs, which no file can hold as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class Decoder(msgspec.Struct, frozen=True):
    """Decodes objects or lists that look like those that a place has held so far."""

    struct: type[msgspec.Struct]
    blank: msgspec.Struct
    wanted: Sequence[tuple[Node, int]]
    inner: Sequence[tuple[Decoder, int]]

    @property
    def decode(self) -> Callable[[memoryview], msgspec.Struct]:
        """The function that decodes one row, or raises."""
        return _json_decoder(self.struct).decode

    def values(
        self, objects: Sequence[msgspec.Struct]
    ) -> Iterator[tuple[Node, Sequence[Any]]]:
        """Yield the wanted places in decoded rows, with their values."""
        columns = list(zip(*map(astuple, objects), strict=True))
        for place, field in self.wanted:
            yield place, columns[field]
        for decoder, field in self.inner:
            struct = decoder.struct
            blank = decoder.blank
            yield from decoder.values(
                [o if type(o) is struct else blank for o in columns[field]]
            )


def _type_of(node: Node) -> tuple[Any, Decoder | None]:
    """Create the type that accepts all values of a place so far."""
    if not node.kinds:
        return _Nothing, None
    if node.whole or node.ignored:
        return msgspec.Raw, None
    union: Any = None
    types = ((FLOAT, float | int), (INT, int), (BOOL, bool), (TEXT, str))
    for kind, accepted in types:  # float alone would make 1.0 of 1
        if node.kinds & kind:
            union = accepted | union
    if not node.kinds & (OBJECT | LIST):
        return union, None
    return _type_of_holder(node, union)


def _type_of_holder(node: Node, union: Any) -> tuple[Any, Decoder | None]:
    """Create the type of a place that has held objects or lists."""
    if node.fields or node.items or node.open:
        last = max(node.items, default=-1)
        items = {f"f{i}": node.items.get(i) for i in range(last + 1)}
        is_object = node.kinds & OBJECT
        decoder = (
            object_decoder(node) if is_object else _decoder(items, array_like=True)
        )
        return decoder.struct | union, decoder
    if node.verdicts and not node.kinds & OBJECT:
        return list[_Verdict] | union, None
    if node.kinds & OBJECT and node.kinds & LIST:  # no union can hold two structs
        return _Skipped | list[msgspec.Raw] | union, None
    return (_Skipped if node.kinds & OBJECT else _SkippedList) | union, None


def object_decoder(node: Node) -> Decoder:
    """Make the decoder of objects that look like those that a place, or `root`, has held."""
    # a place that no row has had yet is unknown, which an open place refuses all the same
    places = [place for place in node.fields.values() if place.kinds or not node.open]
    members = {
        f"f{i}": place for i, place in enumerate(places) if not _undeclarable(place.key)
    }
    return _decoder(
        members,
        rename={name: place.key for name, place in members.items()},
        # a place that can't be declared is left to the reader that refused rows get
        is_closed=node.open or len(members) < len(places),
    )


def _decoder(
    members: Mapping[str, Node | None],
    rename: Mapping[str, str] | None = None,
    *,
    array_like: bool = False,
    is_closed: bool = False,
) -> Decoder:
    fields: list[tuple[str, Any]] = []
    wanted = []
    inner = []
    for index, (name, place) in enumerate(members.items()):
        kind, decoder = (msgspec.Raw, None) if place is None else _type_of(place)
        fields.append((name, kind))
        if place is not None and place.wanted and not place.ignored:
            wanted.append((place, index))
        if decoder is not None and (decoder.wanted or decoder.inner):
            inner.append((decoder, index))
    names = tuple((rename or {}).items())
    struct = _struct(tuple(fields), names, array_like=array_like, is_closed=is_closed)
    return Decoder(struct, struct(), wanted, inner)


# cached: creating decoders takes most of the time for a small file, and most rows are similar


_json_decoder = lru_cache(maxsize=256)(msgspec.json.Decoder)


@lru_cache(maxsize=256)
def _struct(
    fields: tuple[tuple[str, Any], ...],
    rename: tuple[tuple[str, str], ...],
    *,
    array_like: bool,
    is_closed: bool,
) -> type[msgspec.Struct]:
    defaults = [
        (name, kind, _NULL if kind is msgspec.Raw else None) for name, kind in fields
    ]
    return msgspec.defstruct(
        "_Row",
        defaults,
        gc=False,
        rename=dict(rename) or None,
        array_like=array_like,
        forbid_unknown_fields=is_closed,
    )
