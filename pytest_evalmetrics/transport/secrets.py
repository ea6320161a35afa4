"""Secrets from the environment, and hiding them in all that is shown or written."""

from __future__ import annotations

import base64
import json
import os
import re
from bisect import bisect_left
from functools import partial
from html import unescape
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from urllib.parse import quote, quote_plus

from pytest_evalmetrics.transport.wire import SecretError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

HIDDEN = "***"
# A shorter one ("none", "dummy", "EMPTY": what local servers are given) is met in innocent text.
_SHORTEST_SECRET = 6
_SHORTEST_PART = 8  # characters of a key that is shown in part
_LAYERS = 3  # of escapes around each other: JSON in a URL in JSON
_PUBLIC = re.compile(r"[A-Za-z]{2,8}[-_](?:[A-Za-z0-9]{2,8}[-_])?")  # sk-proj-
_NAMED = ("&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&sol;", "&plus;", "&equals;", "&lowbar;")
_MARKS = ("\\u00", "\\/", "\\\\", "%", "&#", *_NAMED)
_ESCAPE = re.compile(  # of ASCII, which keys are of
    r"\\u00[2-7][0-9a-fA-F]|\\[/\\]|%[2-7][0-9a-fA-F]|&#0*[0-9]{2,3};|&#[xX]0*[2-7][0-9a-fA-F];|"
    + "|".join(_NAMED)
)


class _Needle(NamedTuple):
    """A form of a secret: any run of at least `least` of its characters is hidden."""

    text: str
    least: int
    any_case: bool
    # pieces of which each such run holds one, with their places
    blocks: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, text: str, least: int, *, any_case: bool = False) -> _Needle:
        size = (least + 1) // 2 if least < len(text) else len(text)
        places = range(0, len(text) - size + 1, size)
        return cls(text, least, any_case, tuple((at, text[at : at + size]) for at in places))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        for at, block in self.blocks:
            start = text.find(block)
            while start >= 0:
                first, last, needle = start, start + len(block), self.text
                left, right = at, at + len(block)
                while left and first and needle[left - 1] == text[first - 1]:
                    left, first = left - 1, first - 1
                while right < len(needle) and last < len(text) and needle[right] == text[last]:
                    right, last = right + 1, last + 1
                if last - first >= self.least:
                    yield first, last
                start = text.find(block, start + 1)


class Secret:
    """A value that repr, str, format and pickle don't reveal.

    It is hidden as it is, in any case, in base64, behind the escapes of JSON, HTML and URLs, and
    where at least 8 characters of it are left, beyond a start such as ``sk-proj-`` that is public.
    """

    __slots__ = ("_exact", "_folded", "_needles", "_value", "name", "variable")

    def __init__(self, name: str, variable: str, value: str) -> None:
        self.name = name
        self.variable = variable
        self._value = value
        public = _PUBLIC.match(value)
        own = value[public.end() :] if public else value
        any_case = len(value) >= _SHORTEST_SECRET
        text = value.lower() if any_case else value
        needles = [_Needle.of(text, len(text), any_case=any_case)]  # also what is public of it
        whole = {json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value)} - {value}
        needles += [_Needle.of(form, len(form)) for form in whole]
        if len(own) >= _SHORTEST_PART:
            needles.append(_Needle.of(own.lower(), _SHORTEST_PART, any_case=True))
        if len(value) >= _SHORTEST_PART:
            for before in range(3):  # what stands in front of it shifts its base64
                written = base64.b64encode(b"\0" * before + value.encode()).decode()
                kept = written[(before * 4 + 2) // 3 : (before + len(value)) * 4 // 3]
                forms = {kept, kept.replace("+", "-").replace("/", "_")}
                needles += [_Needle.of(form, len(form) * 3 // 4) for form in forms]
        self._needles = tuple(needles)
        pieces = {(needle.any_case, piece) for needle in needles for _, piece in needle.blocks}
        self._exact = tuple(piece for any_case, piece in pieces if not any_case)
        self._folded = tuple(piece for any_case, piece in pieces if any_case)

    def reveal(self) -> str:
        """Return the value, for the one place that sends it."""
        return self._value

    def hide_in(self, text: str) -> str:
        """Replace the value, and what is recognised of it, in a text."""
        for start, end in reversed(self._spans(text)):
            text = f"{text[:start]}{HIDDEN}{text[end:]}"
        return text

    def is_in(self, text: str) -> bool:
        """Whether a text contains the value; a placeholder such as "none" is no secret."""
        return len(self._value) >= _SHORTEST_SECRET and bool(self._spans(text))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Find what is to be hidden, in order and without overlaps."""
        spans: list[tuple[int, int]] = []
        for plain, place in _layers(text):
            folded = plain.lower()
            if len(folded) != len(plain):  # a letter with two small ones
                folded = plain
            if _any_in(self._folded, folded) or _any_in(self._exact, plain):
                for needle in self._needles:
                    pairs = needle.spans(folded if needle.any_case else plain)
                    spans += ((place(start), place(end)) for start, end in pairs)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, {HIDDEN})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self.name, self._value) == (other.name, other._value)

    def __hash__(self) -> int:
        return hash((self.name, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written to another process or a file")


def _any_in(pieces: Sequence[str], text: str) -> bool:
    for piece in pieces:  # noqa: SIM110 - of each answer, and a generator costs twice as much
        if piece in text:
            return True
    return False


def _layers(text: str) -> Iterator[tuple[str, Callable[[int], int]]]:
    """Yield a text, then the text behind its escapes with each character's place in the first."""
    place: Callable[[int], int] = int
    yield text, place
    for _ in range(_LAYERS):
        if not any(mark in text for mark in _MARKS):
            return
        parts: list[str] = []
        starts: list[int] = []  # places of what was escaped, in the text that is made
        ends: list[int] = []  # the same in the text with the escapes, behind each
        end = shift = 0
        for match in _ESCAPE.finditer(text):
            parts += (text[end : match.start()], _unescaped(match[0]))
            starts.append(match.start() - shift)
            end = match.end()
            ends.append(end)
            shift += len(match[0]) - 1
        if not ends:
            return
        text = "".join((*parts, text[end:]))
        place = partial(_behind, starts, ends, place)
        yield text, place


def _behind(
    starts: Sequence[int], ends: Sequence[int], outer: Callable[[int], int], at: int
) -> int:
    """Find a character's place before its text was unescaped, and before that."""
    before = bisect_left(starts, at)
    return outer(ends[before - 1] + at - starts[before - 1] - 1 if before else at)


def _unescaped(escape: str) -> str:
    if escape.startswith("&"):
        return unescape(escape)[:1] or " "
    if escape.startswith("%"):
        return chr(int(escape[1:], 16))
    return chr(int(f"0x{escape[2:]}", 0)) if escape.startswith("\\u") else escape[1]


def variables_tried(name: str) -> tuple[str, ...]:
    """Name the environment variables that may hold a secret, in the order of the search."""
    upper = name.upper()
    return tuple(dict.fromkeys((name, upper, upper.replace("-", "_").replace("/", "_"))))


def find_secret(name: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Find a secret by its name."""
    environ = os.environ if environ is None else environ
    tried = variables_tried(name)
    for variable in tried:
        value = environ.get(variable, "").strip()  # files and heredocs leave a line feed
        if value:
            if not (value.isascii() and value.isprintable()):
                raise SecretError(
                    f"the environment variable {variable} holds a character that can't stand "
                    "in an HTTP header",
                    hint=f"set {variable} to the key alone, in printable ASCII",
                )
            return Secret(name, variable, value)
    empty = [variable for variable in tried if variable in environ]
    but = f" ({', '.join(empty)} is set, but empty)" if empty else ""
    raise SecretError(
        f"the secret {name!r} is not in the environment{but}",
        hint=f"set one of these environment variables: {', '.join(tried)}",
    )


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Hide every secret in a text that is shown or written."""
    for secret in secrets:
        text = secret.hide_in(text)
    return text
