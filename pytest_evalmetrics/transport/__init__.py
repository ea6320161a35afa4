"""Calls of endpoints: one client, retries, limits, secrets, the journal of paid calls.

It knows nothing of rows, scores and benchmarks. aiohttp is imported with the first request.
"""

from __future__ import annotations

from pytest_evalmetrics.transport.client import Meter, Transport
from pytest_evalmetrics.transport.endpoints import (
    Call,
    Endpoint,
    Occurrences,
    Terms,
    Work,
    written_body,
)
from pytest_evalmetrics.transport.exchange import RetryPolicy
from pytest_evalmetrics.transport.journal import Journal, JournalMode
from pytest_evalmetrics.transport.journal_store import (
    clear_journal,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.transport.loop import run_bounded, was_cancelled
from pytest_evalmetrics.transport.secrets import Secret, find_secret, redact
from pytest_evalmetrics.transport.usage import (
    Budget,
    Forecast,
    Price,
    Progress,
    Tokens,
    Usage,
    tokens_of,
)
from pytest_evalmetrics.transport.wire import (
    Answer,
    CallError,
    Clock,
    EndpointError,
    JournalError,
    MissingExtraError,
    RawResponse,
    SecretError,
    SendFailure,
    TransportError,
    needs_extra,
)

__all__ = [
    "Answer",
    "Budget",
    "Call",
    "CallError",
    "Clock",
    "Endpoint",
    "EndpointError",
    "Forecast",
    "Journal",
    "JournalError",
    "JournalMode",
    "Meter",
    "MissingExtraError",
    "Occurrences",
    "Price",
    "Progress",
    "RawResponse",
    "RetryPolicy",
    "Secret",
    "SecretError",
    "SendFailure",
    "Terms",
    "Tokens",
    "Transport",
    "TransportError",
    "Usage",
    "Work",
    "clear_journal",
    "export_journal",
    "find_secret",
    "import_journal",
    "needs_extra",
    "redact",
    "run_bounded",
    "tokens_of",
    "was_cancelled",
    "written_body",
]
