"""What can go wrong between us and an endpoint, or us and the journal.

::

    EvalMetricsError
    └── TransportError
        ├── CallError           one row's call failed; the others go on
        ├── EndpointError       no call to this endpoint can succeed; the benchmark stops
        ├── JournalError        the journal can't be read, or a file of it is not one
        ├── SecretError         a named secret is not in the environment
        └── MissingExtraError   a part of the package that was not installed
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import EvalMetricsError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CallError",
    "EndpointError",
    "JournalError",
    "MissingExtraError",
    "SecretError",
    "TransportError",
    "needs_extra",
]


class TransportError(EvalMetricsError):
    """The root of what this room raises."""


class CallError(TransportError):
    """One row's call failed; the other rows go on.

    Parameters
    ----------
    kind
        A short stable word to group by: ``timeout``, ``http-500``, ``refused``, ``closed``,
        ``dns``, ``unreachable``, ``not-http``, ``empty``, ``html``, ``content-type``,
        ``invalid-json``, ``not-finite``, ``too-large``, ``bad-request``,
        ``not-in-journal``; callers add their own.
    message
        What happened, with the endpoint's own words where it said any; no secrets.
    row
        The row, as the user would name it.
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
        row: str | None = None,
        status: int | None = None,
        attempts: int = 0,
        hint: str | None = None,
    ) -> None:
        super().__init__(f"{row}: {message}" if row else message, hint=hint)
        self.kind = kind
        self.reason = message
        self.row = row
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
    """Import inside of this what an extra brings.

    Parameters
    ----------
    extra
        The extra: ``remote``.
    who
        What needs it, for the message: ``the scorer remote``.

    Raises
    ------
    MissingExtraError
        It is not installed; with the command that does it.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"{who} needs {error.name or error}, which is not installed",
            hint=f"pip install 'pytest-evalmetrics[{extra}]'",
        ) from None
