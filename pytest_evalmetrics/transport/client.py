"""The client of a run: every call is paid for once."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from pytest_evalmetrics.transport.endpoints import journal_key
from pytest_evalmetrics.transport.exchange import RetryingSender
from pytest_evalmetrics.transport.journal import JournalMode
from pytest_evalmetrics.transport.loop import LoopThread
from pytest_evalmetrics.transport.secrets import redact
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
    from pytest_evalmetrics.transport.exchange import RetryPolicy
    from pytest_evalmetrics.transport.journal import Journal
    from pytest_evalmetrics.transport.secrets import Secret
    from pytest_evalmetrics.transport.usage import Price, Tokens
    from pytest_evalmetrics.transport.wire import Clock, Sender

_T = TypeVar("_T")
_AGAIN_S = 0.05  # between two looks for the answer to a call that another process makes
_CANONICAL = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=repr)


class Meter(Protocol):
    """Checks each call before it is paid for, and counts it afterwards."""

    def admit(self) -> None:
        """Let a call be sent."""
        ...

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        """Count a call that was sent, with or without success."""
        ...


class _Unmetered:
    def admit(self) -> None:
        pass

    def paid(self, requests: int, tokens: Tokens | None, price: Price | None) -> None:
        pass


_UNMETERED: Meter = _Unmetered()


@dataclass(frozen=True)
class Work:
    """One call of a function of the user's."""

    name: str  # the function: ``package.module:function``
    given: Mapping[str, Any] = field(default_factory=dict)  # its arguments
    # the function's version; None where it has none: then its answers are not kept, because a
    # change of the function could not be noticed
    version: str | None = None
    sample: int = 0  # the attempt's number
    label: str = ""  # its usage is counted under it


class Transport:
    """Calls endpoints: each call once, whatever happens to the run.

    One per run, used as a context manager; `run` is its way in from ordinary code. A
    redirect is never followed: a POST would become a GET, or a key would go elsewhere.
    `memory` holds the callers' facts about endpoints, for the whole run.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        sender: Sender | None = None,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.usage = UsageTally()
        self.memory: dict[Hashable, Any] = {}
        self._key_repeated = False
        off = journal is None or journal.mode is JournalMode.OFF
        self._journal = None if off else journal
        self._secrets: dict[Secret, None] = {}  # a set that keeps its order
        self._exchange = RetryingSender(sender, policy, clock)
        self._loop = LoopThread()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the end of the run, each once."""
        own = (
            "an endpoint repeats its key in its answers: they are used, but not kept in the journal"
        )
        journal = self._journal.warnings if self._journal else ()
        return (own, *journal) if self._key_repeated else tuple(journal)

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the run's one event loop, and write the journal to its end.

        The loop has a thread of its own: Ctrl-C in the calling thread cancels the
        coroutine, keeps the answers so far, and goes on as usual.
        """
        try:
            return self._loop.run(coroutine)
        finally:
            if self._journal is not None:
                self._journal.flush()

    def close(self) -> None:
        """Close the connections, the loop and the journal."""
        try:
            if self._exchange.is_open:
                self._loop.run(self._exchange.close())
        finally:
            self._loop.close()
            if self._journal is not None:
                self._journal.close()

    def keep_secret(self, secrets: Iterable[Secret]) -> None:
        """Hide these from now on, also before an endpoint is called with one of them."""
        self._secrets.update(dict.fromkeys(secrets))

    def hide(self, text: str) -> str:
        """Hide the secrets of every endpoint that was called."""
        return redact(text, self._secrets) if self._secrets else text

    async def call(
        self,
        call: Call,
        *,
        occurrence: int = 0,
        check: Callable[[Any], None] | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Answer a call, from the journal if it is there.

        `check` raises a `CallError` where an answer can't be used.
        """
        price = call.endpoint.price
        meter = meter or _UNMETERED
        check = check or (lambda _body: None)
        if call.endpoint.secret is not None:
            self._secrets[call.endpoint.secret] = None
        key, text, attempts = b"", None, 0  # by then nothing was sent
        try:
            payload = call.payload
            if self._journal is not None:
                key = journal_key(call, occurrence, self.hide)
                kept = await self._claimed(
                    key, lambda journal: self._kept(journal, call, key, check)
                )
                if kept is not None:
                    self.usage.answered(call.label, kept, price)
                    return kept
            meter.admit()
            raw, latency, attempts = await self._exchange.send(call, payload)
            text = text_of(raw)
            body = parse_json(text)
            meter.paid(attempts, tokens_of(body), price)
            meter = _UNMETERED  # it is counted
            check(body)
        except SendFailure as failure:
            attempts = max(attempts, failure.attempts)
            meter.paid(attempts, None, price)
            self.usage.failed(call.label, attempts)
            self._give_up(key)
            raise self._error(failure, call, attempts, key) from None
        except CallError as error:
            self.usage.failed(call.label, attempts)
            error = error.completed(self.hide, attempts)
            self._give_up(key)
            if text is not None:  # else nothing was sent
                self._keep_failure(key, error, text)
            raise error from None
        except BaseException:
            self._give_up(key)
            raise
        answer = Answer(raw.status, body, latency, attempts, from_journal=False)
        self._keep(key, answer, text)
        self.usage.answered(call.label, answer, price)
        return answer

    async def perform(
        self,
        work: Work,
        make: Callable[[], Awaitable[str]],
        *,
        occurrence: int = 0,
        meter: Meter | None = None,
    ) -> Answer:
        """Call a function in this process in place of a request, or look its answer up."""
        key = b""
        if self._journal is not None:
            if work.version is not None:
                name = ["evalmetrics-work/1", work.name, work.version, work.sample, occurrence]
                text = self.hide(_CANONICAL.encode([*name, work.given]))
                name_bytes = text.encode("utf-8", "backslashreplace")
                key = blake2b(name_bytes, digest_size=20).digest()
            kept = await self._claimed(key, lambda journal: _kept_work(journal, key))
            if kept is not None:
                self.usage.answered(work.label, kept)
                return kept
            if self._journal.mode is JournalMode.REPLAY:
                failure = self._journal.failure(key) if key else None
                if failure is not None:
                    raise failure.error()
                raise CallError(
                    "not-in-journal",
                    f"the journal has no answer of {work.name} to this row",
                    hint="give the target a version, and run once without replay",
                )
        meter = meter or _UNMETERED
        started = perf_counter()
        try:
            meter.admit()
            text = await make()
        except CallError as error:
            self._give_up(key)
            self.usage.failed(work.label, 1)
            self._keep_failure(key, error)
            meter.paid(1, None, None)
            raise
        except BaseException:
            self._give_up(key)
            raise
        answer = Answer(200, json.loads(text), perf_counter() - started, 1, from_journal=False)
        meter.paid(1, tokens_of(answer.body), None)
        self._keep(key, answer, text)
        self.usage.answered(work.label, answer)
        return answer

    async def _claimed(self, key: bytes, look: Callable[[Journal], Answer | None]) -> Answer | None:
        """Look a call up, once no other process makes it; without an answer it is this one's."""
        journal = self._journal
        if journal is None or not key:
            return None
        while True:
            mine = journal.claim(key)
            kept = look(journal)
            if kept is not None:
                journal.release(key)
            if kept is not None or mine:
                return kept
            await asyncio.sleep(_AGAIN_S)

    def _give_up(self, key: bytes) -> None:
        if self._journal is not None and key:
            self._journal.release(key)

    def _kept(
        self, journal: Journal, call: Call, key: bytes, check: Callable[[Any], None]
    ) -> Answer | None:
        """Look a call up in the journal; None where it is to be made."""
        replays = journal.mode is JournalMode.REPLAY
        entry = journal.get(key)
        if entry is None:
            if not replays:
                return None
            failure = journal.failure(key)
            if failure is None:
                raise CallError(
                    "not-in-journal",
                    f"the journal has no answer to this call of {call.endpoint.shown}",
                    hint="run once without replay, so that it is called and kept",
                )
            if failure.body is not None:
                with suppress(SendFailure, CallError):
                    check(parse_json(failure.body))  # the caller sees the refused answer
            raise failure.error()
        try:
            body = parse_json(entry.text)
            check(body)
        except (SendFailure, CallError):
            if replays:
                raise
            return None  # by now it counts as a failure, and those are asked again
        return Answer(entry.status, body, entry.latency_s, entry.attempts, from_journal=True)

    def _keep(self, key: bytes, answer: Answer, text: str) -> None:
        """Put an answer into the journal, unless it holds a secret or has no key."""
        if self._journal is None or not key:
            return
        if self._holds_secret(text):
            self._key_repeated = True
            self._journal.release(key)
            return
        self._journal.put(
            key,
            status=answer.status,
            text=text,
            latency_s=answer.latency_s,
            attempts=answer.attempts,
        )

    def _keep_failure(self, key: bytes, error: CallError, text: str | None = None) -> None:
        """Put a failure into the journal, and the refused body if it holds no secret."""
        if self._journal is None or not key or self._journal.mode is JournalMode.REPLAY:
            return
        if text is not None and self._holds_secret(text):
            text = None
        self._journal.put_failure(key, error.completed(self.hide), text)

    def _holds_secret(self, text: str) -> bool:
        return any(secret.is_in(text) for secret in self._secrets)

    def _error(
        self, failure: SendFailure, call: Call, attempts: int, key: bytes
    ) -> CallError | EndpointError:
        """Make the user's error of a failed attempt, and keep it for a replay."""
        words = own_words(failure.said, self.hide)
        said = f", and said: {words}" if words else ""
        message = f"POST {call.endpoint.shown}: {self.hide(failure.message)}{said}"
        if failure.fatal:
            return EndpointError(message, hint=failure.hint)
        error = CallError(
            failure.kind,
            f"{message} ({attempts} attempts)" if attempts > 1 else message,
            status=failure.status,
            attempts=attempts,
            hint=failure.hint,
        )
        self._keep_failure(key, error)
        return error


def _kept_work(journal: Journal, key: bytes) -> Answer | None:
    entry = journal.get(key)
    if entry is not None:
        with suppress(ValueError):  # of an imported journal: then it is called anew
            body = json.loads(entry.text)
            return Answer(entry.status, body, entry.latency_s, entry.attempts, from_journal=True)
    return None
