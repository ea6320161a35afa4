"""Answers that are failures: HTTP statuses, and errors inside the body of a 200."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.scoring.transport import wire
from pytest_evalmetrics.scoring.transport.origin_state import Fault
from pytest_evalmetrics.scoring.transport.usage import duration
from pytest_evalmetrics.scoring.transport.wire import RawResponse, SendFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.scoring.transport.endpoints import Endpoint

LATER = "run again later: paid answers are kept"
_NO_CREDIT = "the account has no credit: add some, and run again; paid answers are kept"
_FATAL = {  # statuses that stop a benchmark, and the way out
    402: _NO_CREDIT,
    401: "the endpoint wants a key: name it with api_key_secret",
    403: "the endpoint wants a key that is allowed to do this: name it with api_key_secret",
    404: "nothing answers there: check the path of the URL, and the names in the request",
}

# a spent quota in `code`, `type` or `status` of a 429's error object, or in the words of any 429
_SPENT = re.compile(
    r'"(?:code|type|status|reason)"\s*:\s*"(?:insufficient_quota|billing_hard_limit_reached'
    r'|billing_not_active|credit_balance_too_low|insufficient_(?:credits?|balance|funds))"'
    r"|insufficient (?:credits?|balance|funds)|\b(?:out of|no|no more) credits\b"
    r"|credit balance is too low",
    re.IGNORECASE,
)

# words of gateways and of gRPC for what a status says
_STATUS_OF_WORD = {
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "bad_request": 400,
    "context_length_exceeded": 400,
    "string_above_max_length": 400,
    "content_filter": 400,
    "failed_precondition": 400,
    "out_of_range": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "billing_error": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "forbidden": 403,
    "not_found": 404,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "too_many_requests": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "requests": 429,
    "tokens": 429,
    "resource_exhausted": 429,
    "overloaded": 503,
    "overloaded_error": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "timeout": 504,
    "timeout_error": 504,
    "deadline_exceeded": 504,
}
_UNKNOWN = 500  # an error without a code that says more: it may pass
# what may stand beside an error that is the whole answer
_BESIDE = frozenset(
    {
        "code",
        "created",
        "detail",
        "error",
        "id",
        "message",
        "model",
        "object",
        "param",
        "path",
        "provider",
        "request_id",
        "status",
        "status_code",
        "timestamp",
        "type",
        "usage",
        "user_id",
    }
)


class NamedError(msgspec.Struct, frozen=True):
    """An error inside an answer: the status that it stands for, and its JSON."""

    status: int
    text: str


def named_error(raw: RawResponse) -> NamedError | None:
    """Find the error that is the body of a 2xx, as gateways and streams send it."""
    if b'"error"' not in raw.body:
        return None
    text = raw.body.decode("utf-8", errors="replace").strip()
    for document in _documents(text):
        error = _error_in(document)
        if error is not None:
            return error
    return None


def _documents(text: str) -> Iterator[Any]:
    """Yield the body as JSON, or the data of its server-sent events."""
    texts = [text]
    if text.startswith(("data:", "event:", "id:", ":")):
        lines = text.splitlines()
        texts = [line.partition(":")[2] for line in lines if line.startswith("data:")]
    for one in texts:
        with suppress(ValueError, RecursionError):
            yield json.loads(one)


def _error_in(document: Any) -> NamedError | None:
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    choices = document.get("choices")
    if not error and isinstance(choices, list) and choices:
        first = choices[0]
        error = first.get("error") if isinstance(first, dict) else None
        if not isinstance(error, dict):
            return None
    if isinstance(error, dict):
        status = _status_in(error) or _status_in(document) or _UNKNOWN
    elif isinstance(error, str) and error and _BESIDE.issuperset(document):
        # without a code it is for the caller, whose rows may fail like this
        status = _status_in(document) or 0
    else:
        return None
    return NamedError(status, json.dumps(document)) if status else None


def _status_in(error: Mapping[str, Any]) -> int | None:
    for key in ("code", "status_code", "status", "type"):
        value = error.get(key)
        if isinstance(value, str):
            word = value.strip().lower()
            value = int(word) if word.isdecimal() else _STATUS_OF_WORD.get(word)
        if type(value) is int and 400 <= value < 600:  # HTTP
            return value
    return None


def refusal_of(
    raw: RawResponse, endpoint: Endpoint, longest_wait_s: float, now: float
) -> SendFailure:
    """Make the failure of a status other than 2xx; `now` is in seconds since 1970."""
    status = raw.status
    body = raw.body.decode("utf-8", errors="replace")
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
        secret = endpoint.secret
        hint = f"the key is that of the variable {secret.variable} (secret {secret.name!r})"
    return SendFailure(
        f"http-{status}",
        message,
        fault=None if hint is not None else fault,
        fatal=hint is not None,
        status=status,
        retry_after_s=wait_s,
        hint=hint,
        text=body,
    )


def fault_of(status: int) -> Fault | None:
    """Return the fault that a status tells of; None if it will not pass."""
    if status in (429, 503, 529):  # HTTP; the last is Anthropic's
        return Fault.BUSY
    if status in (408, 425) or 500 <= status < 600:  # HTTP
        return Fault.BROKEN
    return None


def _asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Read the seconds of a Retry-After, or its date by the endpoint's clock (RFC 9110)."""
    value = headers.get("Retry-After", "")
    try:
        seconds = float(value)  # some servers send fractions
    except ValueError:
        try:
            until = _timestamp(value)
        except (ValueError, OverflowError):
            # the latter is for a year or a zone of many digits
            return None
        with suppress(ValueError, OverflowError):
            now = _timestamp(headers.get("Date", ""))
        seconds = until - now
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _timestamp(date: str) -> float:
    moment = parsedate_to_datetime(date)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
