"""The client of a run: every call is paid for once."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from pytest_evalmetrics.transport.endpoints import Secret, holds_secret, journal_key, redact
from pytest_evalmetrics.transport.exchange import Exchange
from pytest_evalmetrics.transport.journal import JournalMode
from pytest_evalmetrics.transport.loop import LoopThread
from pytest_evalmetrics.transport.usage import UsageTally, tokens_of
from pytest_evalmetrics.transport.wire import (
    Answer,
    CallError,
    EndpointError,
    SendFailure,
    own_words,
    parse_json,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping

    from pytest_evalmetrics.transport.endpoints import Call
    from pytest_evalmetrics.transport.exchange import Limits, RetryPolicy
    from pytest_evalmetrics.transport.journal import Journal
    from pytest_evalmetrics.transport.journal_store import Failure
    from pytest_evalmetrics.transport.usage import Price, Tokens
    from pytest_evalmetrics.transport.wire import Clock, Sender

__all__ = ["Ledger", "Meter", "Transport", "Work", "perform", "work_key"]


class Ledger:
    """The journal, and the secrets that stay out of it."""

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
        """Look a call up; None where it is to be made."""
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


_FORMAT = "evalmetrics-work/1"
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=repr)


class Meter(Protocol):
    """What looks at each call before it is paid for, and after."""

    def admit(self) -> None:
        """Let a call be sent."""
        ...

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call that was sent, whatever came of it."""
        ...


@dataclass(frozen=True)
class Work:
    """One call of a function of the user's, as the journal knows it.

    Attributes
    ----------
    name
        The function: ``package.module:function``.
    given
        What it is called with.
    version
        What else its answer depends on; None where nobody says: then its answers are not kept,
        because nothing would tell when they are another's.
    sample
        The attempt's number.
    label
        What its usage is counted under.
    """

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None
    sample: int = 0
    label: str = ""


async def perform(
    ledger: Ledger,
    usage: UsageTally,
    work: Work,
    make: Callable[[], Awaitable[str]],
    *,
    occurrence: int = 0,
    meter: Meter | None = None,
) -> Answer:
    """Do a work, or find in the journal what it came to."""
    key = b""
    journal = ledger.journal
    if journal is not None:
        key = b"" if work.version is None else work_key(work, occurrence, ledger.hide)
        entry = journal.get(key) if key else None
        body = _parsed(entry.text) if entry is not None else None
        if entry is not None and body is not None:
            known = Answer(entry.status, body, entry.latency_s, entry.attempts, from_journal=True)
            usage.answered(work.label, known)
            return known
        if journal.mode is JournalMode.REPLAY:
            failure = journal.failure(key) if key else None
            if failure is not None:
                raise failure.error()
            raise CallError(
                "not-in-journal",
                f"the journal has no answer of {work.name} to this row",
                hint="give the target a version, and run once without replay",
            )
    if meter is not None:
        meter.admit()
    started = perf_counter()
    try:
        text = await make()
    except CallError as error:
        usage.failed(work.label, 1)
        ledger.keep_failure(key, error)
        if meter is not None:
            meter.paid(1, None, None)
        raise
    answer = Answer(200, json.loads(text), perf_counter() - started, 1, from_journal=False)
    if meter is not None:
        meter.paid(1, tokens_of(answer.body), None)
    ledger.keep(key, answer, text)
    usage.answered(work.label, answer)
    return answer


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # of an imported journal: then it is done anew
        return None


def work_key(work: Work, occurrence: int, hide: Callable[[str], str]) -> bytes:
    """Name a work for the journal; as `journal_key` does for a call."""
    told = [_FORMAT, work.name, work.version, work.sample, occurrence, work.given]
    text = hide(_CANONICAL.encode(told))
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=20).digest()


_T = TypeVar("_T")
_REACHED_NOTHING = frozenset({"refused", "dns", "unreachable", "timeout"})


class Transport:
    """Calls endpoints: each call once, whatever happens to the run.

    `memory` is for what callers learn of endpoints, once for the whole run.

    One per run, used as a context manager; `run` is its way in from ordinary code. A
    redirect is never followed: a POST would become a GET, or a key would go elsewhere.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        sender: Sender | None = None,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
        usage: UsageTally | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.usage = usage or UsageTally()
        self.ledger = Ledger(journal)
        self._exchange = Exchange(sender, policy, clock, limits)
        self._loop = LoopThread()
        self.memory: dict[Hashable, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know, each said once."""
        return self.ledger.warnings

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the run's one event loop, and write the journal to its end.

        The loop has a thread of its own: Ctrl-C in the calling thread cancels the
        coroutine, keeps what was answered, and goes on as usual.
        """
        try:
            return self._loop.run(coroutine)
        finally:
            self.ledger.flush()

    def close(self) -> None:
        """Close the connections, the loop and the journal."""
        try:
            if self._exchange.is_open:
                self._loop.run(self._exchange.close())
        finally:
            self._loop.close()
            self.ledger.close()

    def keep_secret(self, secrets: Iterable[Secret]) -> None:
        """Hide these from now on, also before an endpoint is called with one of them."""
        self.ledger.keep_secret(secrets)

    def hide(self, text: str) -> str:
        """Hide the secrets of every endpoint that was called, in a text to be shown."""
        return self.ledger.hide(text)

    async def call(
        self,
        call: Call,
        *,
        occurrence: int = 0,
        check: Callable[[Any], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Answer a call, from the journal if it is there."""
        if call.endpoint.secret is not None:
            self.ledger.keep_secret((call.endpoint.secret,))
        key, text, attempts = b"", None, 0  # by then nothing was sent
        try:
            payload = call.payload
            key = self.ledger.key(call, occurrence)
            known = self.ledger.known(call, key, check)
            if known is not None:
                self.usage.answered(call.label, known, call.endpoint.price)
                return known
            if meter is not None:
                meter.admit()
            raw, latency, attempts = await self._exchange.send(call, payload)
            text = text_of(raw)
            body = parse_json(text)
            if meter is not None:
                meter.paid(attempts, tokens_of(body), call.endpoint.price)
                meter = None
            if check is not None:
                check(body)
        except SendFailure as failure:
            attempts = max(attempts, failure.attempts)
            if meter is not None:
                meter.paid(attempts, None, call.endpoint.price)
            self.usage.failed(call.label, attempts)
            raise self._error(failure, call, attempts, key) from None
        except CallError as error:
            self.usage.failed(call.label, attempts)
            raise self._at(error, call, attempts, key, text) from None
        answer = Answer(raw.status, body, latency, attempts, from_journal=False)
        self.ledger.keep(key, answer, text)
        self.usage.answered(call.label, answer, call.endpoint.price)
        return answer

    async def perform(
        self,
        work: Work,
        make: Callable[[], Awaitable[str]],
        *,
        occurrence: int = 0,
        meter: Meter | None = None,
    ) -> Answer:
        """Do something in this process in place of a request, see `work.perform`."""
        return await perform(
            self.ledger, self.usage, work, make, occurrence=occurrence, meter=meter
        )

    def _error(
        self, failure: SendFailure, call: Call, attempts: int, key: bytes
    ) -> CallError | EndpointError:
        """Make an error for the user out of a failed attempt, and keep what a replay tells."""
        words = own_words(failure.said, self.hide)
        said = f", and said: {words}" if words else ""
        message = f"{call.method} {call.endpoint.shown}: {self.hide(failure.message)}{said}"
        if failure.fatal:
            return EndpointError(message, hint=failure.hint)
        if failure.kind in _REACHED_NOTHING and self._exchange.is_gone(call.endpoint):
            return EndpointError(
                f"{message}; nothing has answered there for some time, at call after call",
                hint=failure.hint or "is the server stuck? or does it need a longer time-out?",
            )
        if attempts > 1:
            message += f" ({attempts} attempts)"
        error = CallError(
            failure.kind,
            message,
            row=call.row,
            status=failure.status,
            attempts=attempts,
            hint=failure.hint,
        )
        self.ledger.keep_failure(key, error)
        return error

    def _at(
        self, error: CallError, call: Call, attempts: int, key: bytes, text: str | None
    ) -> CallError:
        """Complete a caller's error with the row and the number of requests; keep it too."""
        found = CallError(
            error.kind,
            self.hide(error.reason),
            row=error.row or call.row,
            status=error.status,
            attempts=error.attempts or attempts,
            hint=None if error.hint is None else self.hide(error.hint),
        )
        if text is not None:  # else nothing was sent
            self.ledger.keep_failure(key, found, text)
        return found
