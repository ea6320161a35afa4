"""One question to a model: in the form that its endpoint takes, and once more if it must be."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_evalmetrics.chat.replies import Reply, read_reply
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.transport import CallError, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from pytest_evalmetrics.chat.calls import Calls, Ticket
    from pytest_evalmetrics.chat.models import ChatModel, Message

__all__ = ["ask", "side_by_side"]

_T = TypeVar("_T")
# what endpoints answer to a response_format that they don't know
_NOT_TAKEN = frozenset({400, 415, 422, 501})
_SOUGHT = 3  # questions that are refused in every form: then it is not the form
_AGAIN = (
    "That answer can't be used: {reason}. Answer the same question again, in the form that was "
    "asked for and with nothing else."
)


def ask(
    calls: Calls,
    model: ChatModel,
    messages: Sequence[Message],
    *,
    kind: str,
    read: Callable[[Reply], _T],
    schema: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
) -> Coroutine[Any, Any, _T]:
    """Ask a model, and read its answer.

    An answer that can't be used is asked for once more, with the reason, out of the number of
    retries that the endpoint is allowed: so a question never takes more than
    ``1 + max_retries`` requests, but for the first of a model, which find out in what form it
    takes a schema.

    Parameters
    ----------
    calls
        The row's way to endpoints. The question's place among the row's calls is taken when
        this is called, before anything is awaited.
    model
        Who is asked.
    messages
        What is asked; says in words what form the answer has to have, because some endpoints
        heed no schema.
    kind
        What asks, and in which version: ``topic-adherence/1``.
    read
        Reads the answer; raises a `RowError` where it is none.
    schema
        JSON Schema of the answer, strict: every object closed, every property required. Sent
        as ``json_schema``, to an endpoint that refuses that as ``json_object``, else not at
        all; which of them is found out once per model and run.
    versions
        What else the answer depends on: the prompt's version.

    Raises
    ------
    RowError, CallError
        The answer can't be used, twice; or this call failed.
    EndpointError
        All would fail.
    """
    ways = _ways(model, kind, schema)
    body = model.request(messages, response_format=ways[0])
    ticket = calls.ticket(model.endpoint, body, kind=kind, versions=versions)
    ticket.told = body
    question = _Question(calls, model, messages, kind, ways, versions)
    return question.answered(ticket, read)


async def side_by_side(questions: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Ask several questions at once; give the answers in the order of the questions.

    Every question is seen to its end, so that what is paid for is kept, and so that the same
    answers give the same error: the first in order.

    Raises
    ------
    RowError, CallError
        Of the first question without an answer.
    EndpointError
        All would fail.
    """
    found = await asyncio.gather(*questions, return_exceptions=True)
    errors = [each for each in found if isinstance(each, BaseException)]
    # what stops the benchmark comes first
    errors.sort(key=lambda error: isinstance(error, RowError | CallError))
    if errors:
        raise errors[0]
    return [each for each in found if not isinstance(each, BaseException)]


@dataclass
class _Form:
    """Which of the ways an endpoint takes, once that is known."""

    known: int | None = None
    refused: int = 0
    unreached: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def open(self) -> bool:
        """Whether it is still to be found out."""
        return self.known is None and self.refused < _SOUGHT


@dataclass(frozen=True, slots=True)
class _Question:
    """One question, and how it may be sent."""

    calls: Calls
    model: ChatModel
    messages: Sequence[Message]
    kind: str
    ways: Sequence[Mapping[str, Any] | None]
    versions: Mapping[str, str] | None

    async def answered(self, ticket: Ticket, read: Callable[[Reply], _T]) -> _T:
        """Ask, and ask once more where the answer can't be used."""
        body = await self._sent(ticket)
        reply: Reply | None = None
        try:
            reply = read_reply(body, self.model.end_token)
            return read(reply)
        except RowError as error:
            left = self.model.endpoint.max_retries - ticket.attempts
            if left < 0:
                raise
            again = self._corrected(reply, error, left)
        found: list[_T] = []

        def check(body: Any) -> None:
            try:
                found.append(read(read_reply(body, self.model.end_token)))
            except RowError as error:
                raise RowError(
                    error.kind, f"{error.message} (asked twice)", hint=error.hint
                ) from None

        await again._sent(again._ticket_after(ticket), check)  # noqa: SLF001 - one of us
        return found[-1]

    async def _sent(self, ticket: Ticket, check: Callable[[Any], None] | None = None) -> Any:
        """Send in the first way that the endpoint takes; the first answer finds it out."""
        if len(self.ways) == 1:
            return await self._post(ticket, 0, check)
        form = self.calls.memory.setdefault(
            ("form", self.model.endpoint.url, self.model.name), _Form()
        )
        async with form.lock:
            if form.open and not form.unreached:
                return await self._sought(form, ticket, check)
        if form.open:  # nobody waits for an endpoint that was not reached the first time
            return await self._sought(form, ticket, check)
        return await self._post(ticket, form.known or 0, check)

    async def _sought(
        self, form: _Form, ticket: Ticket, check: Callable[[Any], None] | None
    ) -> Any:
        last = len(self.ways) - 1
        for way in range(len(self.ways)):
            try:
                body = await self._post(ticket, way, check)
            except CallError as error:
                if error.status not in _NOT_TAKEN:
                    form.unreached = True
                    raise
                if way == last:
                    form.refused += 1
                    raise
            else:
                # the journal knows questions, not in what form they were sent
                form.known = form.known if ticket.from_journal else way
                return body
        raise AssertionError("there is always a way")

    async def _post(self, ticket: Ticket, way: int, check: Callable[[Any], None] | None) -> Any:
        body = await self.calls.post(
            self.model.endpoint,
            self.model.request(self.messages, response_format=self.ways[way]),
            kind=self.kind,
            check=check,
            ticket=ticket,
        )
        self.model.spending.add(ticket.attempts, ticket.latency_s, tokens_of(body))
        return body

    def _corrected(self, reply: Reply | None, error: RowError, left: int) -> _Question:
        """Make the question that says what is wrong with an answer, for as many tries."""
        said = _AGAIN.format(reason=error.message)
        messages = list(self.messages)
        if reply is not None and reply.text:
            messages += [
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": said},
            ]
        elif isinstance(messages[-1].get("content"), str) and messages[-1].get("role") == "user":
            # many models take no two messages of one role in a row
            messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{said}"}
        else:
            messages.append({"role": "user", "content": said})
        patient = replace(self.model.endpoint, max_retries=left)
        return replace(self, model=replace(self.model, endpoint=patient), messages=messages)

    def _ticket_after(self, first: Ticket) -> Ticket:
        """Take the place of the second try: known by the first one, in whatever order they come."""
        known_by = ["again", first.place, blake2b(first.identity, digest_size=20).hexdigest()]
        ticket = self.calls.ticket(
            self.model.endpoint, known_by, kind=self.kind, versions=self.versions
        )
        ticket.place = first.place + 0.5  # told right behind it
        ticket.told = self.model.request(self.messages, response_format=self.ways[0])
        return ticket


def _ways(
    model: ChatModel, kind: str, schema: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any] | None, ...]:
    if schema is None or model.plain:
        return (None,)
    name = kind.partition("/")[0].replace("-", "_")
    strict = {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": dict(schema)},
    }
    return strict, {"type": "json_object"}, None
