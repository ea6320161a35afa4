"""Answers that are failures: HTTP statuses, and errors inside the body of a 200."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.scoring.transport import wire
from pytest_evalmetrics.scoring.transport.origin_state import Fault
from pytest_evalmetrics.scoring.transport.usage import duration
from pytest_evalmetrics.scoring.transport.wire import RawResponse, SendFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.scoring.transport.endpoints import Endpoint
    from pytest_evalmetrics.scoring.transport.secrets import Secret

LATER = "run again later: paid answers are kept"
_NO_CREDIT = "the account has no credit: add some, and run again; paid answers are kept"
_FATAL = {  # statuses that stop a benchmark, and the way out
    402: _NO_CREDIT,
    401: "the endpoint wants a key: name it with api_key_secret",
    403: "the endpoint wants a key that is allowed to do this: name it with api_key_secret",
    404: "nothing answers there: check the path of the URL, and the names in the request",
    405: "nothing takes a POST there: check the path of the URL",
}

# a spent quota in `code`, `type` or `status` of a 429's error object, or in the words of any 429
_SPENT = re.compile(
    r'"(?:code|type|status|reason)"\s*:\s*"(?:insufficient_quota|billing_hard_limit_reached'
    r'|billing_not_active|credit_balance_too_low|insufficient_(?:credits?|balance|funds))"'
    r"|insufficient (?:credits?|balance|funds)|\b(?:out of|no|no more) credits\b"
    r"|credit balance is too low",
    re.IGNORECASE,
)

# words of gateways, of clouds and of gRPC for what a status says, without `error` at their end
_STATUS_OF_WORD = {
    "invalid_request": 400,
    "invalid_argument": 400,
    "invalid_parameter": 400,
    "bad_request": 400,
    "validation": 400,
    "context_length_exceeded": 400,
    "string_above_max_length": 400,
    "content_filter": 400,
    "data_inspection_failed": 400,
    "failed_precondition": 400,
    "out_of_range": 400,
    "authentication": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "billing": 402,
    "arrearage": 402,
    "permission": 403,
    "permission_denied": 403,
    "access_denied": 403,
    "forbidden": 403,
    "not_found": 404,
    "model_not_found": 404,
    "resource_not_found": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "too_many_requests": 429,
    "rate_limit": 429,
    "rate_limit_exceeded": 429,
    "requests": 429,
    "tokens": 429,
    "resource_exhausted": 429,
    "throttling": 429,
    "spike_arrest_violation": 429,
    "api": 500,
    "internal": 500,
    "internal_failure": 500,
    "internal_server": 500,
    "server": 500,
    "bad_gateway": 502,
    "engine_overloaded": 503,
    "model_not_ready": 503,
    "overloaded": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "timeout": 504,
    "gateway_timeout": 504,
    "model_timeout": 504,
    "deadline_exceeded": 504,
}
_UNKNOWN = 500  # an error without a code that says more: it may pass
# the keys that say which error it is, in the order in which they are asked
_CODES = (
    "code",
    "status_code",
    "statusCode",
    "http_code",
    "http_status",
    "status",
    "type",
    "error_type",
    "errorcode",
    "__type",
)
# what may stand beside an error that is the whole answer
_BESIDE = frozenset(
    {
        *_CODES,
        "created",
        "detail",
        "error",
        "error_code",
        "error_msg",
        "estimated_time",
        "id",
        "instance",
        "message",
        "messages",
        "model",
        "object",
        "param",
        "path",
        "provider",
        "request_id",
        "result",
        "success",
        "timestamp",
        "title",
        "usage",
        "user_id",
        "warnings",
    }
)
# one of them is in every body that is an error
_MARKS = tuple(
    f'"{key}"'.encode()
    for key in (*_CODES, "error", "errors", "error_code", "fault", "base_resp")
)


class NamedError(msgspec.Struct, frozen=True):
    """An error inside an answer: the status that it stands for, and its JSON."""

    status: int
    text: str


def named_error(raw: RawResponse) -> NamedError | None:
    """Find the error that is the body of a 2xx, as gateways and streams send it."""
    if not any(mark in raw.body for mark in _MARKS):
        return None
    text = raw.body.decode(errors="replace").strip()
    for document in _documents(text):
        status = _status_of(document)
        if status:
            return NamedError(status, json.dumps(document))
    return None


def _documents(text: str) -> Iterator[JsonObject]:
    """Yield the object that is the body, or the objects of its server-sent events."""
    texts = [text]
    if text.startswith(("data:", "event:", "id:", ":")):
        lines = text.splitlines()
        texts = [line.partition(":")[2] for line in lines if line.startswith("data:")]
    for one in texts:
        document: JsonValue = None
        with suppress(ValueError, RecursionError):
            document = json.loads(one)
        if isinstance(document, list) and len(document) == 1:
            # Google's streams are lists
            document = document[0]
        if isinstance(document, dict):
            yield document


def _status_of(document: JsonObject) -> int:
    """Return the status that an error stands for; 0 for an answer.

    An error in words alone, without a code, is for the caller, whose rows may fail like this.
    """
    for error in _errors_in(document):
        return _status_in(error) or _status_in(document) or _UNKNOWN
    if not _BESIDE.issuperset(document) or document.get("result"):
        return 0
    if "estimated_time" in document:
        # a model of Hugging Face that is being loaded
        return 503
    status = _status_in(document)
    if document.get("error_code"):
        return status or _UNKNOWN
    has_words = any(document.get(key) for key in ("error", "message", "title"))
    if status is None or not has_words:
        return 0
    return status


def _errors_in(document: JsonObject) -> Iterator[JsonObject]:
    """Yield the objects of a document that are errors."""
    candidates = (
        document.get("error") or _error_of_choice(document),
        _fault_in(document),
        _first_of(document.get("errors")),
        _state_in(document),
    )
    for candidate in candidates:
        if isinstance(candidate, dict):
            yield candidate


def _first_of(value: JsonValue) -> JsonValue:
    """Return the first item of a list; None for anything else."""
    return value[0] if isinstance(value, list) and value else None


def _error_of_choice(document: JsonObject) -> JsonValue:
    """Return the error of a router whose model failed midway."""
    choice = _first_of(document.get("choices"))
    return choice.get("error") if isinstance(choice, dict) else None


def _fault_in(document: JsonObject) -> JsonValue:
    """Return the fault of Apigee's form, whose code is in its detail."""
    fault = document.get("fault")
    if isinstance(fault, dict) and isinstance(fault.get("detail"), dict):
        return fault["detail"]
    return fault


def _state_in(document: JsonObject) -> JsonValue:
    """Return the state of MiniMax's form, unless it is a success."""
    state = document.get("base_resp")
    if isinstance(state, dict) and state.get("status_code") in (0, None):
        return None
    return state


def _status_in(error: JsonObject) -> int | None:
    for key in _CODES:
        value = error.get(key)
        if isinstance(value, str):
            value = _status_of_word(value.strip())
        if type(value) is int and 400 <= value < 600:  # HTTP
            return value
    return None


_NEXT_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _status_of_word(text: str) -> int | None:
    """Read ``429``, ``rate_limit_error``, ``a.b#ThrottlingException``, ``Throttling.RateQuota``."""
    if text.isascii() and text.isdecimal():
        return int(text)
    for part in re.split(r"[.#]", text):
        word = _NEXT_WORD.sub("_", part).lower()
        for end in ("_exception", "_error"):
            word = word.removesuffix(end)
        if word in _STATUS_OF_WORD:
            return _STATUS_OF_WORD[word]
    return None


def refusal_of(
    raw: RawResponse, endpoint: Endpoint, longest_wait_s: float, now: float
) -> SendFailure:
    """Make the failure of a status other than 2xx; `now` is in seconds since 1970."""
    status = raw.status
    body = raw.body.decode(errors="replace")
    message = f"answered {wire.status_text(status)}"
    if 300 <= status < 400:  # HTTP
        to = raw.headers.get("Location", "").partition("?")[0] or "nowhere"
        return SendFailure(
            f"http-{status}",
            f"{message}, a redirect to {to}; redirects are not followed",
            fatal=True,
            status=status,
            hint="write the URL that answers itself",
        )
    wait_s = _asked_wait(raw.headers, now)
    return _failure_of_status(
        status,
        message=message,
        body=body,
        endpoint=endpoint,
        longest_wait_s=longest_wait_s,
        wait_s=wait_s,
    )


def named_failure(
    error: NamedError,
    raw: RawResponse,
    endpoint: Endpoint,
    longest_wait_s: float,
    now: float,
) -> SendFailure:
    """Make the failure of an error inside a 2xx, as if it were the answer's status."""
    message = (
        f"answered {wire.status_text(raw.status)} with the error "
        f"{wire.status_text(error.status)}"
    )
    wait_s = _asked_wait(raw.headers, now)
    return _failure_of_status(
        error.status,
        message=message,
        body=error.text,
        endpoint=endpoint,
        longest_wait_s=longest_wait_s,
        wait_s=wait_s,
    )


def _failure_of_status(
    status: int,
    *,
    message: str,
    body: str,
    endpoint: Endpoint,
    longest_wait_s: float,
    wait_s: float | None,
) -> SendFailure:
    fault = fault_of(status)
    hint = _FATAL.get(status)
    if status == 429 and _SPENT.search(body):  # HTTP
        hint = _NO_CREDIT
    elif fault is not None and wait_s is not None and wait_s > longest_wait_s:
        hint = f"{LATER}; or wait longer with params: {{max_wait: {wait_s:.0f}}}"
        message += (
            f" and asked to wait {duration(wait_s)}, over the {longest_wait_s:g} s of "
            "max_wait"
        )
    elif status in (401, 403) and endpoint.secret is not None:
        hint = _about_key(endpoint.secret)
    is_fatal = hint is not None
    if is_fatal:
        fault = None
    return SendFailure(
        f"http-{status}",
        message,
        fault=fault,
        fatal=is_fatal,
        status=status,
        retry_after_s=wait_s,
        hint=hint,
        text=body,
    )


def _about_key(secret: Secret) -> str:
    """Say which key an endpoint refused, and whether it can be one."""
    whose = (
        f"the key is that of the variable {secret.variable} (secret {secret.name!r})"
    )
    if secret.is_placeholder:
        return f"{whose}, whose value is a placeholder: set it to a key of the endpoint"
    return whose


def fault_of(status: int) -> Fault | None:
    """Return the fault that a status tells of; None if it will not pass."""
    if status in (429, 503, 529):  # HTTP; the last is Anthropic's
        return Fault.BUSY
    if status in (501, 505):  # HTTP: it lacks what was asked for
        return None
    if status in (408, 425) or 500 <= status < 600:  # HTTP
        return Fault.BROKEN
    return None


_SECONDS = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)\s*", re.ASCII)


def _asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Read the seconds of a Retry-After, or its date by the endpoint's clock (RFC 9110).

    None where it asks for nothing: it is missing or no number, zero, or in the past.
    """
    value = headers.get("Retry-After", "")
    if _SECONDS.fullmatch(value):
        seconds = float(value)  # some servers send fractions
    else:
        try:
            until = _timestamp(value)
        except (ValueError, OverflowError):
            # the latter is for a year or a zone of many digits
            return None
        with suppress(ValueError, OverflowError):
            now = _timestamp(headers.get("Date", ""))
        seconds = until - now
    if seconds <= 0 or not math.isfinite(seconds):
        return None
    return seconds


def _timestamp(date: str) -> float:
    moment = parsedate_to_datetime(date)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
