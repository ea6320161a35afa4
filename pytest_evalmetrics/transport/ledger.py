"""What is known of calls and what is kept of them; nothing of it holds a secret."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.transport.answers import Answer, parse_json
from pytest_evalmetrics.transport.calls import journal_key
from pytest_evalmetrics.transport.errors import CallError
from pytest_evalmetrics.transport.journal import JournalMode
from pytest_evalmetrics.transport.secrets import Secret, holds_secret, redact
from pytest_evalmetrics.transport.wire import SendFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_evalmetrics.transport.calls import Call
    from pytest_evalmetrics.transport.failures import Failure
    from pytest_evalmetrics.transport.journal import Journal

__all__ = ["Ledger"]


class Ledger:
    """The journal, and the secrets that stay out of it.

    Parameters
    ----------
    journal
        Where answers are kept; None for nowhere.
    """

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = journal
        self._secrets: dict[Secret, None] = {}  # a set that keeps its order
        self.own_warnings: list[str] = []

    @property
    def journal(self) -> Journal | None:
        """The run's journal; None where answers are neither kept nor looked up."""
        used = self._journal is not None and self._journal.mode is not JournalMode.OFF
        return self._journal if used else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know, each said once."""
        return (*self.own_warnings, *(self._journal.warnings if self._journal else ()))

    def warn(self, text: str) -> None:
        """Keep a warning for the end of the run, once."""
        if text not in self.own_warnings:
            self.own_warnings.append(text)

    def keep_secret(self, secrets: Iterable[Secret]) -> None:
        """Hide these from now on, also before an endpoint is called with one of them."""
        self._secrets.update(dict.fromkeys(secrets))

    def hide(self, text: str) -> str:
        """Hide the secrets of every endpoint that was called, in a text to be shown."""
        return redact(text, self._secrets) if self._secrets else text

    def key(self, call: Call, occurrence: int) -> bytes:
        """Name a call for the journal; empty without one."""
        return b"" if self.journal is None else journal_key(call, occurrence, self.hide)

    def known(self, call: Call, key: bytes, check: Callable[[Any], None] | None) -> Answer | None:
        """Look a call up; None where it is to be made.

        Raises
        ------
        CallError
            In replay mode, if it failed when it was made, or was not made.
        JournalError
            In replay mode, if the journal can't be read.
        """
        if self._journal is None or not key:
            return None
        replays = self._journal.mode is JournalMode.REPLAY
        entry = self._journal.get(key)
        if entry is None:
            if replays:
                failure = self._journal.failure(key)
                if failure is not None:
                    raise _as_it_failed(failure, call, check)
                raise CallError(
                    "not-in-journal",
                    f"the journal has no answer to this call of {call.endpoint.shown}",
                    row=call.row,
                    hint="run once without replay, so that it is called and kept",
                )
            return None
        try:
            body = parse_json(entry.text)
            if check is not None:
                check(body)
        except (SendFailure, CallError):
            if replays:
                raise
            return None  # by now it counts as a failure, and those are asked again
        return Answer(entry.status, body, entry.latency_s, entry.attempts, from_journal=True)

    def keep(self, key: bytes, answer: Answer, text: str) -> None:
        """Put an answer into the journal, unless it holds a secret or has no key."""
        if self._journal is None or not key:
            return
        if holds_secret(text, self._secrets):
            self.warn(
                "an endpoint repeats its key in its answers: they are used, but not kept "
                "in the journal"
            )
            return
        self._journal.put(
            key,
            status=answer.status,
            text=text,
            latency_s=answer.latency_s,
            attempts=answer.attempts,
        )

    def keep_failure(self, key: bytes, error: CallError, text: str | None = None) -> None:
        """Put into the journal how a call failed, and what came if it holds no secret."""
        if self._journal is None or not key or self._journal.mode is JournalMode.REPLAY:
            return
        if text is not None and holds_secret(text, self._secrets):
            text = None
        error = CallError(
            error.kind,
            self.hide(error.reason),
            status=error.status,
            attempts=error.attempts,
            hint=None if error.hint is None else self.hide(error.hint),
        )
        self._journal.put_failure(key, error, text)

    def flush(self) -> None:
        """Write the journal to its end."""
        if self._journal is not None:
            self._journal.flush()

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()


def _as_it_failed(failure: Failure, call: Call, check: Callable[[Any], None] | None) -> CallError:
    """Make the error of a call that failed when it was made."""
    if failure.body is not None and check is not None:
        with suppress(SendFailure, CallError):
            check(parse_json(failure.body))  # whoever asks sees what was answered
    return failure.error(call.row)
