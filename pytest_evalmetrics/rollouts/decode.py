"""Decoders made from what was learnt, which decode no more than needed.

A decoder accepts exactly the keys and the kinds of value that were met so far. So a row
that it takes holds nothing new; a row that it refuses is looked at and learnt from, and the
decoder is made anew: late keys and mixed columns are not lost.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import astuple

from pytest_evalmetrics.rollouts.schema import (
    BOOL,
    FLOAT,
    INT,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    Node,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["Decoded", "Decoder"]

_Nothing: Any = Literal["\x00 nothing was met here yet"]  # refuses what comes first, even null
_Skipped = msgspec.defstruct("_Skipped", [], gc=False)
_SkippedList = msgspec.defstruct("_SkippedList", [], array_like=True, gc=False)
_NULL: Final = msgspec.Raw(b"null")
_number_or_bool = re.compile(rb"[-0-9tf]").match
_undeclarable = re.compile(r'["\\\x00-\x1f]').search  # msgspec takes no such key


class _Shape(msgspec.Struct, frozen=True):
    """An object or a list, as a struct and as what to read from it.

    Attributes
    ----------
    struct
        What it is decoded to.
    blank
        One in which everything is absent.
    collected
        The places whose values are wanted, and which fields of the struct they are.
    watched
        The fields that are texts left undecoded.
    inner
        The shapes of the objects and lists in it, and which fields they are.
    """

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
    """Decodes rows that look like those that `root` has learnt from.

    Attributes
    ----------
    one
        Decodes one row. Raises `msgspec.DecodeError` or `RecursionError`.
    lines
        Decodes rows that follow one another.
    blank
        A row in which everything is absent.
    watches
        Whether it leaves texts undecoded, so that `Decoded.suspects` may find some.
    """

    def __init__(self, root: Node) -> None:
        self._shape = _object(root)
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


def _type(node: Node) -> tuple[Any, _Shape | None]:
    """Make the type that accepts what a place has held so far."""
    leaf = not (node.fields or node.items or node.open)
    if not node.kinds:
        return _Nothing, None
    if node.whole:
        return msgspec.Raw, None
    if node.ignored or (leaf and _is_watched(node)):
        return msgspec.Raw, None
    if leaf and node.kinds & OBJECT and node.kinds & LIST:
        return Any, None  # no union can hold both
    union = _scalar(node.kinds)
    shape = None
    if node.kinds & (OBJECT | LIST):
        if leaf:
            return (_Skipped if node.kinds & OBJECT else _SkippedList) | union, None
        shape = _object(node) if node.kinds & OBJECT else _list(node)
        union = shape.struct | union
    return union, shape


def _scalar(kinds: int) -> Any:
    union: Any = None
    if kinds & FLOAT:
        union = float | int | union  # float alone would make 1.0 of 1
    if kinds & INT:
        union = int | union
    if kinds & BOOL:
        union = bool | union
    if kinds & TEXT:
        union = str | union
    return union


def _is_watched(node: Node) -> bool:
    """Whether values are costly to decode, and of no use unless some row holds a number there."""
    costly = node.long or (node.kinds & OBJECT and node.kinds & LIST)
    return bool(costly) and not node.wanted and not node.kinds & NUMBER


def _object(node: Node) -> _Shape:
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


def _list(node: Node) -> _Shape:
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
        kind, shape = (msgspec.Raw, None) if place is None else _type(place)
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
