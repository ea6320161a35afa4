"""The one client of a run: journal, retries, limits, and the loop that they run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from pytest_evalmetrics.transport.answers import Answer, own_words, parse_json, text_of
from pytest_evalmetrics.transport.errors import CallError, EndpointError
from pytest_evalmetrics.transport.exchange import Exchange
from pytest_evalmetrics.transport.ledger import Ledger
from pytest_evalmetrics.transport.loop import LoopThread
from pytest_evalmetrics.transport.usage import UsageTally, tokens_of
from pytest_evalmetrics.transport.wire import SendFailure
from pytest_evalmetrics.transport.work import perform

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable

    from pytest_evalmetrics.transport.calls import Call
    from pytest_evalmetrics.transport.journal import Journal
    from pytest_evalmetrics.transport.limits import Limits
    from pytest_evalmetrics.transport.retrying import RetryPolicy
    from pytest_evalmetrics.transport.secrets import Secret
    from pytest_evalmetrics.transport.wire import Clock, Sender
    from pytest_evalmetrics.transport.work import Meter, Work

__all__ = ["Transport"]

_T = TypeVar("_T")
_REACHED_NOTHING = frozenset({"refused", "dns", "unreachable", "timeout"})


class Transport:
    """Calls endpoints: each call once, whatever happens to the run.

    Parameters
    ----------
    journal
        Where answers are kept; None for nowhere.
    sender
        What sends a request; by default one aiohttp session, made at the first request.
    policy
        How long is waited between attempts; the number of them is the endpoint's.
    clock
        Time and chance.
    usage
        Where calls are counted, under their labels.
    limits
        How many calls endpoints are given at once; by default the client's own.

    Notes
    -----
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
        """Answer a call, from the journal if it is there.

        Parameters
        ----------
        call
            What is asked.
        occurrence
            How many calls with the same content came before, in the order of the rows.
        check
            Raises a `CallError` for a body that is no answer (``success: false``): it is
            not kept, and what the journal has of it is asked again.
        meter
            Lets it be sent, where the journal has no answer.

        Raises
        ------
        CallError
            This row failed; for others the endpoint may be fine.
        EndpointError
            401, 403, 404, a redirect, a name that doesn't exist, no TLS: all would fail.
        JournalError
            In replay mode, if the journal can't be read.
        """
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
