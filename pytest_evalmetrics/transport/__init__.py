"""Calls of endpoints: one client, retries, limits, secrets, the journal of paid calls.

It knows nothing of rows, scores and benchmarks. aiohttp is imported with the first request.

::

    with Transport(Journal(path)) as transport:
        endpoint = Endpoint(url, find_secret("my-key"), parallelism=64)
        occurrences = Occurrences()

        def calls():
            for index, row in enumerate(rows):
                call = Call(endpoint, {"item": row}, kind="remote/1")
                yield call, occurrences.next(call.payload)

        async def ask(item):
            call, occurrence = item
            return await transport.call(call, occurrence=occurrence)

        transport.run(run_bounded(ask, calls(), endpoint.parallelism, on_done))
"""

from __future__ import annotations

from pytest_evalmetrics.transport.client import Meter, Transport, Work
from pytest_evalmetrics.transport.endpoints import (
    Call,
    Endpoint,
    Occurrences,
    Terms,
    journal_key,
    written_body,
)
from pytest_evalmetrics.transport.exchange import RetryPolicy
from pytest_evalmetrics.transport.journal import Journal, JournalMode
from pytest_evalmetrics.transport.journal_store import (
    Entry,
    KeptFailure,
    clear_journal,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.transport.loop import run_bounded, was_cancelled
from pytest_evalmetrics.transport.secrets import Secret, find_secret, redact
from pytest_evalmetrics.transport.usage import (
    Price,
    Progress,
    ProgressState,
    Tokens,
    Usage,
    tokens_of,
)
from pytest_evalmetrics.transport.wire import (
    Answer,
    CallError,
    Clock,
    EndpointError,
    HttpRequest,
    JournalError,
    MissingExtraError,
    RawResponse,
    SecretError,
    Sender,
    SendFailure,
    TransportError,
    needs_extra,
)

__all__ = [
    "Answer",
    "Call",
    "CallError",
    "Clock",
    "Endpoint",
    "EndpointError",
    "Entry",
    "HttpRequest",
    "Journal",
    "JournalError",
    "JournalMode",
    "KeptFailure",
    "Meter",
    "MissingExtraError",
    "Occurrences",
    "Price",
    "Progress",
    "ProgressState",
    "RawResponse",
    "RetryPolicy",
    "Secret",
    "SecretError",
    "SendFailure",
    "Sender",
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
    "journal_key",
    "needs_extra",
    "redact",
    "run_bounded",
    "tokens_of",
    "was_cancelled",
    "written_body",
]
