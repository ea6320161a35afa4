"""A row's way to endpoints."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypedDict

from pytest_evalmetrics.chat import Calls, Ticket
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.transport import Call, CallError, Work, written_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from pytest_evalmetrics.scorers.protocol import Row
    from pytest_evalmetrics.transport import Answer, Endpoint, Meter, Occurrences, Transport

__all__ = ["Calls", "Exchange", "RowCalls", "shown_text"]

_SHOWN = 4000  # characters of a request or an answer
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Exchange(TypedDict):
    """One call, for people: JSON as text, without secrets, cut where it is long."""

    request: str  # the body that was sent
    answer: str | None  # the body that came back; None where none came that is JSON


class RowCalls:
    """The calls of one scorer for one row, told apart from those of all others."""

    __slots__ = (
        "_first",
        "_label",
        "_meter",
        "_occurrences",
        "_own",
        "_row",
        "_taken",
        "_told_of",
        "_transport",
        "from_journal",
        "latency_s",
    )

    def __init__(
        self,
        transport: Transport,
        row: Row,
        occurrences: Occurrences,
        label: str,
        meter: Meter | None = None,
    ) -> None:
        self._transport = transport
        self._row = row
        self._occurrences = occurrences
        self._label = label
        self._meter = meter
        self._first: tuple[bytes, int] | None = None
        self._own: Occurrences | None = None
        self._told_of: dict[float, Exchange] = {}
        self._taken = 0
        self.from_journal = False  # the last answer came from the journal
        self.latency_s = 0.0  # seconds that it took when it was paid for

    @property
    def memory(self) -> dict[Hashable, Any]:
        """What is known of endpoints, see `Calls`."""
        return self._transport.memory

    @property
    def exchanges(self) -> list[Exchange]:
        """What was asked so far, and answered; the same whoever answered, and how fast."""
        return [self._told_of[place] for place in sorted(self._told_of)]

    def ticket(
        self,
        endpoint: Endpoint,
        body: Any,
        *,
        kind: str,
        versions: Mapping[str, str] | None = None,
    ) -> Ticket:
        """Take a place for a call, see `Calls`."""
        told = dict(versions or {})
        if self._first is not None:  # the later calls of a row are known by its first one
            payload, count = self._first
            told["after"] = f"{blake2b(payload, digest_size=20).hexdigest()}/{count}"
        asked = b"" if body is None else written_body(body)
        place, self._taken = self._taken, self._taken + 1
        return Ticket(place, asked, self._count(asked, kind, endpoint.url), told)

    async def post(
        self,
        endpoint: Endpoint,
        body: Any,
        *,
        kind: str,
        check: Callable[[Any], object] | None = None,
        versions: Mapping[str, str] | None = None,
        ticket: Ticket | None = None,
    ) -> Any:
        """Answer a call, see `Calls`."""
        written = None
        if ticket is None:
            ticket = self.ticket(endpoint, body, kind=kind, versions=versions)
            written = ticket.identity
        call = Call(
            endpoint,
            body,
            kind=kind,
            versions=ticket.versions,
            sample=self._row.sample,
            label=self._label,
            identity=ticket.identity,
            written=written,
        )
        asked = _written(body if ticket.told is None else ticket.told)
        refused: list[tuple[str, Any]] = []
        try:
            answer = await self._transport.call(
                call,
                occurrence=ticket.occurrence,
                check=None if check is None else _as_transport_s(check, refused),
                meter=self._meter,
            )
        except CallError as error:
            # what was answered, and is none
            bodies = [found for kind, found in refused if kind == error.kind]
            self._told(ticket.place, asked, _written(bodies[-1]) if bodies else None)
            raise
        self._told(ticket.place, asked, _written(answer.body))
        ticket.attempts, ticket.latency_s = answer.attempts, answer.latency_s
        self.from_journal = ticket.from_journal = answer.from_journal
        self.latency_s = answer.latency_s
        return answer.body

    async def perform(
        self,
        name: str,
        given: Mapping[str, Any],
        make: Callable[[], Awaitable[str]],
        *,
        version: str | None,
    ) -> Answer:
        """Do something in this process in place of a request, see `Transport.perform`."""
        asked = _written(given)
        place, self._taken = self._taken, self._taken + 1
        count = self._count(asked.encode("utf-8", "backslashreplace"), "perform/1", name)
        work = Work(name, given, version, self._row.sample, self._label)
        try:
            answer = await self._transport.perform(work, make, occurrence=count, meter=self._meter)
        except CallError:
            self._told(place, asked, None)
            raise
        self._told(place, asked, _written(answer.body))
        self.from_journal, self.latency_s = answer.from_journal, answer.latency_s
        return answer

    def following(self) -> RowCalls:
        """Give the calls that rest on these: the scorers', after the answer that they score.

        They are known by the first of these, so that they find their answers again in
        whatever order the rows were answered.
        """
        if self._own is None:
            self._own = type(self._occurrences)()
        after = RowCalls(self._transport, self._row, self._occurrences, self._label, self._meter)
        after._first, after._own = self._first, self._own
        return after

    def _told(self, place: float, asked: str, answered: str | None) -> None:
        """Keep an exchange; the transport knows the endpoint's key by now, and hides it."""
        hide = self._transport.hide
        told: Exchange = {
            "request": shown_text(asked, hide),
            "answer": None if answered is None else shown_text(answered, hide),
        }
        self._told_of[place] = told  # of a question that is sent in several forms the last one

    def _count(self, payload: bytes, kind: str, url: str) -> int:
        if self._first is not None:
            if self._own is None:
                self._own = type(self._occurrences)()
            return self._own.next(payload, kind, url)
        count = self._occurrences.next(payload, kind, self._row.sample, url)
        self._first = payload, count
        return count


def _as_transport_s(
    check: Callable[[Any], object], refused: list[tuple[str, Any]]
) -> Callable[[Any], None]:
    def checked(body: Any) -> None:
        try:
            check(body)
        except RowError as error:
            refused.append((error.kind, body))
            raise CallError(error.kind, error.message, hint=error.hint) from None

    return checked


def _written(value: Any) -> str:
    try:
        return compact(value)
    except (TypeError, ValueError):  # a number or a text that only the slow way can write
        # half a surrogate pair is no text, and is written as its escape
        return _JSON.encode(value).encode("utf-8", "backslashreplace").decode()


def shown_text(text: str, hide: Callable[[str], str]) -> str:
    """Make a text fit for ``row_scores.jsonl``: without secrets, then cut where it is long."""
    text = hide(text)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… (of {len(text)} characters)"
