"""Reading what came back: a JSON value, or words that say why it is none."""

from __future__ import annotations

import json
import math
import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from pytest_evalmetrics.transport.wire import SendFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.transport.wire import RawResponse

__all__ = ["Answer", "own_words", "parse_json", "status_text", "text_of"]

_SHOWN, _LOOKED_AT = 200, 8192
_JSON_TYPE = re.compile(r"(application|text)/([\w.+-]+\+)?json")
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
_HTML_START = re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint answered.

    Attributes
    ----------
    status
        The HTTP status, 2xx.
    body
        The parsed JSON; every number in it is finite.
    latency_s
        Seconds from sending to the whole answer, of the attempt that succeeded; as it was
        when the answer was paid for.
    attempts
        How many requests it took when it was paid for.
    from_journal
        It was answered by the journal, not by the endpoint.
    """

    status: int
    body: Any
    latency_s: float
    attempts: int
    from_journal: bool


def status_text(status: int) -> str:
    """Write a status with its usual name."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def text_of(raw: RawResponse) -> str:
    """Check and decode the body of a 2xx answer.

    Raises
    ------
    SendFailure
        It is empty, an HTML page, of another content type, or not in its own encoding.
    """
    media, is_json, encoding = _content_type(raw.headers.get("Content-Type", ""))
    lenient = "" if is_json else raw.body.decode("utf-8", errors="replace")
    if not raw.body or raw.body.isspace():
        raise SendFailure("empty", f"answered {status_text(raw.status)} with an empty body")
    if media in ("text/html", "application/xhtml+xml") or _HTML_START.match(lenient):
        raise SendFailure(
            "html",
            f"answered {status_text(raw.status)} with an HTML page, not with JSON",
            said=lenient,
            hint="is it the right URL, and is there no login or proxy page in between?",
        )
    if media and not is_json:
        streams = media == "text/event-stream"
        raise SendFailure(
            "content-type",
            f"answered with the content type {media}, expected application/json",
            said=lenient,
            hint="it streams: ask for one whole answer (stream: false)" if streams else None,
        )
    try:
        if encoding in ("utf-8", "utf8"):
            return raw.body.removeprefix(BOM_UTF8).decode()
        return raw.body.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise SendFailure("invalid-json", f"the answer is not in {encoding}") from None


@lru_cache(maxsize=64)  # an endpoint sends one or two
def _content_type(header: str) -> tuple[str, bool, str]:
    """Read a header: the type, whether it is JSON's, and the encoding."""
    media, _, parameters = header.partition(";")
    media = media.strip().lower()
    charset = _CHARSET.search(parameters)
    return media, bool(_JSON_TYPE.fullmatch(media)), charset[1].lower() if charset else "utf-8"


def parse_json(text: str) -> Any:
    """Parse an answer; every number in it is finite.

    Raises
    ------
    SendFailure
        It is no JSON, or holds NaN, an infinity, or a number too large for a float.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _parsed_slowly(text)  # which knows half surrogate pairs too, and says what is wrong


def _parsed_slowly(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except _NotFiniteError as error:
        raise SendFailure(
            "not-finite", f"the answer holds {error}, which is no finite number", said=text
        ) from None
    except RecursionError:
        raise SendFailure("invalid-json", "the answer is nested too deeply") from None
    except ValueError as error:
        raise SendFailure("invalid-json", f"the answer is no JSON: {error}", said=text) from None


def own_words(said: str, hide: Callable[[str], str]) -> str:
    """Give an endpoint's own words from an error object or page, short and in one line.

    Secrets are hidden before anything is cut: a part of one could not be found any more.
    """
    said = hide(said)
    try:
        words = _message_in(json.loads(said))
    except (ValueError, RecursionError):
        words = said[:_LOOKED_AT]
        if _HTML_START.match(words):
            title = _TITLE.search(words)
            words = title.group(1) if title else _TAGS.sub(" ", words)
    words = " ".join("".join(c if c.isprintable() else " " for c in words[:_LOOKED_AT]).split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"


def _message_in(value: Any) -> str:
    """Find the message in the usual error objects: {"error": {"message": ...}} and the like."""
    while isinstance(value, dict):
        keys = (k for k in ("error", "message", "detail", "title") if value.get(k))
        key = next(keys, None)
        if key is None:
            break
        value = value[key]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _NotFiniteError(Exception):
    """A number that JSON has no word for, or that no float can hold."""


def _refuse(word: str) -> NoReturn:
    raise _NotFiniteError(word)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _NotFiniteError(text)
    return value


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)
