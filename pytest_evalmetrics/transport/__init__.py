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
from pytest_evalmetrics.transport.journal import Journal, JournalMode
from pytest_evalmetrics.transport.journal_store import (
    clear_journal,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.transport.loop import run_bounded, was_cancelled
from pytest_evalmetrics.transport.secrets import redact
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
    JournalError,
    SecretError,
    needs_extra,
)

__all__ = [
    "Answer",
    "Budget",
    "Call",
    "CallError",
    "Endpoint",
    "Forecast",
    "Journal",
    "JournalError",
    "JournalMode",
    "Meter",
    "Occurrences",
    "Price",
    "Progress",
    "SecretError",
    "Terms",
    "Tokens",
    "Transport",
    "Usage",
    "Work",
    "clear_journal",
    "export_journal",
    "import_journal",
    "needs_extra",
    "redact",
    "run_bounded",
    "tokens_of",
    "was_cancelled",
    "written_body",
]
