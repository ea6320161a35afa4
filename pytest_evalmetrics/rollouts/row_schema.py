"""The places seen in JSON rows so far, and decoders that decode no more than needed.

A decoder accepts exactly the keys and kinds of value seen so far, so a row that it takes holds
nothing new. A refused row is parsed and learnt from, and the decoder is made anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import astuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

NULL, BOOL, INT, FLOAT, TEXT, OBJECT, LIST = (1 << bit for bit in range(7))
NUMBER: Final = BOOL | INT | FLOAT
NOT_NUMBER: Final = TEXT | OBJECT | LIST
_KINDS: Final[dict[type, int]] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: TEXT,
    dict: OBJECT,
    list: LIST,
}
_LONG = 200  # characters from which looking at a text's first byte is cheaper than decoding it
_Nothing: Any = Literal["\x00 nothing was met here yet"]  # refuses what comes first, even null
_Skipped = msgspec.defstruct("_Skipped", [], gc=False)
_SkippedList = msgspec.defstruct("_SkippedList", [], array_like=True, gc=False)
_NULL: Final = msgspec.Raw(b"null")
_number_or_bool = re.compile(rb"[-0-9tf]").match
_undeclarable = re.compile(r'["\\\x00-\x1f]').search  # msgspec takes no such key


@dataclass(slots=True, eq=False)
class Node:
    """One place in the rows: a key of an object, an index of a list, or the row itself."""

    key: str = ""
    open: bool = False  # takes keys that were not declared
    wanted: bool = False
    whole: bool = False  # is read as text
    ignored: bool = False
    kinds: int = 0  # of the values so far
    long: bool = False  # some text was long
    not_number: tuple[int, int] | None = None  # where text, an object or a list was first
    fields: dict[str, Node] = dataclass_field(default_factory=dict)
    items: dict[int, Node] = dataclass_field(default_factory=dict)

    def field(self, key: str) -> Node:
        """Get the place under a key, made if need be."""
        return self.fields.setdefault(key, Node(key))

    def declare(self, path: str) -> list[Node]:
        """Get the places that a dotted path may mean, the likeliest first.

        A key that holds dots comes before the path through objects and lists.
        """
        parts = path.split(".")
        found: list[Node] = []
        for size in range(len(parts), 0, -1):
            key, rest = ".".join(parts[:size]), ".".join(parts[size:])
            places = [self.field(key)]
            if size == 1 and key.isdecimal():
                places.append(self.items.setdefault(int(key), Node(key)))
            for place in places:
                found += [place] if size == len(parts) else place.declare(rest)
        return found

    def learn(self, value: Any, where: tuple[int, int], record: Record) -> bool:
        """Take in a value as ``json.loads`` gives it."""
        kind = _KINDS[type(value)]
        new = not self.kinds & kind
        self.kinds |= kind
        if kind & NOT_NUMBER and self.not_number is None:
            self.not_number = where
        if isinstance(value, str):
            if len(value) >= _LONG and not self.long:
                new = self.long = True
            value = _clean(value)
        record[self] = value
        if isinstance(value, dict):
            for key, inner in value.items():
                place = self.fields.get(key) or self._place_of(key)
                if place is not None and not (place.ignored and place.kinds):
                    new = place.learn(inner, where, record) or new
        elif isinstance(value, list):
            for index, place in self.items.items():
                if index < len(value):
                    new = place.learn(value[index], where, record) or new
        return new

    def _place_of(self, key: str) -> Node | None:
        if not self.open:
            return None
        place = self.field(_clean(key))
        place.ignored = key.startswith("_")
        return place


Record = dict[Node, Any]


def _clean(text: str) -> str:
    """Replace the halves of surrogate pairs, which no file can hold as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class _Shape(msgspec.Struct, frozen=True):
    """An object or a list, as a struct and as what to read from it."""

    struct: type[msgspec.Struct]
    blank: msgspec.Struct
    collected: Sequence[tuple[Node, int]]
    watched: Sequence[int]
    inner: Sequence[tuple[_Shape, int]]

    def watches(self) -> bool:
        """Whether there is such a text in it."""
        return bool(self.watched) or any(shape.watches() for shape, _ in self.inner)

    def levels(self, objects: Sequence[Any]) -> Iterator[_Level]:
        """Go through this shape and those in it, turning decoded objects into columns."""
        columns = list(zip(*map(astuple, objects), strict=True))
        yield _Level(self, columns)
        for shape, field in self.inner if columns else ():
            struct, blank = shape.struct, shape.blank
            yield from shape.levels([o if type(o) is struct else blank for o in columns[field]])


class _Level(NamedTuple):
    """The fields of one shape, as columns."""

    shape: _Shape
    columns: list[tuple[Any, ...]]


class Decoder:
    """Decodes rows that look like those that `root` has learnt from."""

    def __init__(self, root: Node) -> None:
        self._shape = _object_shape(root)
        decoder = _decoder(self._shape.struct)
        self.one: Callable[[memoryview], Any] = decoder.decode
        self.lines: Callable[[memoryview | bytes], list[Any]] = decoder.decode_lines
        self.blank = self._shape.blank
        self.watches = self._shape.watches()

    def look_into(self, rows: Sequence[Any]) -> Decoded:
        """Get at the values of decoded rows."""
        return Decoded(list(self._shape.levels(rows)))


class Decoded(msgspec.Struct, frozen=True):
    """Decoded rows, by shape."""

    _levels: list[_Level]

    def values(self) -> dict[Node, Sequence[Any]]:
        """Get the values of the wanted places, one sequence each."""
        return {
            place: columns[field]
            for shape, columns in self._levels
            if columns
            for place, field in shape.collected
        }

    def suspects(self) -> list[int]:
        """Find the rows that hold a number where so far there was none, by index."""
        found: set[int] = set()
        for shape, columns in self._levels:
            for field in shape.watched if columns else ():
                if any(map(_number_or_bool, columns[field])):
                    found |= {i for i, raw in enumerate(columns[field]) if _number_or_bool(raw)}
        return sorted(found)


def _type_of(node: Node) -> tuple[Any, _Shape | None]:
    """Make the type that accepts what a place has held so far."""
    leaf = not (node.fields or node.items or node.open)
    if not node.kinds:
        return _Nothing, None
    if node.whole or node.ignored or (leaf and _is_watched(node)):
        return msgspec.Raw, None
    if leaf and node.kinds & OBJECT and node.kinds & LIST:
        return Any, None  # no union can hold both
    union = _scalar(node.kinds)
    shape = None
    if node.kinds & (OBJECT | LIST):
        if leaf:
            return (_Skipped if node.kinds & OBJECT else _SkippedList) | union, None
        shape = _object_shape(node) if node.kinds & OBJECT else _list_shape(node)
        union = shape.struct | union
    return union, shape


def _scalar(kinds: int) -> Any:
    union: Any = None
    types = ((FLOAT, float | int), (INT, int), (BOOL, bool), (TEXT, str))
    for kind, accepted in types:  # float alone would make 1.0 of 1
        if kinds & kind:
            union = accepted | union
    return union


def _is_watched(node: Node) -> bool:
    """Whether values are costly to decode, and of no use unless some row holds a number there."""
    costly = node.long or (node.kinds & OBJECT and node.kinds & LIST)
    return bool(costly) and not node.wanted and not node.kinds & NUMBER


def _object_shape(node: Node) -> _Shape:
    members = {
        f"f{i}": place
        for i, place in enumerate(node.fields.values())
        if not _undeclarable(place.key)
    }
    return _shape(
        members,
        rename={name: place.key for name, place in members.items()},
        # a place that can't be declared is left to the reader that refused rows get
        forbid_unknown_fields=node.open or len(members) < len(node.fields),
    )


def _list_shape(node: Node) -> _Shape:
    last = max(node.items, default=-1)
    return _shape({f"f{i}": node.items.get(i) for i in range(last + 1)}, array_like=True)


# making these is the better part of what a small file takes, and benchmarks of a run mostly
# have rows of the same kind


@lru_cache(maxsize=256)
def _decoder(struct: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(struct)


@lru_cache(maxsize=256)
def _struct(
    fields: tuple[tuple[str, Any], ...],
    rename: tuple[tuple[str, str], ...],
    options: tuple[tuple[str, bool], ...],
) -> type[msgspec.Struct]:
    defaults = [(name, kind, _NULL if kind is msgspec.Raw else None) for name, kind in fields]
    made = {"rename": dict(rename)} if rename else {}
    return msgspec.defstruct("_Row", defaults, gc=False, **made, **dict(options))  # type: ignore[arg-type]


def _shape(
    members: Mapping[str, Node | None], rename: Mapping[str, str] | None = None, **options: bool
) -> _Shape:
    fields: list[tuple[str, Any]] = []
    collected, watched, inner = [], [], []
    for index, (name, place) in enumerate(members.items()):
        kind, shape = (msgspec.Raw, None) if place is None else _type_of(place)
        fields.append((name, kind))
        if place is not None and not place.ignored:
            if place.wanted:
                collected.append((place, index))
            if kind is msgspec.Raw and not place.whole:
                watched.append(index)
        if shape is not None and (shape.collected or shape.watched or shape.inner):
            inner.append((shape, index))
    struct = _struct(tuple(fields), tuple((rename or {}).items()), tuple(options.items()))
    return _Shape(struct, struct(), collected, watched, inner)
