"""Secrets from the environment, and hiding them in all that is shown or written."""

from __future__ import annotations

import base64
import json
import os
import re
from html import unescape
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, quote_plus

import msgspec

from pytest_evalmetrics.transport.wire import SecretError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HIDDEN = "***"
# Shorter ones, such as "none" and "EMPTY" for local servers, occur in ordinary text.
_SHORTEST_SECRET = 6
_SHORTEST_PART = 8  # characters of a key that is shown in part
_LAYERS = 3  # of escapes around each other: JSON in a URL in JSON
_PUBLIC = re.compile(r"[A-Za-z]{2,8}[-_](?:[A-Za-z0-9]{2,8}[-_])?")  # sk-proj-
_ESCAPE = re.compile(  # of ASCII, which keys are of
    r"\\(?:u00|x)[2-7][0-9a-fA-F]|\\[/\\]|%[2-7][0-9a-fA-F]|&#0*[0-9]{2,3};|&#[xX]0*[2-7][0-9a-fA-F];"
    r"|&(?:amp|lt|gt|quot|apos|sol|plus|equals|lowbar);"
)


class _Form(msgspec.Struct, frozen=True):
    """A way to write a secret: any run of at least `least` of its characters is hidden."""

    text: str
    least: int
    pieces: tuple[
        tuple[int, str], ...
    ]  # with their places; each such run holds one of them

    @classmethod
    def of(cls, text: str, least: int) -> _Form:
        size = (least + 1) // 2 if least < len(text) else len(text)
        places = range(0, len(text) - size + 1, size)
        return cls(text, least, tuple((at, text[at : at + size]) for at in places))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        for at, piece in self.pieces:
            start = text.find(piece)
            while start >= 0:
                first, last = start, start + len(piece)
                left, right = at, at + len(piece)
                while left and first and self.text[left - 1] == text[first - 1]:
                    left, first = left - 1, first - 1
                while (
                    right < len(self.text) and self.text[right] == text[last : last + 1]
                ):
                    right, last = right + 1, last + 1
                if last - first >= self.least:
                    yield first, last
                start = text.find(piece, start + 1)


class Secret:
    """A value that repr, str, format and pickle don't reveal.

    It is hidden as it is, in any case, in base64 and hexadecimal, behind the escapes of JSON, HTML
    and URLs, and where at least 8 characters of it are left, beyond a public start as ``sk-proj-``.
    """

    __slots__ = ("_any_case", "_forms", "_value", "name", "variable")

    def __init__(self, name: str, variable: str, value: str) -> None:
        self.name = name
        self.variable = variable
        self._value = value
        self._any_case = len(value) >= _SHORTEST_SECRET
        forms = {
            value,
            json.dumps(value)[1:-1],
            quote(value, safe=""),
            quote_plus(value),
        }
        runs = [(form, len(form)) for form in forms]
        public = _PUBLIC.match(value)
        own = value[public.end() :] if public else value
        if len(own) >= _SHORTEST_PART:
            runs.append((own, _SHORTEST_PART))
        if len(value) >= _SHORTEST_PART:
            runs.append((value.encode().hex(), 2 * _SHORTEST_PART))
            for before in range(3):  # the bytes before it shift its base64 text
                encoded = base64.b64encode(b"\0" * before + value.encode()).decode()
                own = encoded[(before * 4 + 2) // 3 : (before + len(value)) * 4 // 3]
                forms = {own, own.replace("+", "-").replace("/", "_")}
                runs += [(form, len(form) * 3 // 4) for form in forms]
        self._forms = tuple(_Form.of(self._folded(text), least) for text, least in runs)

    def reveal(self) -> str:
        """Return the value, for the one place that sends it."""
        return self._value

    def hide_in(self, text: str) -> str:
        """Replace all recognised forms of the value in a text."""
        hidden = text
        for layer in range(_LAYERS + 1):
            spans = self._spans(text)
            for start, end in reversed(spans):
                text = f"{text[:start]}{HIDDEN}{text[end:]}"
            hidden = text if spans else hidden
            has_escapes = any(mark in text for mark in "\\%&")
            plain = _ESCAPE.sub(_character, text) if has_escapes else text
            if layer == _LAYERS or plain == text:
                break
            text = plain
        return hidden

    def is_in(self, text: str) -> bool:
        """Check whether a text contains the value; a placeholder such as "none" is no secret."""
        return len(self._value) >= _SHORTEST_SECRET and self.hide_in(text) != text

    def _folded(self, text: str) -> str:
        # the only letter whose lower case is longer, which would shift positions
        return text.replace("\u0130", "i").lower() if self._any_case else text

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Find the spans to hide, in order and without overlaps."""
        text = self._folded(text)
        merged: list[tuple[int, int]] = []
        for start, end in sorted(
            span for form in self._forms for span in form.spans(text)
        ):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, {HIDDEN})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self.name, self._value) == (
            other.name,
            other._value,
        )

    def __hash__(self) -> int:
        return hash((self.name, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written to another process or a file")


def _character(escape: re.Match[str]) -> str:
    """Resolve an escape of JSON, HTML or a URL."""
    text = escape[0]
    if text.startswith("&"):
        return unescape(text)[:1] or " "
    if text.startswith(("%", "\\u", "\\x")):
        return chr(int(text[-2:], 16))
    return text[1]


def find_secret(name: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Find a secret by its name, in the variables that may hold it in their order."""
    environ = os.environ if environ is None else environ
    upper = name.upper()
    tried = dict.fromkeys((name, upper, upper.replace("-", "_").replace("/", "_")))
    for variable in tried:
        value = environ.get(
            variable, ""
        ).strip()  # files and heredocs leave a line feed
        if value:
            if not (value.isascii() and value.isprintable()):
                raise SecretError(
                    f"the environment variable {variable} holds a character that can't be sent",
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
