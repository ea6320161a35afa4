"""Secrets and personal details in a case, each replaced by a mark.

A mark such as ``[email 1]`` stands for the same value wherever it occurs, so that the question
keeps its meaning. What is found: keys of well-known providers, e-mail addresses, phone numbers,
numbers of cards and accounts, and the names that known fields of the trace hold. A name that no
field holds is not found: read a case before you commit it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.cases.payloads import items, mapping
from pytest_evalmetrics.scoring.door import keys_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EMAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])")
# a plus or a leading zero, or groups that are set apart; dates and plain numbers have none
_PHONE = re.compile(
    r"(?<![\w.,:/-])"
    r"(?:\+\d[\d ().-]{6,18}\d|\(\d{2,5}\)[ -]?\d[\d -]{4,12}\d"
    r"|0\d{1,4}[ /-]\d[\d -]{4,12}\d|\d{3}[ .-]\d{3}[ .-]\d{4})"
    r"(?![\w:/-])"
)
# what is personal in any text, the surest kinds first
_PERSONAL: Final = (
    ("email", _EMAIL),
    ("account", _IBAN),
    ("account", _CARD),
    ("phone", _PHONE),
)
_NAME_FIELD = re.compile(
    r"(?:.*[._])?(?:user|customer|client|contact|patient|employee|person|enduser|caller|sender)"
    r"[._]?(?:name|full_?name|id)"
    r"|(?:.*[._])?(?:first|last|full|given|family|sur|display)_?name",
    re.IGNORECASE,
)
_SECRET_FIELD = re.compile(
    r"(?:.*[._-])?(?:api[_-]?key|access[_-]?token|auth[_-]?token|password|passwd|secret|bearer)",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?i)\b(?:api[ _-]?key|access[ _-]?token|password|passwd|secret)\b[\"']?\s*[:=]\s*"
    r"[\"']?([^\s\"',;]{6,})"
    r"|\bbearer\s+([\w.~+/-]{12,}=*)"
)
_SHORTEST_NAME = 3


class Removed(msgspec.Struct, frozen=True):
    """A value that was replaced; the value itself is never written."""

    kind: str
    mark: str
    places: int


class Redactor:
    """Replaces secrets and personal details by marks, the same value by the same mark."""

    def __init__(
        self, records: Iterable[dict[str, object]], keep: Iterable[str] = ()
    ) -> None:
        self._keep = set(keep)
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._names: list[str] = []
        self._secrets: list[str] = []
        for record in records:
            self._collect(record)

    def _collect(self, record: dict[str, object]) -> None:
        """Collect the values of the fields that hold names and secrets."""
        for key, value in _fields(record):
            if _SECRET_FIELD.fullmatch(key) and len(value) >= _SHORTEST_NAME:
                self._secrets.append(value)
            elif _NAME_FIELD.fullmatch(key) and len(value) >= _SHORTEST_NAME:
                self._names.append(value)

    def marked(self, text: str) -> str:
        """Return the text with a mark in place of each secret and personal detail."""
        for kind, value in self._found(text):
            if kind in self._keep:
                continue
            mark = self._mark(kind, value)
            pattern = _whole(value) if kind == "name" else re.escape(value)
            text, count = re.subn(pattern, mark, text)  # a mark has no backslash
            self._counts[mark] = self._counts.get(mark, 0) + count
        return text

    def _found(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield what to remove from a text, the surest kinds first."""
        for secret in keys_in(text):
            yield "key", secret.reveal()
        for match in _ASSIGNED.finditer(text):
            yield "key", match[1] or match[2]
        for value in self._secrets:
            if value in text:
                yield "key", value
        for kind, pattern in _PERSONAL:
            for match in pattern.finditer(text):
                yield kind, match[0]
        # the longest first: a full name before its parts
        for value in sorted(set(self._names), key=len, reverse=True):
            if re.search(_whole(value), text):
                yield "name", value

    def _mark(self, kind: str, value: str) -> str:
        known = self._marks.get((kind, value))
        if known is None:
            number = sum(1 for other, _ in self._marks if other == kind) + 1
            known = f"[{kind} {number}]"
            self._marks[kind, value] = known
        return known

    def removed(self) -> list[Removed]:
        """List the marks that were set, in their order."""
        return [
            Removed(kind=kind, mark=mark, places=self._counts[mark])
            for (kind, _), mark in self._marks.items()
            if self._counts.get(mark)
        ]


def _whole(value: str) -> str:
    return rf"(?i)(?<!\w){re.escape(value)}(?!\w)"


def _fields(record: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of a record by their dotted keys."""
    start = f"{path}." if path else ""
    for key, value in mapping(record).items():
        yield from _fields(value, f"{start}{key}")
    for value in items(record):
        yield from _fields(value, path)
    if isinstance(record, str) and path:
        yield path, record
