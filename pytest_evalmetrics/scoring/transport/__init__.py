"""Calls of endpoints: one client, retries, limits, secrets, the journal of paid calls.

It knows nothing of rows, scores and benchmarks. aiohttp is imported with the first request.
"""

from __future__ import annotations

from pytest_evalmetrics.scoring.transport.client import Meter as Meter
from pytest_evalmetrics.scoring.transport.client import Transport as Transport
from pytest_evalmetrics.scoring.transport.client import run_bounded as run_bounded
from pytest_evalmetrics.scoring.transport.client import was_cancelled as was_cancelled
from pytest_evalmetrics.scoring.transport.endpoints import Call as Call
from pytest_evalmetrics.scoring.transport.endpoints import Endpoint as Endpoint
from pytest_evalmetrics.scoring.transport.endpoints import Occurrences as Occurrences
from pytest_evalmetrics.scoring.transport.endpoints import Terms as Terms
from pytest_evalmetrics.scoring.transport.endpoints import Work as Work
from pytest_evalmetrics.scoring.transport.endpoints import written_body as written_body
from pytest_evalmetrics.scoring.transport.journal import Journal as Journal
from pytest_evalmetrics.scoring.transport.journal import JournalMode as JournalMode
from pytest_evalmetrics.scoring.transport.secrets import redact as redact
from pytest_evalmetrics.scoring.transport.usage import Budget as Budget
from pytest_evalmetrics.scoring.transport.usage import Forecast as Forecast
from pytest_evalmetrics.scoring.transport.usage import Progress as Progress
from pytest_evalmetrics.scoring.transport.usage import Tokens as Tokens
from pytest_evalmetrics.scoring.transport.usage import Usage as Usage
from pytest_evalmetrics.scoring.transport.usage import tokens_of as tokens_of
from pytest_evalmetrics.scoring.transport.wire import Answer as Answer
from pytest_evalmetrics.scoring.transport.wire import CallError as CallError
from pytest_evalmetrics.scoring.transport.wire import JournalError as JournalError
from pytest_evalmetrics.scoring.transport.wire import (
    MissingExtraError as MissingExtraError,
)
from pytest_evalmetrics.scoring.transport.wire import RawResponse as RawResponse
from pytest_evalmetrics.scoring.transport.wire import SecretError as SecretError
from pytest_evalmetrics.scoring.transport.wire import needs_extra as needs_extra
from pytest_evalmetrics.scoring.transport.wire import unique_keys as unique_keys
