"""Questions to models: sent in a form that the endpoint takes, and asked twice at most."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scoring import transport
from pytest_evalmetrics.scoring.chat.replies import Reply, final_answer, read_reply
from pytest_evalmetrics.scoring.transport import Answer, Call, CallError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.scoring.chat.models import ChatModel
    from pytest_evalmetrics.scoring.chat.prompts import Message
    from pytest_evalmetrics.scoring.chat.row_calls import Calls

_T = TypeVar("_T")

# the answers of endpoints to a response_format that they don't know
_FORM_REFUSED = frozenset({400, 415, 422, 501})
# questions that are refused in every form: then it is not the form
_MOST_REFUSED = 3


def ask(
    calls: Calls,
    model: ChatModel,
    messages: Sequence[Message],
    *,
    kind: str,
    read: Callable[[Reply], _T],
    schema: JsonObject | None = None,
    versions: Mapping[str, str] | None = None,
) -> Coroutine[object, object, _T]:
    """Ask a model, and read its answer.

    The same question is asked once more if its answer can't be used, out of the number of
    retries that the endpoint is allowed: a question never takes more than ``1 + max_retries``
    requests, but for the first of a model, which detect the form in which it takes a schema.
    """
    forms: tuple[JsonObject | None, ...] = (None,)
    if schema is not None and model.takes_schema:
        name = kind.partition("/")[0].replace("-", "_")
        strict: JsonObject = {"name": name, "strict": True, "schema": dict(schema)}
        forms = (
            {"type": "json_schema", "json_schema": strict},
            {"type": "json_object"},
            None,
        )
    question = _Question(calls, model, messages, forms)
    call = calls.ticket(model.endpoint, question.body(0), kind=kind, versions=versions)
    return question.answered(call, read)


async def side_by_side(questions: Iterable[Coroutine[object, object, _T]]) -> list[_T]:
    """Ask several questions at once; return the answers in the order of the questions.

    Every question is awaited to its end, so that paid answers are kept, and so that the same
    answers give the same error: the first in order.
    """
    results = await asyncio.gather(*questions, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    # errors that stop the benchmark come first
    errors.sort(key=lambda error: isinstance(error, RowError))
    if errors:
        raise errors[0]
    return [result for result in results if not isinstance(result, BaseException)]


class _Form:
    """The form of requests that a model's endpoint accepts, once it is known."""

    def __init__(self) -> None:
        self.index = 0
        self.is_known = False
        # questions that were refused in every form
        self.refused = 0
        self.lock = asyncio.Lock()

    def take(self, index: int, answer: Answer) -> None:
        """Note the form of an answer; the journal knows questions, not their forms."""
        if not answer.from_journal:
            self.index = index
            self.is_known = True


class _Question(msgspec.Struct, frozen=True):
    """One question, and the forms in which it may be sent."""

    calls: Calls
    model: ChatModel
    messages: Sequence[Message]
    forms: Sequence[JsonObject | None]

    def body(self, form: int) -> dict[str, object]:
        return self.model.request(self.messages, response_format=self.forms[form])

    async def answered(self, call: Call, read: Callable[[Reply], _T]) -> _T:
        """Ask, and ask the same once more where the answer can't be used."""
        endpoint = self.model.endpoint
        answer = await self._send(call)
        try:
            return self._read(answer.body, read)
        except RowError:
            left = endpoint.max_retries - answer.attempts
            if left < 0:
                raise
        patient = structs.replace(endpoint, max_retries=left)
        again = structs.replace(
            self, model=structs.replace(self.model, endpoint=patient)
        )
        results: list[_T] = []

        def check(body: JsonValue) -> None:
            try:
                results.append(self._read(body, read))
            except RowError as error:
                message = f"{error.message} (asked twice)"
                raise RowError(error.kind, message, hint=error.hint) from None

        await again._send(self._second(call), check)  # noqa: SLF001 - one of us
        return results[-1]

    def _read(self, body: JsonValue, read: Callable[[Reply], _T]) -> _T:
        return read(final_answer(read_reply(body, self.model.end_token)))

    def _second(self, call: Call) -> Call:
        """Reserve the second try, which is identified by the first, in whatever order they come."""
        first = blake2b(call.identity or b"", digest_size=20).hexdigest()
        identity = ["same-again", call.place, first]
        second = self.calls.ticket(
            self.model.endpoint, identity, kind=call.kind, versions=call.versions
        )
        # shown right behind it
        return replace(second, place=call.place + 0.5)

    async def _send(
        self, call: Call, check: Callable[[JsonValue], None] | None = None
    ) -> Answer:
        """Send in the form that the endpoint takes."""
        if len(self.forms) == 1:
            return await self._post(call, 0, check)
        name = ("form", self.model.endpoint.url, self.model.name)
        form = self.calls.memory.setdefault(name, _Form())
        if not isinstance(form, _Form):
            raise TypeError(f"{name} is kept as {form!r}, no form")
        async with form.lock:
            if not form.is_known:
                return await self._probe(call, form, check)
        return await self._post(call, form.index, check)

    async def _probe(
        self, call: Call, form: _Form, check: Callable[[JsonValue], None] | None
    ) -> Answer:
        """Send in one form after the other, until the endpoint takes one."""
        last = len(self.forms) - 1
        for index in range(last):
            try:
                answer = await self._post(call, index, check)
            except CallError as error:
                if error.status not in _FORM_REFUSED:
                    raise
            else:
                form.take(index, answer)
                return answer
        try:
            answer = await self._post(call, last, check)
        except CallError as error:
            if error.status in _FORM_REFUSED:
                form.refused += 1
                form.is_known = form.refused == _MOST_REFUSED
            raise
        form.take(last, answer)
        return answer

    async def _post(
        self, call: Call, form: int, check: Callable[[JsonValue], None] | None
    ) -> Answer:
        payload = transport.written_body(self.body(form))
        sent = replace(call, endpoint=self.model.endpoint, payload=payload)
        answer = await self.calls.send(sent, self.body(0), check)
        self.model.spending.add(
            answer.attempts, answer.latency_s, transport.tokens_of(answer.body)
        )
        name = None
        if isinstance(answer.body, dict):
            name = answer.body.get("model")
        if isinstance(name, str) and name:
            self.model.spending.names.add(name)
        return answer
