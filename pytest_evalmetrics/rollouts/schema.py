"""What rows look like: a tree of places, learnt from the rows themselves."""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "BOOL",
    "FLOAT",
    "INT",
    "LIST",
    "NOT_NUMBER",
    "NUMBER",
    "OBJECT",
    "TEXT",
    "Node",
    "Record",
]

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


class Node:
    """One place in the rows: a key of an object, an index of a list, or the row itself.

    Attributes
    ----------
    key
        The key; ``""`` for the row.
    open
        Whether each key of this object is a place, or only those that were asked for.
    wanted
        Whether its values are collected.
    ignored
        Whether its value is of no interest whatever it is.
    kinds
        The kinds of value met, as bits; 0 while no row has this place.
    long
        Whether some text here is long.
    not_number
        In which row text, a list or an object was first met, as `learn` was told.
    fields, items
        The places in it.
    """

    __slots__ = (
        "fields",
        "ignored",
        "items",
        "key",
        "kinds",
        "long",
        "not_number",
        "open",
        "wanted",
        "whole",
    )

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.open = False
        self.wanted = False
        self.whole = False
        self.ignored = False
        self.kinds = 0
        self.long = False
        self.not_number: tuple[int, int] | None = None
        self.fields: dict[str, Node] = {}
        self.items: dict[int, Node] = {}

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
        """Take in a value as ``json.loads`` gives it.

        Parameters
        ----------
        value
            What stands at this place.
        where
            In which row: one that is learnt from later has a larger number; and its place.
        record
            Gets the value of each place, in the order of the row.

        Returns
        -------
        bool
            Whether there was anything new in it.
        """
        kind = _KINDS[type(value)]
        new = not self.kinds & kind
        self.kinds |= kind
        if kind & NOT_NUMBER and self.not_number is None:
            self.not_number = where
        if isinstance(value, str):
            new = self._learn_length(len(value)) or new
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

    def _learn_length(self, length: int) -> bool:
        new = length >= _LONG and not self.long
        self.long = self.long or new
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
