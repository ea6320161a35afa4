"""Requests, answers and errors of calls to endpoints."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import time
from contextlib import contextmanager
from http.client import responses
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import EvalMetricsError, RowError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.scoring.transport.origin_state import Fault


class TransportError(EvalMetricsError):
    """The root of the errors of calls; `errors` draws the tree."""


class CallError(TransportError, RowError):
    """One row's call failed; the other rows go on.

    Parameters
    ----------
    kind
        A short stable word to group by: ``timeout``, ``http-500``, ``refused``, ``closed``,
        ``dns``, ``unreachable``, ``not-http``, ``encoding``, ``empty``, ``html``, ``content-type``,
        ``invalid-json``, ``not-finite``, ``too-large``, ``bad-request``,
        ``not-in-journal``; callers add their own.
    message
        The failure, with the endpoint's own words if there are any; no secrets.
    status
        The HTTP status, where there was one.
    attempts
        How many requests were sent for it.
    hint
        The way out.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        attempts: int = 0,
        hint: str | None = None,
    ) -> None:
        super().__init__(kind, message, hint=hint)
        self.status = status
        self.attempts = attempts


class EndpointError(TransportError):
    """No call to this endpoint can succeed: the benchmark stops at once."""


class JournalError(TransportError):
    """The journal can't be read where it must be, or an imported file is not one."""


class SecretError(TransportError):
    """A named secret is not in the environment, or can't be used."""


class MissingExtraError(TransportError):
    """A part of the package is needed that was not installed."""


@contextmanager
def needs_extra(extra: str, who: str) -> Iterator[None]:
    """Import packages of an extra inside of this."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{who} needs {error.name or error}, which is not installed",
            hint=f"pip install 'pytest-evalmetrics[{extra}]'",
        ) from None
    except ImportError as error:  # of releases that don't go together
        raise MissingExtraError(
            f"{who} needs a package that can't be imported: {error}",
            hint=f"pip install --upgrade 'pytest-evalmetrics[{extra}]'",
        ) from None


class RawResponse(msgspec.Struct, frozen=True):
    """A response, unread."""

    status: int
    # by their usual spelling (``Content-Type``)
    headers: Mapping[str, str]
    # the whole body, uncompressed; of an error page its beginning at least
    body: bytes


class PaidAnswer(msgspec.Struct, frozen=True):
    """An answer that was paid for, as the journal keeps it."""

    # the HTTP status
    status: int
    # JSON, as it came
    body: str
    # of the attempt that succeeded
    latency_s: float
    # how many requests it took
    attempts: int
    # when it was kept; seconds since 1970
    created: float = 0.0


class Answer(msgspec.Struct, frozen=True):
    """An endpoint's answer."""

    # the parsed JSON; every number in it is finite
    body: JsonValue
    # seconds from sending to the whole answer, of the attempt that succeeded; as it was when
    # the answer was paid for
    latency_s: float
    # how many requests it took when it was paid for
    attempts: int
    from_journal: bool


class SendFailure(CallError):  # noqa: N818 - it never leaves this package
    """An attempt that brought no usable answer."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        # of a failure that may pass: whose it may be; None if the row is not asked again
        fault: Fault | None = None,
        # no call to the endpoint can succeed
        fatal: bool = False,
        status: int | None = None,
        attempts: int = 0,
        retry_after_s: float | None = None,
        hint: str | None = None,
        # the endpoint's own words
        text: str = "",
    ) -> None:
        super().__init__(kind, message, status=status, attempts=attempts, hint=hint)
        self.fault = fault
        self.fatal = fatal
        self.retry_after_s = retry_after_s
        self.text = text


class Clock(msgspec.Struct, frozen=True):
    """Time and chance, so that tests need neither."""

    # seconds from some start, for durations
    monotonic: Callable[[], float] = time.perf_counter
    # seconds since 1970, for dates
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    # a number in [0, 1)
    random: Callable[[], float] = random.random


# Reading answers.

_SHOWN = 200  # characters of an endpoint's own words
_LOOKED_AT = 8192
# where an error has its words, in the order in which they are asked
_WORD_KEYS = ("error", "message", "detail", "title")
_JSON_TYPE = re.compile(r"(application|text)/([\w.+-]+\+)?json")
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
_HTML_START = re.compile(r"\s*<(!doctype\s+html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def status_text(status: int) -> str:
    """Write a status with its usual name."""
    return f"{status} {responses.get(status, '')}".rstrip()


def text_of(raw: RawResponse) -> str:
    """Check and decode the body of a 2xx answer."""
    media, _, parameters = raw.headers.get("Content-Type", "").partition(";")
    media = media.strip().lower()
    if not raw.body or raw.body.isspace():
        raise SendFailure(
            "empty", f"answered {status_text(raw.status)} with an empty body"
        )
    if _JSON_TYPE.fullmatch(media) is None:
        _refuse_other_type(raw, media)
    charset = _CHARSET.search(parameters)
    encoding = "utf-8"
    if charset is not None:
        encoding = charset[1].lower()
    try:
        return raw.body.decode(encoding).removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError):
        raise SendFailure("invalid-json", f"the answer is not in {encoding}") from None


def _refuse_other_type(raw: RawResponse, media: str) -> None:
    """Refuse a page, and whatever its head calls something else than JSON."""
    text = raw.body.decode(errors="replace")
    if media in ("text/html", "application/xhtml+xml") or _HTML_START.match(text):
        raise SendFailure(
            "html",
            f"answered {status_text(raw.status)} with an HTML page, not with JSON",
            text=text,
            hint="is it the right URL, and is there no login or proxy page in between?",
        )
    if not media:
        return
    hint = "let the endpoint send the header Content-Type: application/json"
    if media == "text/event-stream":
        hint = "it streams: ask for one whole answer (stream: false)"
    raise SendFailure(
        "content-type",
        f"answered with the content type {media}, expected application/json",
        text=text,
        hint=hint,
    )


def parse_json(text: str) -> JsonValue:
    """Parse an answer; every number in it is finite."""
    value: JsonValue = None
    try:
        value = _DECODER.decode(text)
    except SendFailure as failure:
        failure.text = text
        raise
    except RecursionError:
        raise SendFailure("invalid-json", "the answer is nested too deeply") from None
    except ValueError as error:
        raise SendFailure(
            "invalid-json", f"the answer is not JSON: {error}", text=text
        ) from None
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise SendFailure(
            "not-finite", f"the answer holds {text}, which is not a finite number"
        )
    return value


def unique_keys(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    """Make an object of JSON; a key with two values is refused, for either may be meant."""
    value = dict(pairs)
    if len(value) < len(pairs):
        for key, item in pairs:
            if item != value[key]:
                message = f"the answer holds {key!r} twice, with different values"
                raise RowError("duplicate-key", message)
    return value


_DECODER = json.JSONDecoder(
    parse_float=_finite, parse_constant=_finite, object_pairs_hook=unique_keys
)


def own_words(text: str, hide: Callable[[str], str]) -> str:
    """Return an endpoint's own words, short and in one line, with secrets hidden before any cut."""
    text = hide(text)
    try:
        words = _words_of_json(json.loads(text))
    except (ValueError, RecursionError):
        words = _words_of_page(text[:_LOOKED_AT])
    printable = [c if c.isprintable() else " " for c in words[:_LOOKED_AT]]
    words = " ".join("".join(printable).split())
    if len(words) <= _SHOWN:
        return words
    return f"{words[: _SHOWN - 1]}…"


def _words_of_json(value: JsonValue) -> str:
    """Return the text of ``{"error": {"message": ...}}`` and the like; else the JSON itself."""
    while isinstance(value, dict):
        inner = [value[key] for key in _WORD_KEYS if value.get(key)]
        if not inner:
            break
        value = inner[0]
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _words_of_page(text: str) -> str:
    """Return the title of an HTML page, else its text; other text as it is."""
    if _HTML_START.match(text) is None:
        return text
    title = _TITLE.search(text)
    if title is not None:
        return title[1]
    return _TAGS.sub(" ", text)
