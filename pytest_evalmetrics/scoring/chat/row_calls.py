"""The calls of one scorer or generator for one row, distinct from those of all others."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, TypedDict

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.scoring.transport import Call, Occurrences, Work, written_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.scoring.transport import Answer, Endpoint, Meter, Transport


_SHOWN = 4000  # characters of a request or an answer
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Exchange(TypedDict):
    """The texts of a request and its answer, without secrets and truncated."""

    request: str  # the body that was sent
    answer: str | None  # the body that came back; None if none came that is JSON


class Calls:
    """Sends the requests of one scorer for one row."""

    def __init__(
        self,
        transport: Transport,
        sample: int,
        occurrences: Occurrences,
        label: str,
        meter: Meter | None = None,
        *,
        anew: bool = False,
    ) -> None:
        self._transport = transport
        self._sample = sample
        self._occurrences = occurrences
        self._label = label
        self._meter = meter
        # whether they are sent even if the journal has their answers
        self._anew = anew
        # facts about endpoints, shared by all calls of a run
        self.memory = transport.memory
        self._first: tuple[bytes, int] | None = None
        self._own = Occurrences()  # of the calls after the first
        self._exchanges: dict[float, Exchange] = {}
        self._taken = 0
        self._repeat = 0  # of a question that is asked several times
        self._repeated: list[Calls] = []
        self.from_journal = False  # the last answer came from the journal
        self.latency_s = 0.0  # seconds that it took when it was paid for

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests so far and their answers, in an order that does not depend on speed."""
        own = [self._exchanges[place] for place in sorted(self._exchanges)]
        return own + [
            exchange for calls in self._repeated for exchange in calls.exchanges
        ]

    def ticket(
        self,
        endpoint: Endpoint,
        body: object,
        *,
        kind: str,
        versions: Mapping[str, str] | None = None,
    ) -> Call:
        """Reserve the place of a call before anything is awaited.

        Calls are counted in the order of the rows, so that a run that is started again finds
        its answers.
        """
        depends_on = dict(versions or {})
        # the later calls of a row are identified by its first one
        if self._first is not None:
            first, count = self._first
            depends_on["after"] = (
                f"{blake2b(first, digest_size=20).hexdigest()}/{count}"
            )
        if self._repeat:
            depends_on["repeat"] = str(self._repeat)
        payload = written_body(body)
        place = self._taken
        self._taken += 1
        return Call(
            endpoint,
            payload,
            kind=kind,
            versions=depends_on,
            sample=self._sample,
            occurrence=self._count(payload or b"", kind, endpoint.url),
            label=self._label,
            identity=payload,
            place=place,
            anew=self._anew,
        )

    async def post(
        self,
        endpoint: Endpoint,
        body: object,
        *,
        kind: str,
        check: Callable[[JsonValue], object] | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> JsonValue:
        """POST a body, and return the parsed JSON of the answer.

        Parameters
        ----------
        kind
            The caller and its version: ``remote/1``. After a change of it all is asked anew.
        check
            Raises a `RowError` where an answer can't be used: such an answer is not kept, and
            asked for again by the next run.
        versions
            Further versions that an answer depends on, such as a prompt's.

        Raises
        ------
        CallError
            This row failed.
        EndpointError
            All would fail.
        """
        call = self.ticket(endpoint, body, kind=kind, versions=versions)
        return (await self.send(call, body, check)).body

    async def send(
        self,
        call: Call,
        displayed: object,
        check: Callable[[JsonValue], object] | None = None,
    ) -> Answer:
        """Send a call with a reserved place, see `post`; reports show `displayed` as its body."""
        refused: dict[str, str] = {}  # answers, by the kind of the error

        def checked(body: JsonValue) -> None:
            try:
                if check is not None:
                    check(body)
            except RowError as error:
                refused[error.kind] = _written(body)
                raise

        answering = self._transport.call(call, checked, self._meter)
        return await self._recorded(answering, call.place, _written(displayed), refused)

    async def perform(
        self,
        name: str,
        given: Mapping[str, object],
        make: Callable[[], Awaitable[str]],
        *,
        version: str | None,
    ) -> Answer:
        """Call a function in this process in place of a request, see `Transport.perform`."""
        request = _written(given)
        place = self._taken
        self._taken += 1
        count = self._count(
            request.encode(errors="backslashreplace"), "perform/1", name
        )
        work = Work(name, given, version, self._sample, count, self._label)
        answering = self._transport.perform(work, make, self._meter)
        return await self._recorded(answering, place, request, {})

    async def _recorded(
        self,
        answering: Awaitable[Answer],
        place: float,
        request: str,
        refused: Mapping[str, str],
    ) -> Answer:
        """Await an answer, and record the exchange; of a question in several forms the last."""
        body: str | None = None
        try:
            answer = await answering
            body = _written(answer.body)
        except RowError as error:
            body = refused.get(error.kind)
            raise
        finally:
            hide = self._transport.hide  # by now it knows the endpoint's key
            shown = None if body is None else shown_text(body, hide)
            self._exchanges[place] = {
                "request": shown_text(request, hide),
                "answer": shown,
            }
        self.from_journal = answer.from_journal
        self.latency_s = answer.latency_s
        return answer

    def following(self) -> Calls:
        """Return the calls that depend on these: the scorers' after the answer that they score.

        They are identified by the first of these, so that they find their answers again in
        whatever order the rows were answered.
        """
        after = Calls(
            self._transport,
            self._sample,
            self._occurrences,
            self._label,
            self._meter,
            anew=self._anew,
        )
        after._first = self._first
        after._own = self._own
        return after

    def repeated(self, times: int) -> list[Calls]:
        """Return the calls of several repetitions; these are the first one's.

        Each repetition has answers of its own; the first has those of a row that is not repeated.
        """
        for number in range(1, times):
            calls = self.following()
            calls._repeat = number  # noqa: SLF001 - one of us
            self._repeated.append(calls)
        return [self, *self._repeated]

    def _count(self, payload: bytes, kind: str, url: str) -> int:
        if self._first is not None:
            return self._own.next(payload, kind, url, self._repeat)
        count = self._occurrences.next(payload, kind, self._sample, url, self._repeat)
        self._first = payload, count
        return count


def _written(value: object) -> str:
    try:
        return compact(value)
    except (TypeError, ValueError):
        # a number or a text that only the slow way can write
        # half a surrogate pair is not text, and is written as its escape
        return _JSON.encode(value).encode(errors="backslashreplace").decode()


def shown_text(text: str, hide: Callable[[str], str]) -> str:
    """Prepare a text for ``row_scores.jsonl``: hide secrets, then truncate it."""
    text = hide(text)
    if not text.isascii():
        text = text.encode(errors="backslashreplace").decode()
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}… (of {len(text)} characters)"
