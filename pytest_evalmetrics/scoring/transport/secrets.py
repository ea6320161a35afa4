"""Secrets from the environment, and hiding them in everything that people read.

Data on its way to a score, to the journal or to a file that is read again is never rewritten:
`Secret.is_in` says whether it holds a key.
"""

from __future__ import annotations

import base64
import json
import os
import re
from html import unescape
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, quote_plus, urlsplit

import msgspec

from pytest_evalmetrics.scoring.transport.wire import SecretError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HIDDEN = "***"
_SHORTEST_SECRET = 8  # a shorter one hides nothing: it occurs in ordinary text
_SHORTEST_PART = 8  # characters of a key that is shown in part
_SHORTEST_CODED_PART = 16  # characters of a key's base64 or hexadecimal
_SHORTEST_SPACED_PART = 23  # characters of its hexadecimal, spaced byte by byte
_LAYERS = 3  # of escapes around each other: JSON in a URL in JSON
_PUBLIC = re.compile(r"[A-Za-z]{2,8}[-_](?:[A-Za-z0-9]{2,8}[-_])?")  # sk-proj-
_ESCAPE = re.compile(  # of ASCII, which keys are of
    r"\\(?:u00|x)[2-7][0-9a-fA-F]|\\u\{0*[2-7][0-9a-fA-F]\}|\\[01][0-7]{2}|\\[/\\\"']"
    r"|%[2-7][0-9a-fA-F]|&#0*[0-9]{2,3};|&#[xX]0*[2-7][0-9a-fA-F];"
    r"|&(?:amp|lt|gt|quot|apos|sol|plus|equals|lowbar);"
)

# -- words, placeholders and keys ------------------------------------------------------------------

# what a text is made of: words with or without a capital, capitals, numbers
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_PLACEHOLDER_TEXT = (
    "a abc abcd abcdefg abcdefgh admin anonymous any anything api apikey auth "
    "bearer change changeme cpp default demo dummy empty example fake false foo for "
    "free guest here ignore ignored in insert is key keys know litellm llama "
    "llamacpp llm lm lmstudio local localai localhost me mistral mock model my n na "
    "needed no noauth nokey none noop not nothing null ollama open openai optional "
    "or pass passwd password paste placeholder private proj provided public put "
    "qwerty random replace required s sample secret server set sglang sk some "
    "something studio test testing tgi the this todo token true undefined unused "
    "used user v value vllm whatever with without you your "
)
_PLACEHOLDER_WORDS = frozenset(_PLACEHOLDER_TEXT.split())
_COUNTED_UP = "12345678901234567890"


def is_placeholder(value: str) -> bool:
    """Check for what local servers take for a key: ``none``, ``EMPTY``, ``sk-no-key-required``."""
    if len(set(value)) <= 2:  # xxxxxxxx, 00000000, ********
        return True
    for token in _TOKEN.findall(value):
        word = token.lower()
        is_counted = word.isdecimal() and (
            word in _COUNTED_UP or len(set(word)) == 1  # 123, 1234, 0000
        )
        is_filler = len(set(word)) == 1 and len(word) > 2
        if word not in _PLACEHOLDER_WORDS and not is_counted and not is_filler:
            return False
    return True


def _is_no_word(text: str) -> bool:
    """Check that a text can't be words, names or numbers: too many short pieces alternate.

    A random text of letters and digits has pieces of 1.5 to 2.5 characters, words have longer ones.
    """
    tokens = _TOKEN.findall(text)
    if len(text) < _SHORTEST_PART or len(tokens) < 3:
        return False
    mean = sum(map(len, tokens)) / len(tokens)
    longest = 3.5
    if len(text) < 2 * _SHORTEST_PART:
        longest = 2.5
    return mean < longest


_KEY = re.compile(
    r"(?:[sprk]k[-_](?:[A-Za-z0-9]{2,8}[-_]){0,2}[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{16,}"
    r"|xox[abprs]-[\w-]{16,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|nvapi-[\w-]{16,}"
    r"|(?:gsk|r8)_[A-Za-z0-9]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
)
_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


def looks_like_key(text: str) -> bool:
    """Check for a key in place of the name of one."""
    return len(text) >= 2 * _SHORTEST_PART and _is_no_word(text)


def keys_in(text: str) -> list[Secret]:
    """Find the keys that a text holds by mistake, in the forms of well-known providers."""
    found = dict.fromkeys(match[0] for match in _KEY.finditer(text))
    return [Secret("in the file", "", key) for key in found if _is_no_word(key)]


def secrets_in_url(url: str, environ: Mapping[str, str] | None = None) -> list[Secret]:
    """Find the secrets that a URL's path or query holds, as ``${NAME}`` puts them there."""
    if environ is None:
        environ = os.environ
    parts = urlsplit(url)
    text = f"{parts.path}?{parts.query}"
    secrets = []
    for variable, value in environ.items():
        is_there = len(value) >= _SHORTEST_SECRET and value in text
        is_secret = _SECRET_VARIABLE.search(variable) or looks_like_key(value)
        if is_there and is_secret and not is_placeholder(value):
            secrets.append(Secret(variable, variable, value))
    if not secrets:
        segments = filter(looks_like_key, re.split(r"[/?&=#]", text))
        secrets = [Secret("in the URL", "", segment) for segment in segments]
    return secrets


# -- the forms of a secret ---------------------------------------------------------------------


class _Form(msgspec.Struct, frozen=True):
    """A way to write a secret.

    Its whole text is hidden, and any run of at least `least` of its characters: of a coded form
    always, of a plain one if they can't be words.
    """

    text: str
    least: int
    is_coded: bool
    # with their places; each such run holds one of them
    pieces: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, text: str, least: int, *, is_coded: bool = False) -> _Form:
        """Make a form; `least` is the text's length if only the whole is hidden."""
        text = _folded(text)
        size = len(text)
        if least < len(text):
            size = (least + 1) // 2
        places = range(0, len(text) - size + 1, size)
        pieces = tuple((at, text[at : at + size]) for at in places)
        return cls(text=text, least=least, is_coded=is_coded, pieces=pieces)

    def spans(self, folded: str, text: str) -> Iterator[tuple[int, int]]:
        """Find the spans of a text to hide; `folded` is the text as the form is folded."""
        for at, piece in self.pieces:
            start = folded.find(piece)
            while start >= 0:
                first, last = self._grown(folded, at, start, len(piece))
                if self._hides(text[first:last]):
                    yield first, last
                start = folded.find(piece, start + 1)

    def _hides(self, run: str) -> bool:
        """Check whether a run of the form's characters shows the secret."""
        if len(run) == len(self.text):
            return True
        return len(run) >= self.least and (self.is_coded or _is_no_word(run))

    def _grown(self, folded: str, at: int, start: int, size: int) -> tuple[int, int]:
        """Return the longest run of the form's characters around one of its pieces."""
        left = at
        first = start
        while left and first and self.text[left - 1] == folded[first - 1]:
            left -= 1
            first -= 1
        right = at + size
        last = start + size
        while right < len(self.text) and self.text[right] == folded[last : last + 1]:
            right += 1
            last += 1
        return first, last


def _forms_of(value: str) -> Iterator[_Form]:
    plain = {
        value,
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        quote_plus(value),
    }
    for text in plain:
        yield _Form.of(text, len(text))
    own = value
    public = _PUBLIC.match(value)
    if public is not None:
        own = value[public.end() :]
    if len(own) > _SHORTEST_PART:
        yield _Form.of(own, _SHORTEST_PART)
    coded = {value.encode().hex()}
    for before in range(3):  # the bytes before it shift its base64 text
        encoded = base64.b64encode(b"\0" * before + value.encode()).decode()
        part = encoded[(before * 4 + 2) // 3 : (before + len(value)) * 4 // 3]
        coded |= {part, part.replace("+", "-").replace("/", "_")}
    for text in coded:
        least = min(len(text), _SHORTEST_CODED_PART)
        yield _Form.of(text, least, is_coded=True)
    for text in (value.encode().hex(" "), value.encode().hex(":")):
        least = min(len(text), _SHORTEST_SPACED_PART)
        yield _Form.of(text, least, is_coded=True)


class Secret:
    """A value that repr, str, format and pickle don't reveal.

    It is hidden whole, in any case, in base64 and hexadecimal, behind the escapes of JSON, HTML and
    URLs; and in parts of 8 characters and more, beyond a public start as ``sk-proj-``, that can't
    be words. A placeholder, and what is shorter than 8 characters, hides nothing.
    """

    __slots__ = ("_forms", "_value", "_whole", "name", "variable")

    def __init__(self, name: str, variable: str, value: str) -> None:
        self.name = name
        self.variable = variable
        self._value = value
        forms: list[_Form] = []
        if len(value) >= _SHORTEST_SECRET and not is_placeholder(value):
            forms = list(_forms_of(value))
        self._forms = tuple(forms)
        self._whole = tuple(_Form.of(form.text, len(form.text)) for form in forms)

    def reveal(self) -> str:
        """Return the value, for the one place that sends it."""
        return self._value

    @property
    def is_placeholder(self) -> bool:
        """Whether the value is one that only a local server takes for a key."""
        return is_placeholder(self._value)

    def hide_in(self, text: str) -> str:
        """Replace all recognised forms of the value in a text for people."""
        return _hidden(text, self._forms) if self._forms else text

    def is_in(self, text: str) -> bool:
        """Check whether a text holds the whole value, in any of its forms."""
        return bool(self._forms) and _hidden(text, self._whole) != text

    def left_out_of(self, text: str) -> str:
        """Replace the value as it is: a new key must not change a call's identity."""
        return text.replace(self._value, HIDDEN) if self._forms else text

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


def _hidden(text: str, forms: tuple[_Form, ...]) -> str:
    hidden = text
    for _ in range(_LAYERS + 1):
        spans = _spans(text, forms)
        for start, end in reversed(spans):
            text = f"{text[:start]}{HIDDEN}{text[end:]}"
        if spans:
            hidden = text
        if not any(mark in text for mark in "\\%&"):
            break
        plain = _ESCAPE.sub(_character, text)
        if plain == text:
            break
        text = plain
    return hidden


def _spans(text: str, forms: tuple[_Form, ...]) -> list[tuple[int, int]]:
    """Find the spans to hide, in order and without overlaps."""
    folded = _folded(text)
    found: set[tuple[int, int]] = set()
    for form in forms:
        found.update(form.spans(folded, text))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _folded(text: str) -> str:
    # the only letter whose lower case is longer, which would shift positions
    return text.replace("\u0130", "i").lower()


def _character(escape: re.Match[str]) -> str:
    """Resolve an escape of JSON, HTML or a URL."""
    text = escape[0]
    if text.startswith("&"):
        return unescape(text)[:1] or " "
    if text.startswith(("%", "\\u", "\\x")):
        return chr(int(text.rstrip("}")[-2:], 16))
    if text[1].isdecimal():
        return chr(int(text[1:], 8))
    return text[1]


# -- from the environment ----------------------------------------------------------------------


def find_secret(name: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Find a secret by its name, in the variables that may hold it in their order."""
    if environ is None:
        environ = os.environ
    upper = name.upper()
    tried = dict.fromkeys((name, upper, upper.replace("-", "_").replace("/", "_")))
    for variable in tried:
        # files and heredocs leave a line feed
        value = environ.get(variable, "").strip()
        if value:
            if not (value.isascii() and value.isprintable()):
                raise SecretError(
                    f"the environment variable {variable} holds a character that can't be sent",
                    hint=f"set {variable} to the key alone, in printable ASCII",
                    about=name,
                )
            return Secret(name, variable, value)
    if looks_like_key(name):
        raise SecretError(
            f"api_key_secret holds a key ({name[:3]}{HIDDEN}), expected the name of the "
            "environment variable that holds it",
            hint="replace the key, because the file has revealed it; set a variable to the "
            "new one, and write the variable's name",
            about=name,
        )
    empty = [variable for variable in tried if variable in environ]
    but = ""
    if empty:
        but = f" ({', '.join(empty)} is set, but empty)"
    raise SecretError(
        f"the secret {name!r} is not in the environment{but}",
        hint=f"set one of these environment variables: {', '.join(tried)}",
        about=name,
    )


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Hide every secret in a text for people."""
    for secret in secrets:
        text = secret.hide_in(text)
    return text
